//! The spec's acceptance table ("Unknown output fields and values"), one test a row.
//! Nothing else, so that the table can be read beside it.

use application_service::messages::ServiceStatus;

use super::*;

#[test]
fn row_1_unknown_members_of_envelope_and_payload_are_ignored() {
    let with = status(|record| {
        record["future_hint"] = json!(true);
        record["payload"]["metadata"] = json!({"a": [1, null, "x"]});
    });
    assert!(matches!(
        with,
        Ok(Incoming::Answered {
            answer: Answer::Status(ServiceStatus {
                provider_auth_ready: false,
                ..
            }),
            ..
        })
    ));
}

#[test]
fn row_2_new_limits_are_accepted_and_known_ones_still_required() {
    let tracker = preflight(|p| both_limits(p, "max_future_page_items", &json!(16))).unwrap();
    assert_eq!(
        tracker.profile().unwrap().limits.extensions["max_future_page_items"],
        16
    );
    for name in limits().as_object().unwrap().keys() {
        let missing = preflight(|p| {
            remove(&mut p["limits"], name);
            remove(&mut p["capabilities"]["limits"], name);
            p["limits"]["max_future_page_items"] = json!(16);
        });
        assert!(matches!(missing, Err(Violation::UnsafeBound(n)) if n == name));
    }
}

#[test]
fn row_3_new_limits_are_positive_representable_integers() {
    for bad in [
        json!("16"),
        json!(0),
        json!(-1),
        json!(1u64 << 53),
        json!(1e30),
        json!(1.5),
        json!(null),
    ] {
        let refused = preflight(|p| both_limits(p, "max_future_page_items", &bad)).err();
        assert_eq!(refused, Some(Violation::UnsafeBound("limits")), "{bad}");
        let refused = preflight(|p| both_limits(p, "max_array_items", &bad)).err();
        assert_eq!(
            refused,
            Some(Violation::UnsafeBound("max_array_items")),
            "{bad}"
        );
    }
}

#[test]
fn row_4_optional_metadata_may_be_absent_or_null() {
    assert!(status(|record| record["payload"]["metadata"] = Value::Null).is_ok());
    assert!(status(|_| ()).is_ok());
}

#[test]
fn row_5_a_required_boolean_is_a_boolean() {
    let found = |change: fn(&mut Value)| status(change).err();
    let name = "provider_auth_ready";
    assert_eq!(
        found(|r| remove(&mut r["payload"], "provider_auth_ready")),
        Some(Violation::Missing(name))
    );
    for bad in [Value::Null, json!("false"), json!(0)] {
        assert_eq!(
            status(|r| r["payload"][name] = bad).err(),
            Some(Violation::WrongType(name))
        );
    }
}

#[test]
fn row_6_a_terminal_settles_nothing_it_does_not_say() {
    let settle = |change: fn(&mut Value)| {
        let (mut tracker, id) = turn();
        let mut record = terminal(&id, 4);
        change(&mut record["payload"]);
        take(&mut tracker, &record).err()
    };
    assert_eq!(settle(|_| ()), None);
    assert_eq!(
        settle(|p| remove(p, "assistant_text")),
        Some(Violation::Missing("assistant_text"))
    );
    assert_eq!(
        settle(|p| remove(p, "sequence")),
        Some(Violation::Missing("sequence"))
    );
    assert_eq!(
        settle(|p| p["status"] = json!("done")),
        Some(Violation::UnknownWord("status"))
    );
    assert_eq!(
        settle(|p| p["turn_id"] = json!("t2")),
        Some(Violation::IdentityMismatch("turn_id"))
    );
    assert_eq!(
        settle(|p| p["session_id"] = json!("s2")),
        Some(Violation::IdentityMismatch("session_id"))
    );
    for name in [
        "activity_dropped",
        "activity_replay_available",
        "replay_required",
    ] {
        let (mut tracker, id) = turn();
        let mut record = terminal(&id, 4);
        remove(&mut record["payload"], name);
        assert_eq!(
            take(&mut tracker, &record).err(),
            Some(Violation::Missing(name))
        );
    }
    assert_eq!(
        settle(|p| p["activity_replay_available"] = json!(true)),
        Some(Violation::Contradiction("activity_replay_available"))
    );
}

#[test]
fn row_7_sequences_may_skip_but_never_repeat_or_return() {
    let (mut tracker, id) = turn();
    take(&mut tracker, &delta(&id, 2)).unwrap();
    take(&mut tracker, &delta(&id, 4)).unwrap();
    assert_eq!(tracker.turn(&id).unwrap().skipped, 2);
    for sequence in [4, 3, 0] {
        assert_eq!(
            take(&mut tracker, &delta(&id, sequence)),
            Err(Violation::Sequence)
        );
    }
    take(&mut tracker, &terminal(&id, 5)).unwrap();
    assert_eq!(tracker.active(), 0);
    for late in [delta(&id, 6), terminal(&id, 7)] {
        assert_eq!(take(&mut tracker, &late), Err(Violation::AfterTerminal));
    }
}

#[test]
fn row_8_an_unknown_advertised_event_is_refused_before_any_mutation() {
    let mut tracker = Tracker::new(Requirements::default());
    let (id, _) = tracker.send(Request::initialize(vec![])).unwrap();
    let mut payload = initialized();
    payload["capabilities"]["events"]
        .as_array_mut()
        .unwrap()
        .push(json!("turn.approval"));
    let found = take(&mut tracker, &response(&id, None, "initialize", payload));
    assert_eq!(found, Err(Violation::UnknownEventAdvertised));
    for request in [Request::SessionCreate, Request::ConfigGet, Request::Status] {
        assert_eq!(tracker.send(request), Err(NotSent::NotNegotiated));
    }
}

#[test]
fn row_9_unknown_fields_are_bounded_like_all_others() {
    let deep = (0..40).fold(json!(1), |inner, _| json!([inner]));
    for (bad, found) in [
        (json!(vec![0; 65]), Violation::TooManyItems),
        (json!("x".repeat(16_385)), Violation::StringTooLong),
        (deep, Violation::TooDeep),
        (json!({"x".repeat(16_385): 1}), Violation::StringTooLong),
        (
            Value::Object((0..65).map(|n| (n.to_string(), json!(n))).collect()),
            Violation::TooManyFields,
        ),
    ] {
        assert_eq!(status(|r| r["future"] = bad.clone()).err(), Some(found));
        assert_eq!(status(|r| r["payload"]["future"] = bad).err(), Some(found));
    }
    let pad: Vec<_> = (0..3).map(|_| "x".repeat(12_000)).collect();
    assert_eq!(
        status(|r| r["payload"]["future"] = json!(pad)).err(),
        Some(Violation::PayloadTooLarge)
    );
}
