//! Tests of the local-agent client against synthetic children over in-memory streams.
//! The frames are written by hand here, so that a fault in the decoder cannot hide in its own encoder.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

mod bounds;

use super::*;
use crate::local_agent::History;
use crate::local_agent::words::Outcome;
use crate::local_agent::{AnswerParams, CancelParams, OpenParams, PageParams, StartParams};

const CHILD: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";
const RUN: &str = "0e7a0e0c-54b5-4a53-8f3c-3c8d2a1b9a10";

type Pair = Client<ReadHalf<DuplexStream>, WriteHalf<DuplexStream>>;

/// The child's end: it reads requests and writes frames with the next `seq`.
struct Peer {
    requests: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    frames: WriteHalf<DuplexStream>,
    seq: u64,
}

fn pair() -> (Pair, Peer) {
    let (near, far) = duplex(1 << 20);
    let (output, input) = split(near);
    let (requests, frames) = split(far);
    (
        Client::new(output, input),
        Peer {
            requests: BufReader::new(requests).lines(),
            frames,
            seq: 0,
        },
    )
}

impl Peer {
    async fn request(&mut self) -> Value {
        serde_json::from_str(&self.requests.next_line().await.unwrap().unwrap()).unwrap()
    }

    async fn frame(&mut self, mut body: Value) {
        self.seq += 1;
        for (name, value) in [
            ("protocol", json!("magi-code.local-agent")),
            ("version", json!(1)),
            ("instance_id", json!(CHILD)),
            ("seq", json!(self.seq)),
        ] {
            if body.get(name).is_none() {
                body[name] = value;
            }
        }
        self.frames
            .write_all(format!("{body}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn answer(&mut self, id: &str, result: Value) {
        self.frame(json!({ "type": "response", "id": id, "result": result }))
            .await;
    }

    async fn refuse(&mut self, id: Value, code: &str) {
        self.frame(json!({ "type": "response", "id": id, "error": { "code": code } }))
            .await;
    }

    async fn event(&mut self, name: &str, mut data: Value) {
        data["session_id"] = json!("s1");
        data["run_id"] = json!(RUN);
        self.frame(json!({ "type": "event", "event": name, "data": data }))
            .await;
    }
}

fn status() -> Value {
    json!({"state":"idle","readiness":"ready","provider":"fixture","model":"fixture-model","context_id":"abc",
        "session_id":null,"run_id":null})
}

/// The initialization result of the spec's synthetic consumer trace.
fn initialized() -> Value {
    json!({
        "capabilities": ["initialize","status","shutdown","session.create","session.open","history.page",
            "turn.start","turn.cancel","approval.answer"],
        "limits": {"frame_bytes":65536,"json_depth":32,"id_bytes":64,"prompt_bytes":16384,
            "history_page_bytes":32768,"history_page_entries":100,"content_chunk_bytes":16384,
            "pending_responses":32,"requests_per_child":4096,"output_deadline_ms":2000},
        "status": status(),
    })
}

async fn negotiated() -> (Pair, Peer) {
    let (mut client, mut peer) = pair();
    peer.answer("r1", initialized()).await;
    // The answer was there before the request, so the request may still be queued.
    client.negotiate(REQUIRED_FOR_TURNS).await.unwrap();
    client.flush().await.unwrap();
    peer.request().await;
    (client, peer)
}

async fn running() -> (Pair, Peer) {
    let (mut client, mut peer) = negotiated().await;
    peer.answer("r2", json!({"run_id": RUN, "accepted": true}))
        .await;
    client
        .call(Request::TurnStart(StartParams {
            session_id: "s1".into(),
            prompt: "hi".into(),
        }))
        .await
        .unwrap();
    (client, peer)
}

async fn fails(client: &mut Pair) -> Violation {
    loop {
        match client.next().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the stream ended without a violation"),
            Err(Error::Violation(violation)) => {
                assert!(
                    matches!(client.send(Request::Status), Err(Error::Violation(again)) if again == violation)
                );
                return violation;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test]
async fn the_specs_trace_from_first_frame_to_last() {
    let (mut client, mut peer) = pair();
    let server = async {
        let request = peer.request().await;
        assert_eq!(
            request,
            json!({"protocol":"magi-code.local-agent","version":1,"id":"r1","method":"initialize",
                "params":{"required_capabilities":REQUIRED_FOR_TURNS}})
        );
        peer.answer("r1", initialized()).await;
        assert_eq!(peer.request().await["params"], json!({}));
        peer.answer(
            "r2",
            json!({"session_id":"s1","durable":false,"revision":"v0","notices":[]}),
        )
        .await;
        assert_eq!(
            peer.request().await["params"],
            json!({"session_id":"s1","prompt":"hi"})
        );
        peer.answer("r3", json!({"run_id":RUN,"accepted":true}))
            .await;
        peer.event(
            "input.persisted",
            json!({"message_id":"in","durable":true,"revision":"v1"}),
        )
        .await;
        peer.event(
            "message.delta",
            json!({"message_id":"m","part":0,"text":"Hel"}),
        )
        .await;
        peer.event(
            "message.delta",
            json!({"message_id":"m","part":2,"text":"!"}),
        )
        .await;
        let whole =
            json!({"message_id":"m","part":0,"text":"Hello!","last_part":true,"partial":false});
        peer.event("message.reconcile", whole).await;
        let end = json!({"outcome":"completed","persistence":"durable","revision":"v2","error_code":null});
        peer.event("run.finished", end).await;
        let page = peer.request().await;
        assert_eq!(
            page["params"],
            json!({"session_id":"s1","revision":"v2","cursor":null})
        );
        let entry = |id: &str, kind: &str, text: &str| json!({"message_id":id,"kind":kind,"text":text,"partial":false,"part":0,"last_part":true});
        let entries = json!([entry("a", "user", "hi"), entry("b", "assistant", "Hello!")]);
        peer.answer("r4", json!({"session_id":"s1","revision":"v2","entries":entries,"next_cursor":null,"complete":true}))
            .await;
        peer.request().await;
        peer.answer("r5", json!({"state":"stopping"})).await;
        drop(peer);
    };
    let user = async {
        let first = client.negotiate(REQUIRED_FOR_TURNS).await.unwrap();
        assert_eq!(first.status.provider.as_deref(), Some("fixture"));
        let Answer::SessionCreated(session) = client.call(Request::SessionCreate).await.unwrap()
        else {
            panic!()
        };
        let start = Request::TurnStart(StartParams {
            session_id: session.session_id.clone(),
            prompt: "hi".into(),
        });
        client.call(start).await.unwrap();
        while client.transcript().unwrap().ended().is_none() {
            client.next().await.unwrap().unwrap();
        }
        let transcript = client.transcript().unwrap();
        assert_eq!(transcript.text(), "Hello!");
        let ended = transcript.ended().unwrap();
        assert_eq!(ended.outcome, Outcome::Completed);
        let mut history = History::new(session.session_id, ended.revision.clone().unwrap());
        while let Some(request) = history.request() {
            let Answer::HistoryPage(page) = client.call(request).await.unwrap() else {
                panic!()
            };
            history.accept(page).unwrap();
        }
        assert!(history.is_complete() && history.messages().len() == 2);
        assert_eq!(
            client.call(Request::Shutdown).await.unwrap(),
            Answer::Stopping
        );
        assert!(client.next().await.unwrap().is_none());
    };
    tokio::join!(server, user);
}

#[tokio::test]
async fn answers_are_matched_by_identity_not_by_order() {
    let (mut client, mut peer) = negotiated().await;
    let first = client.send(Request::Status).unwrap();
    let second = client.send(Request::SessionCreate).unwrap();
    peer.answer(
        &second,
        json!({"session_id":"s1","durable":false,"revision":"v0","notices":[]}),
    )
    .await;
    peer.answer(&first, status()).await;
    assert!(
        matches!(client.next().await.unwrap(), Some(Incoming::Answered { id, .. }) if id == second)
    );
    assert!(
        matches!(client.next().await.unwrap(), Some(Incoming::Answered { id, .. }) if id == first)
    );
    assert_eq!(client.in_flight(), 0);
    // An identity is spent with its answer.
    peer.answer(&first, status()).await;
    assert_eq!(fails(&mut client).await, Violation::UnknownRequest);
}

#[tokio::test]
async fn a_call_keeps_what_else_arrives() {
    let (mut client, mut peer) = running().await;
    peer.event(
        "input.persisted",
        json!({"message_id":"in","durable":true,"revision":"v1"}),
    )
    .await;
    peer.event(
        "message.delta",
        json!({"message_id":"m","part":0,"text":"x"}),
    )
    .await;
    peer.answer("r3", json!({"cancellation_requested":true}))
        .await;
    let cancel = Request::TurnCancel(CancelParams {
        session_id: "s1".into(),
        run_id: RUN.into(),
    });
    assert_eq!(
        client.call(cancel).await.unwrap(),
        Answer::CancellationRequested
    );
    assert!(
        matches!(client.next().await.unwrap(), Some(Incoming::Event(e)) if matches!(e, Event::InputPersisted(_)))
    );
    assert!(
        matches!(client.next().await.unwrap(), Some(Incoming::Event(e)) if matches!(e, Event::MessageDelta(_)))
    );
}

#[tokio::test]
async fn identities_of_the_child_are_held_to() {
    let (mut client, mut peer) = negotiated().await;
    peer.frame(
        json!({"type":"response","id":null,"error":{"code":"invalid_request"},"instance_id":RUN}),
    )
    .await;
    assert_eq!(fails(&mut client).await, Violation::InstanceChanged);

    for seq in [1, 0] {
        let (mut client, mut peer) = negotiated().await;
        peer.frame(
            json!({"type":"response","id":null,"error":{"code":"invalid_request"},"seq":seq}),
        )
        .await;
        assert_eq!(fails(&mut client).await, Violation::Sequence);
    }
    let (mut client, mut peer) = pair();
    peer.frame(json!({"type":"response","id":null,"error":{"code":"invalid_request"},"seq":2}))
        .await;
    assert_eq!(fails(&mut client).await, Violation::Sequence);

    let (mut client, mut peer) = negotiated().await;
    peer.answer("r99", json!({})).await;
    assert_eq!(fails(&mut client).await, Violation::UnknownRequest);

    let (mut client, mut peer) = negotiated().await;
    peer.answer(
        "r2",
        json!({"session_id":"s2","durable":true,"revision":"v","notices":[]}),
    )
    .await;
    client
        .send(Request::SessionOpen(OpenParams {
            session_id: "s1".into(),
        }))
        .unwrap();
    assert_eq!(
        fails(&mut client).await,
        Violation::IdentityMismatch("session_id")
    );
}

#[tokio::test]
async fn a_run_is_admitted_before_it_speaks_and_silent_after_its_end() {
    let (mut client, mut peer) = negotiated().await;
    peer.event(
        "input.persisted",
        json!({"message_id":"in","durable":true,"revision":"v1"}),
    )
    .await;
    assert_eq!(fails(&mut client).await, Violation::UnknownRun);

    let (mut client, mut peer) = running().await;
    peer.event(
        "message.delta",
        json!({"message_id":"m","part":0,"text":"x"}),
    )
    .await;
    assert_eq!(fails(&mut client).await, Violation::OutOfOrder);

    let (mut client, mut peer) = running().await;
    let end = json!({"outcome":"failed","persistence":"not_started","revision":null,"error_code":"persistence_failed"});
    peer.event("run.finished", end.clone()).await;
    peer.event("run.finished", end).await;
    assert_eq!(fails(&mut client).await, Violation::AfterTerminal);
}

#[tokio::test]
async fn approvals_leave_the_list_with_their_answer() {
    for stale in [false, true] {
        let (mut client, mut peer) = running().await;
        peer.event(
            "input.persisted",
            json!({"message_id":"in","durable":true,"revision":"v1"}),
        )
        .await;
        peer.event(
            "approval.requested",
            json!({"approval_id":RUN,"summary":"run ls","expires_in_ms":60000}),
        )
        .await;
        client.next().await.unwrap();
        client.next().await.unwrap();
        assert_eq!(
            client.transcript().unwrap().approvals()[0].summary,
            "run ls"
        );
        if stale {
            peer.refuse(json!("r3"), "stale_approval").await;
        } else {
            peer.answer("r3", json!({"recorded":true})).await;
        }
        let answer = Request::ApprovalAnswer(AnswerParams {
            session_id: "s1".into(),
            run_id: RUN.into(),
            approval_id: RUN.into(),
            allow: false,
        });
        assert_eq!(client.call(answer).await.is_err(), stale);
        assert!(client.transcript().unwrap().approvals().is_empty());
    }
}

#[tokio::test]
async fn the_end_of_the_stream_is_not_an_answer() {
    let (mut client, mut peer) = negotiated().await;
    peer.frames.write_all(b"{\"protocol\"").await.unwrap();
    drop(peer);
    client.send(Request::Status).unwrap();
    assert_eq!(fails(&mut client).await, Violation::IncompleteFrame);

    let (mut client, peer) = negotiated().await;
    drop(peer);
    assert!(matches!(
        client.call(Request::Status).await,
        Err(Error::Closed)
    ));
}
