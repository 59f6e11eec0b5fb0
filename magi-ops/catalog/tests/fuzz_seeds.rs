//! The committed seeds of the fuzz target through the same checks, without a fuzzer.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/catalog_answers.rs"]
#[allow(unreachable_pub)]
mod catalog_answers;
#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;

#[test]
fn catalog_answers_seeds_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/catalog_answers");
    let seeds = fs::read_dir(folder).unwrap();
    let reached: Vec<_> = seeds
        .map(|seed| catalog_answers::check(&fs::read(seed.unwrap().path()).unwrap()))
        .collect();
    let answers: BTreeSet<_> = reached
        .iter()
        .flat_map(|said| said[..4].iter().copied())
        .collect();
    assert_eq!(answers, ["fresh", "refused", "unavailable"].into());
    let documents: BTreeSet<_> = reached.iter().map(|said| said[4]).collect();
    assert_eq!(documents, ["fresh", "unavailable"].into());
}
