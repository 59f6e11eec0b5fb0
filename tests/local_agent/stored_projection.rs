//! What of a stored history is shown, and its budgets (spec: "Owned sessions and chat history").
//! What a session restores is the parent's.

use super::*;

#[test]
fn visible_text_must_be_there_and_valid() {
    let tool = json!({"type": "tool_started", "activity_id": "act", "call_id": "c", "response": 0,
        "name": "read", "input": {}});
    let visible = [
        (json!({"type": "user_input", "message_id": "m"}), "text"),
        (
            json!({"type": "assistant_text", "message_id": "m", "response": 0}),
            "text",
        ),
        (
            json!({"type": "reasoning", "provider_summary": true}),
            "text",
        ),
        (
            json!({"type": "diagnostic", "code": "execution_failed"}),
            "summary",
        ),
        (
            json!({"type": "tool_finished", "activity_id": "act", "call_id": "c", "name": "read",
            "is_error": false, "content": ""}),
            "summary",
        ),
    ];
    let opened = |bodies: Vec<Value>, harm: &dyn Fn(Vec<u8>) -> Vec<u8>| {
        let place = place_with(turn(bodies));
        let file = place.session_file(SESSION);
        let harmed = harm(std::fs::read(&file).unwrap());
        std::fs::write(&file, harmed).unwrap();
        let mut agent = Agent::ready(&place);
        let answer = agent.call("session.open", json!({"session_id": SESSION}));
        agent.end();
        answer["error"]["code"]
            .as_str()
            .unwrap_or("opened")
            .to_owned()
    };
    // A text that is no text: half a surrogate pair, bytes that are not UTF-8.
    let put = |raw: &'static [u8]| {
        move |file: Vec<u8>| {
            let at = file
                .windows(4)
                .position(|window| window == b"MARK")
                .unwrap();
            [&file[..at], raw, &file[at + 4..]].concat()
        }
    };
    let unharmed = |file: Vec<u8>| file;
    for (body, member) in visible {
        let with = |text: Value| {
            let mut body = body.clone();
            body[member] = text;
            vec![tool.clone(), body]
        };
        assert_eq!(opened(with(json!("MARK")), &unharmed), "opened", "{body}");
        let absent = vec![tool.clone(), body.clone()];
        assert_eq!(opened(absent, &unharmed), "session_invalid", "{body}");
        for other in [Value::Null, json!(5), json!(["MARK"])] {
            assert_eq!(opened(with(other), &unharmed), "session_invalid", "{body}");
        }
        for raw in [&b"\\ud800"[..], b"\xff"] {
            assert_eq!(
                opened(with(json!("MARK")), &put(raw)),
                "session_invalid",
                "{body}"
            );
        }
    }
    // An answer may leave its text out if it was stored in pieces, and only then.
    let end = json!({"type": "assistant_message", "message_id": "m", "response": 0});
    let piece =
        |id: &str| json!({"type": "assistant_text", "message_id": id, "response": 0, "text": "t"});
    assert_eq!(opened(vec![piece("m"), end.clone()], &unharmed), "opened");
    for bodies in [vec![end.clone()], vec![piece("other"), end]] {
        assert_eq!(opened(bodies, &unharmed), "session_invalid");
    }
}

#[test]
fn provider_only_records_are_not_shown() {
    let place = place_with(turn(vec![
        selection("fixture", "canary-model", "high"),
        json!({"type": "thought", "response": 0, "text": "canary-thought", "signature": "canary-signature"}),
        json!({"type": "reasoning", "item_id": "i", "text": "canary-reasoning"}),
        json!({"type": "tool_started", "activity_id": "act", "call_id": "canary-call", "response": 0,
            "name": "read", "input": {"path": "canary-input"}}),
        json!({"type": "tool_finished", "activity_id": "act", "call_id": "canary-call", "name": "read",
            "is_error": false, "summary": "read: 1 line", "content": "canary-content"}),
        json!({"type": "assistant_message", "message_id": "a", "response": 1, "text": "Said."}),
    ]));
    let (entries, complete) = read(&place);
    assert!(complete);
    assert!(
        !json!(entries).to_string().contains("canary"),
        "{entries:?}"
    );
    let kinds: Vec<_> = entries.iter().map(|entry| &entry["kind"]).collect();
    assert_eq!(kinds, ["user", "activity", "assistant"]);
}

#[test]
fn legacy_output_without_text_uses_its_chunks() {
    let piece = |text: &str| json!({"type": "assistant_text", "message_id": "a", "response": 0, "text": text});
    let place = place_with(turn(vec![
        piece("One "),
        piece("two "),
        piece("three."),
        json!({"type": "assistant_message", "message_id": "a", "response": 0}),
    ]));
    let (entries, complete) = read(&place);
    assert_eq!(texts(&entries, "assistant"), ["One two three."]);
    assert!(complete);
}

#[test]
fn stored_chunks_and_complete_output_are_projected_once() {
    let piece = |text: &str| json!({"type": "assistant_text", "message_id": "a", "response": 0, "text": text});
    let place = place_with(turn(vec![
        piece("One "),
        piece("two"),
        json!({"type": "assistant_message", "message_id": "a", "response": 0, "text": "One two three."}),
    ]));
    assert_eq!(texts(&read(&place).0, "assistant"), ["One two three."]);
}

#[test]
fn reasoning_needs_explicit_provenance_and_a_repeated_summary_replaces() {
    let reasoning = |item: &str, text: &str, summary: Value| {
        let mut body = json!({"type": "reasoning", "item_id": item, "text": text});
        if !summary.is_null() {
            body["provider_summary"] = summary;
        }
        body
    };
    let place = place_with(turn(vec![
        reasoning("i1", "older unverified", Value::Null),
        reasoning("i2", "raw", json!(false)),
        reasoning("i3", "first version", json!(true)),
        reasoning("i4", "another", json!(true)),
        reasoning("i3", "second version", json!(true)),
    ]));
    let (entries, _) = read(&place);
    let mut shown = texts(&entries, "reasoning_summary");
    shown.sort_unstable();
    assert_eq!(shown, ["another", "second version"]);
}

#[test]
fn tool_that_never_finished_is_partial() {
    let place = place_with(
        vec![
            session_record(),
            user(1, "prompt"),
            json!({
                "type": "tool_started", "activity_id": "act", "call_id": "c", "response": 0,
                "name": "read", "input": {"path": "input-canary"}
            }),
        ]
        .into_iter()
        .map(|body| (1, body)),
    );
    let (entries, complete) = read(&place);
    let activity = entries
        .iter()
        .find(|entry| entry["kind"] == "activity")
        .expect("an activity");
    assert_eq!(activity["partial"], true);
    assert!(!complete);
    assert!(
        !json!(entries).to_string().contains("input-canary"),
        "raw params in the history"
    );
}

#[test]
fn interrupted_earlier_turn_keeps_the_projection_incomplete() {
    let place = place_with([
        (1, session_record()),
        (1, user(1, "interrupted")),
        (2, user(2, "whole")),
        (2, finished()),
    ]);
    let (entries, complete) = read(&place);
    assert!(!complete);
    assert_eq!(texts(&entries, "user"), ["interrupted", "whole"]);
    assert_eq!(texts(&entries, "diagnostic").len(), 1);
}

#[test]
fn stored_secrets_are_redacted_when_projected() {
    let secret = ["ghp", "_", "a8Kd93LmQpR7sT2vXy5ZbC1nE4fG6hJ0wU9i"].concat();
    let place = place_with(turn(vec![
        json!({"type": "assistant_text", "message_id": "a", "response": 0, "text": secret[..20]}),
        json!({"type": "assistant_text", "message_id": "a", "response": 0, "text": secret[20..]}),
        json!({"type": "assistant_message", "message_id": "a", "response": 0}),
        json!({"type": "diagnostic", "code": "execution_failed", "summary": format!("Key {secret}")}),
    ]));
    let (entries, _) = read(&place);
    let joined: String = entries
        .iter()
        .map(|entry| entry["text"].as_str().unwrap())
        .collect();
    assert!(
        !joined.contains(&secret) && !joined.contains(&secret[..20]),
        "{joined}"
    );
}

fn prompts(count: u64, text: &str) -> Arc<Place> {
    let turns = (1..=count).flat_map(|n| [(n, user(n, text)), (n, finished())]);
    place_with(std::iter::once((1, session_record())).chain(turns))
}

#[test]
fn projection_of_10000_parts_is_served_and_one_more_is_history_limit() {
    let (entries, complete) = read(&prompts(10_000, "p"));
    assert_eq!(entries.len(), 10_000);
    assert!(complete);
    assert_over_budget(&prompts(10_001, "p"));
}

#[test]
fn projection_above_8_mib_is_history_limit() {
    // 16,000 bytes each: 500 stay below 8 MiB, 600 do not.
    let text = "t".repeat(16_000);
    let (entries, complete) = read(&prompts(500, &text));
    assert_eq!(entries.len(), 500);
    assert!(complete);
    assert_over_budget(&prompts(600, &text));
}

#[test]
fn stored_file_of_more_than_100000_lines_is_history_limit() {
    // Records that show nothing: only their number is too much.
    let bodies = std::iter::once(session_record())
        .chain([user(1, "prompt")])
        .chain(
            (0..100_000)
                .map(|n| json!({"type": "reasoning", "item_id": n.to_string(), "text": "r"})),
        )
        .map(|body| (1, body));
    assert_over_budget(&place_with(bodies));
}

#[test]
fn stored_file_above_64_mib_is_history_limit() {
    let text = "r".repeat(1 << 20);
    let bodies = std::iter::once(session_record())
        .chain([user(1, "prompt")])
        .chain(
            (0..64).map(|n| json!({"type": "reasoning", "item_id": n.to_string(), "text": text})),
        )
        .map(|body| (1, body));
    assert_over_budget(&place_with(bodies));
}
