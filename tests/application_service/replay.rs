//! `session.replay`: items, pages, cursors, gaps (spec: "Durable replay").
//! What a turn says while it runs is `turns`' matter.

use std::io::Write as _;

use serde_json::{Value, json};

use crate::client::{Service, keys};
use crate::support::Place;
use crate::turn::playing;

/// All items of a session, read in pages of `limit`, each page checked.
pub(crate) fn replayed(service: &mut Service, id: &str, limit: u64) -> Vec<Value> {
    let (mut items, mut after) = (Vec::new(), Value::Null);
    loop {
        let page = page(service, id, &json!({"after": after, "limit": limit}));
        assert_eq!(page["resync_required"], json!(false));
        let events = page["events"].as_array().unwrap();
        assert!(events.len() as u64 <= limit);
        items.extend(events.iter().cloned());
        if let Some(last) = events.last() {
            assert_eq!(last["cursor"], page["next_cursor"]);
        }
        after = page["next_cursor"].clone();
        if page["truncated"] == json!(false) {
            assert_eq!(page["next_cursor"], page["snapshot_cursor"]);
            return items;
        }
        assert_ne!(page["next_cursor"], page["snapshot_cursor"]);
        assert!(!events.is_empty(), "a truncated page leads on");
    }
}

pub(crate) fn page(service: &mut Service, id: &str, payload: &Value) -> Value {
    let page = service.ok_on(id, "session.replay", payload);
    assert_eq!(
        keys(&page),
        [
            "events",
            "gap",
            "next_cursor",
            "resync_required",
            "snapshot_cursor",
            "truncated"
        ]
    );
    assert!(
        page.to_string().len() <= 16_384,
        "{} bytes",
        page.to_string().len()
    );
    for event in page["events"].as_array().unwrap() {
        let expected: &[&str] = match event["kind"].as_str() {
            Some("message") => &["cursor", "kind", "last_part", "part", "role", "text"],
            Some("summary") => &["cursor", "kind", "last_part", "part", "text"],
            Some("terminal") => &["cursor", "kind", "status"],
            _ => panic!("{event}"),
        };
        assert_eq!(keys(event), expected);
        assert!((1..=128).contains(&event["cursor"].as_str().unwrap().len()));
        assert!(event["text"].as_str().unwrap_or_default().len() <= 2_048);
    }
    page
}

fn without_cursors(items: &[Value]) -> Vec<Value> {
    let mut items = items.to_vec();
    for item in &mut items {
        item.as_object_mut().unwrap().remove("cursor");
    }
    items
}

#[test]
fn a_new_session_replays_as_nothing_and_can_be_polled() {
    let place = playing(&json!([{"text": "Answer."}]));
    let mut service = Service::ready_in(&place);
    let id = service.ok("session.create", &json!({}))["session_id"].clone();
    let id = id.as_str().unwrap();
    let empty = page(&mut service, id, &json!({}));
    assert_eq!(empty["events"], json!([]));
    assert_eq!(
        (
            &empty["truncated"],
            &empty["gap"],
            &empty["resync_required"]
        ),
        (&json!(false), &json!(false), &json!(false))
    );
    assert_eq!(empty["next_cursor"], empty["snapshot_cursor"]);

    service.hold(Some(id), "Question");
    let polled = page(&mut service, id, &json!({"after": empty["next_cursor"]}));
    let events = polled["events"].as_array().unwrap();
    assert_eq!(
        without_cursors(events),
        [
            json!({"kind": "message", "role": "user", "text": "Question", "part": 0, "last_part": true}),
            json!({"kind": "message", "role": "assistant", "text": "Answer.", "part": 0, "last_part": true}),
            json!({"kind": "terminal", "status": "completed"}),
        ]
    );
    let again = page(&mut service, id, &json!({"after": polled["next_cursor"]}));
    assert_eq!(
        (&again["events"], &again["next_cursor"]),
        (&json!([]), &polled["next_cursor"])
    );
}

#[test]
fn pages_of_any_size_tell_the_same_and_survive_restart_and_appends() {
    let long = "word ".repeat(2_000);
    let script = json!({"turns": [
        {"steps": [{"text": "One."}]}, {"steps": [{"text": long}]}, {"steps": [{"error": "unauthorized"}]}
    ]});
    let place = Place::with_script(&script);
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "First").session_id;
    assert_eq!(
        service.hold(Some(&id), &"é".repeat(3_000)).status(),
        "completed"
    );
    assert_eq!(service.hold(Some(&id), "Third").status(), "failed");
    let whole = replayed(&mut service, &id, 32);
    let statuses: Vec<_> = whole
        .iter()
        .filter_map(|item| item["status"].as_str())
        .collect();
    assert_eq!(statuses, ["completed", "completed", "failed"]);
    // Parts of a message count from 0, are contiguous, end once, and concatenate.
    let mut said = Vec::new();
    for item in whole.iter().filter(|item| item["kind"] == "message") {
        if item["part"] == json!(0) {
            said.push((item["role"].clone(), String::new(), 0));
        }
        let (role, text, parts) = said.last_mut().unwrap();
        assert_eq!((&item["role"], &item["part"]), (&*role, &json!(*parts)));
        text.push_str(item["text"].as_str().unwrap());
        *parts += 1;
        if item["last_part"] == json!(true) {
            *parts = u64::MAX;
        }
    }
    assert!(said.iter().all(|(_, _, parts)| *parts == u64::MAX));
    let texts: Vec<_> = said.iter().map(|(_, text, _)| text.as_str()).collect();
    assert_eq!(texts, ["First", "One.", &"é".repeat(3_000), &long, "Third"]);

    for limit in [1, 2, 5, 31] {
        assert_eq!(
            replayed(&mut service, &id, limit),
            whole,
            "pages of {limit}"
        );
    }
    drop(service);
    let mut later = Service::ready_in(&place);
    assert_eq!(
        replayed(&mut later, &id, 3),
        whole,
        "the same cursors in another process"
    );
    later.hold(Some(&id), "Fourth");
    for item in [&whole[0], &whole[whole.len() / 2], whole.last().unwrap()] {
        let page = page(
            &mut later,
            &id,
            &json!({"after": item["cursor"], "limit": 1}),
        );
        assert_eq!(page["resync_required"], json!(false), "an unchanged prefix");
        assert_eq!(page["events"].as_array().unwrap().len(), 1);
    }
    let grown = replayed(&mut later, &id, 32);
    assert_eq!(grown[..whole.len()], whole);
}

#[test]
fn a_position_of_another_projection_asks_for_a_resync() {
    let place = playing(&json!([{"text": "Answer."}]));
    let mut service = Service::ready_in(&place);
    let (one, other) = (service.hold(None, "x"), service.hold(None, "y"));
    let theirs = replayed(&mut service, &other.session_id, 32);
    let start = page(&mut service, &one.session_id, &json!({"limit": 1}));
    for after in [
        json!(""),
        json!("never issued"),
        json!("x".repeat(128)),
        json!("é\u{0}"),
        theirs[1]["cursor"].clone(),
    ] {
        let page = page(&mut service, &one.session_id, &json!({"after": after}));
        assert_eq!(
            (&page["resync_required"], &page["events"]),
            (&json!(true), &json!([])),
            "{after}"
        );
        // The starting position is usable as it is.
        let again = service.ok_on(
            &one.session_id,
            "session.replay",
            &json!({"after": page["next_cursor"], "limit": 1}),
        );
        assert_eq!(again["events"], start["events"]);
    }
}

#[test]
fn records_that_cannot_be_read_are_a_gap_and_no_failure() {
    let place = playing(&json!([{"text": "Answer."}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "Question").session_id;
    let whole = replayed(&mut service, &id, 32);
    let file = place.session_file(&id);
    // A torn last line was never acknowledged: no gap.
    let mut append = std::fs::OpenOptions::new()
        .append(true)
        .open(&file)
        .unwrap();
    append.write_all(b"{\"torn").unwrap();
    let torn = page(&mut service, &id, &json!({}));
    assert_eq!(
        (&torn["gap"], torn["events"].as_array().unwrap()),
        (&json!(false), &whole)
    );
    append.write_all(b"\n{}\n").unwrap();
    let gapped = page(&mut service, &id, &json!({}));
    assert_eq!(gapped["gap"], json!(true));
    assert_eq!(
        gapped["events"].as_array().unwrap(),
        &whole,
        "what can be read is shown"
    );
    assert!(
        !gapped.to_string().contains("torn"),
        "malformed lines are no items"
    );
}

#[test]
fn a_file_beyond_the_window_shows_its_recent_part_with_a_gap() {
    let place = playing(&json!([{"text": "new ".repeat(4_000)}]));
    let mut service = Service::ready_in(&place);
    let id = service.ok("session.create", &json!({}))["session_id"].clone();
    let id = id.as_str().unwrap();
    let mut turns = 0;
    let mut grow = |service: &mut Service, bytes: u64| {
        while std::fs::metadata(place.session_file(id)).unwrap().len() < bytes {
            turns += 1;
            service.hold(Some(id), &format!("{turns} {}", "old ".repeat(4_000)));
        }
    };
    grow(&mut service, 2_150_000);
    let first = page(&mut service, id, &json!({"limit": 1}));
    assert_eq!(
        (&first["gap"], &first["truncated"]),
        (&json!(true), &json!(true))
    );
    let end = page(
        &mut service,
        id,
        &json!({"after": first["snapshot_cursor"]}),
    );
    assert_eq!(
        (&end["gap"], &end["events"]),
        (&json!(true), &json!([])),
        "a usable position beside a gap"
    );
    // The position of what has left the window is none any more.
    grow(&mut service, 2_750_000);
    let moved = page(&mut service, id, &json!({"after": first["next_cursor"]}));
    assert_eq!(
        (&moved["resync_required"], &moved["events"]),
        (&json!(true), &json!([]))
    );
}

#[test]
fn small_turns_of_a_long_session_move_no_position() {
    let place = playing(&json!([{"text": "new ".repeat(4_000)}]));
    let mut service = Service::ready_in(&place);
    let id = service.ok("session.create", &json!({}))["session_id"].clone();
    let id = id.as_str().unwrap();
    while std::fs::metadata(place.session_file(id)).unwrap().len() < 2_150_000 {
        service.hold(Some(id), &"old ".repeat(4_000));
    }
    place.write_script(&json!({"turns": [{"steps": [{"text": "small"}]}]}));
    drop(service);
    let mut service = Service::ready_in(&place);
    let mut after = page(&mut service, id, &json!({"limit": 1}))["snapshot_cursor"].clone();
    for turn in 0..12 {
        service.hold(Some(id), &format!("{turn} {}", "word ".repeat(1_000)));
        let next = page(&mut service, id, &json!({"after": after}));
        assert_eq!(next["resync_required"], json!(false), "turn {turn}");
        assert_eq!(next["truncated"], json!(false));
        after = next["next_cursor"].clone();
    }
}

#[test]
fn replay_needs_no_attachment_and_takes_none() {
    let place = playing(&json!([{"text": "So far."}, {"wait_ms": 600_000}]));
    let mut holder = Service::ready_in(&place);
    let mut turn = holder.begin(None, "Question");
    turn.until(&mut holder, "turn.assistant_delta");
    // Another process reads what the holder's turn has made durable, while it runs.
    let mut reader = Service::ready_in(&place);
    let items = replayed(&mut reader, &turn.session_id, 32);
    assert_eq!(items[0]["text"], "Question");
    assert!(
        items.iter().all(|item| item["kind"] == "message"),
        "no end before the end"
    );
    assert_eq!(
        reader.code_on(&turn.session_id, "session.open", &json!({})),
        "session_busy"
    );
    holder.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut holder);
    let items = replayed(&mut reader, &turn.session_id, 32);
    let texts: Vec<_> = items.iter().map(|item| &item["text"]).collect();
    assert_eq!(texts, [&json!("Question"), &json!("So far."), &Value::Null]);
    assert_eq!(items[2]["status"], "cancelled");
}

#[test]
fn neither_tools_nor_reasoning_nor_secrets_are_replayed() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let place = playing(&json!([
        {"reasoning": "raw canary-1", "provider_summary": false},
        {"reasoning": "summary canary-2", "provider_summary": true},
        {"tool": "read", "input": {"path": "canary-3.txt"}},
        {"text": format!("The key is {secret}.")}
    ]));
    place.write_file("canary-3.txt", "canary-4");
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    assert_eq!(turn.status(), "completed");
    let items = replayed(&mut service, &turn.session_id, 32);
    let text = Value::from(items).to_string();
    for hidden in ["canary", secret, "tool", "reasoning", "usage"] {
        assert!(!text.contains(hidden), "{hidden} in {text}");
    }
}
