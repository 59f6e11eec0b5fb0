//! Tests of turns and logins: their order, their activities, their end.
//! Single answers are elsewhere.

use application_service::messages::{Accepted, ProviderPayload};

use super::*;

#[test]
fn turns_are_accepted_before_they_speak() {
    let mut tracker = ready();
    let (id, _) = tracker.send(Request::turn(None, "hi".into())).unwrap();
    assert_eq!(
        take(&mut tracker, &delta(&id, 0)),
        Err(Violation::OutOfOrder)
    );
    assert_eq!(
        take(&mut tracker, &delta("q99", 0)),
        Err(Violation::UnknownRun)
    );
    let accepted = json!({"turn_id": "t1", "session_id": "s1", "status": "accepted"});
    take(&mut tracker, &response(&id, None, "turn.start", accepted)).unwrap();
    assert_eq!(
        take(&mut tracker, &delta(&id, 0)),
        Err(Violation::OutOfOrder)
    );
    let started = |sequence: u64| {
        let payload =
            json!({"turn_id": "t1", "session_id": "s1", "status": "started", "sequence": sequence});
        event(&id, Some("s1"), "turn.started", payload)
    };
    assert_eq!(take(&mut tracker, &started(1)), Err(Violation::Sequence));
    take(&mut tracker, &started(0)).unwrap();
    assert_eq!(take(&mut tracker, &started(1)), Err(Violation::Sequence));
    let mut stray = delta(&id, 1);
    stray["session_id"] = Value::Null;
    assert_eq!(
        take(&mut tracker, &stray),
        Err(Violation::IdentityMismatch("session_id"))
    );
    let settled = take(&mut tracker, &terminal(&id, 1)).unwrap();
    let Incoming::Event {
        event: Event::TurnTerminal(settlement),
        ..
    } = settled
    else {
        panic!()
    };
    assert_eq!(
        (settlement.status, settlement.activity_dropped),
        (TurnStatus::Completed, Some(1))
    );
    assert_eq!(settlement.assistant_text, "The complete answer.");
}

#[test]
fn a_login_goes_one_way_and_its_url_stays_out_of_logs() {
    let mut tracker = ready();
    let (id, _) = tracker
        .send(Request::AuthLoginStart(ProviderPayload {
            provider_id: "openai-codex".into(),
        }))
        .unwrap();
    let started = json!({"login_id": "l1", "provider_id": "openai-codex", "status": "started"});
    take(
        &mut tracker,
        &response(&id, None, "auth.login.start", started),
    )
    .unwrap();
    let progress = |state: &str| {
        let mut payload = json!({"login_id": "l1", "provider_id": "openai-codex", "state": state});
        if state == "authorization_url" {
            payload["url"] = json!("https://auth.example/?code=tell-nobody");
            payload["open_browser"] = json!(true);
        }
        event(&id, None, "auth.login.progress", payload)
    };
    assert_eq!(
        take(&mut tracker, &progress("waiting")),
        Err(Violation::OutOfOrder)
    );
    let taken = take(&mut tracker, &progress("authorization_url")).unwrap();
    assert!(!format!("{taken:?}").contains("tell-nobody"));
    take(&mut tracker, &progress("waiting")).unwrap();
    assert_eq!(
        take(&mut tracker, &progress("authorization_url")),
        Err(Violation::OutOfOrder)
    );
    let mut stray = progress("callback_received");
    stray["payload"]["provider_id"] = json!("anthropic");
    assert_eq!(
        take(&mut tracker, &stray),
        Err(Violation::IdentityMismatch("provider_id"))
    );
    let end = |cleanup: bool, state: &str| {
        event(
            &id,
            None,
            "auth.login.terminal",
            json!({"login_id": "l1", "state": state, "cleanup_complete": cleanup}),
        )
    };
    assert_eq!(
        take(&mut tracker, &end(false, "cancelled")),
        Err(Violation::OutOfBounds("cleanup_complete"))
    );
    assert_eq!(
        take(&mut tracker, &end(true, "fine")),
        Err(Violation::UnknownWord("state"))
    );
    take(&mut tracker, &end(true, "exchange_succeeded")).unwrap();
    assert_eq!(
        take(&mut tracker, &end(true, "cancelled")),
        Err(Violation::AfterTerminal)
    );
}

#[test]
fn six_kinds_of_activity_with_their_words() {
    let lifecycle = json!({"activity_id": "a", "kind": "lifecycle", "category": "subagent_task", "status": "running",
        "details_omitted": true});
    let tool = json!({"activity_id": "a", "kind": "tool", "tool_id": "h", "tool_name": null, "server_id": null,
        "transport": "unknown", "status": "completed", "timed_out": null, "details_omitted": true});
    let summary = json!({"activity_id": "a", "kind": "reasoning_summary", "text": "", "redacted": false, "truncated": true});
    let context = json!({"activity_id": "a", "kind": "context", "current_tokens": 1, "max_tokens": 2,
        "reasoning_tokens": null, "request_sequence": 0, "source": "provider_exact"});
    let usage = json!({"activity_id": "a", "kind": "usage", "effective_input": 1, "output": 2, "cache_read": 0,
        "cache_known": false, "request_sequence": 1, "final_usage": true, "source": "provider_request"});
    let compaction = json!({"activity_id": "a", "kind": "compaction", "status": "completed", "current_tokens": 5,
        "max_tokens": 9, "replay_required": true});
    let see = |mut activity: Value, name: &str, value: Option<Value>| {
        match value {
            Some(value) => activity[name] = value,
            None => remove(&mut activity, name),
        }
        let (mut tracker, id) = turn();
        let payload = json!({"turn_id": "t1", "sequence": 1, "activity": activity});
        let taken = take(
            &mut tracker,
            &event(&id, Some("s1"), "turn.activity", payload),
        );
        taken.map(|_| tracker.turn(&id).unwrap().replay_asked)
    };
    for activity in [&lifecycle, &tool, &summary, &context, &usage] {
        assert_eq!(see(activity.clone(), "extra", Some(json!(1))), Ok(false));
        assert_eq!(
            see(activity.clone(), "activity_id", None),
            Err(Violation::Missing("activity_id"))
        );
        assert_eq!(
            see(activity.clone(), "parent_activity_id", Some(json!("p"))),
            Ok(false)
        );
        assert_eq!(
            see(activity.clone(), "parent_activity_id", Some(Value::Null)),
            Err(Violation::WrongType("parent_activity_id"))
        );
    }
    assert_eq!(see(compaction.clone(), "extra", Some(json!(1))), Ok(true));
    for (activity, name, value, found) in [
        (
            &lifecycle,
            "kind",
            json!("mood"),
            Violation::UnknownWord("kind"),
        ),
        (
            &lifecycle,
            "category",
            json!("thought"),
            Violation::UnknownWord("category"),
        ),
        (
            &lifecycle,
            "status",
            json!("paused"),
            Violation::UnknownWord("status"),
        ),
        (
            &lifecycle,
            "details_omitted",
            json!(false),
            Violation::OutOfBounds("details_omitted"),
        ),
        (
            &tool,
            "transport",
            json!("carrier_pigeon"),
            Violation::UnknownWord("transport"),
        ),
        (
            &tool,
            "timed_out",
            json!(0),
            Violation::WrongType("timed_out"),
        ),
        (
            &summary,
            "text",
            json!("x".repeat(2049)),
            Violation::OutOfBounds("text"),
        ),
        (
            &context,
            "source",
            json!("guess"),
            Violation::UnknownWord("source"),
        ),
        (
            &context,
            "current_tokens",
            json!("1"),
            Violation::WrongType("current_tokens"),
        ),
        (
            &usage,
            "output",
            json!(-1),
            Violation::OutOfBounds("output"),
        ),
        (
            &compaction,
            "status",
            json!("done"),
            Violation::UnknownWord("status"),
        ),
        (
            &compaction,
            "max_tokens",
            Value::Null,
            Violation::Contradiction("current_tokens"),
        ),
        (
            &compaction,
            "replay_required",
            json!(false),
            Violation::Contradiction("replay_required"),
        ),
    ] {
        assert_eq!(
            see(activity.clone(), name, Some(value)),
            Err(found),
            "{name}"
        );
    }
    assert_eq!(
        see(tool.clone(), "timed_out", None),
        Err(Violation::Missing("timed_out"))
    );
    let fields = tool.as_object().unwrap();
    let read =
        crate::application_service::activity::read(crate::fields::Fields::new(fields), 128, 2048)
            .unwrap();
    assert!(
        matches!(read.kind, Kind::Tool(tool) if tool.timed_out.is_none() && tool.tool_name.is_none())
    );
}

#[tokio::test]
async fn a_conversation_over_streams() {
    use crate::application_service::Client;
    use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex, split};
    let (near, far) = duplex(4096);
    let (output, input) = split(near);
    let mut client = Client::new(
        output,
        input,
        Requirements {
            operations: &["turn.start"],
            activity: true,
        },
    );
    let service = async move {
        let (requests, mut records) = split(far);
        let mut requests = BufReader::new(requests).lines();
        let first: Value =
            serde_json::from_str(&requests.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(
            first["payload"],
            json!({"supported_protocol_versions": [1], "requested_capabilities": ["turn.start"]})
        );
        let mut say = async |record: Value| {
            records
                .write_all(format!("{record}\r\n").as_bytes())
                .await
                .unwrap()
        };
        say(response("q1", None, "initialize", initialized())).await;
        requests.next_line().await.unwrap().unwrap();
        say(response(
            "q2",
            Some("s1"),
            "turn.start",
            json!({"turn_id":"t1","session_id":"s1","status":"accepted"}),
        ))
        .await;
        let started =
            json!({"turn_id": "t1", "session_id": "s1", "status": "started", "sequence": 0});
        say(event("q2", Some("s1"), "turn.started", started)).await;
        // The stream ends without a terminal event: that settles nothing.
    };
    let user = async {
        assert!(matches!(
            client.send(Request::SessionCreate),
            Err(crate::Error::NotSent(NotSent::NotNegotiated))
        ));
        client.negotiate().await.unwrap();
        let start = Request::turn(None, "hi".into());
        assert!(matches!(
            client.call(start).await.unwrap(),
            Answer::TurnAccepted(Accepted { .. })
        ));
        assert!(matches!(
            client.next().await.unwrap(),
            Some(Incoming::Event {
                event: Event::TurnStarted(_),
                ..
            })
        ));
        assert!(client.next().await.unwrap().is_none());
        assert_eq!(client.tracker().active(), 1);
    };
    tokio::join!(service, user);
}
