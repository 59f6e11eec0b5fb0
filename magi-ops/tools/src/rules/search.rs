//! The search for denied commands: a rule's words in their order, wherever a line has them.
//! What a match comes to is decided beside.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::iter::Peekable;
use std::str::Chars;

use super::commands::{self, Kind, is_inert_line};
use crate::shell::{Line, Simple, Word};

/// Levels of command lines within command lines (`sh -c 'sh -c …'`) that are looked into.
const MAX_LEVELS: usize = 6;
/// Words behind a rule's first one that are compared for one line.
const BUDGET: usize = 1024 * 1024;

/// How a line compares to the rules that deny, from the weakest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// The program is not known before the line runs, and the words behind it are a rule's.
    Perhaps,
    /// What isn't known before the line runs may make it one.
    Maybe,
    Yes,
}

/// A match, and the rule.
pub(super) type Found = (Match, String);

/// A rule as it is searched for: the words in lower case, since some file systems have no other; the first one
/// without the way to the program.
#[derive(Debug, Clone)]
pub(super) struct Denied {
    words: Vec<String>,
    /// The words as the name of one program: `git-push`.
    joined: String,
    rule: String,
}

impl Denied {
    /// None for a rule without words.
    pub(super) fn new(rule: &str) -> Option<Self> {
        let mut words: Vec<_> = rule
            .to_lowercase()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        let first = words.first_mut()?;
        if let Some((_, name)) = first.trim_end_matches('/').rsplit_once('/') {
            *first = name.to_owned();
        }
        Some(Self {
            joined: words.join("-"),
            words,
            rule: rule.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }
}

/// The search in one line.
pub(super) struct Search<'a> {
    denied: &'a [Denied],
    /// What may still be compared, so that no line costs more than its length deserves.
    budget: Cell<usize>,
    /// Texts that were looked into: each stands in every text around it.
    seen: RefCell<HashSet<(String, bool)>>,
}

impl<'a> Search<'a> {
    pub(super) fn new(denied: &'a [Denied]) -> Self {
        Self {
            denied,
            budget: Cell::new(BUDGET),
            seen: RefCell::default(),
        }
    }

    /// The strongest match in a line. Where every command of it is inert, only what stands as a command counts;
    /// else every argument and every text may be one.
    pub(super) fn line(&self, line: &Line) -> Found {
        self.level(line, 0)
    }

    fn level(&self, line: &Line, level: usize) -> Found {
        let mut found = (Match::No, String::new());
        let inert = is_inert_line(line);
        for command in &line.commands {
            let texts = texts(command.values());
            let words = known(&texts).map(|word| word.map(str::to_lowercase));
            let words: Vec<_> = words.collect();
            let words: Vec<_> = words.iter().map(Option::as_deref).collect();
            let starts = if inert {
                words.len().min(1)
            } else {
                words.len()
            };
            let mut appends = commands::is(Kind::Renames, command.name());
            let runs = runs_texts(command);
            for at in 0..starts {
                self.words(&words[at..], at > 0 && appends, &mut found);
                appends |= commands::is(Kind::Runner, words[at]);
            }
            if inert {
                continue;
            }
            let fed = command.fed.iter().map(String::as_str);
            let written = command.words.iter().map(Word::text).chain(fed.clone());
            self.text(&written.collect::<Vec<_>>().join(" "), &mut found);
            let texts = texts.iter().flatten().map(String::as_str);
            for text in command.literals().flatten().chain(texts).chain(fed) {
                self.nested(text, runs, level, &mut found);
            }
            // Who reads it may put more words behind it.
            for text in &command.fed {
                self.words(&[Some(&text.trim().to_lowercase())], true, &mut found);
            }
        }
        for text in &line.evaluated {
            self.text(text, &mut found);
            self.nested(text, false, level, &mut found);
        }
        found
    }

    /// These words as a command. `appends`: more words may be put behind them.
    fn words(&self, words: &[Option<&str>], appends: bool, found: &mut Found) {
        for denied in self.denied {
            let matched = self.compare(denied, words, appends);
            if matched > found.0 {
                *found = (matched, denied.rule.clone());
            }
        }
    }

    fn compare(&self, denied: &Denied, words: &[Option<&str>], appends: bool) -> Match {
        let (Some((name, rule)), Some((first, words))) =
            (denied.words.split_first(), words.split_first())
        else {
            return Match::No;
        };
        let mut known = match first {
            Some(word) if rule.is_empty() => {
                return if has_name(word, name) {
                    Match::Yes
                } else {
                    Match::No
                };
            }
            Some(word) if ends_with_name(word, &denied.joined) => return Match::Yes,
            Some(word) if !ends_with_name(word, name) => return Match::No,
            word => word.is_some(),
        };
        let mut least = if known { Match::Yes } else { Match::Perhaps };
        let mut wanted = rule;
        // Behind an option: whether what follows is known to be its value.
        let mut option = None;
        for word in words {
            let Some((next, rest)) = wanted.split_first() else {
                break;
            };
            if !self.spend() {
                return Match::Maybe;
            }
            let Some(word) = word else {
                return if known { Match::Maybe } else { Match::No };
            };
            let assigned = word
                .rsplit_once('=')
                .is_some_and(|(_, value)| value == next);
            if word == next
                || (rest.is_empty() && starts_with_name(word, next))
                || (option.is_some() && assigned)
            {
                known = true;
                option = None;
                wanted = rest;
            } else if word.starts_with('-') {
                option = Some(commands::is(Kind::Value, Some(word)));
            } else if let Some(value) = option.take() {
                if !value {
                    least = least.min(Match::Maybe);
                }
            } else {
                return Match::No;
            }
        }
        match (wanted, known) {
            ([], true) => least,
            (_, true) if appends => Match::Maybe,
            _ => Match::No,
        }
    }

    /// A text of any kind, once quotes and escapes are taken away in every way that something may take them away.
    fn text(&self, text: &str, found: &mut Found) {
        for (decodes, blank) in [(false, " "), (false, ""), (true, " ")] {
            let bare = bare(text, decodes, blank);
            let words: Vec<_> = bare.split_whitespace().map(Some).collect();
            for at in 0..words.len() {
                self.words(&words[at..], false, found);
            }
        }
    }

    /// A text as a command line of its own, where it is one. `runs`: that is what it is for.
    fn nested(&self, text: &str, runs: bool, level: usize, found: &mut Found) {
        if !text.contains([' ', '\t', '\n', '$', '`', ';', '&', '|', '('])
            || !self.seen.borrow_mut().insert((text.to_owned(), runs))
        {
            return;
        }
        let Ok(line) = Line::read(text, commands::sets) else {
            return;
        };
        let below = if level < MAX_LEVELS {
            self.level(&line, level + 1)
        } else {
            (Match::Maybe, String::new())
        };
        if below.0 > found.0 {
            *found = below;
        }
        if runs && found.0 < Match::Maybe && line.commands.iter().any(is_unknown) {
            *found = (Match::Maybe, String::new());
        }
    }

    /// A text that can't be read as a command line: the shell runs the lines in front of the one that it doesn't
    /// understand.
    pub(super) fn unread(&self, text: &str) -> Found {
        let mut found = (Match::No, String::new());
        self.text(text, &mut found);
        found
    }

    fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0
    }
}

/// The words of a command as far as they are known. What `-I` names is put in only when the command runs, as `{}` is.
fn texts<'a>(mut words: impl Iterator<Item = Option<&'a str>> + Clone) -> Vec<Option<String>> {
    let puts = |word: &str| {
        ["xargs", "parallel", "rush"]
            .iter()
            .any(|name| word.ends_with(name))
    };
    let runs = words.clone().flatten().any(puts);
    let mut mark: Option<&str> = None;
    let mut texts = Vec::new();
    while let Some(word) = words.next() {
        texts.push(word.map(|word| match mark {
            Some(mark) => word.replace(mark, "{}"),
            None => word.to_owned(),
        }));
        let option = word.filter(|_| runs).and_then(|word| {
            let word = word.strip_prefix('-')?;
            let letters = word
                .split_once(['I', 'J', 'i'])
                .filter(|_| !word.starts_with('-'));
            word.strip_prefix("-replace=")
                .map(|mark| (mark, false))
                .or(letters.map(|(_, mark)| (mark, !word.ends_with('i'))))
        });
        match option {
            Some(("", true)) => {
                mark = words.next().flatten().filter(|mark| !mark.is_empty());
                texts.push(Some("-".to_owned()));
            }
            Some((named, _)) if !named.is_empty() => mark = Some(named),
            _ => {}
        }
    }
    texts
}

/// These as words: what stands for others that are put in only then (`{}`, `{1}`, `:::`) is none.
fn known(texts: &[Option<String>]) -> impl Iterator<Item = Option<&str>> {
    let is_placed = |word: &&str| {
        let braced = word
            .split_once('{')
            .is_some_and(|(_, behind)| behind.contains('}'));
        word.starts_with(":::") || (braced && !word.contains(char::is_whitespace))
    };
    texts
        .iter()
        .map(move |text| text.as_deref().filter(|word| !is_placed(word)))
}

fn runs_texts(command: &Simple) -> bool {
    let kinds = [Kind::Text, Kind::Shell, Kind::Runner];
    kinds.iter().any(|kind| commands::is(*kind, command.name()))
}

/// Nobody knows what this runs before it does: the name is put in only then, or a text that it runs is, or a name
/// means something else behind it.
pub(super) fn is_unknown(command: &Simple) -> bool {
    let texts = texts(command.literals());
    let words: Vec<_> = known(&texts).collect();
    let Some(&first) = words.first() else {
        return false;
    };
    let is = |kind| commands::is(kind, first);
    let runs_next = |word: Option<&str>| {
        let option = word.and_then(|word| word.strip_prefix('-'));
        option.is_some_and(|option| {
            let option = option.trim_start_matches('-');
            ["exec", "ok"].iter().any(|runs| option.starts_with(runs))
                || matches!(option, "x" | "X")
        })
    };
    let has_shell = || words.iter().any(|word| commands::is(Kind::Shell, *word));
    let takes_text = |word: &Option<&str>| {
        word.is_some_and(|word| {
            word.starts_with('-') && !word.starts_with("--") && word.contains('c')
        })
    };
    // Options, variables and durations stand in front of the command.
    let in_front = |word: &Word| {
        let text = word.text();
        text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) || text.contains('=')
    };
    let mut behind = words.iter().zip(&command.words).skip(1);
    let behind = behind.find(|(_, word)| !in_front(word));
    first.is_none()
        || is(Kind::Renames)
        || (is(Kind::Text) && words.contains(&None))
        || (is(Kind::Runner) && behind.is_some_and(|(known, _)| known.is_none()))
        || (words.iter().any(|word| commands::is(Kind::Runner, *word))
            && words
                .windows(2)
                .any(|pair| runs_next(pair[0]) && pair[1].is_none()))
        || ((is(Kind::Runner) || is(Kind::Shell))
            && has_shell()
            && (command.is_piped
                || words
                    .windows(2)
                    .any(|pair| takes_text(&pair[0]) && pair[1].is_none())))
}

/// Whether a character may be part of a name.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || "_.+-".contains(c)
}

/// Nothing in front that belongs to the same name, but for the letters of options (`-Sgit`).
fn is_start(before: &str) -> bool {
    let run = &before[before.trim_end_matches(is_name).len()..];
    let letters = run.strip_prefix('-').unwrap_or("-");
    run.is_empty() || (!letters.is_empty() && letters.chars().all(char::is_alphanumeric))
}

fn ends_with_name(word: &str, name: &str) -> bool {
    word.strip_suffix(name).is_some_and(is_start)
}

fn starts_with_name(word: &str, name: &str) -> bool {
    let rest = word.strip_prefix(name);
    rest.is_some_and(|rest| !rest.starts_with(|c| is_name(c) || c == '/'))
}

fn has_name(word: &str, name: &str) -> bool {
    let mut places = word.match_indices(name);
    places.any(|(at, _)| starts_with_name(&word[at..], name) && is_start(&word[..at]))
}

/// A text without its quotes and escapes, in lower case: what parts words is a blank, what is put in for variables is
/// `blank`. With `decodes`, escapes are what `printf` and `$'…'` make of them.
fn bare(text: &str, decodes: bool, blank: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {}
            ',' | '(' | ')' | '[' | ']' | '{' | '}' => out.push(' '),
            '\\' if decodes => {
                out.extend(escaped(&mut chars).into_iter().flat_map(char::to_lowercase))
            }
            '\\' => drop(chars.next_if_eq(&'\n')),
            '$' => {
                let mut behind = chars.clone();
                let braced = behind.next_if_eq(&'{').is_some();
                let mut any = behind
                    .next_if(|c| c.is_ascii_digit() || "@*#?!-$".contains(*c))
                    .is_some();
                if !any {
                    while behind
                        .next_if(|c| c.is_alphanumeric() || *c == '_')
                        .is_some()
                    {
                        any = true;
                    }
                }
                if any && (!braced || behind.next_if_eq(&'}').is_some()) {
                    chars = behind;
                    out.push_str(blank);
                }
            }
            c => out.extend(c.to_lowercase()),
        }
    }
    out
}

/// The character behind a backslash.
fn escaped(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let (radix, most) = match chars.peek()? {
        'n' | 'r' | 't' | '\n' => return chars.next().map(|_| ' '),
        'x' => (16, 2),
        'u' => (16, 4),
        'U' => (16, 8),
        '0' => (8, 4),
        '1'..='7' => (8, 3),
        _ => return None,
    };
    if radix == 16 {
        chars.next();
    }
    let mut number = 0_u32;
    for _ in 0..most {
        let Some(digit) = chars.peek().and_then(|c| c.to_digit(radix)) else {
            break;
        };
        chars.next();
        number = number.saturating_mul(radix).saturating_add(digit);
    }
    char::from_u32(number)
}
