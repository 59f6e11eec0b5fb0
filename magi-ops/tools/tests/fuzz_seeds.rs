//! The committed seeds of the fuzz target through the same checks, without a fuzzer, and lines put together at random.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[path = "../../../fuzz/src/command_line.rs"]
#[allow(unreachable_pub)]
mod command_line;

#[test]
fn command_line_seeds_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/command_line");
    let reached: BTreeSet<_> = fs::read_dir(folder)
        .unwrap()
        .map(|seed| command_line::check(&fs::read(seed.unwrap().path()).unwrap()))
        .collect();
    let expected = [
        "allowed",
        "characters",
        "complex",
        "default",
        "denied",
        "no text",
        "redirection",
        "substitution",
        "unknown",
    ];
    assert_eq!(reached, expected.into());
}

proptest! {
    #[test]
    fn lines_of_what_shells_read_specially_hold(
        line in "(ls|echo|cat| |  |a|git|push|;|\n|&&|\\||'|\"|#|\\\\|\\$|\\{|\\}|=|<|>|2>&1|&|X|`|\\(|\\)|!|\\[|\\]|~|\\*|-v|\t){0,24}"
    ) {
        command_line::check(line.as_bytes());
    }
}
