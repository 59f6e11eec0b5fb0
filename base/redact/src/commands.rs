//! Secrets on the command lines of programs that take them there: reads `data/commands.txt` once, and judges the words
//! behind a program's name. No program's options stand here.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::placeholder::{is_filled_in, is_placeholder};
use super::random::is_mixed;
use super::tail::Tail;
use super::vocabulary::list;
use super::{Found, steps};

/// How far behind a program its words are looked at, in bytes. A stream's context holds more.
const LINE_BYTES: usize = 192;
/// Longest name of a program.
const NAME_BYTES: usize = 24;

/// For each program its lines of the data, without their heads.
static RULES: LazyLock<HashMap<&'static str, Vec<&'static str>>> = LazyLock::new(|| {
    let mut rules = HashMap::<_, Vec<_>>::new();
    let lines = include_str!("../data/commands.txt").lines();
    let rules_only = lines.filter(|line| !line.starts_with('#'));
    for (programs, options) in rules_only.filter_map(|line| line.split_once(": ")) {
        for program in programs.split(' ') {
            rules.entry(program).or_default().push(options);
        }
    }
    rules
});

fn in_program(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    // No command has an option without one.
    if memchr::memchr(b' ', bytes).is_none() {
        return;
    }
    let mut at = 0;
    steps(bytes.len());
    while at < bytes.len() {
        if !in_program(bytes[at]) {
            at += 1;
            continue;
        }
        let most = &bytes[at..bytes.len().min(at + NAME_BYTES)];
        let len = most
            .iter()
            .position(|&b| !in_program(b))
            .unwrap_or(most.len());
        let name = &text[at..at + len];
        let behind = at + len;
        if bytes.get(behind) == Some(&b' ')
            && let Some(rules) = RULES.get(name)
        {
            let line = CommandLine::new(text, at, behind);
            rules.iter().for_each(|options| line.judge(options, found));
        }
        // The rest of a longer word is none of a program's.
        at = behind
            + bytes[behind..]
                .iter()
                .take_while(|&&b| in_program(b))
                .count();
    }
}

/// The words behind a program, up to the end of its command.
struct CommandLine<'a> {
    text: &'a str,
    /// Where each begins and ends, its quotes included.
    words: Vec<(usize, usize)>,
    /// A program stands there and no prose speaks of it.
    command: bool,
}

impl<'a> CommandLine<'a> {
    fn new(text: &'a str, program: usize, from: usize) -> Self {
        let bytes = text.as_bytes();
        let most = text.floor_char_boundary(from + LINE_BYTES);
        let mut words = Vec::new();
        let mut at = from;
        steps(most - from);
        // A line that is indented goes on, and so does an entry of netrc.
        let lines = [" ", "\t", "login ", "password ", "account "];
        let goes_on = |at: usize| lines.iter().any(|line| text[at + 1..].starts_with(line));
        while at < most && !matches!(bytes[at], b';' | b'|' | b'&') {
            if bytes[at] == b'\n' && !goes_on(at) {
                break;
            }
            if bytes[at].is_ascii_whitespace() {
                at += 1;
                continue;
            }
            let start = at;
            let mut quote = None;
            while at < most {
                match (quote, bytes[at]) {
                    (None, b'\'' | b'"') => quote = Some(bytes[at]),
                    (Some(mark), byte) if byte == mark => quote = None,
                    (None, b'\n' | b';' | b'|' | b' ' | b'\t' | b'`') | (_, b'\n') => break,
                    _ => {}
                }
                at += 1;
            }
            words.push((start, at));
            // Behind the end of a quotation prose goes on.
            if bytes.get(at) == Some(&b'`') {
                break;
            }
        }
        let before = text[..program].trim_end_matches([' ', '\t']);
        let path = before.len() == program && before.ends_with('/');
        let starts = before.is_empty()
            || before.ends_with('\n')
            || list("command starts")
                .iter()
                .any(|sign| before.ends_with(sign));
        Self {
            text,
            words,
            command: starts || path,
        }
    }

    fn word(&self, index: usize) -> Option<&str> {
        let &(start, end) = self.words.get(index)?;
        Some(&self.text[start..end])
    }

    fn judge(&self, options: &str, found: &mut Found) {
        let mut first = 0;
        for option in options.split(' ') {
            let Some(form) = option.find(['+', '@', '*']) else {
                // The subcommand without which the others mean something else.
                if !(0..2).any(|index| self.word(index) == option.strip_prefix('/')) {
                    return;
                }
                first = 1;
                continue;
            };
            let (name, rest) = (&option[..form], &option[form + 1..]);
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let later = rest[..digits].parse().unwrap_or(1);
            let sign = rest.as_bytes().get(digits).copied();
            let (glued, apart) = (
                option.as_bytes()[form] != b'@',
                option.as_bytes()[form] != b'+',
            );
            if name.is_empty() {
                self.secret(first + later - 1, 0, sign, found);
                continue;
            }
            for index in 0..self.words.len() {
                match self.word(index).and_then(|word| word.strip_prefix(name)) {
                    Some("") if apart => self.secret(index + later, 0, sign, found),
                    // `--user=name:password` is an option of its own.
                    Some(value) if glued && !value.is_empty() => {
                        self.secret(index, name.len(), sign, found);
                    }
                    _ => {}
                }
            }
        }
    }

    /// Masks the word at `index` behind `skip` bytes, and behind `sign` where a name stands before it, if a secret it is.
    fn secret(&self, index: usize, skip: usize, sign: Option<u8>, found: &mut Found) {
        let Some(&(start, end)) = self.words.get(index) else {
            return;
        };
        let bytes = self.text.as_bytes();
        let mut from = start + skip;
        let mut quote = None;
        let opened = |at: usize| bytes.get(at).filter(|b| matches!(b, b'\'' | b'"'));
        if let Some(mark) = opened(from) {
            (quote, from) = (Some(mark), from + 1);
        }
        if let Some(sign) = sign {
            match self.text[from..end].bytes().position(|b| b == sign) {
                Some(name) => from += name + 1,
                None => return,
            }
            // The password alone may stand in quotes.
            if let Some(mark) = opened(from).filter(|_| from < end) {
                (quote, from) = (Some(mark), from + 1);
            }
        }
        let value = self.text[from..end].trim_end_matches(['\'', '"']);
        let told = match self.command {
            true => !value.is_empty(),
            false => value.len() >= 8 && is_mixed(value),
        };
        let other = value.starts_with('-') || is_placeholder(value) || is_filled_in(value);
        let number = sign == Some(b':') && value.bytes().all(|b| b.is_ascii_digit());
        if !told || other || number {
            if end == bytes.len() {
                found.wait(from.min(end));
            }
            return;
        }
        if end == bytes.len() {
            found.expect(from);
        }
        let tail = match quote {
            Some(&mark) => Tail::quoted(char::from(mark), 0),
            None => Tail::unquoted(true),
        };
        found.hit(self.text, from, from, tail);
    }
}
