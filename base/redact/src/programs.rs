//! Where a program is named in a command line: by a shell, and by the code of another language.
//! What is masked there stands in `masks`; what a command line means is the policy's matter.

use std::ops::Range;

use super::code::contains;
use super::vocabulary::{list, lists};

pub(super) fn is_operator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '\n' | '`')
}

pub(super) fn ends_word(c: char) -> bool {
    c.is_whitespace() || is_operator(c) || matches!(c, '"' | '\'')
}

pub(super) fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(ends_word).filter(|word| !word.is_empty())
}

pub(super) fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or_default()
}

pub(super) fn is_runner(word: &str) -> bool {
    lists("runners", file_name(word)) || is_reader(word)
}

/// Whether it runs what it reads.
pub(super) fn is_reader(word: &str) -> bool {
    lists("readers", file_name(word)) || is_interpreter(word)
}

pub(super) fn is_interpreter(word: &str) -> bool {
    let version = |c: char| c.is_ascii_digit() || c == '.';
    lists("interpreters", file_name(word).trim_end_matches(version))
}

/// A command line, and where the bodies of its here-documents stand, with the lines that open them; the later lines of
/// other texts have none.
pub(super) struct CommandText<'a> {
    pub(super) text: &'a str,
    documents: Vec<(Range<usize>, &'a str)>,
    /// An interpreter of another language stands in it.
    interpreted: bool,
    /// A shell runs it.
    runs: bool,
}

impl<'a> CommandText<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut documents = Vec::new();
        let mut open: Option<(&str, &str, usize)> = None;
        let mut from = 0;
        for line in text.split_inclusive('\n') {
            let begin = from;
            from += line.len();
            match open {
                Some((opener, end, body)) => {
                    if line.trim_start_matches('\t').trim_end_matches('\n') == end {
                        documents.push((body..begin, opener));
                        open = None;
                    }
                }
                None => open = document_end(line).map(|end| (line, end, from)),
            }
        }
        // Only where quotes are quotes beyond doubt, and nothing runs what they hold.
        let escapes = ["\\", "#", "`", "$(", "$'", "<<"];
        let plain = !escapes.iter().any(|sign| text.contains(sign));
        if plain && text.contains('\n') && !words_of(text).any(is_runner) {
            let mut rest = text;
            while let Some(start) = rest.find(['"', '\'']) {
                let (quote, behind) = rest[start..].split_at(1);
                let Some((value, after)) = behind.split_once(quote) else {
                    break;
                };
                let end = text.len() - after.len() - 1;
                let line = value.find('\n').map_or(value.len(), |at| at + 1);
                documents.push((end - value.len() + line..end, ""));
                rest = after;
            }
        }
        let interpreted = words_of(text).any(is_interpreter);
        Self {
            text,
            documents,
            interpreted,
            runs: true,
        }
    }

    /// A text that no shell runs: nothing in it names a program.
    pub(super) fn words(text: &'a str) -> Self {
        Self {
            text,
            documents: Vec::new(),
            interpreted: false,
            runs: false,
        }
    }

    /// Whether `run` may name a program, in a shell or as what code of another language calls.
    pub(super) fn names_program(&self, run: &Range<usize>) -> bool {
        if !self.runs {
            return false;
        }
        let text = self.text;
        let before = &text[..run.start];
        let call = before.trim_end_matches(['"', '\'', '\\', '[', ' ', '(']);
        let call = call.rsplit(|c: char| !c.is_alphanumeric()).next();
        let call = call.unwrap_or_default();
        let called = before.ends_with('`') || list("calls").iter().any(|word| contains(call, word));
        let first = starts_command(text, run);
        if !called && !first {
            return false;
        }
        let document = self.documents.iter().find(|(body, _)| {
            // A substitution runs.
            let runs = || {
                text[body.start..run.start].contains("$(")
                    || text[body.start..run.start].contains('`')
            };
            body.contains(&run.start) && !runs()
        });
        let reads =
            |kind: fn(&str) -> bool| document.is_some_and(|(_, line)| words_of(line).any(kind));
        // `print('…')`, and neither `$(` nor `a (`.
        let opened = before
            .trim_end_matches(['"', '\'', '\\', '[', ' '])
            .strip_suffix('(');
        let argument = opened.is_some_and(|name| name.ends_with(char::is_alphanumeric));
        match argument || self.interpreted && is_foreign(before) || reads(is_interpreter) {
            true => called,
            false => first && (document.is_none() || reads(is_reader)),
        }
    }
}

/// Whether `run` may be the first word of a command of a shell but for assignments, options, redirections and what runs
/// others.
fn starts_command(text: &str, run: &Range<usize>) -> bool {
    let before = &text[..run.start];
    let start = before.rfind(|c: char| c.is_whitespace() || is_operator(c));
    let start = start.map_or(0, |at| text.ceil_char_boundary(at + 1));
    let separates = |c| is_operator(c) && !matches!(c, '<' | '>');
    let begin = before.rfind(separates).map_or(0, |at| at + 1);
    let assigned = text[start..run.start]
        .split_once('=')
        .is_some_and(|(name, _)| {
            let name = name.trim_start_matches(['"', '\'']).trim_end_matches('+');
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        });
    if assigned || before[..begin].ends_with("=(") {
        return false;
    }
    // `find -exec` runs what stands behind it.
    let own = text[begin..start]
        .rsplit("-exec ")
        .next()
        .unwrap_or_default();
    let redirected = |before: &str| before.trim_end().ends_with(['<', '>']);
    if redirected(own) {
        // What is read may be a script.
        let line = text[run.end..].lines().next().unwrap_or_default();
        let quoted = own.rsplit(['"', '\'']).next().unwrap_or_default();
        let command = match words_of(quoted).next() {
            None | Some("done" | "fi" | "esac" | "}") => before,
            _ => quoted,
        };
        let read = own.trim_end().ends_with('<');
        return read && words_of(command).chain(words_of(line)).any(is_reader);
    }
    let mut option = false;
    words_of(own).all(|word| {
        let at = word.as_ptr() as usize - own.as_ptr() as usize;
        let rest = &own[at + word.len()..];
        // A text is code of its own, which its first word runs; one word may be an option's value.
        let quote = own[..at]
            .chars()
            .next_back()
            .filter(|c| matches!(c, '"' | '\''));
        let text = quote.is_some_and(|quote| !rest.starts_with(quote));
        let passes = option && !text
            || redirected(&own[..at])
            || word.starts_with(|c: char| c.is_ascii_digit() || c == '-')
            || is_runner(word)
            || word.contains('=');
        option = word.starts_with('-');
        passes
    })
}

/// Whether what stands behind `before` is in the code that the interpreter of another language is given in quotes.
fn is_foreign(before: &str) -> bool {
    words_of(before)
        .filter(|word| is_interpreter(word))
        .any(|word| {
            let at = word.as_ptr() as usize - before.as_ptr() as usize + word.len();
            let mut rest = before[at..].trim_start();
            while rest.starts_with('-') {
                rest = rest
                    .trim_start_matches(|c: char| !ends_word(c))
                    .trim_start();
            }
            let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
            quote.is_some_and(|quote| !rest[1..].contains(quote))
        })
}

/// What ends the here-document that `line` opens.
fn document_end(line: &str) -> Option<&str> {
    let (before, end) = line.split_once("<<")?;
    let quoted = before.contains(['#', '"', '\'', '`', '\\']) || before.contains("((");
    let end = end
        .strip_prefix('-')
        .unwrap_or(end)
        .trim_start_matches([' ', '\t']);
    let end = end.trim_start_matches(['"', '\'', '\\']);
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let behind = end.trim_start_matches(letter);
    let end = &end[..end.len() - behind.len()];
    let behind = behind.trim_start_matches(['"', '\'']);
    let whole = behind.starts_with(|c: char| c.is_whitespace() || is_operator(c));
    (!quoted && whole && end.starts_with(char::is_alphabetic)).then_some(end)
}
