//! Commands in a text that the parser does not read, or reads as text only: everything that could be one.
//! Finds too many rather than too few: good for refusing, never for allowing.

use super::{Simple, Word, is_assignment};

/// Words that may stand in front of a command and are none.
const RESERVED: &[&str] = &[
    "if", "then", "else", "elif", "fi", "do", "done", "while", "until", "for", "case", "esac",
    "select", "function", "coproc", "time", "in", "!", "{", "}", "[[", "]]",
];

/// Every piece of `text` between two marks that could end a command, in quotes too where a substitution begins.
pub(crate) fn commands(text: &str) -> Vec<Simple> {
    let mut found = Vec::new();
    split(text, &mut found);
    // Within double quotes a substitution runs all the same, and its quotes are its own.
    let pairs = text.as_bytes().windows(2).enumerate();
    let opens = pairs
        .filter(|(_, pair)| matches!(*pair, b"$(" | b"<(" | b">("))
        .map(|(at, _)| at + 2);
    let ticks = text.match_indices('`').map(|(at, _)| at + 1);
    for at in opens.chain(ticks).take(super::MAX_OPENINGS * 2) {
        split(&text[at..], &mut found);
    }
    found
}

fn split(text: &str, found: &mut Vec<Simple>) {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut chars = text.chars();
    let end_word = |word: &mut String, words: &mut Vec<String>| {
        if !word.is_empty() {
            words.push(std::mem::take(word));
        }
    };
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                if let Some(next) = chars.next().filter(|c| *c != '\n') {
                    word.extend([c, next]);
                }
            }
            '\'' | '"' => {
                word.push(c);
                while let Some(inner) = chars.next() {
                    word.push(inner);
                    if inner == c {
                        break;
                    }
                    if inner == '\\' && c == '"' {
                        word.extend(chars.next());
                    }
                }
            }
            ' ' | '\t' => end_word(&mut word, &mut words),
            ';' | '&' | '|' | '\n' | '(' | ')' | '`' | '<' | '>' => {
                end_word(&mut word, &mut words);
                simple(&mut words, found);
            }
            c => word.push(c),
        }
    }
    end_word(&mut word, &mut words);
    simple(&mut words, found);
}

fn simple(words: &mut Vec<String>, found: &mut Vec<Simple>) {
    let words = std::mem::take(words);
    let in_front = |word: &&String| RESERVED.contains(&word.as_str()) || is_assignment(word);
    let words: Vec<Word> = words
        .iter()
        .skip_while(in_front)
        .map(|word| Word::read(word))
        .collect();
    if !words.is_empty() {
        found.push(Simple {
            words,
            ..Simple::default()
        });
    }
}
