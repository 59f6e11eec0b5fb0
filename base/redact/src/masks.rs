//! Which characters of a command line a mask may cover, so that nothing that runs is hidden behind one.
//! Only enough of a shell's grammar to see that, blind to quotes, which may hold code for another shell; what a command
//! line means is the policy's matter.
//!
//! A mask covers one literal run of characters, which no shell takes for an operator, a blank, an expansion, a bracket or
//! a quote, and that ends where a part of a path, an address or a list does, so that host, path and names stay visible. A
//! run that looks drawn by lot is always covered. Any other is shown where it might be code all the same: where
//! its name stands once more in the line, in `eval`, in the code of an interpreter, as a path or as a program's name.

use std::ops::Range;

use super::display::is_seen;
use super::programs::{CommandText, ends_word, is_interpreter, is_operator, is_runner, words_of};
use super::random::{is_mixed, is_random};
use super::texts::texts;
use super::{Found, MASK, MIN_VALUE_BYTES, Reading, Redactor, blocks, commands, shapes, words};

/// Most looks at one command line.
const MAX_LOOKS: usize = 64;
/// Letters of a line of a key; from the second number on its length alone tells.
const KEY_LINE_BYTES: (usize, usize) = (16, 60);
/// Letters of a run that is drawn by lot beyond doubt: what evaluates it is no reason to show it.
const DRAWN_BYTES: usize = 12;

/// From so many letters on a secret may be of several parts.
const BASE64_BYTES: usize = 32;

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
    /// What is masked of a text, in order and apart from each other.
    pub(super) fn masks(&self, text: &str, reading: Reading) -> Vec<Mask> {
        let line = match reading {
            Reading::CommandLine => CommandText::new(text),
            Reading::Words | Reading::Json => CommandText::words(text),
        };
        let mut covered = self.covered(&line);
        if reading == Reading::Json {
            // Names beside values were seen above.
            for own in texts(text, is_seen).filter(|own| own.text.len() >= MIN_VALUE_BYTES) {
                let covers = self.covered(&CommandText::words(&own.text));
                covered.extend(covers.iter().map(|(run, kind)| (own.place(run), *kind)));
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
            label: label(&line, &range, kind),
            range,
        };
        merged.into_iter().map(labelled).collect()
    }

    /// What is masked of one text, and by what it is known.
    fn covered(&self, line: &CommandText<'_>) -> Vec<(Range<usize>, Kind)> {
        let text = line.text;
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
                true => !(is_path(text, run) || is_word(text, run) && line.names_program(run)),
                false => is_random(&text[run.clone()], 12),
            };
            covered.extend(
                runs(text, &range, is_literal)
                    .filter(own)
                    .map(|run| (run, Kind::Shape)),
            );
        }
        for range in found(&|found| blocks::find(text, found)) {
            if !text[..range.start].ends_with([':', '/', '"', '\'']) {
                let lines = runs(text, &range, is_literal).filter(|run| is_key_line(text, run));
                covered.extend(lines.map(|run| (run, Kind::Key)));
            } else {
                let runs = covers(line, &range, Kind::Url).into_iter();
                covered.extend(runs.map(|run| (run, Kind::Url)));
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
                    let runs = covers(line, &range, kind);
                    if runs.first().is_none_or(|run| run.end < range.end) {
                        cut = cut.min(first_run(text, &range).end);
                    }
                    covered.extend(runs.into_iter().map(|run| (run, kind)));
                }
                if cut == text.len() {
                    break;
                }
                from = text.ceil_char_boundary(cut + 1);
            }
        }
        covered
    }
}

/// What is masked of a secret that is told by what stands around it.
fn covers(line: &CommandText<'_>, range: &Range<usize>, kind: Kind) -> Vec<Range<usize>> {
    let text = line.text;
    if kind == Kind::Name && ends_line(text, range) {
        return vec![range.clone()];
    }
    let run = first_run(text, range);
    if run.is_empty() || may_run(line, &run, range.end, kind) {
        return Vec::new();
    }
    // A name may lead to what is drawn by lot: `the token is backup/x7…`.
    let leads = kind == Kind::Name && !is_mixed(&text[run.clone()]);
    let literal = runs(text, &(run.end..range.end), is_literal).next();
    let rest = literal.filter(|_| leads).unwrap_or(run.end..run.end);
    let host = text[rest.clone()].find(['@', '.']);
    let rest = rest.start..host.map_or(rest.end, |at| rest.start + at);
    let drawn = |run: &Range<usize>| is_random(&text[run.clone()], DRAWN_BYTES);
    let drawn = runs(text, &rest, is_part).find(drawn);
    std::iter::once(run).chain(drawn).collect()
}

/// What no shell takes for more than itself, in quotes or not. A comma stands between words in braces.
fn is_literal(c: char) -> bool {
    c.is_alphanumeric() || "_-.+=/:%@~^#!".contains(c) || !c.is_ascii() && !c.is_whitespace()
}

/// What belongs to one part of a path, an address or a list.
fn is_part(c: char) -> bool {
    is_literal(c) && !"/:@=".contains(c)
}

/// The runs of a kind of characters within `range`.
fn runs(
    text: &str,
    range: &Range<usize>,
    kind: fn(char) -> bool,
) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    text[range.clone()]
        .split_inclusive(move |c| !kind(c))
        .map(move |piece| {
            let run = at..at + piece.trim_end_matches(|c| !kind(c)).len();
            at += piece.len();
            run
        })
}

/// The one that begins where `range` does or behind a sign there, if only an empty one: a part of it, or all that is
/// literal where each part is drawn by lot, as in base64.
fn first_run(text: &str, range: &Range<usize>) -> Range<usize> {
    let none = range.start..range.start;
    let whole = runs(text, range, is_literal).next().unwrap_or(none);
    let secret = &text[whole.clone()];
    let digit = |c: char| c.is_ascii_alphanumeric() || c == '+';
    let mut parts = secret.split(['/', '=']);
    if whole.len() >= BASE64_BYTES
        && parts.all(|part| part.len() < 3 || part.chars().all(digit) && takes_turns(part))
    {
        return whole;
    }
    let behind = secret.trim_start_matches([':', '@', '=']);
    let behind = match behind.starts_with("//") {
        true => behind,
        false => behind.strip_prefix('/').unwrap_or(behind),
    };
    let start = whole.end - behind.len();
    let part = runs(text, &(start..whole.end), is_part).next();
    part.unwrap_or(start..start)
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
fn may_run(line: &CommandText<'_>, run: &Range<usize>, end: usize, kind: Kind) -> bool {
    let text = line.text;
    let value = &text[run.clone()];
    if is_path(text, run) && (value.starts_with(['.', '~']) || !is_random(value, 16)) {
        return true;
    }
    if is_drawn(value) {
        return false;
    }
    // A sentence, or an expansion.
    let next = text[run.end..end]
        .trim_start_matches(is_literal)
        .chars()
        .next();
    let goes_on = next.is_some_and(|c| c.is_whitespace() || "$`(){}[]*?".contains(c));
    goes_on && kind != Kind::Url
        || kind == Kind::Name && (word(text, run).contains('$') || is_mentioned(text, run.start))
        || is_code(text)
        || is_word(text, run) && line.names_program(run) && !is_mixed(value)
}

/// No name that a person gives.
fn is_drawn(value: &str) -> bool {
    takes_turns(value) && is_random(value, DRAWN_BYTES)
}

/// Letters, capitals and digits take turns.
fn takes_turns(value: &str) -> bool {
    let class = |b: &u8| [b.is_ascii_digit(), b.is_ascii_uppercase()];
    let turns = value
        .as_bytes()
        .windows(2)
        .filter(|pair| class(&pair[0]) != class(&pair[1]));
    turns.count() * 4 >= value.len()
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
    let slash = usize::from(text[run.end..].starts_with('/'));
    let whole = &text[word_start(text, run)..run.end + slash];
    let path = whole.rsplit('=').next().unwrap_or_default();
    let begins = ["/", "./", "../", "~/"];
    begins.iter().any(|begin| path.starts_with(begin)) && !path.contains([':', '@'])
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

fn label(line: &CommandText<'_>, range: &Range<usize>, kind: Kind) -> String {
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
    if kind != Kind::Key && is_word(line.text, range) && line.names_program(range) {
        label += ", named as a program";
    }
    label + "]"
}
