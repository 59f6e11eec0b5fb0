//! Hooks: what they are told, what refuses a call, and what is only a diagnostic.
//! Only the public API.
#![allow(clippy::unwrap_used)]
#![cfg(unix)]

use std::collections::BTreeMap;
use std::path::Path;

use commands::{guard, wait_for_pids, wait_until_dead};
use serde_json::{Value, json};
use store::settings::HookEvent;
use tokio_util::sync::CancellationToken;
use tools::hooks::{HookVerdict, Hooks};

mod commands;

const EVENTS: [(HookEvent, &str); 5] = [
    (HookEvent::SessionStart, "session_start"),
    (HookEvent::TurnStart, "turn_start"),
    (HookEvent::PreTool, "pre_tool"),
    (HookEvent::PostTool, "post_tool"),
    (HookEvent::TurnEnd, "turn_end"),
];

fn hooks(workspace: &Path, event: HookEvent, commands: &[&str]) -> Hooks {
    let commands = commands.iter().map(|line| (*line).to_owned()).collect();
    let commands = BTreeMap::from([(event, commands)]);
    Hooks::new(workspace.to_owned(), guard(), commands)
}

async fn run(event: HookEvent, commands: &[&str]) -> HookVerdict {
    let place = tempfile::tempdir().unwrap();
    hooks(place.path(), event, commands)
        .run(event, &json!({"tool": "bash"}), &CancellationToken::new())
        .await
}

fn go(diagnostics: &[&str]) -> HookVerdict {
    let diagnostics = diagnostics.iter().map(|text| (*text).to_owned()).collect();
    HookVerdict::Go { diagnostics }
}

fn refuse(reason: &str) -> HookVerdict {
    let reason = reason.to_owned();
    HookVerdict::Refuse { reason }
}

#[tokio::test]
async fn hooks_are_told_the_event_in_their_order() {
    let place = tempfile::tempdir().unwrap();
    for (event, name) in EVENTS {
        let hooks = hooks(
            place.path(),
            event,
            &["cat > told", "cp told twice; cat >> twice"],
        );
        let payload =
            json!({"session_id": "s", "run_id": "r", "tool": "bash", "input": {"command": "ä\n"}});
        let verdict = hooks.run(event, &payload, &CancellationToken::new()).await;
        assert_eq!(verdict, go(&[]));
        let twice = std::fs::read_to_string(place.path().join("twice")).unwrap();
        let lines: Vec<Value> = twice
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let mut told = payload;
        told["event"] = json!(name);
        assert_eq!(lines, [told.clone(), told]);
        assert!(hooks.any(event));
    }
    let none = Hooks::new(place.path().to_owned(), guard(), BTreeMap::new());
    assert!(!none.any(HookEvent::PreTool));
}

#[tokio::test]
async fn a_call_is_refused_by_code_or_decision() {
    for (command, verdict) in [
        (
            "echo not this >&2; exit 2",
            refuse("refused by the pre_tool hook 1: not this"),
        ),
        (
            "echo said; exit 2",
            refuse("refused by the pre_tool hook 1: said"),
        ),
        (
            "exit 2",
            refuse("refused by the pre_tool hook 1: no reason was given"),
        ),
        (
            r#"echo '{"decision":"deny","reason":"never on Fridays"}'"#,
            refuse("refused by the pre_tool hook 1: never on Fridays"),
        ),
        (
            r#"echo '{"decision":"deny"}'; exit 1"#,
            refuse("refused by the pre_tool hook 1: no reason was given"),
        ),
        (
            r#"echo '{"decision":"deny","reason":null}'"#,
            refuse("refused by the pre_tool hook 1: no reason was given"),
        ),
        (r#"echo '{"decision":"allow"}'"#, go(&[])),
        ("echo just words", go(&[])),
        (r#"echo '{"other":1}'"#, go(&[])),
        (r#"echo '{"other":1'"#, go(&[])),
        ("yes words | head -c 1000000", go(&[])),
    ] {
        assert_eq!(
            run(HookEvent::PreTool, &[command]).await,
            verdict,
            "{command}"
        );
    }
}

#[tokio::test]
async fn a_hook_that_could_not_speak_refuses_a_call() {
    for (command, why) in [
        ("kill -9 $$", "was ended by signal 9"),
        (
            "no-such-command-anywhere",
            "could not run (exit status 127)",
        ),
        ("/", "could not run (exit status 126)"),
        (
            r#"echo '{"decision":"perhaps"}'"#,
            "printed an unknown decision",
        ),
        (
            r#"echo '{"decision":false}'"#,
            "printed an unknown decision",
        ),
        // A quote within the reason that nobody escaped.
        (
            r#"echo '{"decision":"deny","reason":"not "now""}'"#,
            "printed a decision that cannot be read",
        ),
        // More than is kept.
        (
            r#"printf '{"decision":"deny","reason":"'; head -c 1000000 /dev/zero | tr '\0' x; echo '"}'"#,
            "printed a decision that cannot be read",
        ),
    ] {
        let verdict = run(HookEvent::PreTool, &[command]).await;
        let HookVerdict::Refuse { reason } = verdict else {
            panic!("{command}: {verdict:?}");
        };
        let start = format!("refused, since the pre_tool hook 1 {why}");
        assert!(reason.starts_with(&start), "{reason}");
    }
    let missing = hooks(
        Path::new("/nonexistent/here"),
        HookEvent::PreTool,
        &["true"],
    );
    let verdict = missing
        .run(HookEvent::PreTool, &json!({}), &CancellationToken::new())
        .await;
    assert!(matches!(verdict, HookVerdict::Refuse { .. }), "{verdict:?}");
}

#[tokio::test]
async fn other_failures_are_diagnostics() {
    assert_eq!(
        run(
            HookEvent::PreTool,
            &["echo odd >&2; exit 1", "true", "exit 3"]
        )
        .await,
        go(&[
            "pre_tool hook 1 ended with exit status 1: odd",
            "pre_tool hook 3 ended with exit status 3: no reason was given"
        ])
    );
    for (event, name) in EVENTS {
        if event == HookEvent::PreTool {
            continue;
        }
        let verdict = run(
            event,
            &["exit 2", "kill -9 $$", r#"echo '{"decision":"deny"}'"#],
        )
        .await;
        assert_eq!(
            verdict,
            go(&[
                &format!("{name} hook 1 ended with exit status 2: no reason was given"),
                &format!("{name} hook 2 was ended by signal 9")
            ])
        );
    }
}

#[tokio::test]
async fn the_first_refusal_is_the_last_hook() {
    let place = tempfile::tempdir().unwrap();
    let hooks = hooks(place.path(), HookEvent::PreTool, &["exit 2", "touch ran"]);
    let verdict = hooks
        .run(HookEvent::PreTool, &json!({}), &CancellationToken::new())
        .await;
    assert!(matches!(verdict, HookVerdict::Refuse { .. }));
    assert!(!place.path().join("ran").exists());
}

#[tokio::test]
async fn reasons_and_floods_are_bounded() {
    for command in [
        "yes ä | head -c 1000000 >&2; exit 2",
        "yes | head -c 1000000; exit 2",
    ] {
        let HookVerdict::Refuse { reason } = run(HookEvent::PreTool, &[command]).await else {
            panic!("{command}");
        };
        assert!((1000..1100).contains(&reason.len()), "{}", reason.len());
    }
}

#[tokio::test]
async fn cancelling_ends_a_hook_and_refuses_the_call() {
    let place = tempfile::tempdir().unwrap();
    for (count, event) in [(1, HookEvent::PreTool), (2, HookEvent::TurnEnd)] {
        let hooks = hooks(
            place.path(),
            event,
            &["echo $$ >> pids; sleep 1000", "touch ran"],
        );
        let cancel = CancellationToken::new();
        let canceller = async {
            let pids = wait_for_pids(place.path(), count).await;
            cancel.cancel();
            pids
        };
        let payload = json!({});
        let (verdict, pids) = tokio::join!(hooks.run(event, &payload, &cancel), canceller);
        match event {
            HookEvent::PreTool => {
                assert_eq!(
                    verdict,
                    refuse("refused, since the pre_tool hook 1 was cancelled")
                );
            }
            _ => assert_eq!(verdict, go(&["turn_end hook 1 was cancelled"])),
        }
        wait_until_dead(&pids).await;
        assert!(!place.path().join("ran").exists());
    }
}

/// Time is virtual: the limit is over as soon as nothing but it is waited for.
#[tokio::test(start_paused = true)]
async fn a_hook_over_its_time_refuses_a_call() {
    let why = "timed out after 10000 ms";
    assert_eq!(
        run(HookEvent::PreTool, &["sleep 1000"]).await,
        refuse(&format!("refused, since the pre_tool hook 1 {why}"))
    );
    assert_eq!(
        run(HookEvent::PostTool, &["sleep 1000"]).await,
        go(&[&format!("post_tool hook 1 {why}")])
    );
}
