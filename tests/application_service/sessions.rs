//! `session.create`, `session.open`, `session.close` and `session.list`: shapes, bounds, pages (spec: "Sessions", "Listing").
//! Who holds a session, and for how long, is `attachments`' matter.

use serde_json::{Value, json};

use crate::client::{Service, code, keys, request};
use crate::support::Place;

fn ids(page: &Value) -> Vec<String> {
    let sessions = page["sessions"].as_array().expect("sessions");
    let id = |session: &Value| session["session_id"].as_str().expect("an id").to_owned();
    sessions.iter().map(id).collect()
}

impl Service {
    fn create(&mut self) -> String {
        let created = self.ok("session.create", &json!({}));
        assert_eq!(keys(&created), ["session_id", "status"]);
        assert_eq!(created["status"], "open");
        created["session_id"].as_str().expect("an id").to_owned()
    }
}

/// A session file that this test writes itself: nothing but its head.
fn plant(place: &Place, id: &str, head: &str) {
    let file = place.session_file(id);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, head).unwrap();
}

#[test]
fn created_opened_and_closed_sessions_have_the_documented_shape() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    let id = service.create();
    assert!((1..=128).contains(&id.len()));
    assert!(
        place.session_file(&id).exists(),
        "recorded before the first turn"
    );
    let open = json!({"session_id": id, "status": "open"});
    assert_eq!(service.ok_on(&id, "session.open", &json!({})), open);
    let closed = json!({"session_id": id, "status": "closed"});
    assert_eq!(service.ok_on(&id, "session.close", &json!({})), closed);
    assert_eq!(
        service.ok_on(&id, "session.close", &json!({})),
        closed,
        "idempotent"
    );
    assert!(place.session_file(&id).exists(), "closing deletes nothing");
    assert_eq!(service.ok_on(&id, "session.open", &json!({})), open);
    assert_eq!(service.finish().code, Some(0));

    let mut later = Service::ready_in(&place);
    assert_eq!(later.ok_on(&id, "session.open", &json!({})), open);
}

#[test]
fn the_envelope_s_session_is_omitted_or_required() {
    let mut service = Service::ready();
    for method in ["session.list", "session.create"] {
        assert_eq!(
            service.code_on("s-1", method, &json!({})),
            "invalid_request",
            "{method}"
        );
    }
    for method in ["session.open", "session.replay", "session.close"] {
        assert_eq!(
            service.code(method, &json!({})),
            "invalid_request",
            "{method}"
        );
        let mut null = request("null", method, &json!({}));
        null["session_id"] = Value::Null;
        assert_eq!(
            code(&service.exchange(&null)),
            "invalid_request",
            "{method}"
        );
    }
}

#[test]
fn payloads_are_strict() {
    let mut service = Service::ready();
    for method in ["session.create", "session.open", "session.close"] {
        let session = (method != "session.create").then_some("s-1");
        let refused = service.call_on(session, method, &json!({"x": 1}));
        assert_eq!(code(&refused), "invalid_payload", "{method}");
    }
    for method in ["session.list", "session.replay"] {
        let session = (method == "session.replay").then_some("s-1");
        for (payload, expected) in [
            (json!({"limit": 0}), "invalid_payload"),
            (json!({"limit": -1}), "invalid_payload"),
            (json!({"limit": 1.5}), "invalid_payload"),
            (json!({"limit": "1"}), "invalid_payload"),
            (json!({"limit": null}), "invalid_payload"),
            (json!({"limit": true}), "invalid_payload"),
            (json!({"limit": 33}), "limit_exceeded"),
            (json!({"limit": 4_294_967_297_u64}), "limit_exceeded"),
            (json!({"after": 1}), "invalid_payload"),
            (json!({"after": ["a"]}), "invalid_payload"),
            (json!({"after": "x".repeat(129)}), "limit_exceeded"),
            (json!({"cursor": "a"}), "invalid_payload"),
        ] {
            let refused = service.call_on(session, method, &payload);
            assert_eq!(code(&refused), expected, "{method} {payload}");
        }
    }
}

#[test]
fn unsafe_ids_never_become_paths() {
    let place = Place::new();
    place.write_file("../outside.jsonl", "{}");
    let mut service = Service::ready_in(&place);
    for unsafe_id in [
        "../outside",
        "a/b",
        "..",
        ".",
        "a.b",
        "a b",
        "é",
        "C:x",
        &"x".repeat(65),
    ] {
        for method in ["session.open", "session.replay", "session.close"] {
            assert_eq!(
                service.code_on(unsafe_id, method, &json!({})),
                "invalid_session_id",
                "{method} {unsafe_id}"
            );
        }
        let after = json!({"after": unsafe_id});
        assert_eq!(
            service.code("session.list", &after),
            "invalid_session_id",
            "{unsafe_id}"
        );
    }
    assert_eq!(
        service.code("session.list", &json!({"after": ""})),
        "invalid_session_id"
    );
}

#[test]
fn a_session_that_is_not_there_is_unavailable_and_closed() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    for method in ["session.open", "session.replay"] {
        assert_eq!(
            service.code_on("gone", method, &json!({})),
            "session_unavailable",
            "{method}"
        );
    }
    let closed = json!({"session_id": "gone", "status": "closed"});
    assert_eq!(service.ok_on("gone", "session.close", &json!({})), closed);

    // A name that leads somewhere else is none either.
    let id = service.create();
    service.ok_on(&id, "session.close", &json!({}));
    let link = place.session_file("link");
    std::os::unix::fs::symlink(place.session_file(&id), link).unwrap();
    std::fs::create_dir(place.session_file("folder")).unwrap();
    for id in ["link", "folder"] {
        for method in ["session.open", "session.replay"] {
            assert_eq!(
                service.code_on(id, method, &json!({})),
                "session_unavailable",
                "{method} {id}"
            );
        }
    }
}

#[test]
fn an_empty_home_has_an_empty_list() {
    let mut service = Service::ready();
    let page = service.ok("session.list", &json!({"after": null, "limit": 32}));
    assert_eq!(
        page,
        json!({"sessions": [], "next_after": null, "truncated": false, "incomplete": false})
    );
}

#[test]
fn a_list_is_ordered_by_id_and_paged_without_loss() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    let mut all: Vec<String> = (0..7).map(|_| service.create()).collect();
    for id in &all {
        service.ok_on(id, "session.close", &json!({}));
    }
    all.sort();
    let whole = service.ok("session.list", &json!({}));
    assert_eq!(ids(&whole), all);
    assert_eq!(
        (
            &whole["truncated"],
            &whole["incomplete"],
            &whole["next_after"]
        ),
        (&json!(false), &json!(false), &Value::Null)
    );
    for session in whole["sessions"].as_array().unwrap() {
        assert_eq!(keys(session), ["session_id", "title", "updated_at"]);
        assert_eq!(session["title"], Value::Null, "nothing was said yet");
        let at = session["updated_at"].as_str().unwrap();
        assert!(
            at.len() >= 20 && at.as_bytes()[10] == b'T' && at.ends_with('Z'),
            "{at}"
        );
    }
    for limit in [1, 2, 3, 6] {
        let (mut seen, mut after) = (Vec::new(), Value::Null);
        loop {
            let page = service.ok("session.list", &json!({"after": after, "limit": limit}));
            assert!(ids(&page).len() <= limit);
            seen.extend(ids(&page));
            if page["truncated"] == json!(false) {
                break;
            }
            after = page["next_after"].clone();
            assert!(after.is_string(), "a truncated page leads on");
        }
        assert_eq!(seen, all, "pages of {limit}");
    }
    let beyond = service.ok("session.list", &json!({"after": "zzzz"}));
    assert!(ids(&beyond).is_empty());
}

#[test]
fn what_cannot_be_shown_makes_a_list_incomplete_and_is_walked_past() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    let id = service.create();
    std::fs::create_dir(place.session_file("aaa-folder")).unwrap();
    plant(&place, "aaa-broken", "not json\n");
    // No session's name at all: not even a candidate.
    plant(&place, "b.c", "not json\n");
    let mut seen = Vec::new();
    let (mut after, mut incomplete) = (Value::Null, false);
    loop {
        let page = service.ok("session.list", &json!({"after": after, "limit": 1}));
        seen.extend(ids(&page));
        incomplete |= page["incomplete"] == json!(true);
        if page["truncated"] == json!(false) {
            break;
        }
        after = page["next_after"].clone();
    }
    assert_eq!((seen, incomplete), (vec![id], true));
}

#[test]
fn more_entries_than_the_scan_budget_are_refused_whole() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    service.create();
    let folder = place.session_file("x").parent().unwrap().to_owned();
    for i in 0..20_001 {
        std::fs::write(folder.join(format!("note-{i}.txt")), "").unwrap();
    }
    assert_eq!(
        service.code("session.list", &json!({"limit": 1})),
        "limit_exceeded"
    );
    for i in 0..20 {
        std::fs::remove_file(folder.join(format!("note-{i}.txt"))).unwrap();
    }
    let page = service.ok("session.list", &json!({}));
    assert_eq!(ids(&page).len(), 1, "within the budget again");
}

#[cfg(feature = "turn")]
#[test]
fn a_title_is_what_was_first_said_on_one_line_and_redacted() {
    let place = crate::turn::playing(&json!([{"text": "Yes."}]));
    let mut service = Service::ready_in(&place);
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let turn = service.hold(None, &format!("Look at {secret}\nand this: {secret}"));
    service.hold(Some(&turn.session_id), "Another prompt");
    let page = service.ok("session.list", &json!({}));
    let title = page["sessions"][0]["title"].as_str().expect("a title");
    assert!(
        title.starts_with("Look at") && !title.contains('\n'),
        "{title}"
    );
    assert!(!page.to_string().contains(secret), "{title}");
}
