//! Who holds a session and for how long: attachments explicit and implicit, sixteen at most, closing (spec:
//! "Attachments, close, and conflicts"). The shapes of the answers are `sessions`' matter.

use serde_json::json;

use crate::client::{Service, code, launch, record, request};
use crate::support::Place;
use crate::turn::playing;

fn waiting() -> std::sync::Arc<Place> {
    playing(&json!([{"text": "So far."}, {"wait_ms": 600_000}]))
}

impl Service {
    fn created(&mut self) -> String {
        let created = self.ok("session.create", &json!({}));
        created["session_id"].as_str().expect("an id").to_owned()
    }

    fn close(&mut self, id: &str) -> String {
        let closed = self.ok_on(id, "session.close", &json!({}));
        closed["status"].as_str().expect("a status").to_owned()
    }

    /// Whether a service could attach the session; if so, it lets go of it again.
    fn can_have(&mut self, id: &str) -> bool {
        let response = self.call_on(Some(id), "session.open", &json!({}));
        if !response["error"].is_null() {
            assert_eq!(code(&response), "session_busy");
            return false;
        }
        assert_eq!(self.close(id), "closed");
        true
    }
}

#[test]
fn an_attached_session_is_nobody_else_s() {
    let place = playing(&json!([{"text": "Yes."}]));
    let (mut one, mut other) = (Service::ready_in(&place), Service::ready_in(&place));
    let id = one.created();
    assert_eq!(
        other.code_on(&id, "session.open", &json!({})),
        "session_busy"
    );
    assert_eq!(
        other.code_on(&id, "turn.start", &json!({"prompt": "x"})),
        "session_busy"
    );
    // Closing what one does not hold ends nobody else's hold.
    assert_eq!(other.close(&id), "closed");
    assert!(!other.can_have(&id));
    // Opening it again reuses the attachment.
    one.ok_on(&id, "session.open", &json!({}));
    assert_eq!(one.close(&id), "closed");
    assert!(other.can_have(&id), "one close ends it");
    assert_eq!(other.hold(Some(&id), "x").status(), "completed");
    // The lease of the turn's own attachment goes behind its terminal.
    crate::support::wait_for("the lease", || one.can_have(&id));
    assert_eq!(
        one.hold(Some(&id), "x").status(),
        "completed",
        "turns alternate"
    );
}

#[test]
fn a_turn_s_own_attachment_ends_with_it() {
    let place = waiting();
    let (mut one, mut other) = (Service::ready_in(&place), Service::ready_in(&place));
    let mut turn = one.begin(None, "x");
    turn.until(&mut one, "turn.assistant_delta");
    assert!(!other.can_have(&turn.session_id));
    one.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut one);
    // Its own process finds it free at once; another as soon as the lease is gone.
    assert!(one.can_have(&turn.session_id));
    crate::support::wait_for("the lease", || other.can_have(&turn.session_id));
}

#[test]
fn an_explicit_attachment_survives_the_ends_of_turns() {
    let script = json!({"turns": [
        {"steps": [{"text": "One."}]}, {"steps": [{"error": "unauthorized"}]},
        {"steps": [{"text": "Two."}, {"wait_ms": 600_000}]}
    ]});
    let place = Place::with_script(&script);
    let (mut one, mut other) = (Service::ready_in(&place), Service::ready_in(&place));
    let id = one.created();
    for status in ["completed", "failed"] {
        assert_eq!(one.hold(Some(&id), "x").status(), status);
        assert!(!other.can_have(&id), "after a turn that is {status}");
    }
    let mut turn = one.begin(Some(&id), "x");
    turn.until(&mut one, "turn.assistant_delta");
    one.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut one);
    assert_eq!(turn.status(), "cancelled");
    assert!(!other.can_have(&id));
    assert_eq!(one.close(&id), "closed");
    assert!(other.can_have(&id));
}

#[test]
fn opening_a_turn_s_session_makes_its_attachment_explicit() {
    let place = waiting();
    let (mut one, mut other) = (Service::ready_in(&place), Service::ready_in(&place));
    let mut turn = one.begin(None, "x");
    turn.until(&mut one, "turn.assistant_delta");
    one.ok_on(&turn.session_id, "session.open", &json!({}));
    one.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut one);
    assert!(!other.can_have(&turn.session_id), "it outlives the turn");
    assert_eq!(one.close(&turn.session_id), "closed");
    assert!(other.can_have(&turn.session_id));
}

#[test]
fn closing_during_a_turn_asks_it_to_stop_and_lasts_until_its_end() {
    let place = waiting();
    let mut service = Service::ready_in(&place);
    let id = service.created();
    let mut turn = service.begin(Some(&id), "x");
    turn.until(&mut service, "turn.assistant_delta");
    let on = |name: &str, method: &str, payload: serde_json::Value| {
        let mut value = request(name, method, &payload);
        value["session_id"] = json!(id);
        format!("{value}\n")
    };
    // In one piece, so that the turn cannot end between them.
    let records = [
        on("close-1", "session.close", json!({})),
        on("close-2", "session.close", json!({})),
        on("open", "session.open", json!({})),
        on("start", "turn.start", json!({"prompt": "y"})),
    ];
    service.server.send(records.concat());
    for _ in 0..2 {
        let response = service.recv();
        assert_eq!(
            response["payload"],
            json!({"session_id": id, "status": "closing"})
        );
    }
    for _ in 0..2 {
        assert_eq!(code(&service.recv()), "session_busy");
    }
    turn.finish(&mut service);
    assert_eq!((turn.status(), turn.text()), ("cancelled", "So far."));
    assert_eq!(service.close(&id), "closed");
    let mut other = Service::ready_in(&place);
    crate::support::wait_for("the lease", || other.can_have(&id));
    service.ok_on(&id, "session.open", &json!({}));
}

#[test]
fn sixteen_sessions_may_be_attached_explicit_and_implicit() {
    let place = waiting();
    let mut service = Service::ready_in(&place);
    let ids: Vec<String> = (0..15).map(|_| service.created()).collect();
    let mut turn = service.begin(None, "x");
    turn.until(&mut service, "turn.assistant_delta");
    let spare = Service::ready_in(&place).created();
    for refused in [
        service.call("session.create", &json!({})),
        service.call("turn.start", &json!({"prompt": "x"})),
        service.call_on(Some(&spare), "session.open", &json!({})),
        service.call_on(Some(&spare), "turn.start", &json!({"prompt": "x"})),
    ] {
        assert_eq!(code(&refused), "limit_exceeded", "{refused}");
    }
    // Reading takes no place, nor does what is attached already.
    service.ok("session.list", &json!({}));
    service.ok_on(&spare, "session.replay", &json!({}));
    service.ok_on(&ids[0], "session.open", &json!({}));
    assert_eq!(service.close(&ids[0]), "closed");
    service.ok_on(&spare, "session.open", &json!({}));
    // The turn's place is free with its end.
    service.ok("turn.cancel", &json!({"turn_id": turn.turn_id}));
    turn.finish(&mut service);
    service.created();
    assert_eq!(service.code("session.create", &json!({})), "limit_exceeded");
}

#[test]
fn a_crash_or_an_end_of_input_frees_what_was_attached() {
    let place = waiting();
    let mut one = Service::ready_in(&place);
    let ids = [one.created(), one.created()];
    let mut other = Service::ready_in(&place);
    one.server.signal(rustix::process::Signal::KILL);
    one.server.wait_exit();
    assert!(ids.iter().all(|id| other.can_have(id)));
    for id in &ids {
        other.ok_on(id, "session.open", &json!({}));
    }
    assert_eq!(other.finish().code, Some(0));
    let mut third = Service::ready_in(&place);
    assert!(ids.iter().all(|id| third.can_have(id)));
}

#[test]
fn a_closed_output_cancels_the_turn_and_frees_its_session() {
    let place = waiting();
    let mut service = Service::spawn(crate::client::launch().place(&place).stalled());
    let mut bytes = record("i", "initialize", &crate::client::version_1());
    bytes.extend(record("t", "turn.start", &json!({"prompt": "x"})));
    service.server.send(bytes);
    // Acceptance follows the session's first record.
    let folder = place.session_file("x").parent().unwrap().to_owned();
    let mut id = None;
    crate::support::wait_for("a session", || {
        let names = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let mut names = names.filter_map(|entry| entry.file_name().into_string().ok());
        id = names.find_map(|name| name.strip_suffix(".jsonl").map(str::to_owned));
        id.is_some()
    });
    drop(service.server.take_stdout());
    assert_eq!(service.server.wait_exit().code, Some(1));
    let mut other = Service::ready_in(&place);
    assert!(other.can_have(&id.unwrap()));
}

#[test]
fn a_session_of_another_directory_is_listed_and_replayed_and_nothing_else() {
    let place = playing(&json!([{"text": "Yes."}]));
    let mut here = Service::ready_in(&place);
    let created = here.created();
    let told = here.hold(None, "Question").session_id;
    assert_eq!(here.finish().code, Some(0));
    let other = place.root().join("other");
    std::fs::create_dir(&other).unwrap();
    let mut there = Service::spawn(launch().place(&place).cwd(other));
    there.initialize();
    let listed = there.ok("session.list", &json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(listed["incomplete"], false);
    for id in [&created, &told] {
        let file = place.session_file(id);
        let before = std::fs::read(&file).unwrap();
        for (method, payload) in [
            ("session.open", json!({})),
            ("turn.start", json!({"prompt": "x"})),
        ] {
            assert_eq!(there.code_on(id, method, &payload), "session_unavailable");
        }
        there.ok_on(id, "session.replay", &json!({}));
        assert_eq!(there.close(id), "closed");
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
    let replayed = there.ok_on(&told, "session.replay", &json!({}));
    assert_eq!(replayed["events"][0]["text"], "Question");
    // Nothing holds them.
    let mut here = Service::ready_in(&place);
    assert!(here.can_have(&created) && here.can_have(&told));
}

#[test]
fn a_session_that_is_none_or_that_others_can_reach_is_unavailable_and_kept() {
    type Harm = fn(&std::path::Path);
    let harms: [Harm; 4] = [
        |file| std::fs::hard_link(file, file.with_extension("other")).unwrap(),
        |file| {
            let real = file.with_extension("real");
            std::fs::rename(file, &real).unwrap();
            std::os::unix::fs::symlink(real, file).unwrap();
        },
        |file| std::fs::write(file, b"\x7fELF\0\0\0junk").unwrap(),
        |file| std::fs::write(file, &std::fs::read(file).unwrap()[..40]).unwrap(),
    ];
    for harm in harms {
        let place = playing(&json!([{"text": "Yes."}]));
        let mut service = Service::ready_in(&place);
        let id = service.hold(None, "Question").session_id;
        crate::support::wait_for("the lease", || service.can_have(&id));
        let file = place.session_file(&id);
        harm(&file);
        let before = std::fs::read(&file).unwrap();
        for (method, payload) in [
            ("session.open", json!({})),
            ("turn.start", json!({"prompt": "x"})),
        ] {
            assert_eq!(
                service.code_on(&id, method, &payload),
                "session_unavailable"
            );
        }
        assert_eq!(std::fs::read(&file).unwrap(), before);
    }
}

#[test]
fn a_session_that_gets_another_name_while_it_is_attached_is_not_written() {
    let place = playing(&json!([{"text": "Yes."}]));
    let mut service = Service::ready_in(&place);
    let id = service.created();
    let file = place.session_file(&id);
    std::fs::hard_link(&file, file.with_extension("other")).unwrap();
    let before = std::fs::read(&file).unwrap();
    let refused = service.code_on(&id, "turn.start", &json!({"prompt": "x"}));
    assert_eq!(refused, "session_unavailable");
    assert_eq!(std::fs::read(&file).unwrap(), before);
}
