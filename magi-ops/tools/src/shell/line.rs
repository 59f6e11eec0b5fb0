//! A parsed command line: every simple command in it, and whether it says anything beside them.
//! The grammar is the parser's; what is kept of its tree is decided here.

use rable::{Node, NodeKind};

use super::{Unread, Word, is_bounded};

/// A line that was parsed whole.
#[derive(Debug, Default)]
pub(crate) struct Line {
    /// Every simple command, those within substitutions, functions and blocks included.
    pub(crate) commands: Vec<Simple>,
    /// The line is a sequence of simple commands and pipelines of them, without assignments in front.
    pub(crate) is_plain: bool,
    /// Something is put in another one's place before a command runs: a substitution of any kind.
    pub(crate) substitutes: bool,
    pub(crate) redirections: Vec<Redirection>,
    /// Texts that hold substitutions which the parser leaves as text.
    pub(crate) texts: Vec<String>,
}

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// What it reads as a here-document or a here-string, as it is written.
    pub(crate) fed: Vec<String>,
    /// The number of the pipeline that it is part of; commands of one feed each other.
    pub(crate) pipeline: usize,
}

/// Where a command reads from or writes to instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Redirection {
    /// A file of this name.
    File(String),
    /// Something else: a name that isn't known, a text, a descriptor kept in a variable.
    Other,
}

impl Line {
    /// Parses a line. Only on a thread with a large stack: see [`Reading`](super::Reading).
    ///
    /// # Errors
    ///
    /// [`Unread`] when it can't be judged.
    pub(crate) fn read(text: &str) -> Result<Self, Unread> {
        if !is_bounded(text) {
            return Err(Unread::Bounds);
        }
        let nodes = rable::parse(text, false).map_err(|error| {
            // Its message may quote the line.
            tracing::trace!(%error, "a command line can't be parsed");
            Unread::Syntax
        })?;
        let mut line = Self {
            is_plain: true,
            ..Self::default()
        };
        let mut pipelines = 0;
        for node in &nodes {
            line.sequence(node, &mut pipelines);
        }
        Ok(line)
    }

    /// What may stand at the top of a plain line.
    fn sequence(&mut self, node: &Node, pipelines: &mut usize) {
        match &node.kind {
            NodeKind::List { items } => {
                for item in items {
                    self.sequence(&item.command, pipelines);
                }
            }
            NodeKind::Pipeline { commands, .. } => {
                *pipelines += 1;
                for command in commands {
                    self.command(command, pipelines);
                }
            }
            _ => {
                *pipelines += 1;
                self.command(node, pipelines);
            }
        }
    }

    fn command(&mut self, node: &Node, pipelines: &mut usize) {
        match &node.kind {
            NodeKind::Command {
                assignments,
                words,
                redirects,
            } => {
                let mut simple = Simple {
                    pipeline: *pipelines,
                    ..Simple::default()
                };
                self.is_plain &= assignments.is_empty() && !words.is_empty();
                for word in assignments {
                    self.word(word, pipelines);
                }
                for word in words {
                    simple.words.extend(self.word(word, pipelines));
                }
                for redirect in redirects {
                    simple.fed.extend(self.redirection(redirect, pipelines));
                }
                self.commands.push(simple);
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => {
                self.is_plain = false;
                self.block(node, pipelines);
            }
        }
    }

    /// Everything that is no simple command: only its commands are of interest.
    fn block(&mut self, node: &Node, at: &mut usize) {
        let redirects = match &node.kind {
            NodeKind::Command { .. } | NodeKind::Empty | NodeKind::Comment { .. } => {
                return self.command(node, at);
            }
            NodeKind::Pipeline { .. } | NodeKind::List { .. } => return self.sequence(node, at),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                return self.sequence(pipeline, at);
            }
            NodeKind::Coproc { command, .. } | NodeKind::Function { body: command, .. } => {
                return self.sequence(command, at);
            }
            NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
                self.sequence(body, at);
                redirects
            }
            NodeKind::If {
                condition,
                then_body,
                else_body,
                redirects,
            } => {
                for part in [condition, then_body].into_iter().chain(else_body) {
                    self.sequence(part, at);
                }
                redirects
            }
            NodeKind::While {
                condition,
                body,
                redirects,
            }
            | NodeKind::Until {
                condition,
                body,
                redirects,
            } => {
                self.sequence(condition, at);
                self.sequence(body, at);
                redirects
            }
            NodeKind::For {
                words,
                body,
                redirects,
                ..
            }
            | NodeKind::Select {
                words,
                body,
                redirects,
                ..
            } => {
                for word in words.iter().flatten() {
                    self.word(word, at);
                }
                self.sequence(body, at);
                redirects
            }
            NodeKind::ForArith {
                init,
                cond,
                incr,
                body,
                redirects,
            } => {
                self.text(&format!("{init};{cond};{incr}"));
                self.sequence(body, at);
                redirects
            }
            NodeKind::Case {
                word,
                patterns,
                redirects,
            } => {
                self.word(word, at);
                for clause in patterns {
                    for pattern in &clause.patterns {
                        self.word(pattern, at);
                    }
                    if let Some(body) = &clause.body {
                        self.sequence(body, at);
                    }
                }
                redirects
            }
            NodeKind::ArithmeticCommand {
                raw_content,
                redirects,
                ..
            } => {
                self.text(raw_content);
                redirects
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.condition(body, at);
                redirects
            }
            // Nothing else stands where a command does. If it did, its text would be all that is known.
            _ => {
                self.substitutes = true;
                return self.text(&node.to_string());
            }
        };
        for redirect in redirects {
            self.redirection(redirect, at);
        }
    }

    /// `[[ … ]]`.
    fn condition(&mut self, node: &Node, at: &mut usize) {
        match &node.kind {
            NodeKind::UnaryTest { operand, .. } | NodeKind::CondNot { operand } => {
                self.condition(operand, at);
            }
            NodeKind::BinaryTest { left, right, .. }
            | NodeKind::CondAnd { left, right }
            | NodeKind::CondOr { left, right } => {
                self.condition(left, at);
                self.condition(right, at);
            }
            NodeKind::CondParen { inner } => self.condition(inner, at),
            NodeKind::CondTerm { value, .. } => {
                self.substitutes |= Word::read(value).substitutes;
                self.text(value);
            }
            NodeKind::Word { .. } => drop(self.word(node, at)),
            _ => self.text(&node.to_string()),
        }
    }

    /// A word, and the commands within it.
    fn word(&mut self, node: &Node, at: &mut usize) -> Option<Word> {
        let NodeKind::Word { value, parts, .. } = &node.kind else {
            // Where a word stands that is none, nothing of it is known.
            self.substitutes = true;
            self.text(&node.to_string());
            return Some(Word::default());
        };
        let word = Word::read(value);
        self.substitutes |= word.substitutes;
        self.parts(parts, at);
        if word.substitutes || word.odd {
            self.text(value);
        }
        Some(word)
    }

    fn parts(&mut self, parts: &[Node], at: &mut usize) {
        for part in parts {
            match &part.kind {
                NodeKind::CommandSubstitution { command, .. }
                | NodeKind::ProcessSubstitution { command, .. } => {
                    // Whatever the word looked like to us.
                    self.substitutes = true;
                    *at += 1;
                    self.sequence(command, at);
                }
                NodeKind::Word { .. } => drop(self.word(part, at)),
                NodeKind::Array { elements } => self.parts(elements, at),
                _ => {}
            }
        }
    }

    /// Notes a redirection. What a command is fed by it, if that stands in the line.
    fn redirection(&mut self, node: &Node, at: &mut usize) -> Option<String> {
        match &node.kind {
            NodeKind::HereDoc {
                content, quoted, ..
            } => {
                self.redirections.push(Redirection::Other);
                if !quoted {
                    self.text(content);
                }
                Some(content.clone())
            }
            NodeKind::Redirect {
                op, target, varfd, ..
            } => {
                let word = self.word(target, at).unwrap_or_default();
                let is_descriptor = word.literal.as_deref().is_some_and(|target| {
                    let number = target.strip_suffix('-').unwrap_or(target);
                    number.bytes().all(|b| b.is_ascii_digit())
                });
                let found = match op.as_str() {
                    _ if varfd.is_some() || word.odd => Redirection::Other,
                    ">&-" | "<&-" => return None,
                    ">&" | "<&" if is_descriptor => return None,
                    ">" | ">>" | ">|" | "<" | "<>" | "&>" | "&>>" | ">&" => {
                        word.literal.map_or(Redirection::Other, Redirection::File)
                    }
                    _ => Redirection::Other,
                };
                self.redirections.push(found);
                (op == "<<<").then(|| target.source())
            }
            _ => {
                self.redirections.push(Redirection::Other);
                self.text(&node.to_string());
                None
            }
        }
    }

    /// Keeps a text in which commands may hide.
    fn text(&mut self, text: &str) {
        let opens = ["$(", "`", "<(", ">(", "$[", "${"];
        if opens.iter().any(|open| text.contains(open)) {
            self.substitutes = true;
            self.texts.push(text.to_owned());
        }
    }
}

/// A word as it is written.
trait Source {
    fn source(&self) -> String;
}

impl Source for Node {
    fn source(&self) -> String {
        match &self.kind {
            NodeKind::Word { value, .. } => {
                Word::read(value).literal.unwrap_or_else(|| value.clone())
            }
            _ => self.to_string(),
        }
    }
}
