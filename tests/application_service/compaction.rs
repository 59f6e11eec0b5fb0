//! Conversations that are made shorter: activities of it, what replay shows then, cursors that do not hold any more, and
//! sessions that go on though they have no room left (spec: "Structured activity", "Durable replay").

use serde_json::{Value, json};

use crate::client::{Service, keys, request};
use crate::replay::{page, replayed};
use crate::support::{Place, wait_for};
use crate::turn::Turn;

/// The statuses of a turn's compaction, each activity checked.
fn compaction(turn: &Turn) -> Vec<&str> {
    let activities = turn.activities();
    let all: Vec<_> = activities
        .into_iter()
        .filter(|activity| activity["kind"] == "compaction")
        .collect();
    for activity in &all {
        let expected = [
            "activity_id",
            "current_tokens",
            "kind",
            "max_tokens",
            "replay_required",
            "status",
        ];
        assert_eq!(keys(activity), expected);
        assert_eq!(activity["activity_id"], all[0]["activity_id"]);
        let status = activity["status"].as_str().unwrap();
        let counted = ["triggered", "completed"].contains(&status);
        assert_eq!(activity["current_tokens"].is_u64(), counted, "{activity}");
        let max = if counted { json!(1000) } else { Value::Null };
        assert_eq!(activity["max_tokens"], max, "{activity}");
        let ended = !["triggered", "running"].contains(&status);
        assert_eq!(activity["replay_required"], json!(ended), "{activity}");
    }
    all.iter()
        .map(|it| it["status"].as_str().unwrap())
        .collect()
}

/// Items without their cursors, in short.
fn shown(items: &[Value]) -> Vec<String> {
    let word = |item: &Value, name: &str| item[name].as_str().unwrap_or_default().to_owned();
    let show = |item: &Value| match item["kind"].as_str() {
        Some("message") => format!("{}: {}", word(item, "role"), word(item, "text")),
        Some("summary") => format!("summary: {}", word(item, "text")),
        _ => word(item, "status"),
    };
    items.iter().map(show).collect()
}

#[test]
fn replay_shows_the_summary_and_the_conversation_behind_its_cutoff() {
    let place = Place::with_compaction(900, &json!([{"text": "In short."}]));
    let mut service = Service::ready_in(&place);
    let first = service.hold(None, "one");
    assert_eq!(compaction(&first), [""; 0]);
    assert_eq!(first.settled()["replay_required"], false);
    let id = first.session_id.clone();
    let old = page(&mut service, &id, &json!({}));
    let second = service.hold(Some(&id), "two");
    assert_eq!(second.status(), "completed");
    assert_eq!(compaction(&second), ["triggered", "running", "completed"]);
    // The durable conversation is to be read again.
    assert_eq!(second.settled()["replay_required"], true);
    let contexts: Vec<_> = second
        .activities()
        .into_iter()
        .filter(|activity| activity["kind"] == "context")
        .map(|activity| activity["source"].as_str().unwrap())
        .collect();
    assert_eq!(
        contexts,
        [
            "fallback_projection",
            "fallback_projection",
            "last_provider_usage"
        ]
    );
    let expected = [
        "summary: In short.",
        "user: two",
        "assistant: Answer 2.",
        "completed",
    ];
    assert_eq!(shown(&replayed(&mut service, &id, 1)), expected);
    for cursor in [&old["next_cursor"], &old["events"][0]["cursor"]] {
        let stale = page(&mut service, &id, &json!({ "after": cursor }));
        assert_eq!(stale["resync_required"], true);
        assert_eq!(stale["events"], json!([]));
        let again = page(&mut service, &id, &json!({"after": stale["next_cursor"]}));
        assert_eq!(again["resync_required"], false);
        assert_eq!(shown(again["events"].as_array().unwrap()), expected);
    }
    let known = page(&mut service, &id, &json!({}))["next_cursor"].clone();
    service.finish();
    // A later service goes on behind it, and reads the same.
    let mut service = Service::ready_in(&place);
    let same = page(&mut service, &id, &json!({ "after": known }));
    assert_eq!(
        (&same["events"], &same["resync_required"]),
        (&json!([]), &json!(false))
    );
    let third = service.hold(Some(&id), "three");
    assert_eq!(third.text(), "Answer 3.");
    service.finish();
}

#[test]
fn failed_and_cancelled_compactions_keep_the_conversation() {
    let place = Place::with_compaction(900, &json!([{"wait_ms": 60_000}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "one").session_id;
    let mut turn = service.begin(Some(&id), "two");
    while compaction(&turn).last() != Some(&"running") {
        turn.until(&mut service, "turn.activity");
    }
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    assert_eq!(compaction(&turn), ["triggered", "running", "cancelled"]);
    let expected = [
        "user: one",
        "assistant: Answer 1.",
        "completed",
        "user: two",
        "cancelled",
    ];
    assert_eq!(shown(&replayed(&mut service, &id, 32)), expected);
    service.finish();
}

#[test]
fn turn_that_cannot_go_on_without_compaction_says_so_in_replay() {
    let place = Place::with_compaction(1001, &json!([{"error": "unauthorized"}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "one").session_id;
    let turn = service.hold(Some(&id), "two");
    assert_eq!(turn.status(), "failed");
    assert_eq!(compaction(&turn), ["triggered", "running", "failed"]);
    let items = replayed(&mut service, &id, 32);
    assert_eq!(shown(&items)[3..], ["user: two", "compaction_required"]);
    service.finish();
}

/// As many as a part holds.
const FULL: usize = 100_000;

/// Makes a session one of so many records.
fn fill(place: &Place, id: &str, records: usize) {
    let path = place.session_file(id);
    let mut text = std::fs::read_to_string(&path).unwrap();
    for n in text.lines().count() + 1..=records {
        let body = json!({"type": "diagnostic", "code": "note", "summary": ""});
        text += &format!(
            "{}\n",
            json!({"v": 1, "n": n, "session": id, "at": 1, "body": body})
        );
    }
    std::fs::write(&path, text).unwrap();
}

#[test]
fn full_session_goes_on_and_stays_one_in_the_list() {
    let place = Place::with_compaction(10, &json!([{"text": "In short."}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "The title").session_id;
    service.finish();
    fill(&place, &id, FULL);
    let mut service = Service::ready_in(&place);
    let turn = service.hold(Some(&id), "two");
    assert_eq!((turn.status(), turn.text()), ("completed", "Answer 2."));
    let expected = [
        "summary: In short.",
        "user: two",
        "assistant: Answer 2.",
        "completed",
    ];
    assert_eq!(shown(&replayed(&mut service, &id, 32)), expected);
    let list = service.ok("session.list", &json!({}));
    assert_eq!(list["incomplete"], false);
    let sessions = list["sessions"].as_array().unwrap();
    assert_eq!(sessions.len(), 1);
    assert_eq!(
        (&sessions[0]["session_id"], &sessions[0]["title"]),
        (&json!(id), &json!("The title"))
    );
    service.finish();
}

/// Opening and going on look at the same part.
#[test]
fn last_part_alone_decides_whether_a_session_can_be_had() {
    let place = Place::with_compaction(10, &json!([{"text": "In short."}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "one").session_id;
    service.finish();
    fill(&place, &id, 80_000);
    let mut service = Service::ready_in(&place);
    assert_eq!(service.hold(Some(&id), "two").status(), "completed");
    service.finish();
    std::fs::write(place.session_file(&id), "junk\n").unwrap();
    let mut service = Service::ready_in(&place);
    assert_eq!(
        service.ok_on(&id, "session.open", &json!({}))["status"],
        "open"
    );
    assert_eq!(service.hold(Some(&id), "three").status(), "completed");
    let list = service.ok("session.list", &json!({}));
    assert_eq!(list["sessions"][0]["session_id"], json!(id));
    assert_eq!(list["incomplete"], true);
    service.finish();

    let part = place.session_file(&id).with_extension("2.jsonl");
    let text = std::fs::read_to_string(&part).unwrap();
    let cwd = place.work().canonicalize().unwrap();
    let elsewhere = text.replace(cwd.to_str().unwrap(), "/elsewhere");
    assert_ne!(elsewhere, text);
    std::fs::write(&part, elsewhere).unwrap();
    let mut service = Service::ready_in(&place);
    let turn = json!({"prompt": "four", "options": {}});
    for (method, payload) in [("session.open", json!({})), ("turn.start", turn)] {
        let code = service.code_on(&id, method, &payload);
        assert_eq!(code, "session_unavailable", "{method}");
    }
    service.finish();
}

#[test]
fn turn_that_is_cancelled_before_a_full_session_has_room_is_cancelled() {
    let place = Place::with_compaction(10, &json!([{"wait_ms": 60_000}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "one").session_id;
    service.finish();
    fill(&place, &id, FULL);
    let mut service = Service::ready_in(&place);
    let mut turn = service.begin(Some(&id), "two");
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    assert_eq!(turn.settled()["replay_required"], true);
    let items = replayed(&mut service, &id, 32);
    assert!(!shown(&items).contains(&"user: two".to_owned()));
    service.finish();
}

/// What the end of the input waits for, a signal waits for too.
#[test]
fn turn_that_is_being_admitted_when_a_signal_comes_is_told_of_its_end() {
    let place = Place::with_compaction(10, &json!([{"text": "In short."}]));
    let mut service = Service::ready_in(&place);
    let id = service.hold(None, "one").session_id;
    service.finish();
    fill(&place, &id, 30_000);
    let mut service = Service::ready_in(&place);
    let mut start = request(
        "start",
        "turn.start",
        &json!({"prompt": "two", "options": {}}),
    );
    start["session_id"] = json!(id);
    service.server.send_json(&start);
    // From here on the session is read, which takes a while.
    let lock = place.session_file(&id).with_extension("lock");
    wait_for("the lease", || lock.exists());
    service.server.signal(rustix::process::Signal::TERM);
    let mut turn = Turn::accepted(Some(&id), &service.recv());
    turn.finish(&mut service);
    assert_eq!(turn.status(), "cancelled");
    let exit = service.server.wait_exit();
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}
