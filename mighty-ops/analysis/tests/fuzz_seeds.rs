//! The committed seeds of the fuzz targets through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;
#[path = "../../../fuzz/src/mighty_check.rs"]
#[allow(unreachable_pub)]
mod mighty_check;
#[path = "../../../fuzz/src/mighty_parse.rs"]
#[allow(unreachable_pub, dead_code)]
mod mighty_parse;
#[path = "../../../fuzz/src/mighty_patch.rs"]
#[allow(unreachable_pub)]
mod mighty_patch;

fn seeds(target: &str) -> impl Iterator<Item = Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|seed| fs::read(seed.unwrap().path()).unwrap())
}

#[test]
fn mighty_check_seeds_hold() {
    let reached: BTreeSet<_> = seeds("mighty_check")
        .flat_map(|seed| mighty_check::check(&seed))
        .collect();
    assert!(reached.len() >= 90, "{} codes: {reached:?}", reached.len());
    for band in [0, 1, 2, 3, 4, 6] {
        assert!(reached.iter().any(|code| code / 1000 == band), "{band}");
    }
}

#[test]
fn mighty_patch_seeds_hold() {
    let fixed: BTreeSet<_> = seeds("mighty_patch")
        .flat_map(|seed| mighty_patch::check(&seed))
        .collect();
    assert!(fixed.len() >= 60, "{} codes: {fixed:?}", fixed.len());
}
