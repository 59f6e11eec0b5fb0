//! Which characters of a command line a mask may cover, so that nothing that runs is hidden behind one.
//! Only enough of a shell's grammar to see that, blind to quotes, which may hold code for another shell; what a command
//! line means is the policy's matter.
//!
//! A mask covers one literal run of characters, which no shell takes for an operator, a blank, an expansion, a bracket or
//! a quote. A run that looks drawn by lot is always covered. Any other is shown where it might be code all the same: where
//! its name stands once more in the line, in `eval`, in the code of an interpreter, as a path or as a program's name.

use std::ops::Range;

use super::random::{is_mixed, is_random};
use super::vocabulary::lists;
use super::{Found, MASK, Redactor, blocks, commands, shapes, words};

/// Most looks at one command line.
const MAX_LOOKS: usize = 64;
/// Letters of a line of a key; from the second number on its length alone tells.
const KEY_LINE_BYTES: (usize, usize) = (16, 60);
/// Letters of a run that is drawn by lot beyond doubt: what evaluates it is no reason to show it.
const DRAWN_BYTES: usize = 12;

/// A part of a line that is not shown, and what stands there.
pub(super) struct Mask {
    pub(super) range: Range<usize>,
    pub(super) label: String,
}

/// By what a secret is known.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Value,
    Key,
    Shape,
    Url,
    Option,
    Name,
}

impl Redactor {
    /// What is masked of a command line, in order and apart from each other.
    pub(super) fn masks(&self, text: &str) -> Vec<Mask> {
        let found = |find: &dyn Fn(&mut Found)| {
            let mut found = Found::new(true);
            find(&mut found);
            found.ranges
        };
        let mut covered: Vec<(Range<usize>, Kind)> = Vec::new();
        // What is known by its value is masked wherever it stands.
        let values = found(&|found| self.find_values(text, found));
        covered.extend(values.into_iter().map(|range| (range, Kind::Value)));
        for range in found(&|found| shapes::find(text, found)) {
            let own = |run: &Range<usize>| match *run == range {
                true => !(is_path(text, run) || is_word(text, run) && names_program(text, run)),
                false => is_random(&text[run.clone()], 12),
            };
            covered.extend(runs(text, &range).filter(own).map(|run| (run, Kind::Shape)));
        }
        for range in found(&|found| blocks::find(text, found)) {
            if !text[..range.start].ends_with([':', '/']) {
                let lines = runs(text, &range).filter(|run| is_key_line(text, run));
                covered.extend(lines.map(|run| (run, Kind::Key)));
            } else {
                covered.extend(covers(text, &range, Kind::Url));
            }
        }
        for (find, kind) in [
            (commands::find as fn(&str, &mut Found), Kind::Option),
            (words::find, Kind::Name),
        ] {
            let mut from = 0;
            // Behind the end of a run another secret may begin.
            for _ in 0..MAX_LOOKS {
                let mut cut = text.len();
                for range in found(&|found| find(&text[from..], found)) {
                    let range = range.start + from..range.end + from;
                    if range.start > cut {
                        break;
                    }
                    let run = covers(text, &range, kind);
                    if run.as_ref().is_none_or(|(run, _)| run.end < range.end) {
                        cut = cut.min(first_run(text, &range).end);
                    }
                    covered.extend(run);
                }
                if cut == text.len() {
                    break;
                }
                from = text.ceil_char_boundary(cut + 1);
            }
        }
        covered.sort_by_key(|(range, kind)| (range.start, *kind));
        let mut merged: Vec<(Range<usize>, Kind)> = Vec::with_capacity(covered.len());
        for (range, kind) in covered {
            match merged.last_mut() {
                Some((last, of)) if range.start < last.end => {
                    last.end = last.end.max(range.end);
                    *of = kind.min(*of);
                }
                _ => merged.push((range, kind)),
            }
        }
        let labelled = |(range, kind): (Range<usize>, Kind)| Mask {
            label: label(text, &range, kind),
            range,
        };
        merged.into_iter().map(labelled).collect()
    }
}

/// What is masked of a secret that is told by what stands around it.
fn covers(text: &str, range: &Range<usize>, kind: Kind) -> Option<(Range<usize>, Kind)> {
    if kind == Kind::Name && ends_line(text, range) {
        return Some((range.clone(), kind));
    }
    let run = first_run(text, range);
    (!run.is_empty() && !may_run(text, &run, range.end, kind)).then_some((run, kind))
}

/// What no shell takes for more than itself, in quotes or not. A comma stands between words in braces.
fn is_literal(c: char) -> bool {
    c.is_alphanumeric() || "_-.+=/:%@~^#!".contains(c) || !c.is_ascii() && !c.is_whitespace()
}

fn is_operator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '\n' | '`')
}

/// The literal runs within `range`.
fn runs(text: &str, range: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    text[range.clone()]
        .split_inclusive(|c| !is_literal(c))
        .map(move |piece| {
            let run = at..at + piece.trim_end_matches(|c| !is_literal(c)).len();
            at += piece.len();
            run
        })
}

/// The one that begins where `range` does, if only an empty one.
fn first_run(text: &str, range: &Range<usize>) -> Range<usize> {
    runs(text, range).next().unwrap_or(range.start..range.start)
}

/// Whether a run in a key block is one of its lines.
fn is_key_line(text: &str, run: &Range<usize>) -> bool {
    // The `n` of a line end as JSON writes it is none of it.
    let line = &text[run.clone()];
    let line = match text[..run.start].ends_with('\\') {
        true => line.trim_start_matches(['n', 'r', 't']),
        false => line,
    };
    let body = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'=');
    let (least, full) = KEY_LINE_BYTES;
    let drawn = line.len() >= full || is_random(line, 12);
    line.len() >= least && line.bytes().all(body) && !line.starts_with('/') && drawn
}

/// Whether what a name, an option or an address says to be secret might be code all the same. The secret goes on up to
/// `end`.
fn may_run(text: &str, run: &Range<usize>, end: usize, kind: Kind) -> bool {
    let value = &text[run.clone()];
    if is_path(text, run) && (value.starts_with(['.', '~']) || !is_random(value, 16)) {
        return true;
    }
    if is_drawn(value) {
        return false;
    }
    // A sentence, or an expansion.
    let next = text[run.end..end].chars().next();
    let goes_on = next.is_some_and(|c| c.is_whitespace() || "$`(){}[]*?".contains(c));
    goes_on && kind != Kind::Url
        || kind == Kind::Name && (word(text, run).contains('$') || is_mentioned(text, run.start))
        || is_code(text)
        || is_word(text, run) && names_program(text, run) && !is_mixed(value)
}

/// No name that a person gives: letters, capitals and digits take turns.
fn is_drawn(value: &str) -> bool {
    let class = |b: &u8| [b.is_ascii_digit(), b.is_ascii_uppercase()];
    let turns = value
        .as_bytes()
        .windows(2)
        .filter(|pair| class(&pair[0]) != class(&pair[1]));
    turns.count() * 4 >= value.len() && is_random(value, DRAWN_BYTES)
}

/// Whether the line evaluates texts: by `eval`, by arguments or names of names, by a shell behind a pipe, or by the
/// interpreter of another language that is given its code.
fn is_code(text: &str) -> bool {
    let evaluates = |word: &str| {
        let at = word.as_ptr() as usize - text.as_ptr() as usize;
        let rest = text[at + word.len()..].trim_start();
        let next = rest.split(char::is_whitespace).next().unwrap_or_default();
        let option =
            next.starts_with('-') && (next.len() == 1 || next.contains(['c', 'e', 'E', 'r', 'p']));
        let given = option
            || rest.is_empty()
            || rest.starts_with(|c| is_operator(c) || matches!(c, '"' | '\''));
        let piped = text[..at].trim_end().ends_with('|');
        word == "eval" || piped && is_runner(word) || is_interpreter(word) && given
    };
    let argument = |(at, _)| {
        let name = text[at + 1..].trim_start_matches('{');
        name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*' | '!'))
    };
    text.match_indices('$').any(argument) || words_of(text).any(evaluates)
}

fn is_runner(word: &str) -> bool {
    lists("runners", file_name(word)) || is_interpreter(word)
}

fn is_interpreter(word: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    lists("interpreters", file_name(word).trim_end_matches(version))
}

/// Whether the name to which what stands at `at` is assigned stands anywhere else: there it may be expanded.
fn is_mentioned(text: &str, at: usize) -> bool {
    let in_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let before = text[..at].trim_end_matches(|c| !in_name(c));
    let name = before[before.trim_end_matches(in_name).len()..].trim_start_matches('-');
    let own = before.len() - name.len();
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(other, _)| {
            // Not within another name, nor of a part of an address or a closing tag.
            let part = |c: char| letter(c) || matches!(c, '/' | '-');
            let ends = !text[other + name.len()..].starts_with(letter);
            let apart = ends && !text[..other].ends_with(part);
            other != own && apart
        })
}

fn ends_word(c: char) -> bool {
    c.is_whitespace() || is_operator(c) || matches!(c, '"' | '\'')
}

/// Where the word begins in which `run` stands.
fn word_start(text: &str, run: &Range<usize>) -> usize {
    let end = text[..run.start].rfind(ends_word);
    end.map_or(0, |at| text.ceil_char_boundary(at + 1))
}

/// What of its word stands before `run`.
fn word<'a>(text: &'a str, run: &Range<usize>) -> &'a str {
    &text[word_start(text, run)..run.start]
}

/// Whether `run` begins its word.
fn is_word(text: &str, run: &Range<usize>) -> bool {
    word(text, run).is_empty() && !text[..run.start].ends_with('\\')
}

/// Whether `run` is a part of a path, whose names are no secrets.
fn is_path(text: &str, run: &Range<usize>) -> bool {
    let whole = &text[word_start(text, run)..run.end];
    let path = whole.rsplit('=').next().unwrap_or_default();
    let begins = ["/", "./", "../", "~/"];
    begins.iter().any(|begin| path.starts_with(begin)) && !path.contains([':', '@'])
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(ends_word).filter(|word| !word.is_empty())
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

/// Whether the word of `run` may name a program: the first of its command but for assignments, options and what runs
/// others.
fn names_program(text: &str, run: &Range<usize>) -> bool {
    let before = &text[..run.start];
    let begin = before.rfind(is_operator).map_or(0, |at| at + 1);
    let array = before[..begin].ends_with("=(");
    let start = before.rfind(|c: char| c.is_whitespace() || is_operator(c));
    let start = start.map_or(0, |at| text.ceil_char_boundary(at + 1));
    let assigned = text[start..run.start]
        .split_once('=')
        .is_some_and(|(name, _)| {
            let name = name.trim_start_matches(['"', '\'']).trim_end_matches('+');
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
    // `find -exec` runs what stands behind it.
    let own = text[begin..start]
        .rsplit("-exec ")
        .next()
        .unwrap_or_default();
    let mut option = false;
    !(assigned || array)
        && words_of(own).all(|word| {
            let number = word.starts_with(|c: char| c.is_ascii_digit());
            let passes =
                option || number || is_runner(word) || word.starts_with('-') || word.contains('=');
            option = word.starts_with('-');
            passes
        })
}

/// Whether the quoted value at `range` is all that its command holds beside its name, or one of an object of JSON, and
/// ends a line in which nothing could run it later: then it may be a sentence.
fn ends_line(text: &str, range: &Range<usize>) -> bool {
    let closing = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '\\' | '}');
    let (before, behind) = (&text[..range.start], &text[range.end..]);
    let plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || "_-./:=;&|".contains(c);
    let begin = before.rfind(is_operator).map_or(0, |at| at + 1);
    let (earlier, own) = before.split_at(begin);
    let own = own.trim_start();
    let name = own.strip_prefix("export ").unwrap_or(own);
    let name = name.trim_end_matches(['"', '\'']).strip_suffix('=');
    let letter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let assigned = name.is_some_and(|name| !name.is_empty() && name.chars().all(letter));
    (assigned || own.starts_with("{\""))
        && behind.chars().all(closing)
        && earlier.chars().all(plain)
        && !text.contains(['$', '`'])
        && text[range.clone()]
            .chars()
            .all(|c| is_literal(c) || c == ' ')
        && !is_code(text)
        && !is_mentioned(text, range.start)
}

fn label(text: &str, range: &Range<usize>, kind: Kind) -> String {
    let what = match kind {
        Kind::Value => ": known secret",
        Kind::Key => ": key",
        Kind::Shape => ": token",
        Kind::Url | Kind::Option | Kind::Name => "",
    };
    let mut label = MASK[..MASK.len() - 1].to_owned() + what;
    if !what.is_empty() {
        label += &format!(", {} bytes", range.len());
    }
    if kind != Kind::Key && names_program(text, range) {
        label += ", named as a program";
    }
    label + "]"
}
