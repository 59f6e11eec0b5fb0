//! Tests of the projection and its pages: what is shown of which records, and that every bound holds for any text.
//! Pages are measured as real JSON, with the longest names a dialect may use.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::{Value, json};
use store::Redactor;
use store::sessions::{Body, Outcome, Record};

use super::*;

mod pages;

const REVISION: &str = "00000000-0000-4000-8000-000000000000";

fn records(bodies: Vec<Body>) -> Vec<Record> {
    (1..)
        .zip(bodies)
        .map(|(n, body)| Record {
            v: 1,
            n,
            session: "s".into(),
            at: 0,
            turn: Some("t".into()),
            body,
        })
        .collect()
}

/// The projection of records in order.
fn project(records: &[Record]) -> Projection {
    let mut projector = Projector::default();
    for record in records {
        projector.take(record);
    }
    projector.finish()
}

fn user(id: &str, text: &str) -> Body {
    Body::UserInput {
        message_id: id.into(),
        text: text.into(),
    }
}

fn piece(id: &str, text: &str) -> Body {
    Body::AssistantText {
        message_id: id.into(),
        response: 0,
        text: text.into(),
    }
}

fn whole(id: &str, text: Option<&str>, partial: bool) -> Body {
    Body::AssistantMessage {
        message_id: id.into(),
        response: 0,
        text: text.map(Into::into),
        partial,
    }
}

fn end(outcome: Outcome) -> Body {
    Body::TurnFinished {
        outcome,
        error_code: None,
    }
}

fn summary(item: Option<&str>, text: &str, provider_summary: bool) -> Body {
    Body::Reasoning {
        item_id: item.map(Into::into),
        text: text.into(),
        provider_summary,
    }
}

fn tool(id: &str) -> Body {
    Body::ToolStarted {
        activity_id: id.into(),
        call_id: id.into(),
        response: 0,
        name: "read".into(),
        input: json!({"path": "input-canary"}),
        subject: None,
        parent: None,
    }
}

fn tool_end(id: &str, is_error: bool) -> Body {
    Body::ToolFinished {
        activity_id: id.into(),
        call_id: id.into(),
        name: "read".into(),
        is_error,
        summary: "read 3 lines".into(),
        content: "result-canary".into(),
        parent: None,
    }
}

fn snapshot(bodies: Vec<Body>) -> Snapshot {
    Snapshot::new(project(&records(bodies)), &Redactor::default()).unwrap()
}

/// Kind, text and partial of each message, and completeness.
fn shown(bodies: Vec<Body>) -> (Vec<(EntryKind, String, bool)>, bool) {
    let snapshot = snapshot(bodies);
    let all = snapshot
        .parts
        .iter()
        .map(|part| (part.kind, part.text.to_string(), part.partial))
        .collect();
    (all, snapshot.complete)
}

use EntryKind::{Activity, Assistant, Diagnostic, ReasoningSummary, User};

#[test]
fn ids_are_the_stored_ones_and_never_twice() {
    let run = || {
        vec![
            user("u", "x"),
            tool("t"),
            tool_end("t", false),
            whole("t", Some("y"), false),
            end(Outcome::Completed),
        ]
    };
    let snapshot = snapshot([run(), run(), vec![tool("again.3.1")]].concat());
    let ids: Vec<_> = snapshot
        .parts
        .iter()
        .map(|part| part.message_id.as_str())
        .collect();
    assert_eq!(ids[..2], ["u", "t"]);
    let unique: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(unique.len(), ids.len(), "{ids:?}");
    assert!(ids.iter().all(|id| crate::is_id(id)));
}

#[test]
fn activities_and_diagnostics_are_one_bounded_line() {
    let started = |name: &str| Body::ToolStarted {
        activity_id: "a".into(),
        call_id: "c".into(),
        response: 0,
        name: name.into(),
        input: json!({}),
        subject: None,
        parent: None,
    };
    let ended = |name: &str, summary: &str| Body::ToolFinished {
        activity_id: "a".into(),
        call_id: "c".into(),
        name: name.into(),
        is_error: true,
        summary: summary.into(),
        content: String::new(),
        parent: None,
    };
    let long = "x\n".repeat(1500);
    for (name, summary) in [
        (long.as_str(), "failed"),
        ("read", long.as_str()),
        ("", ""),
        ("\u{1f511}", "\0\u{85}"),
    ] {
        for bodies in [
            vec![started(name)],
            vec![started(name), ended(name, summary)],
        ] {
            let (all, _) = shown([vec![user("u", "x")], bodies].concat());
            let text = &all[1].1;
            assert!(text.len() <= 1024 && !text.contains('\n'), "{text}");
            assert!(
                text.contains(" started") || text.contains(" failed"),
                "{text}"
            );
        }
    }
    for (summary, shown_as) in [
        ("read failed: not found", "read failed: not found"),
        ("read a.txt: not found", "read failed: a.txt: not found"),
        ("read failed.txt: no", "read failed: failed.txt: no"),
        ("read a.txt", "read failed: a.txt"),
        ("read", "read failed"),
        ("failed", "read failed"),
        ("reading", "read failed: reading"),
        (
            "denied by the settings",
            "read failed: denied by the settings",
        ),
    ] {
        let (all, _) = shown(vec![
            user("u", "x"),
            started("read"),
            ended("read", summary),
        ]);
        assert_eq!(all[1].1, shown_as);
    }
    // What a call is about stands there also if nobody stored its end.
    for (subject, begun) in [
        ("read a.txt", "read started: a.txt"),
        ("read", "read started"),
    ] {
        let mut start = started("read");
        if let Body::ToolStarted { subject: own, .. } = &mut start {
            *own = Some(subject.to_owned());
        }
        let (all, _) = shown(vec![user("u", "x"), start]);
        assert_eq!(all[1].1, begun);
    }
    let diagnostic = Body::Diagnostic {
        code: "c".into(),
        summary: long,
    };
    let (all, _) = shown(vec![user("u", "x"), diagnostic]);
    assert!(all[1].1.len() <= 1024 && !all[1].1.contains('\n'));
}

/// A crash, or records that are missing, may have cut a secret in two.
#[test]
fn half_a_secret_at_the_end_of_an_open_message_is_not_shown() {
    let redactor = Redactor::default();
    redactor.learn(["correct-horse-battery-staple"]);
    let begun = || vec![user("u", "Question"), piece("a", "It is correct-horse-bat")];
    let mut holed = records([begun(), vec![piece("a", "lost"), whole("a", None, false)]].concat());
    holed.remove(2);
    for records in [records(begun()), holed] {
        let snapshot = Snapshot::new(project(&records), &redactor).unwrap();
        let shown = snapshot.parts.iter().find(|part| part.message_id == "a");
        assert_eq!(shown.unwrap().text.as_str(), "It is ");
    }
}

#[test]
fn a_session_without_history_is_complete() {
    let page = snapshot(Vec::new()).page(0, "s", REVISION).unwrap();
    assert!(page.entries.is_empty() && page.complete && page.next_cursor.is_none());
}

#[test]
fn one_reconciled_copy_of_an_answer() {
    for answer in [
        vec![piece("a", "Hel"), piece("a", "lo"), whole("a", None, false)],
        vec![
            piece("a", "Hel"),
            piece("a", "XX"),
            whole("a", Some("Hello"), false),
        ],
        vec![whole("a", Some("Hello"), false)],
    ] {
        let mut bodies = vec![user("u", "hi")];
        bodies.extend(answer);
        bodies.push(end(Outcome::Completed));
        let (all, complete) = shown(bodies);
        let want = [
            (User, "hi".into(), false),
            (Assistant, "Hello".into(), false),
        ];
        assert_eq!(all, want);
        assert!(complete);
    }
}

#[test]
fn an_interrupted_turn_is_partial_and_never_complete() {
    let (all, complete) = shown(vec![
        user("u", "hi"),
        piece("a", "Half of "),
        user("v", "again"),
        whole("b", Some("Whole."), false),
        end(Outcome::Completed),
    ]);
    assert!(!complete);
    assert_eq!(all[1], (Assistant, "Half of ".into(), true));
    assert_eq!((all[2].0, all[2].2), (Diagnostic, true));
    assert_eq!(all[3].1, "again");
    assert_eq!(all[4], (Assistant, "Whole.".into(), false));
}

#[test]
fn recorded_failures_and_cancellations_keep_partial_replies_and_completeness() {
    for outcome in [Outcome::Cancelled, Outcome::Failed] {
        let (all, complete) = shown(vec![
            user("u", "hi"),
            whole("a", Some("Half of "), true),
            end(outcome),
        ]);
        assert!(complete);
        assert_eq!(all[1], (Assistant, "Half of ".into(), true));
    }
}

#[test]
fn only_summaries_with_provenance_show_and_later_ones_replace() {
    let (all, _) = shown(vec![
        user("u", "hi"),
        summary(Some("1"), "raw thinking", false),
        summary(Some("1"), "first", true),
        summary(None, "unnamed", true),
        summary(Some("1"), "second", true),
        summary(None, "unnamed too", true),
        end(Outcome::Completed),
        user("v", "hi"),
        summary(Some("1"), "of another turn", true),
        end(Outcome::Completed),
    ]);
    let summaries: Vec<_> = all
        .iter()
        .filter(|(kind, ..)| *kind == ReasoningSummary)
        .map(|(_, text, _)| text.as_str())
        .collect();
    assert_eq!(
        summaries,
        ["second", "unnamed", "unnamed too", "of another turn"]
    );
    // Records from before provenance was stored have none.
    let line = r#"{"v":1,"n":1,"session":"s","at":0,"body":{"type":"reasoning","text":"old"}}"#;
    let old: Record = serde_json::from_str(line).unwrap();
    let snapshot = Snapshot::new(project(&[old]), &Redactor::default()).unwrap();
    assert!(snapshot.parts.is_empty());
}

#[test]
fn tools_show_their_state_and_no_bodies() {
    let (all, _) = shown(vec![
        user("u", "hi"),
        tool("x"),
        tool("y"),
        tool("z"),
        tool_end("y", true),
        tool_end("x", false),
    ]);
    let tools: Vec<_> = all.iter().filter(|(kind, ..)| *kind == Activity).collect();
    assert_eq!(tools[0].1, "read completed: 3 lines");
    assert_eq!(tools[1].1, "read failed: 3 lines");
    assert_eq!((tools[2].1.as_str(), tools[2].2), ("read started", true));
    assert!(all.iter().all(|(_, text, _)| !text.contains("canary")));
}

#[test]
fn a_secret_in_pieces_is_redacted_in_one() {
    let key = ["gh", "p_a8Kd93LmQpR7sT2v", "Xy5ZbC1nE4fG6hJ0wU9i"];
    let (all, _) = shown(vec![
        user("u", "hi"),
        piece("a", key[0]),
        piece("a", key[1]),
        piece("a", key[2]),
    ]);
    assert_eq!(all[1].1, "[redacted]");
}

#[test]
fn a_compaction_is_an_entry_among_those_that_it_stands_for() {
    let checkpoint = Body::Checkpoint {
        activity_id: "compacted".into(),
        cutoff: 2,
        input: None,
        inputs: 1,
        responses: 0,
        summary: "in short: token=ghp_aB3dE6gH9jK2mN5pQ8sTaB3dE6gH9jK2mN5p".into(),
        tokens_before: 9,
        tokens_after: 1,
    };
    let end = || Body::TurnFinished {
        outcome: Outcome::Completed,
        error_code: None,
    };
    let bodies = vec![
        user("one", "first"),
        end(),
        user("two", "second"),
        checkpoint.clone(),
        end(),
    ];
    let snapshot = Snapshot::new(project(&records(bodies)), &Redactor::default()).unwrap();
    let page = snapshot.page(0, "s", REVISION).unwrap();
    let shown: Vec<_> = page
        .entries
        .iter()
        .map(|entry| (entry.message_id.as_str(), entry.kind, entry.partial))
        .collect();
    assert_eq!(
        shown,
        [
            ("one", EntryKind::User, false),
            ("two", EntryKind::User, false),
            ("compacted", EntryKind::Compaction, false),
        ]
    );
    assert!(page.complete);
    let text = page.entries[2].text.as_str();
    assert!(
        text.starts_with("in short") && !text.contains("ghp_"),
        "{text}"
    );

    // What is in the part before is not at hand, and that is said.
    let bodies = vec![
        Body::Continuation { part: 2 },
        checkpoint,
        user("two", "second"),
        end(),
    ];
    let snapshot = Snapshot::new(project(&records(bodies)), &Redactor::default()).unwrap();
    let page = snapshot.page(0, "s", REVISION).unwrap();
    let shown: Vec<_> = page
        .entries
        .iter()
        .map(|entry| (entry.kind, entry.partial))
        .collect();
    assert_eq!(
        shown,
        [
            (EntryKind::Diagnostic, true),
            (EntryKind::Compaction, false),
            (EntryKind::User, false),
        ]
    );
    assert!(!page.complete);
}

#[test]
fn what_a_turn_says_in_several_messages_is_judged_together() {
    let redactor = Redactor::default();
    redactor.learn(["supersecretkeyvalue0123456789"]);
    let turn = |first: &str, second: &str| {
        let bodies = vec![
            user("u", first),
            user("v", second),
            whole("a", Some(first), false),
            piece("b", "words between "),
            whole("b", None, false),
            whole("c", Some(first), false),
            whole("d", Some(second), false),
            user("w", second),
            whole("e", Some(second), false),
        ];
        let mut said = String::new();
        let projection = project(&records(bodies));
        let shown = projection.messages.iter();
        let shown = shown.map(|message| message.redacted(&redactor, &mut said).into_string());
        shown
            .filter(|text| !text.contains("interrupted"))
            .collect::<Vec<_>>()
    };
    let (head, tail) = ("key supersecretkeyvalu", "e0123456789 end");
    let shown = turn(head, tail);
    let masked = [
        "key [redacted]",
        "words between ",
        "key [redacted]",
        "[redacted] end",
    ];
    assert_eq!(shown[2..6], masked);
    // Another turn is another text.
    assert_eq!((&*shown[1], &*shown[7]), (tail, tail));
}
