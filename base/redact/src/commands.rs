//! Secrets on the command lines of programs that take them there: reads `data/commands.txt` once, and judges the words
//! behind a program's name. No program's options stand here.

use std::sync::LazyLock;

use super::placeholder::{is_filled_in, is_placeholder};
use super::random::is_mixed;
use super::tail::Tail;
use super::vocabulary::list;
use super::{Found, steps};

/// How far behind a program its words are looked at, in bytes. A stream's context holds more.
const LINE_BYTES: usize = 192;
/// Longest name of a program or an option.
const NAME_BYTES: usize = 24;

/// How a program takes a secret.
struct Flag {
    /// The word before it; empty for the first word behind the program.
    word: &'static str,
    glued: bool,
    /// How many words later it stands by itself, if it may.
    later: Option<usize>,
    /// What stands between a name and the secret.
    sign: Option<u8>,
}

struct Rule {
    programs: Vec<&'static str>,
    /// The word that must stand first.
    subcommand: Option<&'static str>,
    flags: Vec<Flag>,
}

static RULES: LazyLock<(Vec<Rule>, [bool; 256])> = LazyLock::new(|| {
    let rules: Vec<Rule> = include_str!("../data/commands.txt")
        .lines()
        .filter_map(Rule::read)
        .collect();
    let mut first = [false; 256];
    for program in rules.iter().flat_map(|rule| &rule.programs) {
        first[program.as_bytes()[0] as usize] = true;
    }
    (rules, first)
});

impl Rule {
    fn read(line: &'static str) -> Option<Self> {
        let (programs, options) = line.split_once(": ").filter(|_| !line.starts_with('#'))?;
        let mut subcommand = None;
        let mut flags = Vec::new();
        for option in options.split_ascii_whitespace() {
            match (Flag::read(option), option.strip_prefix('/')) {
                (Some(flag), _) => flags.push(flag),
                (None, word) => subcommand = word,
            }
        }
        Some(Self {
            programs: programs.split_ascii_whitespace().collect(),
            subcommand,
            flags,
        })
    }
}

impl Flag {
    fn read(option: &'static str) -> Option<Self> {
        let at = option.find(['+', '@', '*'])?;
        let form = option.as_bytes()[at];
        let rest = &option[at + 1..];
        let number = rest.bytes().take_while(u8::is_ascii_digit).count();
        Some(Self {
            word: &option[..at],
            glued: form != b'@',
            later: (form != b'+').then(|| rest[..number].parse().unwrap_or(1)),
            sign: rest.as_bytes().get(number).copied(),
        })
    }
}

fn in_program(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    // No command has an option without one.
    if memchr::memchr(b' ', bytes).is_none() {
        return;
    }
    let (rules, first) = &*RULES;
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
        if first[bytes[at] as usize] && bytes.get(behind) == Some(&b' ') {
            steps(rules.len());
            for rule in rules.iter().filter(|rule| rule.programs.contains(&name)) {
                Line::new(text, at, behind).judge(rule, found);
            }
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
struct Line<'a> {
    text: &'a str,
    /// Where each begins and ends, its quotes included.
    words: Vec<(usize, usize)>,
    /// A program stands there and no prose speaks of it.
    command: bool,
}

impl<'a> Line<'a> {
    fn new(text: &'a str, program: usize, from: usize) -> Self {
        let bytes = text.as_bytes();
        let most = text.floor_char_boundary(from + LINE_BYTES);
        let mut words = Vec::new();
        let mut at = from;
        steps(most - from);
        // A line that is indented goes on.
        let goes_on = |at: usize| matches!(bytes.get(at + 1), Some(b' ' | b'\t'));
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

    fn judge(&self, rule: &Rule, found: &mut Found) {
        let word = |index: usize| {
            self.words
                .get(index)
                .map(|&(start, end)| &self.text[start..end])
        };
        if rule
            .subcommand
            .is_some_and(|own| !(0..2).any(|index| word(index) == Some(own)))
        {
            return;
        }
        let first = usize::from(rule.subcommand.is_some());
        for flag in &rule.flags {
            if flag.word.is_empty() {
                self.secret(first + flag.later.unwrap_or(1) - 1, 0, flag, found);
                continue;
            }
            for (index, &(start, end)) in self.words.iter().enumerate() {
                match self.text[start..end].strip_prefix(flag.word) {
                    Some("") => {
                        if let Some(later) = flag.later {
                            self.secret(index + later, 0, flag, found);
                        }
                    }
                    // `--user=name:password` is an option of its own.
                    Some(_) if flag.glued => self.secret(index, flag.word.len(), flag, found),
                    _ => {}
                }
            }
        }
    }

    /// Masks the word at `index` behind `skip` bytes, if a secret it is.
    fn secret(&self, index: usize, skip: usize, flag: &Flag, found: &mut Found) {
        let Some(&(start, end)) = self.words.get(index) else {
            return;
        };
        let bytes = self.text.as_bytes();
        let mut from = start + skip;
        // `--login=x`, where only the blank stands in the list.
        let quote = bytes
            .get(from)
            .copied()
            .filter(|b| matches!(b, b'\'' | b'"'));
        from += usize::from(quote.is_some());
        if let Some(sign) = flag.sign {
            let name = self.text[from..end].bytes().position(|b| b == sign);
            match name {
                Some(name) => from += name + 1,
                None => return,
            }
        }
        let value = self.text[from..end].trim_end_matches(['\'', '"']);
        let told = match self.command {
            true => !value.is_empty(),
            false => value.len() >= 8 && is_mixed(value),
        };
        let other = value.starts_with('-') || is_placeholder(value) || is_filled_in(value);
        let number = flag.sign == Some(b':') && value.bytes().all(|b| b.is_ascii_digit());
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
            Some(mark) => Tail::quoted(char::from(mark), 0),
            None => Tail::unquoted(true),
        };
        found.hit(self.text, from, from, tail);
    }
}
