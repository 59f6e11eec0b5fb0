//! The committed seeds of the fuzz targets through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;
#[path = "../../../fuzz/src/mighty_format.rs"]
#[allow(unreachable_pub)]
mod mighty_format;
#[path = "../../../fuzz/src/mighty_parse.rs"]
#[allow(unreachable_pub)]
mod mighty_parse;

fn seeds(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|seed| fs::read(seed.unwrap().path()).unwrap())
}

#[test]
fn mighty_parse_seeds_hold() {
    let reached: BTreeSet<_> = seeds("mighty_parse")
        .flat_map(|seed| mighty_parse::check(&seed))
        .collect();
    let expected = [
        "MT0001", "MT0002", "MT0003", "MT0004", "MT0006", "MT0010", "MT0011", "MT0012", "MT0020",
        "MT0021", "MT0030",
    ];
    assert_eq!(reached, expected.into());
}

#[test]
fn mighty_format_seeds_hold() {
    let formatted = seeds("mighty_format")
        .filter(|seed| mighty_format::check(seed))
        .count();
    assert!(formatted > 25, "{formatted}");
}
