//! Tests of the application-service client: preflight and correlation here, the rest beside it.
//! Records are written by hand, so no encoder of ours can hide a fault.
#![allow(clippy::unwrap_used)]

mod operations;
mod order;
mod table;

use proptest::prelude::*;
use serde_json::json;

use super::super::activity::Kind;
use super::super::words::{ErrorCode, TurnStatus};
use super::*;

const OPERATIONS: [&str; 20] = [
    "initialize",
    "status",
    "capabilities",
    "session.list",
    "session.create",
    "session.open",
    "session.replay",
    "session.close",
    "turn.start",
    "turn.cancel",
    "auth.status",
    "auth.login.start",
    "auth.login.callback",
    "auth.login.cancel",
    "auth.logout",
    "catalog.providers",
    "catalog.models",
    "catalog.refresh",
    "config.get",
    "config.set",
];

fn limits() -> Value {
    json!({
        "max_record_bytes": 65536, "max_payload_bytes": 32768, "max_error_message_bytes": 512, "max_id_bytes": 128,
        "max_name_bytes": 64, "max_string_bytes": 16384, "max_json_depth": 32, "max_array_items": 64,
        "max_object_fields": 64, "max_negotiation_items": 8, "max_session_attachments": 16,
        "max_session_page_items": 32, "max_session_replay_page_bytes": 16384,
        "max_session_replay_window_bytes": 2097152, "max_session_list_scan_entries": 20000,
        "max_catalog_page_items": 32,
    })
}

fn capabilities() -> Value {
    json!({
        "protocol_versions": [1], "operations": OPERATIONS, "transports": ["stdio"], "limits": limits(),
        "events": super::super::event::EVENTS,
        "activity": {"events": true, "approvals": false, "steering": false, "mcp_server_lifecycle": false,
            "mcp_tool_activity": true, "subagents": true, "raw_tool_output": false, "activity_replay": false,
            "max_summary_bytes": 2048},
    })
}

fn initialized() -> Value {
    json!({"protocol_version": 1, "server_name": "magi-code", "server_version": "9.9.9", "limits": limits(),
        "capabilities": capabilities()})
}

fn response(id: &str, session: Option<&str>, method: &str, payload: Value) -> Value {
    json!({"protocol_version": 1, "kind": "response", "request_id": id, "session_id": session, "method": method,
        "payload": payload, "error": null})
}

fn refusal(id: Value, method: Value, code: &str) -> Value {
    json!({"protocol_version": 1, "kind": "response", "request_id": id, "session_id": null, "method": method,
        "payload": null, "error": {"code": code, "message": "A short fixed message."}})
}

fn event(id: &str, session: Option<&str>, name: &str, payload: Value) -> Value {
    json!({"protocol_version": 1, "kind": "event", "event_id": "e", "request_id": id, "session_id": session,
        "event": name, "payload": payload})
}

fn take(tracker: &mut Tracker, record: &Value) -> Result<Incoming, Violation> {
    tracker.accept(record.to_string().as_bytes())
}

/// Preflight against a changed answer to `initialize`; the tracker, or why it refused.
fn preflight(change: impl FnOnce(&mut Value)) -> Result<Tracker, Violation> {
    let mut tracker = Tracker::new(Requirements {
        operations: &["turn.start", "status"],
        activity: true,
    });
    let (id, _) = tracker
        .send(Request::initialize(tracker.requested()))
        .unwrap();
    let mut payload = initialized();
    change(&mut payload);
    take(&mut tracker, &response(&id, None, "initialize", payload)).map(|_| tracker)
}

fn ready() -> Tracker {
    preflight(|_| ()).unwrap()
}

fn both_limits(payload: &mut Value, name: &str, value: &Value) {
    payload["limits"][name] = value.clone();
    payload["capabilities"]["limits"][name] = value.clone();
}

fn status(change: impl FnOnce(&mut Value)) -> Result<Incoming, Violation> {
    let mut tracker = ready();
    let (id, _) = tracker.send(Request::Status).unwrap();
    let mut record = response(
        &id,
        None,
        "status",
        json!({"service": "ready", "provider_auth_ready": false}),
    );
    change(&mut record);
    take(&mut tracker, &record)
}

/// A tracker with a running turn, and the turn's request identity.
fn turn() -> (Tracker, String) {
    let mut tracker = ready();
    let (id, _) = tracker.send(Request::turn(None, "hi".into())).unwrap();
    let accepted = json!({"turn_id": "t1", "session_id": "s1", "status": "accepted"});
    take(
        &mut tracker,
        &response(&id, Some("s1"), "turn.start", accepted),
    )
    .unwrap();
    let started = json!({"turn_id": "t1", "session_id": "s1", "status": "started", "sequence": 0});
    take(
        &mut tracker,
        &event(&id, Some("s1"), "turn.started", started),
    )
    .unwrap();
    (tracker, id)
}

fn delta(id: &str, sequence: u64) -> Value {
    event(
        id,
        Some("s1"),
        "turn.assistant_delta",
        json!({"turn_id": "t1", "sequence": sequence, "text": "x"}),
    )
}

fn terminal(id: &str, sequence: u64) -> Value {
    let payload = json!({"turn_id": "t1", "session_id": "s1", "status": "completed",
        "assistant_text": "The complete answer.", "sequence": sequence, "activity_dropped": 1,
        "activity_replay_available": false, "replay_required": true});
    event(id, Some("s1"), "turn.terminal", payload)
}

fn remove(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().remove(name).unwrap();
}

// Preflight.

#[test]
fn preflight_judges_the_whole_advertisement() {
    let refused = |change: fn(&mut Value)| preflight(change).err();
    assert_eq!(refused(|_| ()), None);
    assert_eq!(
        refused(|p| p["capabilities"]["operations"] = json!(["status"])),
        Some(Violation::MissingCapability("turn.start"))
    );
    assert_eq!(
        refused(|p| p["capabilities"]["transports"] = json!(["unix"])),
        Some(Violation::UnsupportedProfile)
    );
    assert_eq!(
        refused(|p| p["capabilities"]["protocol_versions"] = json!([2])),
        Some(Violation::UnsupportedProfile)
    );
    assert_eq!(
        refused(|p| p["protocol_version"] = json!(2)),
        Some(Violation::UnknownProtocol)
    );
    assert_eq!(
        refused(|p| p["limits"]["max_id_bytes"] = json!(64)),
        Some(Violation::InconsistentAdvertisement)
    );
    assert_eq!(
        refused(|p| both_limits(p, "max_record_bytes", &json!(1 << 20))),
        Some(Violation::UnsafeBound("max_record_bytes"))
    );
    assert_eq!(
        refused(|p| remove(&mut p["capabilities"], "activity")),
        Some(Violation::InconsistentAdvertisement)
    );
    assert_eq!(
        refused(|p| p["capabilities"]["activity"]["events"] = json!(false)),
        Some(Violation::InconsistentAdvertisement)
    );
    assert_eq!(
        refused(|p| p["capabilities"]["activity"]["approvals"] = json!(true)),
        Some(Violation::UnsupportedProfile)
    );
    assert_eq!(
        refused(|p| p["capabilities"]["activity"]["subagents"] = json!(1)),
        Some(Violation::WrongType("subagents"))
    );
    assert_eq!(
        refused(|p| p["capabilities"]["events"] = json!(["turn.started", "turn.activity"])),
        Some(Violation::InconsistentAdvertisement)
    );
    assert_eq!(
        refused(|p| p["capabilities"]["operations"]
            .as_array_mut()
            .unwrap()
            .push(json!("session.fork"))),
        None
    );
    assert_eq!(
        refused(|p| p["capabilities"]["activity"]["dreams"] = json!({"deep": true})),
        None
    );
}

#[test]
fn a_profile_without_activity_is_only_for_those_who_do_not_need_it() {
    let without = |needs: bool| {
        let mut tracker = Tracker::new(Requirements {
            operations: &[],
            activity: needs,
        });
        let (id, _) = tracker.send(Request::initialize(vec![])).unwrap();
        let mut payload = initialized();
        remove(&mut payload["capabilities"], "activity");
        payload["capabilities"]["events"]
            .as_array_mut()
            .unwrap()
            .retain(|name| name != "turn.activity");
        take(&mut tracker, &response(&id, None, "initialize", payload)).map(|_| tracker)
    };
    assert_eq!(
        without(true).err(),
        Some(Violation::MissingCapability("turn.activity"))
    );
    let tracker = without(false).unwrap();
    assert_eq!(tracker.profile().unwrap().activity, None);
}

#[test]
fn a_failed_renegotiation_stops_this_client_itself() {
    let mut tracker = ready();
    let (id, _) = tracker.send(Request::initialize(vec!["x".into()])).unwrap();
    assert_eq!(
        tracker.send(Request::SessionCreate),
        Err(NotSent::NotNegotiated)
    );
    take(
        &mut tracker,
        &refusal(json!(id), json!("initialize"), "unsupported_capability"),
    )
    .unwrap();
    assert_eq!(
        tracker.send(Request::SessionCreate),
        Err(NotSent::NotNegotiated)
    );
    let (id, _) = tracker.send(Request::initialize(vec![])).unwrap();
    take(
        &mut tracker,
        &response(&id, None, "initialize", initialized()),
    )
    .unwrap();
    assert!(tracker.send(Request::SessionCreate).is_ok());
    let (id, _) = tracker.send(Request::Capabilities).unwrap();
    let mut changed = capabilities();
    changed["limits"]["max_array_items"] = json!(32);
    assert_eq!(
        take(&mut tracker, &response(&id, None, "capabilities", changed)),
        Err(Violation::AdvertisementChanged)
    );
}

#[test]
fn identities_of_the_caller_s_own_are_free_when_nothing_holds_them() {
    let mut tracker = ready();
    let mut send = |id: &str| tracker.send_as(id, Request::Status).map(drop);
    assert_eq!(send("mine"), Ok(()));
    assert_eq!(send("mine"), Err(NotSent::BadIdentity));
    assert_eq!(send(""), Err(NotSent::BadIdentity));
    assert_eq!(send(&"x".repeat(129)), Err(NotSent::BadIdentity));
    assert_eq!(send(&"x".repeat(128)), Ok(()));
    let status = json!({"service": "ready", "provider_auth_ready": false});
    take(&mut tracker, &response("mine", None, "status", status)).unwrap();
    assert!(tracker.send_as("mine", Request::Status).is_ok());

    // A turn holds its identity until its terminal event, and then lets it go.
    let (mut tracker, id) = turn();
    let again = |tracker: &mut Tracker| tracker.send_as(&id, Request::Status).map(drop);
    assert_eq!(again(&mut tracker), Err(NotSent::BadIdentity));
    take(&mut tracker, &terminal(&id, 1)).unwrap();
    assert_eq!(again(&mut tracker), Ok(()));
}

// Envelopes and correlation.

#[test]
fn envelopes_fail_closed() {
    assert_eq!(
        status(|r| r["kind"] = json!("notice")).err(),
        Some(Violation::UnknownFrameType)
    );
    assert_eq!(
        status(|r| r["protocol_version"] = json!(2)).err(),
        Some(Violation::UnknownProtocol)
    );
    assert_eq!(
        status(|r| remove(r, "session_id")).err(),
        Some(Violation::Missing("session_id"))
    );
    assert_eq!(
        status(|r| remove(r, "error")).err(),
        Some(Violation::Missing("error"))
    );
    assert_eq!(
        status(|r| r["payload"] = Value::Null).err(),
        Some(Violation::NotOneOutcome)
    );
    assert_eq!(
        status(|r| r["error"] = json!({"code": "x", "message": ""})).err(),
        Some(Violation::NotOneOutcome)
    );
    assert_eq!(
        status(|r| r["payload"] = json!([])).err(),
        Some(Violation::WrongType("payload"))
    );
    assert_eq!(
        status(|r| r["request_id"] = Value::Null).err(),
        Some(Violation::Unbound)
    );
    assert_eq!(
        status(|r| r["method"] = Value::Null).err(),
        Some(Violation::Unbound)
    );
    assert_eq!(
        status(|r| r["method"] = json!("config.get")).err(),
        Some(Violation::IdentityMismatch("method"))
    );
    assert_eq!(
        status(|r| r["request_id"] = json!("other")).err(),
        Some(Violation::UnknownRequest)
    );
    assert_eq!(
        status(|r| r["session_id"] = json!("s1")).err(),
        Some(Violation::IdentityMismatch("session_id"))
    );
    assert_eq!(
        status(|r| r["payload"]["service"] = json!("busy")).err(),
        Some(Violation::UnknownWord("service"))
    );
}

#[test]
fn an_unknown_error_code_is_a_failure_and_nothing_more() {
    let mut tracker = ready();
    let (id, _) = tracker.send(Request::Status).unwrap();
    let taken = take(
        &mut tracker,
        &refusal(json!(id), json!("status"), "solar_flare"),
    )
    .unwrap();
    assert!(
        matches!(taken, Incoming::Failed { request_id: Some(_), error } if error.code.is_none())
    );
    let taken = take(
        &mut tracker,
        &refusal(Value::Null, Value::Null, "invalid_json"),
    )
    .unwrap();
    assert!(
        matches!(taken, Incoming::Failed { request_id: None, error } if error.code == Some(ErrorCode::InvalidJson))
    );
    let mut long = refusal(Value::Null, Value::Null, "invalid_json");
    long["error"]["message"] = json!("x".repeat(513));
    assert_eq!(
        take(&mut tracker, &long),
        Err(Violation::OutOfBounds("message"))
    );
    remove(&mut long["error"], "message");
    assert_eq!(
        take(&mut tracker, &long),
        Err(Violation::Missing("message"))
    );
}

#[test]
fn sessions_answer_for_the_session_that_was_asked() {
    let open = |session: &str, envelope: Option<&str>| {
        let mut tracker = ready();
        let (id, _) = tracker
            .send(Request::SessionOpen {
                session_id: "s1".into(),
            })
            .unwrap();
        let payload = json!({"session_id": session, "status": "open"});
        take(
            &mut tracker,
            &response(&id, envelope, "session.open", payload),
        )
        .err()
    };
    assert_eq!(open("s1", Some("s1")), None);
    assert_eq!(
        open("s2", Some("s1")),
        Some(Violation::IdentityMismatch("session_id"))
    );
    assert_eq!(
        open("s1", None),
        Some(Violation::IdentityMismatch("session_id"))
    );
}

proptest! {
    #[test]
    fn only_increasing_sequences_are_taken(numbers in proptest::collection::vec(0u64..40, 1..20)) {
        let (mut tracker, id) = turn();
        let mut last = 0;
        for number in numbers {
            let taken = take(&mut tracker, &delta(&id, number));
            if number > last {
                prop_assert!(taken.is_ok());
                last = number;
            } else {
                prop_assert_eq!(taken, Err(Violation::Sequence));
                break;
            }
        }
    }

    #[test]
    fn changed_bytes_get_a_verdict_not_a_panic(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut tracker = Tracker::new(Requirements::default());
        let (id, _) = tracker.send(Request::initialize(vec![])).unwrap();
        let mut record = response(&id, None, "initialize", initialized()).to_string().into_bytes();
        let at = at.index(record.len());
        record[at] = byte;
        let _ = tracker.accept(&record);
    }
}
