//! A parsed command line: every simple command in it, and whether it says anything beside them.
//! The grammar is the parser's; what is kept of its tree is decided here.

use rable::{Node, NodeKind};

use super::word::Variables;
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
    /// What it sets variables to by assignments.
    assigned: Variables,
    /// Names that it sets in other ways.
    set: Vec<String>,
    /// What is put in for variables while it is read.
    variables: Variables,
    /// A variable is set that programs may read: one whose name is not in lower case.
    pub(crate) sets_environment: bool,
    /// A file is written by a redirection.
    pub(crate) writes: bool,
    /// The value of a variable is read as arithmetic, which may run a command, or a member of an array is set,
    /// which may be the shell's own table of programs.
    pub(crate) evaluates: bool,
    pub(crate) redirections: Vec<Redirection>,
    /// Texts that the shell may evaluate: values, arithmetic, and what the parser leaves of expansions.
    pub(crate) evaluated: Vec<String>,
    /// While it is read: what a command reads is another one's output.
    in_pipe: bool,
}

/// One simple command.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    pub(crate) words: Vec<Word>,
    /// What it reads: a here-document or a here-string, or the name of a file.
    pub(crate) fed: Vec<String>,
    /// It reads another one's output.
    pub(crate) is_piped: bool,
}

impl Simple {
    /// Its words as far as they are known.
    pub(crate) fn literals(&self) -> impl Iterator<Item = Option<&str>> + Clone {
        self.words.iter().map(|word| word.literal.as_deref())
    }

    /// Its words, with what the line gives variables put in.
    pub(crate) fn values(&self) -> impl Iterator<Item = Option<&str>> + Clone {
        self.words.iter().map(Word::known)
    }

    /// What it runs, if that is known.
    pub(crate) fn name(&self) -> Option<&str> {
        self.literals().next().flatten()
    }
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
    /// Variables that are assigned once have their values, unless `sets` says of a command that it may set some.
    pub(crate) fn read(text: &str, sets: impl Fn(&Simple) -> bool) -> Result<Self, Unread> {
        if !is_bounded(text) {
            return Err(Unread::Bounds);
        }
        let nodes = rable::parse(text, false).map_err(|error| {
            // Its message may quote the line.
            tracing::trace!(%error, "a command line can't be parsed");
            Unread::Syntax
        })?;
        let read = |variables| {
            let mut line = Self {
                is_plain: true,
                variables,
                ..Self::default()
            };
            nodes.iter().for_each(|node| line.sequence(node));
            line
        };
        let line = read(Variables::new());
        if line.assigned.is_empty() {
            return Ok(line);
        }
        let are_set = line.commands.iter().any(sets);
        Ok(read(settled(line.assigned, &line.set, are_set)))
    }

    /// What may stand at the top of a plain line.
    fn sequence(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::List { items } => items.iter().for_each(|item| self.sequence(&item.command)),
            NodeKind::Pipeline { commands, .. } => {
                let outside = self.in_pipe;
                for command in commands {
                    self.command(command);
                    self.in_pipe = true;
                }
                self.in_pipe = outside;
            }
            _ => self.command(node),
        }
    }

    fn command(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::Command {
                assignments,
                words,
                redirects,
            } => {
                // In front of the commands within its words.
                let at = self.commands.len();
                self.commands.push(Simple::default());
                self.is_plain &= assignments.is_empty() && !words.is_empty();
                for word in assignments {
                    let word = self.word(word);
                    let (name, value) = word.text().split_once('=').unwrap_or_default();
                    self.evaluates |= name.contains('[');
                    let plain = name.trim_end_matches('+');
                    let is_known = plain == name && !self.assigned.contains_key(name);
                    let known = word.value.as_ref().filter(|_| is_known);
                    let known = known.map(|_| value.to_owned());
                    self.assigned.insert(plain.to_owned(), known);
                    self.sets_environment |= is_environment(name);
                    self.evaluated.push(value.to_owned());
                }
                self.commands[at] = Simple {
                    words: words.iter().map(|word| self.word(word)).collect(),
                    fed: redirects
                        .iter()
                        .filter_map(|node| self.redirection(node))
                        .collect(),
                    is_piped: self.in_pipe,
                };
            }
            NodeKind::Empty | NodeKind::Comment { .. } => {}
            _ => {
                self.is_plain = false;
                self.block(node);
            }
        }
    }

    /// Everything that is no simple command: what it says of itself, then its commands and its files.
    fn block(&mut self, node: &Node) {
        let none: &[Node] = &[];
        let (bodies, redirects): (Vec<&Node>, &[Node]) = match &node.kind {
            NodeKind::Pipeline { .. } | NodeKind::List { .. } => return self.sequence(node),
            NodeKind::Negation { pipeline } | NodeKind::Time { pipeline, .. } => {
                (vec![pipeline], none)
            }
            NodeKind::Coproc { command, .. } | NodeKind::Function { body: command, .. } => {
                (vec![command], none)
            }
            NodeKind::Subshell { body, redirects } | NodeKind::BraceGroup { body, redirects } => {
                (vec![body], redirects)
            }
            NodeKind::If {
                condition,
                then_body,
                else_body,
                redirects,
            } => {
                let bodies = [condition, then_body].into_iter().chain(else_body);
                (bodies.map(|body| &**body).collect(), redirects)
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
            } => (vec![condition, body], redirects),
            NodeKind::For {
                var,
                words,
                body,
                redirects,
            }
            | NodeKind::Select {
                var,
                words,
                body,
                redirects,
            } => {
                self.sets_environment |= is_environment(var);
                self.set.push(var.clone());
                for word in words.iter().flatten() {
                    let word = self.word(word);
                    self.evaluated.push(word.text().to_owned());
                }
                (vec![body], redirects)
            }
            NodeKind::ForArith {
                init,
                cond,
                incr,
                body,
                redirects,
            } => {
                self.arithmetic(&format!("{init};{cond};{incr}"));
                (vec![body], redirects)
            }
            NodeKind::Case {
                word,
                patterns,
                redirects,
            } => {
                self.word(word);
                for pattern in patterns.iter().flat_map(|clause| &clause.patterns) {
                    self.word(pattern);
                }
                let bodies = patterns.iter().filter_map(|clause| clause.body.as_ref());
                (bodies.collect(), redirects)
            }
            NodeKind::ArithmeticCommand {
                raw_content,
                redirects,
                ..
            } => {
                self.arithmetic(raw_content);
                (Vec::new(), redirects)
            }
            NodeKind::ConditionalExpr { body, redirects } => {
                self.condition(body);
                (Vec::new(), redirects)
            }
            // Nothing else stands where a command does. If it did, its text would be all that is known.
            _ => return self.unknown(node),
        };
        bodies.into_iter().for_each(|body| self.sequence(body));
        // All its commands read that, so it stands as one of its own.
        let fed = redirects.iter().filter_map(|node| self.redirection(node));
        let fed = fed.collect();
        self.commands.push(Simple {
            fed,
            ..Simple::default()
        });
    }

    /// A variable's value counts as arithmetic too, and a subscript within it may run a command.
    fn arithmetic(&mut self, text: &str) {
        self.evaluates |= text.contains(|c: char| c.is_alphabetic() || "_$`".contains(c));
        self.text(text);
    }

    /// `[[ … ]]`.
    fn condition(&mut self, node: &Node) {
        match &node.kind {
            NodeKind::UnaryTest { op, operand } => {
                self.evaluates |= matches!(op.as_str(), "-v" | "-R");
                self.condition(operand);
            }
            NodeKind::CondNot { operand } | NodeKind::CondParen { inner: operand } => {
                self.condition(operand);
            }
            NodeKind::BinaryTest { op, left, right } => {
                let is_arithmetic =
                    ["-eq", "-ne", "-lt", "-le", "-gt", "-ge"].contains(&op.as_str());
                for side in [left, right] {
                    match &side.kind {
                        NodeKind::CondTerm { value, .. } if is_arithmetic => self.arithmetic(value),
                        _ => self.condition(side),
                    }
                }
            }
            NodeKind::CondAnd { left, right } | NodeKind::CondOr { left, right } => {
                self.condition(left);
                self.condition(right);
            }
            NodeKind::CondTerm { value, .. } => {
                self.substitutes |= Word::read(value, &self.variables).substitutes;
                self.text(value);
            }
            NodeKind::Word { .. } => drop(self.word(node)),
            _ => self.unknown(node),
        }
    }

    /// A word, and the commands within it.
    fn word(&mut self, node: &Node) -> Word {
        let NodeKind::Word { value, parts, .. } = &node.kind else {
            self.unknown(node);
            return Word::default();
        };
        let word = Word::read(value, &self.variables);
        self.substitutes |= word.substitutes;
        let before = self.commands.len();
        self.parts(parts);
        // Within these the parser reads no commands, and of backquotes it keeps the inner escapes.
        let is_partly_read = ["${", "$((", "$["].iter().any(|open| value.contains(open))
            || (value.contains('`') && value.contains('\\'));
        if word.substitutes && (is_partly_read || before == self.commands.len()) {
            self.text(value);
        }
        word
    }

    fn parts(&mut self, parts: &[Node]) {
        for part in parts {
            match &part.kind {
                NodeKind::CommandSubstitution { command, .. }
                | NodeKind::ProcessSubstitution { command, .. } => {
                    // Whatever the word looked like to us.
                    self.substitutes = true;
                    self.sequence(command);
                }
                NodeKind::Word { .. } => drop(self.word(part)),
                NodeKind::Array { elements } => self.parts(elements),
                _ => {}
            }
        }
    }

    /// Notes a redirection. What a command is fed by it, if that stands in the line.
    fn redirection(&mut self, node: &Node) -> Option<String> {
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
                let word = self.word(target);
                let is_descriptor = word.literal.as_deref().is_some_and(|target| {
                    let number = target.strip_suffix('-').unwrap_or(target);
                    number.bytes().all(|b| b.is_ascii_digit())
                });
                let fed = matches!(op.as_str(), "<<<" | "<" | "<>").then(|| word.text().to_owned());
                self.writes |= op.contains('>')
                    && !is_descriptor
                    && word.literal.as_deref() != Some("/dev/null");
                // The parser takes an operator for a file's name, where the shell refuses the line.
                let is_operator = word.is_operator();
                let found = match op.as_str() {
                    _ if varfd.is_some() || word.is_odd || is_operator => Redirection::Other,
                    ">&-" | "<&-" => return None,
                    ">&" | "<&" if is_descriptor => return None,
                    ">" | ">>" | ">|" | "<" | "<>" | "&>" | "&>>" | ">&" => {
                        word.literal.map_or(Redirection::Other, Redirection::File)
                    }
                    _ => Redirection::Other,
                };
                self.redirections.push(found);
                fed
            }
            _ => {
                self.redirections.push(Redirection::Other);
                self.unknown(node);
                None
            }
        }
    }

    /// Where something stands that does not belong there, nothing of it is known.
    fn unknown(&mut self, node: &Node) {
        self.substitutes = true;
        self.evaluated.push(node.to_string());
    }

    /// Keeps a text in which commands may hide, from the first place on where one may begin.
    fn text(&mut self, text: &str) {
        let opens = ["$(", "`", "<(", ">(", "$[", "${"];
        if let Some(at) = opens.iter().filter_map(|open| text.find(open)).min() {
            self.substitutes = true;
            self.evaluated.push(text[at..].to_owned());
        }
    }
}

/// Most variables of a line whose values are put in.
const MAX_VARIABLES: usize = 32;
/// Longest value that is put in, in bytes.
const MAX_VALUE: usize = 128;

/// Values with those of other variables put in. Without one is a variable that is set twice, that the shell sets or
/// reads itself, or whose value goes in circles.
fn settled(mut variables: Variables, set: &[String], are_set: bool) -> Variables {
    let are_set = are_set || variables.len() > MAX_VARIABLES || variables.contains_key("IFS");
    for (name, value) in &mut variables {
        let is_shells = name.contains("PWD") || name.starts_with("BASH");
        if are_set || is_shells || set.contains(name) {
            *value = None;
        }
    }
    let place = |name: &str| format!("${{{name}}}");
    let put_in = |text: String, variables: &Variables| {
        variables.iter().try_fold(text, |text, (name, value)| {
            if !text.contains(&place(name)) {
                return Some(text);
            }
            let text = text.replace(&place(name), value.as_deref()?);
            (text.len() <= MAX_VALUE).then_some(text)
        })
    };
    for _ in 0..4 {
        let before = variables.clone();
        for value in variables.values_mut() {
            let text = value.take().filter(|text| text.len() <= MAX_VALUE);
            *value = text.and_then(|text| put_in(text, &before));
        }
    }
    let names: Vec<_> = variables.keys().map(|name| place(name)).collect();
    for value in variables.values_mut() {
        value.take_if(|text| names.iter().any(|name| text.contains(name)));
    }
    variables
}

fn is_environment(name: &str) -> bool {
    name.contains(|c: char| c.is_ascii_uppercase())
}
