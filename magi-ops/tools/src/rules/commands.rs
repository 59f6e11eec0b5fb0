//! What is known of commands: a data file, and the questions that are asked of it.
//! No rule is applied here.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use crate::shell::{Line, Simple, Word};

/// The data: its own first lines say what a line means.
const TEXT: &str = include_str!("commands.txt");

/// What a word is to the shell or to the command that it names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Builtin,
    Renames,
    Moves,
    Text,
    Shell,
    Runner,
    Writes,
    Files,
    /// An option with a value.
    Value,
}

/// Leading words, and options with which they don't count.
type Inert = (Vec<&'static str>, Vec<&'static str>);

struct Data {
    /// By the first of their words.
    inert: HashMap<&'static str, Vec<Inert>>,
    words: HashSet<(Kind, &'static str)>,
}

static DATA: LazyLock<Data> = LazyLock::new(|| {
    let mut data = Data {
        inert: HashMap::new(),
        words: HashSet::new(),
    };
    for line in TEXT.lines() {
        let mut words = line.split(' ');
        let kind = match words.next() {
            Some("inert") => {
                let mut leading: Vec<_> =
                    words.by_ref().take_while(|word| *word != "but").collect();
                let first = leading.remove(0);
                let known = data.inert.entry(first).or_default();
                known.push((leading, words.collect()));
                continue;
            }
            Some("builtin") => Kind::Builtin,
            Some("renames") => Kind::Renames,
            Some("moves") => Kind::Moves,
            Some("text") => Kind::Text,
            Some("shell") => Kind::Shell,
            Some("runner") => Kind::Runner,
            Some("writes") => Kind::Writes,
            Some("files") => Kind::Files,
            Some("value") => Kind::Value,
            _ => continue,
        };
        data.words.extend(words.map(|word| (kind, word)));
    }
    data
});

/// Whether a word is of this kind: a command's name by any path to it, a builtin's only by itself.
pub(super) fn is(kind: Kind, word: Option<&str>) -> bool {
    word.is_some_and(|word| {
        let name = match kind {
            Kind::Builtin => word,
            _ => word.rsplit('/').next().unwrap_or(word),
        };
        DATA.words.contains(&(kind, name))
    })
}

/// Whether a command never runs what stands in its arguments.
pub(super) fn is_inert(command: &Simple) -> bool {
    let mut words = command.literals();
    let Some(first) = words.next() else {
        return true;
    };
    let known = first.and_then(|name| DATA.inert.get(name));
    known.into_iter().flatten().any(|(leading, but)| {
        let mut behind = words.clone();
        let leads = leading
            .iter()
            .all(|word| behind.next() == Some(Some(*word)));
        let runs = |word: &str| but.iter().any(|option| word.starts_with(option));
        leads && !words.clone().flatten().any(runs)
    }) && !(first == Some("printf") && command.words.iter().any(sets_a_variable))
}

/// Whether every command of a line is inert. None is where the line may make a program of what it writes, or says
/// by a variable which one is run.
pub(super) fn is_inert_line(line: &Line) -> bool {
    let has = |kind| line.commands.iter().any(|command| is(kind, command.name()));
    let makes = line.commands.len() > 1 && (line.writes || has(Kind::Writes)) && has(Kind::Files);
    !line.evaluates && !line.sets_environment && !makes && line.commands.iter().all(is_inert)
}

/// Whether a command may set variables of this shell.
pub(super) fn sets(command: &Simple) -> bool {
    is(Kind::Builtin, command.name()) && command.name() != Some("set") && !is_inert(command)
}

/// `%n` of `printf` sets the variable that its argument names. A format that isn't known may have one.
fn sets_a_variable(word: &Word) -> bool {
    let text = word.text().replace("%%", "");
    let mut conversions = text.split('%').skip(1);
    conversions.any(|behind| {
        word.literal.is_none()
            || behind
                .trim_start_matches(|c: char| !c.is_alphabetic() || "hlLqjzt".contains(c))
                .starts_with('n')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_data_says_something() {
        let kinds = [
            "builtin", "renames", "moves", "text", "shell", "runner", "writes", "files", "value",
        ];
        for line in TEXT.lines().filter(|line| !line.starts_with('#')) {
            let (kind, words) = line.split_once(' ').unwrap_or_default();
            assert!(kind == "inert" || kinds.contains(&kind), "{line}");
            assert!(words.split(' ').all(|word| !word.is_empty()), "{line}");
        }
        assert!(is(Kind::Shell, Some("/bin/sh")) && is(Kind::Text, Some(".")));
    }
}
