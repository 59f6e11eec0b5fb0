//! The committed seeds of the fuzz target through the same checks, without a fuzzer.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;
#[path = "../../../fuzz/src/mcp_results.rs"]
#[allow(unreachable_pub)]
mod mcp_results;

#[test]
fn mcp_results_seeds_hold() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/mcp_results");
    let reached: BTreeSet<_> = fs::read_dir(folder)
        .unwrap()
        .flat_map(|seed| mcp_results::check(&fs::read(seed.unwrap().path()).unwrap()))
        .collect();
    let expected = ["answered", "asked or told", "failed", "nothing"];
    assert_eq!(reached, expected.into());
}
