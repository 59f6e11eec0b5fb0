//! `history.page`: projection, paging, revisions (spec: "Owned sessions and chat history").
//! How sessions are found and owned is tested in sessions.rs.

use serde_json::{Value, json};

use crate::client::{Agent, is_opaque_id, keys};
use crate::support::Place;

const CHUNK: usize = 16_384;

fn page(session: &str, revision: &str, cursor: Value) -> Value {
    json!({"session_id": session, "revision": revision, "cursor": cursor})
}

/// Messages in order: kind, whole text, partial. Checks parts and ids of every entry.
fn messages(entries: &[Value]) -> Vec<(String, String, bool)> {
    let mut all: Vec<(String, String, bool)> = Vec::new();
    let mut open: Option<(String, u64)> = None;
    for entry in entries {
        assert_eq!(
            keys(entry),
            ["kind", "last_part", "message_id", "part", "partial", "text"]
        );
        let id = entry["message_id"].as_str().unwrap().to_owned();
        assert!(is_opaque_id(&id), "{id}");
        let kind = entry["kind"].as_str().unwrap();
        assert!(
            [
                "user",
                "assistant",
                "reasoning_summary",
                "activity",
                "compaction",
                "diagnostic"
            ]
            .contains(&kind),
            "{kind}"
        );
        let text = entry["text"].as_str().unwrap();
        assert!(text.len() <= CHUNK, "a part of {} bytes", text.len());
        let part = entry["part"].as_u64().unwrap();
        match &open {
            Some((known, next)) => {
                assert_eq!((known, *next), (&id, part), "parts are not contiguous");
                all.last_mut().unwrap().1.push_str(text);
            }
            None => {
                assert_eq!(part, 0, "{entry}");
                all.push((
                    kind.to_owned(),
                    text.to_owned(),
                    entry["partial"].as_bool().unwrap(),
                ));
            }
        }
        open = (!entry["last_part"].as_bool().unwrap()).then_some((id, part + 1));
    }
    assert_eq!(open, None, "the last message has no last part");
    all
}

fn texts(entries: &[Value], kind: &str) -> Vec<String> {
    messages(entries)
        .into_iter()
        .filter(|(k, _, _)| k == kind)
        .map(|(_, text, _)| text)
        .collect()
}

#[test]
fn history_needs_an_attachment() {
    let mut agent = Agent::ready(&Place::new());
    assert_eq!(
        agent.err("history.page", page("x", "r", Value::Null)),
        "session_missing"
    );
    agent.end();
}

#[test]
fn impossible_session_ids_are_session_invalid() {
    let mut agent = Agent::ready(&Place::new());
    for attached in [false, true] {
        if attached {
            agent.create();
        }
        for id in ["../x", "", "a.b", &"a".repeat(65)] {
            let wanted = page(id, "r", Value::Null);
            assert_eq!(agent.err("history.page", wanted), "session_invalid");
            let wanted = json!({"session_id": id, "prompt": "go"});
            assert_eq!(agent.err("turn.start", wanted), "session_invalid");
        }
    }
    agent.end();
}

#[test]
fn history_of_another_session_is_stale_session() {
    let mut agent = Agent::ready(&Place::new());
    let created = agent.ok("session.create", json!({}));
    let revision = created["revision"].as_str().unwrap();
    assert_eq!(
        agent.err("history.page", page("other", revision, Value::Null)),
        "stale_session"
    );
    agent.end();
}

#[test]
fn history_of_a_fresh_session_is_empty_and_complete() {
    let mut agent = Agent::ready(&Place::new());
    let created = agent.ok("session.create", json!({}));
    let (session, revision) = (&created["session_id"], &created["revision"]);
    let expected = json!({
        "session_id": session, "revision": revision, "entries": [], "next_cursor": null, "complete": true
    });
    let null = json!({"session_id": session, "revision": revision, "cursor": null});
    assert_eq!(agent.ok("history.page", null), expected);
    // The cursor may be omitted.
    assert_eq!(
        agent.ok(
            "history.page",
            json!({"session_id": session, "revision": revision})
        ),
        expected
    );
    agent.end();
}

#[test]
fn other_revision_or_cursor_is_stale_revision() {
    let mut agent = Agent::ready(&Place::new());
    let created = agent.ok("session.create", json!({}));
    let session = created["session_id"].as_str().unwrap();
    let revision = created["revision"].as_str().unwrap();
    assert_eq!(
        agent.err("history.page", page(session, "never-issued", Value::Null)),
        "stale_revision"
    );
    assert_eq!(
        agent.err(
            "history.page",
            page(session, revision, json!("never-issued"))
        ),
        "stale_revision"
    );
    agent.end();
}

#[test]
fn cursor_longer_than_64_bytes_is_refused() {
    let mut agent = Agent::ready(&Place::new());
    let created = agent.ok("session.create", json!({}));
    let session = created["session_id"].as_str().unwrap();
    let revision = created["revision"].as_str().unwrap();
    let code = agent.err(
        "history.page",
        page(session, revision, json!("c".repeat(65))),
    );
    assert!(
        code == "stale_revision" || code == "invalid_params",
        "{code}"
    );
    agent.end();
}

#[test]
fn turn_gives_a_new_revision_and_outdates_the_old_one() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello, world.", "chunks": 4}]));
    let created = agent.ok("session.create", json!({}));
    let session = created["session_id"].as_str().unwrap().to_owned();
    let old = created["revision"].as_str().unwrap();
    let first = agent.turn(&session, "one");
    assert_eq!(
        agent.err("history.page", page(&session, old, Value::Null)),
        "stale_revision"
    );
    let acknowledged = first.named("input.persisted")[0]["revision"]
        .as_str()
        .unwrap();
    if acknowledged != first.revision() {
        assert_eq!(
            agent.err("history.page", page(&session, acknowledged, Value::Null)),
            "stale_revision"
        );
    }
    agent.history(&session, first.revision());
    let second = agent.turn(&session, "two");
    assert_ne!(first.revision(), second.revision());
    assert_eq!(
        agent.err(
            "history.page",
            page(&session, first.revision(), Value::Null)
        ),
        "stale_revision"
    );
    agent.end();
}

#[test]
fn reopening_gives_a_new_revision() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello."}]));
    let session = agent.create();
    let run = agent.turn(&session, "one");
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let (entries, complete) = agent.history(&session, opened["revision"].as_str().unwrap());
    assert!(complete);
    assert_eq!(messages(&entries).len(), 2);
    if opened["revision"] != run.revision() {
        assert_eq!(
            agent.err("history.page", page(&session, run.revision(), Value::Null)),
            "stale_revision"
        );
    }
    agent.end();
}

#[test]
fn history_follows_the_order_of_the_conversation() {
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": "First answer.", "chunks": 3}]},
        {"steps": [{"text": "Second answer."}]}
    ]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    agent.turn(&session, "First prompt");
    let run = agent.turn(&session, "Second prompt");
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete);
    let expected = [
        ("user", "First prompt"),
        ("assistant", "First answer."),
        ("user", "Second prompt"),
        ("assistant", "Second answer."),
    ];
    let found = messages(&entries);
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((kind, text, partial), (k, t)) in found.iter().zip(expected) {
        assert_eq!((kind.as_str(), text.as_str(), *partial), (k, t, false));
    }
    agent.end();
}

#[test]
fn one_assistant_copy_is_projected_however_it_was_streamed() {
    let mut agent = Agent::scripted(&json!([{"repeat": 500, "text": "ab"}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let (entries, _) = agent.history(&session, run.revision());
    assert_eq!(texts(&entries, "assistant"), ["ab".repeat(500)]);
    agent.end();
}

#[test]
fn paging_twice_gives_the_same_pages() {
    let mut agent = Agent::scripted(&json!([{"text": "Hello."}]));
    let session = agent.create();
    let run = agent.turn(&session, &"long prompt ".repeat(1300));
    let first = agent.history(&session, run.revision());
    assert_eq!(agent.history(&session, run.revision()), first);
    agent.end();
}

#[test]
fn pages_hold_at_most_100_entries() {
    let mut agent = Agent::scripted(&json!([{"text": "ok"}]));
    let session = agent.create();
    let mut revision = String::new();
    for n in 0..60 {
        revision = agent
            .turn(&session, &format!("prompt {n}"))
            .revision()
            .to_owned();
    }
    let first = agent.ok("history.page", page(&session, &revision, Value::Null));
    assert_eq!(first["entries"].as_array().unwrap().len(), 100);
    assert_eq!(first["complete"], false);
    let (entries, complete) = agent.history(&session, &revision);
    assert!(complete);
    assert_eq!(entries.len(), 120);
    let prompts = texts(&entries, "user");
    assert!(
        prompts
            .iter()
            .enumerate()
            .all(|(n, text)| *text == format!("prompt {n}"))
    );
    agent.end();
}

#[test]
fn pages_stay_within_32768_bytes_and_lose_nothing() {
    let mut agent = Agent::scripted(&json!([{"repeat": 1500, "text": "0123456789 0123456789 "}]));
    let session = agent.create();
    let prompts: Vec<String> = ["a", "\"", "\\", "é", "\u{1f600}", "\n"]
        .iter()
        .map(|unit| format!("x{}", unit.repeat(16_380 / unit.len())))
        .collect();
    let mut revision = String::new();
    for prompt in &prompts {
        revision = agent.turn(&session, prompt).revision().to_owned();
    }
    // `history` checks the size of every page.
    let (entries, complete) = agent.history(&session, &revision);
    assert!(complete);
    assert_eq!(texts(&entries, "user"), prompts);
    let answers = texts(&entries, "assistant");
    assert_eq!(answers.len(), prompts.len());
    assert!(
        answers
            .iter()
            .all(|text| *text == "0123456789 0123456789 ".repeat(1500))
    );
    agent.end();
}

#[test]
fn text_that_escapes_to_twice_its_size_fits_the_pages() {
    let mut agent = Agent::scripted(&json!([{"repeat": 40000, "text": "\"\n"}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    // `history` checks the size of every page.
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete);
    assert_eq!(texts(&entries, "assistant"), ["\"\n".repeat(40000)]);
    agent.end();
}

#[test]
fn control_characters_reach_no_projection() {
    let mut agent = Agent::scripted(&json!([{"text": "a\u{0}b\u{1b}[31mred\u{9b}m\tc\n"}]));
    let session = agent.create();
    let run = agent.turn(&session, "prompt\u{7} text");
    assert_eq!(run.deltas(), "abred\tc\n");
    assert_eq!(run.reconciled(), ["abred\tc\n"]);
    let (entries, _) = agent.history(&session, run.revision());
    assert_eq!(texts(&entries, "user"), ["prompt text"]);
    assert_eq!(texts(&entries, "assistant"), ["abred\tc\n"]);
    agent.end();
}

#[test]
fn verified_reasoning_summaries_are_shown_and_raw_reasoning_is_not() {
    let mut agent = Agent::scripted(&json!([
        {"reasoning": "raw-thought-canary", "provider_summary": false},
        {"reasoning": "a verified summary", "provider_summary": true},
        {"reasoning": "unmarked-thought-canary"},
        {"text": "Done."}
    ]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete);
    assert_eq!(texts(&entries, "reasoning_summary"), ["a verified summary"]);
    let everything = json!([entries, run.events]).to_string();
    assert!(!everything.contains("thought-canary"), "{everything}");
    agent.end();
}

#[test]
fn tool_summaries_show_state_and_never_results() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"tool": "read", "input": {"path": "data.txt"}},
        {"tool": "read", "input": {"path": "absent.txt"}},
        {"text": "Done."}
    ]}]}));
    place.write_file("data.txt", "result-canary-51c9\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete);
    let activities = texts(&entries, "activity");
    assert_eq!(activities.len(), 2, "{activities:?}");
    assert!(
        activities
            .iter()
            .all(|text| text.contains("read") && text.len() <= 1024)
    );
    assert!(!json!(entries).to_string().contains("result-canary"));
    agent.end();
}

#[test]
fn cancelled_turn_keeps_its_partial_reply_and_is_complete() {
    let mut agent =
        Agent::scripted(&json!([{"text": "Half of "}, {"wait_ms": 60000}, {"text": "it."}]));
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    agent.until("message.delta");
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let run = agent.finish(run_id);
    assert_eq!(run.outcome(), "cancelled");
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete, "a recorded cancellation is a complete projection");
    let assistant: Vec<_> = messages(&entries)
        .into_iter()
        .filter(|(kind, _, _)| kind == "assistant")
        .collect();
    assert_eq!(
        assistant,
        [("assistant".to_owned(), "Half of ".to_owned(), true)]
    );
    agent.end();
}

#[test]
fn failed_turn_keeps_its_partial_reply_and_is_complete() {
    let mut agent = Agent::scripted(&json!([{"text": "Half of "}, {"error": "network"}]));
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "failed");
    let (entries, complete) = agent.history(&session, run.revision());
    assert!(complete, "a recorded failure is a complete projection");
    assert_eq!(texts(&entries, "user"), ["go"]);
    assert_eq!(texts(&entries, "assistant"), ["Half of "]);
    agent.end();
}

#[test]
fn history_is_the_same_after_a_restart() {
    let place = Place::with_script(&json!({"turns": [{"steps": [
        {"text": "Looking."}, {"tool": "list", "input": {}}, {"text": "Seen."}
    ]}]}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let (before, _) = agent.history(&session, run.revision());
    agent.end();
    let mut agent = Agent::ready(&place);
    let opened = agent.ok("session.open", json!({"session_id": session}));
    let (after, complete) = agent.history(&session, opened["revision"].as_str().unwrap());
    assert!(complete);
    assert_eq!(messages(&after), messages(&before));
    agent.end();
}

#[test]
fn what_only_the_model_is_told_is_not_in_the_history() {
    let steps = json!([{"tool": "read", "input": {"path": "a.txt"}}, {"text": "Done."}]);
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "hooks": {"pre_tool": ["echo canary-reason >&2; exit 2"]},
    }));
    place.write_file("AGENTS.md", "canary-instructions\n");
    place.write_file(
        ".magi-code/agents/primary.md",
        "---\nname: primary\n---\ncanary-profile\n",
    );
    place.write_file(
        ".magi-code/skills/some/SKILL.md",
        "---\nname: some\ndescription: canary-skill\n---\nSteps\n",
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    let (entries, complete) = agent.history(&session, run.revision());
    agent.end();
    assert!(complete);
    let shown = json!([entries, run.events]).to_string();
    assert!(!shown.contains("canary"), "{shown}");
    let kinds: Vec<_> = entries.iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["user", "activity", "assistant"]);
    // The model was told.
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert!(stored.contains("canary-reason"), "{stored}");
}
