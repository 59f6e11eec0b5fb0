//! The committed seeds of the fuzz targets through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../fuzz/src/application_service.rs"]
#[allow(unreachable_pub)]
mod application_service;
#[path = "../../fuzz/src/framing.rs"]
#[allow(unreachable_pub)]
mod framing;
#[path = "../../fuzz/src/input.rs"]
#[allow(unreachable_pub)]
mod input;
#[path = "../../fuzz/src/local_agent.rs"]
#[allow(unreachable_pub)]
mod local_agent;
#[path = "../../fuzz/src/mty_agent.rs"]
#[allow(unreachable_pub)]
mod mty_agent;
#[path = "../../fuzz/src/naive.rs"]
#[allow(unreachable_pub, dead_code)]
mod naive;
#[path = "../../fuzz/src/scanning.rs"]
#[allow(unreachable_pub)]
mod scanning;

/// Checks every seed of `target`; gives the words that they reached, "accepted" for none.
fn replay(target: &str, check: fn(&[u8]) -> Vec<Option<&'static str>>) -> BTreeSet<&'static str> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../fuzz/seeds")
        .join(target);
    let mut reached = BTreeSet::new();
    for seed in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(seed.unwrap().path()).unwrap();
        reached.extend(
            check(&bytes)
                .into_iter()
                .map(|word| word.unwrap_or("accepted")),
        );
    }
    reached
}

#[test]
fn local_agent_seeds_hold() {
    let reached = replay("local_agent", local_agent::check);
    let expected = [
        "accepted",
        "frame_too_large",
        "incomplete_frame",
        "invalid_frame",
        "invalid_params",
        "invalid_request",
        "protocol_mismatch",
    ];
    assert_eq!(reached, expected.into());
}

#[test]
fn application_service_seeds_hold() {
    let reached = replay("application_service", application_service::check);
    let expected = [
        "accepted",
        "invalid_json",
        "invalid_payload",
        "invalid_request",
        "limit_exceeded",
        "payload_too_large",
        "record_too_large",
        "unsupported_version",
    ];
    assert_eq!(reached, expected.into());
}

#[test]
fn mty_agent_seeds_hold() {
    let reached = replay("mty_agent", mty_agent::check);
    let expected = [
        "accepted",
        "malformed JSON: expected ",
        "malformed JSON: invalid UTF-8 at byte ",
        "malformed JSON: nested deeper than 128",
        "malformed request: `op` must be a string",
        "malformed request: the key `",
        "malformed request: expected a JSON object",
        "malformed request: missing key `op`",
    ];
    assert_eq!(reached, expected.into());
}
