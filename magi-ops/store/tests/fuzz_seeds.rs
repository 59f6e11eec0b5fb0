//! The committed seeds of the fuzz targets through the same checks, without a fuzzer: CI proves the seeds.
//! The checks live in `fuzz/src`; no check is written here but what the seeds must reach.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

#[path = "../../../fuzz/src/accounts_file.rs"]
#[allow(unreachable_pub)]
mod accounts_file;
#[path = "../../../fuzz/src/front_matter.rs"]
#[allow(unreachable_pub)]
mod front_matter;
#[path = "../../../fuzz/src/input.rs"]
#[allow(unreachable_pub, dead_code)]
mod input;
#[path = "../../../fuzz/src/session_file.rs"]
#[allow(unreachable_pub)]
mod session_file;
#[path = "../../../fuzz/src/settings_file.rs"]
#[allow(unreachable_pub)]
mod settings_file;
#[path = "../../../fuzz/src/settings_writer.rs"]
#[allow(unreachable_pub)]
mod settings_writer;

/// Checks every seed of `target`; gives what they came to.
fn replay<T: IntoIterator<Item = String>>(
    target: &str,
    check: impl Fn(&[u8]) -> T,
) -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let entries = fs::read_dir(folder).unwrap();
    entries
        .flat_map(|seed| check(&fs::read(seed.unwrap().path()).unwrap()))
        .collect()
}

fn reaches(reached: &BTreeSet<String>, expected: &[&str]) {
    let expected: BTreeSet<_> = expected.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(*reached, expected);
}

#[test]
fn session_file_seeds_hold() {
    let bodies = [
        "AssistantMessage",
        "AssistantText",
        "Diagnostic",
        "ProviderState",
        "Reasoning",
        "Selection",
        "Session",
        "Thought",
        "ToolFinished",
        "ToolStarted",
        "TurnFinished",
        "UserInput",
    ];
    let reached = replay("session_file", session_file::check);
    reaches(&reached, &[&bodies[..], &["Invalid"]].concat());
}

#[test]
fn front_matter_seeds_hold() {
    let reached = replay("front_matter", front_matter::check);
    let expected = [
        "disabled",
        "has a description that is too long",
        "has a field that should be a list of texts",
        "has a field that should be text",
        "has a field that should be true or false",
        "has a front matter of several documents",
        "has a front matter that is not a mapping",
        "has a front matter that is not valid YAML",
        "has a front matter that is too long",
        "has a front matter with a field twice",
        "has a front matter with a key that is not text",
        "has a name beyond `[a-z0-9-]{1,64}`",
        "has a name that is not its directory's",
        "has no description",
        "has no front matter between lines of `---`",
        "is not UTF-8",
        "is too long",
        "names a model that is too long",
        "names too many tools",
        "profile",
        "skill",
    ];
    reaches(&reached, &expected);
}

#[test]
fn settings_file_seeds_hold() {
    let reached = replay("settings_file", |seed| Some(settings_file::check(seed)));
    let expected = [
        "compaction",
        "hooks",
        "instructions",
        "invalid",
        "later",
        "mcp_servers",
        "model",
        "provider",
        "providers",
        "retention_days",
        "settings",
        "thinking_level",
        "too long",
        "version",
    ];
    reaches(&reached, &expected);
}

#[test]
fn settings_writer_seeds_hold() {
    let reached = replay("settings_writer", |seed| Some(settings_writer::check(seed)));
    let expected = [
        "Fast",
        "Level",
        "Selection",
        "Server",
        "Trust",
        "too long",
        "unusable",
    ];
    reaches(&reached, &expected);
}

#[test]
fn accounts_file_seeds_hold() {
    let reached = replay("accounts_file", |seed| Some(accounts_file::check(seed)));
    let expected = [
        "`providers` is no object",
        "accounts",
        "another version",
        "is no JSON",
        "is no JSON object",
        "longer than",
        "not in the form",
    ];
    reaches(&reached, &expected);
}
