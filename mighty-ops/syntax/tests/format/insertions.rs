//! Comments and line breaks at every token boundary of programs that use every construct
//! (formatting.md §10, point 5): whatever still parses keeps its tokens and comments and is stable.

use crate::support::{cases, checked, programs};

const INSERTED: &[&str] = &[
    " /* c */ ",
    " // c\n",
    "\n// c\n",
    "\n/* c */ ",
    "\n",
    "\n\n\n",
    " /* c\n   d */ ",
    "\n\n/// c\n\n",
];

/// Inserts at every boundary; says how many of the texts were programs.
fn at_every_boundary(text: &str, inserted: &[&str]) -> usize {
    let text = text.replace("\r\n", "\n");
    let parse = syntax::parse(text.as_str());
    let mut programs = 0;
    for token in parse.tree.tokens() {
        let at = token.range().start as usize;
        for extra in inserted {
            let changed = format!("{}{extra}{}", &text[..at], &text[at..]);
            programs += usize::from(checked(&changed).is_some());
        }
    }
    programs
}

#[test]
fn in_every_fixture() {
    let n: usize = cases()
        .iter()
        .map(|c| at_every_boundary(&c.input, INSERTED))
        .sum();
    assert!(n > 5_000, "{n}");
}

#[test]
fn in_every_program() {
    let mut n = 0;
    for (_, text) in programs() {
        if text.len() < 6_000 {
            n += at_every_boundary(&text, &INSERTED[..3]);
        }
    }
    assert!(n > 5_000, "{n}");
}
