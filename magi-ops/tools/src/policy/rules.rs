//! Rules for command lines: what one says about a line, by the leading words of every simple command in it.
//! How a line is read is the shell room's matter (decisions: "Rules for commands").

use std::cell::Cell;

use store::settings::Permission;

use super::programs::{self, Kind};
use crate::shell::{
    Line, Reading, Redirection, Simple, Unread, Word, is_assignment, loose_commands,
};

/// Levels of command lines within command lines (`sh -c 'sh -c …'`) that are looked into.
const MAX_LEVELS: usize = 6;
/// Comparisons and bytes that are spent on one line.
const BUDGET: usize = 1024 * 1024;

/// Which command lines run, which ask and which don't run.
#[derive(Debug, Clone)]
pub struct Rules {
    default: Permission,
    allow: Vec<Rule>,
    deny: Vec<Rule>,
    reading: Reading,
}

/// The leading words of a simple command; at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule(Vec<String>);

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
    /// A command's name is not known before it runs, or a variable stands where a denied command differs.
    Unknown,
    /// It holds characters that people and shells read differently.
    Characters,
    /// Too long or too deep to be judged.
    Complex,
}

/// How a command compares to a rule that denies.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Match {
    No,
    /// What isn't known before it runs may make it one.
    Maybe,
    Yes,
}

impl Rules {
    /// Words of a rule are parted by blanks; a rule without any says nothing.
    #[must_use]
    pub fn new<'a>(
        default: Permission,
        allow: impl IntoIterator<Item = &'a str>,
        deny: impl IntoIterator<Item = &'a str>,
    ) -> Self {
        let rule = |text: &str| -> Option<Rule> {
            let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
            (!words.is_empty()).then_some(Rule(words))
        };
        Self {
            default,
            allow: allow.into_iter().filter_map(rule).collect(),
            deny: deny.into_iter().filter_map(rule).collect(),
            reading: Reading::default(),
        }
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
            let line = Line::read(&text);
            let search = Search {
                deny: &deny,
                budget: Cell::new(BUDGET),
            };
            let denied = match &line {
                Ok(line) => search.line(line, 0),
                // The shell runs the lines in front of the one that it doesn't understand.
                Err(_) => search.commands(&loose_commands(&text), 0),
            };
            Ok((line, denied))
        });
        let (read, (matched, rule)) = match read {
            Ok(read) => read,
            Err(_) => return Ruling::Asks(Why::Complex),
        };
        if matched == Match::Yes {
            return Ruling::Denied(rule);
        }
        let read = match read {
            Err(Unread::Bounds) => return Ruling::Asks(Why::Complex),
            Err(Unread::Syntax) if matched == Match::Maybe => return Ruling::Asks(Why::Unknown),
            Err(Unread::Syntax) => return Ruling::Default,
            Ok(read) => read,
        };
        if read.substitutes || read.commands.iter().any(evaluates_a_substitution) {
            return Ruling::Asks(Why::Substitution);
        }
        if matched == Match::Maybe || read.commands.iter().any(is_unknown) {
            return Ruling::Asks(Why::Unknown);
        }
        // Where the shell is when it opens a file is not known any more behind one of these.
        let moves = read.commands.iter().any(|command| {
            command.words.iter().any(|word| {
                matches!(
                    word.literal.as_deref(),
                    Some("cd" | "pushd" | "popd" | "chdir")
                )
            })
        });
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
        let is_allowed = |command: &Simple| self.allow.iter().any(|rule| rule.allows(command));
        if read.is_plain && !read.commands.is_empty() && read.commands.iter().all(is_allowed) {
            return Ruling::Allowed;
        }
        Ruling::Default
    }
}

impl Rule {
    /// Only what is written out, word for word.
    fn allows(&self, command: &Simple) -> bool {
        let words = &command.words;
        let is = |(rule, word): (&String, &Word)| !word.odd && word.literal.as_ref() == Some(rule);
        let runs_text = words.iter().take(3).any(|word| {
            let kind = word.literal.as_deref().map(programs::kind);
            matches!(kind, Some(Kind::Text))
        });
        words.len() >= self.0.len()
            && self.0.iter().zip(words).all(is)
            && !words.iter().any(|word| word.odd)
            && !runs_text
    }

    /// Whether these words are a denied command: its program by any path, options in front of the words of
    /// the rule passed over.
    fn denies(&self, words: &[Word]) -> Match {
        let (Some(program), Some(first)) = (self.0.first(), words.first()) else {
            return Match::No;
        };
        let name = first.literal.as_deref();
        match name {
            Some(name) if name == program || programs::base(name) == program => {}
            Some(_) => return Match::No,
            None => return Match::Maybe,
        }
        let takes_value = programs::options_with_value(program);
        rest(&self.0[1..], &words[1..], takes_value)
    }
}

/// The words of a rule behind its program against those of a command.
fn rest(rule: &[String], words: &[Word], takes_value: &[&str]) -> Match {
    let Some((wanted, rule)) = rule.split_first() else {
        return Match::Yes;
    };
    let Some((word, words)) = words.split_first() else {
        return Match::No;
    };
    match word.literal.as_deref() {
        None => Match::Maybe,
        Some(text) if text == wanted => rest(rule, words, takes_value),
        Some(option) if option.starts_with('-') && option != "-" => {
            let behind = |skipped: usize| words.get(skipped..).unwrap_or_default();
            let whole = [std::slice::from_ref(wanted), rule].concat();
            if takes_value.contains(&option) {
                rest(&whole, behind(1), takes_value)
            } else {
                // An option that nothing is known about may have a value.
                let value = rest(&whole, behind(1), takes_value).min(Match::Maybe);
                rest(&whole, words, takes_value).max(value)
            }
        }
        Some(_) => Match::No,
    }
}

/// The search for denied commands in one line.
struct Search<'a> {
    deny: &'a [Rule],
    /// What may still be compared and read, so that no line costs more than its length deserves.
    budget: Cell<usize>,
}

/// A match, and the rule.
type Found = (Match, String);

fn stronger(one: Found, other: Found) -> Found {
    if other.0 > one.0 { other } else { one }
}

impl Search<'_> {
    /// The strongest match of a line's commands.
    fn line(&self, line: &Line, level: usize) -> Found {
        let mut found = self.commands(&line.commands, level);
        for text in &line.texts {
            found = stronger(found, self.commands(&loose_commands(text), level));
        }
        for reader in &line.commands {
            found = stronger(found, self.fed(reader, &line.commands, level));
        }
        found
    }

    /// What a command is given to read, if it makes commands of that: texts of its own, and what the others of
    /// its pipeline may print.
    fn fed(&self, reader: &Simple, all: &[Simple], level: usize) -> Found {
        let mut found = (Match::No, String::new());
        if !reads_commands(reader) {
            return found;
        }
        for text in &reader.fed {
            found = stronger(found, self.script(text, level));
        }
        let others = all
            .iter()
            .filter(|other| other.pipeline == reader.pipeline && !std::ptr::eq(*other, reader));
        for other in others {
            // Nobody knows what that prints.
            let unknown = (Match::Maybe, String::new());
            found = stronger(found, unknown);
            for at in 1..other.words.len() {
                found = stronger(found, self.words(&other.words[at..]));
            }
            let texts = other
                .words
                .iter()
                .filter_map(|word| word.literal.as_deref());
            for text in texts.chain(other.fed.iter().map(String::as_str)) {
                found = stronger(found, self.script(text, level));
            }
        }
        found
    }

    fn commands(&self, commands: &[Simple], level: usize) -> Found {
        let mut found = (Match::No, String::new());
        for command in commands {
            found = stronger(found, self.command(command, level));
        }
        found
    }

    /// A command itself, and what it runs if it is known to run others.
    fn command(&self, command: &Simple, level: usize) -> Found {
        let words = &command.words;
        let mut found = self.words(words);
        if evaluates_a_substitution(command) {
            for text in words.iter().filter_map(|word| word.literal.as_deref()) {
                found = stronger(found, self.commands(&loose_commands(text), level));
            }
        }
        let kind = words.first().map_or(Kind::Other, kind_of);
        if kind == Kind::Other {
            return found;
        }
        // Wherever the command begins behind the options of the one in front: at each of its words.
        for at in 1..words.len() {
            let behind = &words[at..];
            found = stronger(found, self.words(behind));
            if kind == Kind::Feeder && behind.iter().all(|word| word.literal.is_some()) {
                found = stronger(found, self.continued(behind));
            }
            if let Some(text) = behind[0].literal.as_deref() {
                found = stronger(found, self.script(text, level));
                // `alias name='…'`; elsewhere that is the value of a variable.
                if words[0].literal.as_deref() == Some("alias")
                    && let Some((_, text)) = text.split_once('=')
                {
                    found = stronger(found, self.script(text, level));
                }
            }
        }
        found
    }

    /// Words that a program puts more behind: `xargs git` may be any `git …`.
    fn continued(&self, words: &[Word]) -> Found {
        let is_begun = |rule: &&Rule| {
            let mut both = words.iter().zip(&rule.0).enumerate();
            words.len() < rule.0.len()
                && both.all(|(at, (word, rule))| {
                    let text = word.literal.as_deref().unwrap_or_default();
                    text == rule || (at == 0 && programs::base(text) == rule)
                })
        };
        match self.deny.iter().find(is_begun) {
            Some(rule) => (Match::Maybe, rule.0.join(" ")),
            None => (Match::No, String::new()),
        }
    }

    /// These words as a command.
    fn words(&self, words: &[Word]) -> Found {
        if !self.spend(self.deny.len()) {
            return (Match::Maybe, String::new());
        }
        let in_front = |word: &&Word| word.literal.as_deref().is_some_and(is_assignment);
        let command = &words[words.iter().take_while(in_front).count()..];
        let mut found = (Match::No, String::new());
        for rule in self.deny {
            let matched = rule.denies(command);
            if matched > found.0 {
                found = (matched, rule.0.join(" "));
            }
        }
        found
    }

    /// A text that a command may run as a command line.
    fn script(&self, text: &str, level: usize) -> Found {
        if !text.contains(|c: char| c.is_ascii_whitespace() || ";&|()$`<>'\"\\{".contains(c)) {
            return (Match::No, String::new());
        }
        if level == MAX_LEVELS || !self.spend(text.len()) {
            return (Match::Maybe, String::new());
        }
        match Line::read(text) {
            Ok(line) => self.line(&line, level + 1),
            Err(_) => self.commands(&loose_commands(text), level + 1),
        }
    }

    fn spend(&self, cost: usize) -> bool {
        match self.budget.get().checked_sub(cost + 1) {
            Some(left) => {
                self.budget.set(left);
                true
            }
            None => false,
        }
    }
}

/// Whether a command takes commands, or words of them, from what it reads.
fn reads_commands(command: &Simple) -> bool {
    let words = &command.words;
    let any = |wanted: &[Kind]| words.iter().any(|word| wanted.contains(&kind_of(word)));
    match words.first().map_or(Kind::Other, kind_of) {
        Kind::Shell => !words
            .iter()
            .any(|word| word.literal.as_deref() == Some("-c")),
        Kind::Feeder | Kind::Text => true,
        Kind::Wrapper => any(&[Kind::Feeder, Kind::Shell]),
        Kind::Other => false,
    }
}

fn kind_of(word: &Word) -> Kind {
    // A program that isn't known may well be a wrapper.
    word.literal
        .as_deref()
        .map_or(Kind::Wrapper, programs::kind)
}

/// Nobody knows what this runs: its name is put in only then, or it runs a text that is.
fn is_unknown(command: &Simple) -> bool {
    let Some(first) = command.words.first() else {
        return false;
    };
    match first.literal.as_deref().map(programs::kind) {
        None => true,
        Some(Kind::Text) => command.words.iter().any(|word| word.literal.is_none()),
        Some(Kind::Shell) => {
            let mut words = command.words.iter().map(|word| word.literal.as_deref());
            words.any(|word| word == Some("-c")) && words.next().is_some_and(|text| text.is_none())
        }
        Some(_) => false,
    }
}

/// `printf -v 'a[$(…)]'`: a quoted substitution that runs all the same. Also behind `command` and the like.
fn evaluates_a_substitution(command: &Simple) -> bool {
    let mut texts = command
        .words
        .iter()
        .filter_map(|word| word.literal.as_deref());
    let opens = |text: &str| {
        ["$(", "`", "<(", ">(", "${"]
            .iter()
            .any(|open| text.contains(open))
    };
    texts.clone().take(4).any(programs::evaluates) && texts.any(opens)
}

/// What a shell takes for a letter and a person for a blank, or for nothing.
fn is_misleading(c: char) -> bool {
    !matches!(c, '\n' | '\t') && crate::approval::is_unseen(c)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
