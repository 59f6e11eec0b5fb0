//! The committed seeds of the fuzz target through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/consumer_frames.rs"]
#[allow(unreachable_pub)]
mod consumer_frames;
#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub)]
mod input;
#[path = "../../../fuzz/src/line_stream.rs"]
#[allow(unreachable_pub)]
mod line_stream;
#[path = "../../../fuzz/src/naive.rs"]
#[allow(unreachable_pub, dead_code)]
mod naive;

/// Checks every seed; gives the names that the session of one dialect reached.
fn replay(dialect: usize) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/consumer_frames");
    let mut reached = BTreeSet::new();
    for seed in fs::read_dir(folder).unwrap() {
        let bytes = fs::read(seed.unwrap().path()).unwrap();
        reached.extend(consumer_frames::check(&bytes)[dialect].iter().cloned());
    }
    reached
}

#[test]
fn every_answer_and_event_of_local_agent_is_reached_and_holds() {
    let said = [
        // answers
        "Initialized",
        "Status",
        "SessionCreated",
        "SessionOpened",
        "HistoryPage",
        "TurnAdmitted",
        "CancellationRequested",
        "ApprovalRecorded",
        "Stopping",
        "Refused",
        // events
        "InputPersisted",
        "MessageDelta",
        "MessageReconcile",
        "ActivityEvent",
        "ApprovalRequested",
        "Diagnostic",
        "RunFinished",
        // broken rules
        "AfterTerminal",
        "DuplicateKey",
        "FrameTooLarge",
        "IncompleteFrame",
        "Missing",
        "OutOfOrder",
        "Sequence",
        "UnknownErrorCode",
        "UnknownEvent",
        "UnknownProtocol",
        "UnknownRequest",
        "UnknownRun",
        "Unreconciled",
        "WrongType",
    ];
    reaches(&replay(0), &said);
}

#[test]
fn every_answer_and_event_of_application_service_is_reached_and_holds() {
    let said = [
        // answers
        "Initialized",
        "Capabilities",
        "Status",
        "Sessions",
        "SessionOpen",
        "SessionClosed",
        "Replay",
        "TurnAccepted",
        "CancellationRequested",
        "AuthStatus",
        "LoginStarted",
        "CallbackSubmitted",
        "LoggedOut",
        "Providers",
        "Models",
        "CatalogRefreshed",
        "Config",
        "ConfigSet",
        "Failed",
        // events
        "TurnStarted",
        "AssistantDelta",
        "Activity",
        "TurnTerminal",
        "LoginProgress",
        "LoginTerminal",
        // broken rules
        "AdvertisementChanged",
        "AfterTerminal",
        "DuplicateKey",
        "IdentityMismatch",
        "IncompleteFrame",
        "Missing",
        "OutOfOrder",
        "Sequence",
        "UnknownEvent",
        "UnknownRequest",
    ];
    reaches(&replay(1), &said);
}

fn reaches(reached: &BTreeSet<String>, wanted: &[&str]) {
    let missed: Vec<_> = wanted
        .iter()
        .filter(|name| !reached.contains(**name))
        .collect();
    assert!(missed.is_empty(), "no seed reaches {missed:?}: {reached:?}");
}
