//! Tests of what the local-agent client refuses to send and to take: limits, initialization, pages.
//! Order and correlation are the parent's.

use super::*;
use crate::local_agent::Entry;

#[tokio::test]
async fn what_the_server_would_have_to_refuse_stays_here() {
    let (mut client, _peer) = pair();
    assert!(matches!(
        client.send(Request::SessionCreate),
        Err(Error::NotSent(NotSent::NotNegotiated))
    ));
    let (mut client, _peer) = negotiated().await;
    let turn = |session: &str, prompt: String| {
        Request::TurnStart(StartParams {
            session_id: session.into(),
            prompt,
        })
    };
    for (request, why) in [
        (turn("s1", " \n\t".into()), NotSent::BlankPrompt),
        (turn("s1", "x".repeat(16_385)), NotSent::PromptTooLong),
        (turn("s1", "\u{1}".repeat(16_384)), NotSent::TooLarge),
        (turn("../s1", "x".into()), NotSent::BadIdentity),
        (
            Request::SessionOpen(OpenParams {
                session_id: String::new(),
            }),
            NotSent::BadIdentity,
        ),
        (
            Request::TurnCancel(CancelParams {
                session_id: "s1".into(),
                run_id: "latest".into(),
            }),
            NotSent::BadIdentity,
        ),
    ] {
        assert!(
            matches!(client.send(request), Err(Error::NotSent(found)) if found == why),
            "{why:?}"
        );
    }
    assert_eq!(client.in_flight(), 0);
}

#[tokio::test]
async fn an_initialization_that_cannot_be_trusted_is_refused() {
    let with = |change: fn(&mut Value)| async move {
        let (mut client, mut peer) = pair();
        let mut result = initialized();
        change(&mut result);
        peer.answer("r1", result).await;
        match client.negotiate(REQUIRED_FOR_TURNS).await {
            Err(Error::Violation(violation)) => violation,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        with(|r| r["capabilities"] = json!(["status"])).await,
        Violation::MissingCapability("initialize")
    );
    assert_eq!(
        with(|r| r["limits"]["frame_bytes"] = json!(65_537)).await,
        Violation::UnsafeBound("frame_bytes")
    );
    assert_eq!(
        with(|r| r["limits"]["json_depth"] = json!(0)).await,
        Violation::UnsafeBound("json_depth")
    );
    assert_eq!(
        with(|r| r["limits"]["id_bytes"] = json!("64")).await,
        Violation::UnsafeBound("id_bytes")
    );
    assert_eq!(
        with(|r| drop(r["limits"].as_object_mut().unwrap().remove("prompt_bytes"))).await,
        Violation::UnsafeBound("prompt_bytes")
    );
    assert_eq!(
        with(|r| r["status"]["state"] = json!("asleep")).await,
        Violation::UnknownWord("state")
    );
    assert_eq!(
        with(|r| r["status"]["readiness"] = json!("initializing")).await,
        Violation::Contradiction("readiness")
    );
    assert_eq!(
        with(|r| r["status"]["run_id"] = json!(RUN)).await,
        Violation::Contradiction("run_id")
    );
    assert_eq!(
        with(|r| drop(r["status"].as_object_mut().unwrap().remove("model"))).await,
        Violation::Missing("model")
    );
}

#[tokio::test]
async fn additions_to_results_are_ignored() {
    let (mut client, mut peer) = pair();
    let mut result = initialized();
    result["future"] = json!({"deep": [1, 2, 3]});
    result["limits"]["future_bytes"] = json!(7);
    result["status"]["mood"] = json!("fine");
    result["capabilities"]
        .as_array_mut()
        .unwrap()
        .push(json!("future.thing"));
    peer.answer("r1", result).await;
    assert!(client.negotiate(REQUIRED_FOR_TURNS).await.is_ok());
    assert!(client.offers("future.thing") && !client.offers("other"));
}

#[tokio::test]
async fn history_pages_keep_to_their_bounds() {
    let ask = || {
        Request::HistoryPage(PageParams {
            session_id: "s1".into(),
            revision: "v".into(),
            cursor: None,
        })
    };
    let entry = json!({"message_id":"a","kind":"user","text":"x","partial":false,"part":0,"last_part":true});
    let page = |entries: Value, next: Value, complete: bool| json!({"session_id":"s1","revision":"v","entries":entries,"next_cursor":next,"complete":complete});
    for (result, found) in [
        (
            page(json!(vec![entry.clone(); 101]), Value::Null, true),
            Violation::OutOfBounds("entries"),
        ),
        (
            page(json!([entry]), json!("c"), true),
            Violation::Contradiction("next_cursor"),
        ),
        (
            page(json!([]), json!("c"), false),
            Violation::Contradiction("next_cursor"),
        ),
        (
            page(json!([{"message_id":"a"}]), Value::Null, true),
            Violation::Missing("kind"),
        ),
        (
            page(
                json!([{"message_id":"a","kind":"thought","text":"","partial":false,"part":0,"last_part":true}]),
                Value::Null,
                true,
            ),
            Violation::UnknownWord("kind"),
        ),
        (
            page(
                json!([{"message_id":"a","kind":"user","text":"x".repeat(16_385),"partial":false,"part":0,"last_part":true}]),
                Value::Null,
                true,
            ),
            Violation::OutOfBounds("text"),
        ),
        (
            json!({"session_id":"s1","revision":"v","pad":"x".repeat(32_768)}),
            Violation::PayloadTooLarge,
        ),
    ] {
        let (mut client, mut peer) = negotiated().await;
        peer.answer("r2", result).await;
        assert!(
            matches!(client.call(ask()).await, Err(Error::Violation(violation)) if violation == found),
            "{found:?}"
        );
    }
    let (mut client, mut peer) = negotiated().await;
    peer.answer("r2", page(json!([]), Value::Null, true)).await;
    assert!(
        matches!(client.call(ask()).await.unwrap(), Answer::HistoryPage(page) if page.entries == Vec::<Entry>::new())
    );
}

#[tokio::test]
async fn requests_in_flight_are_bounded_by_the_smaller_side() {
    let (mut client, mut peer) = pair();
    let mut tight = initialized();
    tight["limits"]["pending_responses"] = json!(2);
    tight["limits"]["requests_per_child"] = json!(4);
    peer.answer("r1", tight).await;
    client.negotiate(&[]).await.unwrap();
    client.send(Request::Status).unwrap();
    client.send(Request::Status).unwrap();
    assert!(matches!(
        client.send(Request::Status),
        Err(Error::NotSent(NotSent::TooManyInFlight))
    ));
    peer.refuse(json!("r2"), "busy").await;
    assert!(matches!(
        client.next().await.unwrap(),
        Some(Incoming::Refused {
            code: ErrorCode::Busy,
            ..
        })
    ));
    client.send(Request::Status).unwrap();
    peer.answer("r3", status()).await;
    client.next().await.unwrap();
    assert!(matches!(
        client.send(Request::Status),
        Err(Error::NotSent(NotSent::RequestsExhausted))
    ));
}
