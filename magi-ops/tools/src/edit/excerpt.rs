//! What `edit` shows of a file: a few numbered lines, and the numbers of lines.
//! Bounded whatever the file is; no file is touched here.

use std::ops::Range;

use crate::bounds::{EXCERPT_BYTES, MATCH_CHARS, ShownLine};

/// Places whose lines are named.
pub(super) const PLACES: usize = 20;
/// Lines shown before and after a change.
const CONTEXT: usize = 2;
/// Lines of a change that are shown.
const LINES: usize = 40;

/// The lines from two before `at` to two after `at + length`.
pub(super) fn around(text: &[u8], at: usize, length: usize) -> String {
    let from = back(text, at, CONTEXT);
    let end = forth(text, at + length, CONTEXT);
    lines(text, from, line_number(text, from), end)
}

/// The numbered lines of `range`, counted from 0.
pub(super) fn by_number(text: &[u8], range: Range<usize>) -> String {
    let from = start_of(text, range.start);
    let end = start_of(&text[from..], range.len()) + from;
    lines(text, from, range.start + 1, end)
}

/// `line 4` or `lines 4, 9, 20`, of at most [`PLACES`].
pub(super) fn line_numbers(text: &[u8], places: &[usize]) -> String {
    let mut out = String::from(if places.len() == 1 { "line" } else { "lines" });
    let (mut number, mut counted) = (1, 0);
    for (index, at) in places.iter().take(PLACES).enumerate() {
        number += memchr::memchr_iter(b'\n', &text[counted..*at]).count();
        counted = *at;
        out += if index == 0 { " " } else { ", " };
        out += &number.to_string();
    }
    if places.len() > PLACES {
        out += ", …";
    }
    out
}

fn line_number(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}

/// Where the line begins that is `lines` before the one at `at`.
fn back(text: &[u8], at: usize, lines: usize) -> usize {
    memchr::memrchr_iter(b'\n', &text[..at])
        .nth(lines)
        .map_or(0, |end| end + 1)
}

/// Where the line ends that is `lines` after the one at `at`.
fn forth(text: &[u8], at: usize, lines: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[at..])
        .nth(lines)
        .map_or(text.len(), |end| at + end + 1)
}

/// Where line `number` begins, counted from 0.
fn start_of(text: &[u8], number: usize) -> usize {
    match number.checked_sub(1) {
        None => 0,
        Some(ends) => memchr::memchr_iter(b'\n', text)
            .nth(ends)
            .map_or(text.len(), |end| end + 1),
    }
}

/// The lines of `text[from..end]` as `read` shows them, from the number `first` on.
fn lines(text: &[u8], from: usize, first: usize, end: usize) -> String {
    let mut out = String::new();
    let mut number = first;
    let mut at = from;
    while at < end {
        let stop = memchr::memchr(b'\n', &text[at..end]).map_or(end, |stop| at + stop);
        let line = text[at..stop]
            .strip_suffix(b"\r")
            .unwrap_or(&text[at..stop]);
        let shown = ShownLine::new(line, false, MATCH_CHARS).text;
        let line = format!("{number:>6}\t{shown}\n");
        if number - first == LINES || out.len() + line.len() > EXCERPT_BYTES {
            out += "[and more lines]\n";
            break;
        }
        out += &line;
        number += 1;
        at = stop + 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lines_around_a_change_are_shown_with_their_numbers() {
        let text = b"1\n2\n3\n4\n5\n6\n7\n";
        assert_eq!(
            around(text, 6, 1),
            "     2\t2\n     3\t3\n     4\t4\n     5\t5\n     6\t6\n"
        );
        assert_eq!(around(text, 0, 0), "     1\t1\n     2\t2\n     3\t3\n");
        assert_eq!(around(b"", 0, 0), "");
        assert_eq!(by_number(text, 1..3), "     2\t2\n     3\t3\n");
        assert_eq!(by_number(text, 6..99), "     7\t7\n");
    }

    proptest! {
        #[test]
        fn excerpts_are_bounded(text in proptest::collection::vec(any::<u8>(), 0..400), at in 0_usize..400, times in 1_usize..100) {
            let text = text.repeat(times);
            let at = at.min(text.len());
            let shown = around(&text, at, (text.len() - at) / 2);
            prop_assert!(shown.len() <= EXCERPT_BYTES + 32);
            prop_assert!(shown.lines().count() <= LINES + 1 || shown.contains('\r'));
        }
    }
}
