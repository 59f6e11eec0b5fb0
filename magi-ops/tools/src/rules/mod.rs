//! Rules for command lines: what one says about a line, by the leading words of every simple command in it.
//! How a line is read is the shell room's matter (decisions: "Rules for commands").

use store::settings::Permission;

use crate::shell::{Line, Reading, Redirection, Simple, Unread, Word};

mod commands;
mod search;
mod suggest;

use commands::{Kind, is_inert};
pub use suggest::{covers, suggest};

use search::{Denied, Match, Search, is_unknown};

/// Which command lines run, which ask and which don't run.
#[derive(Debug, Clone)]
pub struct Rules {
    default: Permission,
    /// Leading words of simple commands.
    allow: Vec<Vec<String>>,
    deny: Vec<Denied>,
    reading: Reading,
}

/// What the rules say about a line, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ruling {
    /// Every command of the line is allowed by a rule.
    Allowed,
    /// A command of the line is denied by this rule.
    Denied(String),
    /// The line says something that no rule may allow. Where lines are denied by default, so is this one.
    Asks(Why),
    /// No rule decides.
    Default,
}

/// Why a line asks whatever its commands are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Substitution,
    Redirection,
    /// A command's name is not known before it runs, or what stands where a denied command differs.
    Unknown,
    /// It holds characters that people and shells read differently.
    Characters,
    /// Too long or too deep to be judged.
    Complex,
}

impl Rules {
    /// Words of a rule are parted by blanks; a rule without any says nothing. One that denies and plainly means
    /// other words than it has (`git push*`) denies those.
    #[must_use]
    pub fn new<'a>(
        default: Permission,
        allow: impl IntoIterator<Item = &'a str>,
        deny: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let words = |rule: &str| {
            let mut words: Vec<_> = rule.split_whitespace().map(str::to_owned).collect();
            let program = words.first_mut()?;
            *program = plain_path(program);
            Some(words)
        };
        let denied =
            |rule| match store::settings::rule_advice(rule, true).and_then(|advice| advice.meant) {
                Some(meant) => Denied::new(&meant),
                None => Denied::new(rule),
            };
        Self {
            default,
            allow: allow.into_iter().filter_map(words).collect(),
            deny: deny.into_iter().filter_map(denied).collect(),
            reading: Reading::default(),
        }
    }

    /// The names of a line's commands, as far as they stand in it; none of a line that can't be read. Blocks for two
    /// seconds at most.
    pub(crate) fn programs(&self, line: &str) -> Vec<String> {
        let line = line.to_owned();
        let read = self
            .reading
            .of(move || Line::read(&line, commands::sets))
            .unwrap_or_default();
        let names = read.commands.iter().filter_map(Simple::name);
        names.map(str::to_owned).collect()
    }

    /// What holds for a line that no rule decides.
    pub(crate) fn default(&self) -> Permission {
        self.default
    }

    /// Judges a line. `is_free` says of a redirection's target, relative to the workspace, whether it may be
    /// opened without a question. Blocks for two seconds at most; never panics.
    pub fn judge(&self, line: &str, is_free: &dyn Fn(&str) -> bool) -> Ruling {
        if self.allow.is_empty() && self.deny.is_empty() {
            return Ruling::Default;
        }
        let (text, deny) = (line.to_owned(), self.deny.clone());
        let read = self.reading.of(move || {
            let line = Line::read(&text, commands::sets);
            let search = Search::new(&deny);
            let found = match &line {
                Ok(line) => search.line(line),
                Err(_) => search.unread(&text),
            };
            Ok((line, found))
        });
        let (read, matched) = match read {
            Err(_) => return Ruling::Asks(Why::Complex),
            Ok((_, (Match::Yes, rule))) => return Ruling::Denied(rule),
            Ok((Err(Unread::Bounds), _)) => return Ruling::Asks(Why::Complex),
            Ok((Err(Unread::Syntax), (Match::No, _))) => return Ruling::Default,
            Ok((Err(Unread::Syntax), _)) => return Ruling::Asks(Why::Unknown),
            Ok((Ok(read), (matched, _))) => (read, matched),
        };
        if read.substitutes || read.commands.iter().any(evaluates_a_substitution) {
            return Ruling::Asks(Why::Substitution);
        }
        if matched == Match::Maybe || read.evaluates || read.commands.iter().any(is_unknown) {
            return Ruling::Asks(Why::Unknown);
        }
        // Where the shell is when it opens a file is not known any more behind one of these.
        let mut words = read.commands.iter().flat_map(Simple::literals);
        let moves = words.any(|word| commands::is(Kind::Moves, word));
        let is_free = |target: &Redirection| match target {
            Redirection::File(path) if path == "/dev/null" => true,
            Redirection::File(path) => (!moves || path.starts_with('/')) && is_free(path),
            Redirection::Other => false,
        };
        if !read.redirections.iter().all(is_free) {
            return Ruling::Asks(Why::Redirection);
        }
        if line.chars().any(is_misleading) {
            return Ruling::Asks(Why::Characters);
        }
        let is_allowed =
            |command: &Simple| self.allow.iter().any(|rule| allows(rule, command, moves));
        if read.is_plain && !read.commands.is_empty() && read.commands.iter().all(is_allowed) {
            return Ruling::Allowed;
        }
        // What is put together within a line, or stands where a program does, may be anything.
        let is_open =
            |command: &Simple| !is_inert(command) && command.words.iter().any(|word| word.composes);
        let composes = !self.deny.is_empty() && read.commands.iter().any(is_open);
        if matched == Match::Perhaps || composes {
            return Ruling::Asks(Why::Unknown);
        }
        Ruling::Default
    }
}

/// Whether a rule allows a command: only what is written out, word for word. None allows what may change the
/// meaning of names. One that names a file means the session's directory, and allows nothing elsewhere.
fn allows(rule: &[String], command: &Simple, moves: bool) -> bool {
    let words = &command.words;
    let is = |(at, (rule, word)): (usize, (&String, &Word))| match &word.literal {
        Some(word) if at == 0 => plain_path(word) == *rule,
        word => word.as_ref() == Some(rule),
    };
    let names_a_file = |word: &String| word.contains(['/', '.']) && !word.starts_with('/');
    words.len() >= rule.len()
        && rule.iter().zip(words).enumerate().all(is)
        && !words.iter().any(|word| word.is_odd)
        && !(moves && rule.iter().any(names_a_file))
        && (!commands::is(Kind::Builtin, command.name()) || is_inert(command))
}

/// A path without parts that say nothing; a name that is no path stays.
fn plain_path(word: &str) -> String {
    if !word.contains('/') {
        return word.to_owned();
    }
    let parts: Vec<_> = word
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    let start = match (word.starts_with('/'), parts.len()) {
        (true, _) => "/",
        (false, 0 | 1) => "./",
        (false, _) => "",
    };
    format!("{start}{}", parts.join("/"))
}

/// `printf -v 'a[$(…)]'`: a quoted substitution that runs all the same. Also behind `command` and the like.
fn evaluates_a_substitution(command: &Simple) -> bool {
    let words = || command.literals().flatten();
    let opens = |text: &str| {
        ["$(", "`", "<(", ">(", "${"]
            .iter()
            .any(|open| text.contains(open))
    };
    !is_inert(command)
        && words()
            .take(4)
            .any(|word| commands::is(Kind::Builtin, Some(word)))
        && words().any(opens)
}

/// What a shell takes for a letter and a person for a blank, or for nothing.
fn is_misleading(c: char) -> bool {
    !matches!(c, '\n' | '\t') && crate::approval::is_unseen(c)
}

#[cfg(test)]
mod tests;
