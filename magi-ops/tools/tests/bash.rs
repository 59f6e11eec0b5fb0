//! The tool `bash` through the tools: what a model and a person are told, and its bounds.
//! Killing trees is tested in `processes.rs`.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use commands::guard;
use serde_json::{Value, json};
use std::path::Path;

use tokio_util::sync::CancellationToken;
use tools::{Context, ToolOutcome, ToolSet};

mod commands;

fn tools(workspace: &Path) -> ToolSet {
    let mut context = Context::new(workspace.to_owned(), Vec::new());
    context.guard = guard();
    ToolSet::registered(context).unwrap()
}

async fn run(input: Value) -> ToolOutcome {
    let place = tempfile::tempdir().unwrap();
    std::fs::write(place.path().join("a.txt"), "text\n").unwrap();
    let tools = tools(place.path());
    tools.run("bash", &input, CancellationToken::new()).await
}

#[tokio::test]
async fn output_and_failure_are_told() {
    for (command, content, summary, is_error) in [
        ("cat a.txt", "text\n", "exit 0, 1 line", false),
        ("true", "[no output]\n", "exit 0, 0 lines", false),
        ("printf x", "x\n", "exit 0, 1 line", false),
        (
            "echo one; echo two >&2; exit 3",
            "one\ntwo\n[exit status 3]\n",
            "exit 3, 2 lines",
            true,
        ),
        (
            "kill -9 $$",
            "[no output]\n[ended by signal 9]\n",
            "signal 9, 0 lines",
            true,
        ),
    ] {
        let outcome = run(json!({ "command": command })).await;
        let expected = ToolOutcome {
            content: content.to_owned(),
            images: Vec::new(),
            is_error,
            timed_out: false,
            summary: summary.to_owned(),
            why: None,
        };
        assert_eq!(outcome, expected, "{command}");
    }
}

#[tokio::test]
async fn the_time_limit_is_told_with_what_was_written() {
    let outcome = run(json!({ "command": "echo part; sleep 1000", "timeout_ms": 4000 })).await;
    assert!(outcome.is_error && outcome.timed_out);
    assert_eq!(
        outcome.content,
        "part\n[timed out after 4000 ms and was killed]\n"
    );
    assert_eq!(outcome.summary, "timed out after 4000 ms, 1 line");
}

#[tokio::test]
async fn long_output_is_cut_in_the_middle() {
    let outcome = run(json!({ "command": "seq 100000" })).await;
    assert!(outcome.content.starts_with("1\n2\n3\n"));
    assert!(outcome.content.ends_with("\n99999\n100000\n"));
    assert!(
        outcome
            .content
            .contains("\n[... 556127 bytes left out ...]\n")
    );
    assert!(outcome.content.len() < 33_000);
    assert_eq!(outcome.summary, "exit 0, 100000 lines");
}

#[tokio::test]
async fn wrong_inputs_are_refused() {
    let long = "x".repeat(32 * 1024 + 1);
    for (input, content) in [
        (json!({}), "missing field `command`"),
        (json!({ "command": " \n" }), "command must not be empty"),
        (json!({ "command": "a\0b" }), "contains a NUL"),
        (json!({ "command": long }), "longer than 32768 bytes"),
        (
            json!({ "command": "true", "timeout_ms": 0 }),
            "from 1 to 600000",
        ),
        (
            json!({ "command": "true", "timeout_ms": 600_001 }),
            "from 1 to 600000",
        ),
        (
            json!({ "command": "true", "timeout_ms": -1 }),
            "timeout_ms: ",
        ),
    ] {
        let outcome = run(input).await;
        assert!(outcome.content.contains(content), "{}", outcome.content);
        assert_eq!(outcome.summary, "invalid input");
    }
    let longest = format!("#{}", "x".repeat(32 * 1024 - 1));
    assert!(!run(json!({ "command": longest })).await.is_error);
}

#[tokio::test]
async fn bytes_that_are_no_text_are_said_to_be_replaced() {
    let outcome = run(json!({ "command": "printf 'a\\377b'" })).await;
    assert_eq!(
        outcome.content,
        "a\u{fffd}b\n[not valid UTF-8: wrong bytes are shown as U+FFFD]\n"
    );
    let outcome = run(json!({ "command": "printf 'a\u{fffd}b'" })).await;
    assert_eq!(outcome.content, "a\u{fffd}b\n");
}

#[tokio::test]
async fn a_missing_workspace_is_an_error() {
    let place = tempfile::tempdir().unwrap();
    let tools = tools(&place.path().join("none"));
    let input = json!({ "command": "true" });
    let outcome = tools.run("bash", &input, CancellationToken::new()).await;
    assert_eq!(outcome.summary, "could not run");
}

#[tokio::test]
async fn cancelling_is_told_as_by_every_tool() {
    let place = tempfile::tempdir().unwrap();
    let tools = tools(place.path());
    let input = json!({ "command": "echo $$ >> pids; sleep 1000" });
    let cancel = CancellationToken::new();
    let canceller = async {
        let pids = commands::wait_for_pids(place.path(), 1).await;
        cancel.cancel();
        pids
    };
    let (outcome, pids) = tokio::join!(tools.run("bash", &input, cancel.clone()), canceller);
    assert_eq!(outcome.content, "the call was cancelled");
    assert_eq!(outcome.summary, "cancelled");
    assert!(!outcome.timed_out);
    commands::wait_until_dead(&pids).await;
}

#[test]
fn the_schema_names_the_bounds() {
    let specs = ToolSet::registered(Context::new("/".into(), Vec::new())).unwrap();
    let bash = specs.spec("bash").unwrap();
    assert!(!bash.read_only);
    let schema = &bash.input_schema;
    assert_eq!(schema["required"], json!(["command"]));
    assert_eq!(schema["properties"]["timeout_ms"]["maximum"], 600_000);
    assert_eq!(schema["properties"]["timeout_ms"]["minimum"], 1);
    assert_eq!(schema["additionalProperties"], false);
}
