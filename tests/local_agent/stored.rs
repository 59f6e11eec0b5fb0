//! Histories written by hand in the stored format: budgets, older records, restoration (spec: "Owned
//! sessions and chat history"). Sessions that the child itself wrote are in sessions.rs and history.rs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Agent;
use crate::support::Place;

const SESSION: &str = "by-hand";

/// A place with one session of these bodies, each with the turn it belongs to.
fn place_with(bodies: impl IntoIterator<Item = (u64, Value)>) -> Arc<Place> {
    let place = Place::new();
    let mut text = String::new();
    for (n, (turn, body)) in bodies.into_iter().enumerate() {
        let record = json!({
            "v": 1, "n": n + 1, "session": SESSION, "at": 1_796_000_000_000u64,
            "turn": format!("00000000-0000-4000-8000-{turn:012}"), "body": body
        });
        text += &record.to_string();
        text.push('\n');
    }
    let file = place.session_file(SESSION);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
    place
}

/// The first record of a session in the place's own workspace is not known before the place is:
/// an empty cwd stands for older metadata.
fn session_record() -> Value {
    json!({"type": "session", "created_at": 1_796_000_000_000u64, "cwd": ""})
}

fn user(n: u64, text: &str) -> Value {
    json!({"type": "user_input", "message_id": format!("user-{n}"), "text": text})
}

fn finished() -> Value {
    json!({"type": "turn_finished", "outcome": "completed"})
}

/// One finished turn of these bodies after its prompt.
fn turn(bodies: Vec<Value>) -> Vec<(u64, Value)> {
    let mut all = vec![session_record(), user(1, "prompt")];
    all.extend(bodies);
    all.push(finished());
    all.into_iter().map(|body| (1, body)).collect()
}

fn open(agent: &mut Agent) -> Value {
    agent.ok("session.open", json!({"session_id": SESSION}))
}

/// Opens the session and reads its whole history.
fn read(place: &Arc<Place>) -> (Vec<Value>, bool) {
    let mut agent = Agent::ready(place);
    let opened = open(&mut agent);
    let history = agent.history(SESSION, opened["revision"].as_str().unwrap());
    agent.end();
    history
}

fn texts<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a str> {
    entries
        .iter()
        .filter(|entry| entry["kind"] == kind)
        .map(|entry| entry["text"].as_str().unwrap())
        .collect()
}

/// The budget is enforced when opening or when paging, and never by a page that claims completeness.
fn assert_over_budget(place: &Arc<Place>) {
    let mut agent = Agent::ready(place);
    let opened = agent.call("session.open", json!({"session_id": SESSION}));
    let code = match opened.get("result") {
        None => opened["error"]["code"].as_str().unwrap().to_owned(),
        Some(result) => agent.err(
            "history.page",
            json!({"session_id": SESSION, "revision": result["revision"], "cursor": null}),
        ),
    };
    assert_eq!(code, "history_limit");
    // The connection stays usable.
    agent.create();
    agent.end();
}

#[test]
fn absent_cwd_metadata_gives_a_notice() {
    let place = place_with(turn(vec![]));
    let mut agent = Agent::ready(&place);
    assert_eq!(open(&mut agent)["notices"], json!(["cwd_unverified"]));
    agent.end();
}

#[test]
fn relative_recorded_cwd_is_cwd_mismatch() {
    for cwd in [".", "work", "../work"] {
        let mut bodies = turn(vec![]);
        bodies[0].1["cwd"] = json!(cwd);
        let mut agent = Agent::ready(&place_with(bodies));
        assert_eq!(
            agent.err("session.open", json!({"session_id": SESSION})),
            "cwd_mismatch",
            "{cwd}"
        );
        agent.end();
    }
}

#[test]
fn missing_record_is_session_invalid() {
    let place = place_with(turn(vec![session_record(), user(1, "a"), finished()]));
    let file = place.session_file(SESSION);
    let text = std::fs::read_to_string(&file).unwrap();
    let without_second: String = text
        .lines()
        .enumerate()
        .filter(|(n, _)| *n != 1)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    std::fs::write(&file, without_second).unwrap();
    let mut agent = Agent::ready(&place);
    let open = json!({"session_id": SESSION});
    assert_eq!(agent.err("session.open", open), "session_invalid");
    agent.end();
}

#[test]
#[cfg(target_os = "linux")]
fn workspaces_that_are_not_utf_8_are_verified_too() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    let folder = |byte: u8| {
        let path = place
            .work()
            .join(std::ffi::OsStr::from_bytes(&[b'n', byte]));
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let ready = |cwd| {
        let mut agent = Agent::spawn(crate::client::launch().place(&place).cwd(cwd));
        agent.initialize();
        agent
    };
    let mut agent = ready(folder(0xff));
    let session = agent.create();
    agent.turn(&session, "go");
    agent.end();
    let open = json!({"session_id": session});
    let mut other = ready(folder(0xfe));
    assert_eq!(other.err("session.open", open.clone()), "cwd_mismatch");
    other.end();
    let mut same = ready(folder(0xff));
    assert_eq!(same.ok("session.open", open)["notices"], json!([]));
    same.end();
}

#[test]
fn unavailable_saved_selection_keeps_the_startup_selection_and_says_so() {
    let mut bodies = turn(vec![]);
    bodies[0].1["provider"] = json!("gone-provider");
    bodies[0].1["model"] = json!("gone-model");
    let place = place_with(bodies);
    let before = std::fs::read(place.session_file(SESSION)).unwrap();
    let mut agent = Agent::ready(&place);
    let notices = open(&mut agent)["notices"].clone();
    assert!(
        notices
            .as_array()
            .unwrap()
            .contains(&json!("saved_selection_unavailable")),
        "{notices}"
    );
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["provider"], &status["model"]),
        (&json!("fixture"), &json!("fixture-model"))
    );
    agent.end();
    assert_eq!(
        std::fs::read(place.session_file(SESSION)).unwrap(),
        before,
        "opening wrote history"
    );
}

fn selection(provider: &str, model: &str, thinking: &str) -> Value {
    json!({"type": "selection", "provider": provider, "model": model, "thinking": thinking})
}

/// The selections that the file holds now, in order.
fn selections(place: &Place) -> Vec<Value> {
    std::fs::read_to_string(place.session_file(SESSION))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].clone())
        .filter(|body| body["type"] == "selection")
        .collect()
}

/// A place with a session that was used with `selected`, and two models of the offline provider.
fn place_with_selection(selected: &Value) -> Arc<Place> {
    let mut bodies = turn(vec![]);
    bodies.insert(1, (1, selected.clone()));
    let place = place_with(bodies);
    place.write_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    place.write_settings(&json!({
        "model": "one",
        "providers": {
            "fixture": {"models": ["one", "two"], "script": place.root().join("script.json")},
            "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/"},
        },
    }));
    place
}

#[test]
fn saved_selection_is_restored_without_writing() {
    let saved = selection("fixture", "two", "high");
    let place = place_with_selection(&saved);
    let settings = place.mc_home().join("settings.json");
    let files =
        || [&settings, &place.session_file(SESSION)].map(|path| std::fs::read(path).unwrap());
    let before = files();
    let mut agent = Agent::spawn(crate::client::launch().place(&place));
    assert_eq!(agent.initialize()["status"]["model"], "one");
    assert_eq!(open(&mut agent)["notices"], json!(["cwd_unverified"]));
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["provider"], &status["model"]),
        (&json!("fixture"), &json!("two"))
    );
    assert_eq!(files(), before, "opening wrote something");
    // A run tells the session what answers if that is new to it: nothing was, its thinking included.
    assert_eq!(agent.turn(SESSION, "go").outcome(), "completed");
    assert_eq!(selections(&place), [saved]);
    // A new session begins with what the settings select.
    agent.create();
    assert_eq!(agent.ok("status", json!({}))["model"], "one");
    agent.end();
}

#[test]
fn thinking_level_stays_where_the_saved_model_is_gone() {
    let saved = selection("fixture", "three", "max");
    let place = place_with_selection(&saved);
    let mut agent = Agent::ready(&place);
    assert_eq!(
        open(&mut agent)["notices"],
        json!(["cwd_unverified", "saved_selection_unavailable"])
    );
    assert_eq!(agent.turn(SESSION, "go").outcome(), "completed");
    assert_eq!(
        selections(&place),
        [saved, selection("fixture", "one", "max")]
    );
    agent.end();
}

#[test]
#[cfg(feature = "providers")]
fn selection_that_is_restored_in_part_gives_a_notice() {
    // This wire has no level beyond high.
    for (level, notices) in [
        ("high", json!(["cwd_unverified"])),
        ("max", json!(["cwd_unverified", "saved_selection_notice"])),
    ] {
        let place = place_with_selection(&selection("mine", "any", level));
        let before = std::fs::read(place.session_file(SESSION)).unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(open(&mut agent)["notices"], notices, "{level}");
        assert_eq!(agent.ok("status", json!({}))["provider"], "mine");
        agent.end();
        assert_eq!(std::fs::read(place.session_file(SESSION)).unwrap(), before);
    }
}

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
