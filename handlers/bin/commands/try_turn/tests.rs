//! Tests of `try` against a synthetic child over in-memory streams: what a person sees, and the exit status.
//! The real child is tried by the black-box tests.
#![allow(clippy::unwrap_used)]

use std::io::Write;

use super::*;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf, duplex, split,
};

mod approvals;

const CHILD: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";
const RUN: &str = "0e7a0e0c-54b5-4a53-8f3c-3c8d2a1b9a10";

struct Peer {
    requests: tokio::io::Lines<BufReader<ReadHalf<DuplexStream>>>,
    frames: WriteHalf<DuplexStream>,
    seq: u64,
}

impl Peer {
    /// The next request, which must be this method.
    async fn expect(&mut self, method: &str) -> Value {
        let request: Value =
            serde_json::from_str(&self.requests.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(request["method"], method);
        request
    }

    async fn frame(&mut self, mut body: Value) {
        self.seq += 1;
        body["protocol"] = json!("magi-code.local-agent");
        body["version"] = json!(1);
        body["instance_id"] = json!(CHILD);
        body["seq"] = json!(self.seq);
        self.frames
            .write_all(format!("{body}\n").as_bytes())
            .await
            .unwrap();
    }

    async fn answer(&mut self, request: &Value, result: Value) {
        self.frame(json!({"type": "response", "id": request["id"], "result": result}))
            .await;
    }

    async fn event(&mut self, name: &str, mut data: Value) {
        data["session_id"] = json!("s1");
        data["run_id"] = json!(RUN);
        self.frame(json!({"type": "event", "event": name, "data": data}))
            .await;
    }

    /// Up to the admitted, persisted run.
    async fn start(&mut self) {
        let request = self.expect("initialize").await;
        let initialized = json!({
            "capabilities": ["initialize","status","shutdown","session.create","session.open","history.page",
                "turn.start","turn.cancel","approval.answer"],
            "limits": {"frame_bytes":65536,"json_depth":32,"id_bytes":64,"prompt_bytes":16384,
                "history_page_bytes":32768,"history_page_entries":100,"content_chunk_bytes":16384,
                "pending_responses":32,"requests_per_child":4096,"output_deadline_ms":2000},
            "status": {"state":"idle","readiness":"ready","provider":"fixture","model":"fixture-model",
                "context_id":"abc","session_id":null,"run_id":null},
        });
        self.answer(&request, initialized).await;
        let request = self.expect("session.create").await;
        self.answer(
            &request,
            json!({"session_id":"s1","durable":false,"revision":"v0","notices":[]}),
        )
        .await;
        let request = self.expect("turn.start").await;
        assert_eq!(request["params"]["prompt"], "hi");
        self.answer(&request, json!({"run_id": RUN, "accepted": true}))
            .await;
        self.event(
            "input.persisted",
            json!({"message_id":"in","durable":true,"revision":"v1"}),
        )
        .await;
    }

    async fn delta(&mut self, part: u64, text: &str) {
        self.event(
            "message.delta",
            json!({"message_id":"m","part":part,"text":text}),
        )
        .await;
    }

    async fn whole(&mut self, text: &str) {
        let part = json!({"message_id":"m","part":0,"text":text,"last_part":true,"partial":false});
        self.event("message.reconcile", part).await;
    }

    /// The terminal event and a history of one entry.
    async fn end(&mut self, outcome: &str) {
        let end =
            json!({"outcome":outcome,"persistence":"durable","revision":"v2","error_code":null});
        self.event("run.finished", end).await;
        let request = self.expect("history.page").await;
        let entry = json!({"message_id":"a","kind":"user","text":"hi","partial":false,"part":0,"last_part":true});
        let page = json!({"session_id":"s1","revision":"v2","entries":[entry],"next_cursor":null,"complete":true});
        self.answer(&request, page).await;
    }
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

struct Seen {
    ended: Result<i32, (i32, String)>,
    words: String,
    remarks: String,
}

fn nobody() -> Asker {
    Asker::new(|| None)
}

/// Somebody who says `typed` to every question.
fn saying(typed: &'static str) -> Asker {
    let (questions, asked) = std::sync::mpsc::channel::<crate::client::asker::Question>();
    std::thread::spawn(move || {
        for question in asked {
            question.ready.send(()).unwrap();
            question.answer.send(typed.to_owned()).unwrap();
        }
    });
    Asker::at(questions)
}

async fn see(
    terminals: Terminals,
    frames: bool,
    asker: Asker,
    interrupts: mpsc::Receiver<()>,
    script: impl AsyncFnOnce(&mut Peer),
) -> Seen {
    see_on(
        Sink::default(),
        terminals,
        frames,
        asker,
        interrupts,
        script,
    )
    .await
}

/// The same with remarks that others see, or add to.
async fn see_on(
    remarks: Sink,
    terminals: Terminals,
    frames: bool,
    mut asker: Asker,
    mut interrupts: mpsc::Receiver<()>,
    script: impl AsyncFnOnce(&mut Peer),
) -> Seen {
    let (near, far) = duplex(1 << 20);
    let (output, input) = split(near);
    let (requests, sent) = split(far);
    let mut peer = Peer {
        requests: BufReader::new(requests).lines(),
        frames: sent,
        seq: 0,
    };
    let mut client = Client::new(output, input);
    let mut words = Vec::new();
    let mut screen = Screen::new(
        &mut words,
        Arc::new(Mutex::new(remarks.clone())),
        terminals,
        frames,
    );
    if frames {
        client.set_tap(screen.tap());
    }
    let server = async {
        script(&mut peer).await;
        drop(peer);
    };
    let mut turn = Turn {
        client: &mut client,
        screen: &mut screen,
        interrupts: &mut interrupts,
        asker: &mut asker,
        held: Held::default(),
        reasons: &mut Reasons::default(),
    };
    let ((), ended) = tokio::join!(server, turn.converse("hi"));
    screen.end_line().unwrap();
    let remarks = String::from_utf8(remarks.0.lock().unwrap().clone()).unwrap();
    Seen {
        ended: ended.map_err(|stop| (stop.status, stop.why)),
        words: String::from_utf8(words).unwrap(),
        remarks,
    }
}

const PIPES: Terminals = Terminals {
    joined: false,
    remarks: false,
};
const TERMINAL: Terminals = Terminals {
    joined: true,
    remarks: true,
};

fn quiet() -> mpsc::Receiver<()> {
    mpsc::channel(1).1
}

#[tokio::test]
async fn a_turn_from_words_to_history() {
    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        for state in ["started", "completed"] {
            let activity = json!({"activity_id":"x","kind":"tool","state":state,"name":"read","summary":"README.md"});
            peer.event("activity", activity).await;
        }
        peer.delta(0, "Hello, ").await;
        peer.delta(1, "world.").await;
        peer.whole("Hello, world.").await;
        peer.end("completed").await;
    })
    .await;
    assert_eq!(seen.ended, Ok(0));
    assert_eq!(seen.words, "Hello, world.\n");
    for part in [
        "provider fixture, model fixture-model",
        "offline demonstration",
        "docs/configuration.md",
        "[started] read README.md\n[completed] read README.md\n",
        "turn completed; durable",
        "history: 1 entry on 1 page, complete",
        "session s1",
    ] {
        assert!(seen.remarks.contains(part), "{part:?} in {}", seen.remarks);
    }
    assert!(!seen.remarks.contains('\x1b') && !seen.remarks.contains('→'));
}

#[tokio::test]
async fn lost_words_come_with_the_reconciliation() {
    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        peer.delta(0, "one ").await;
        peer.delta(2, "three ").await;
        peer.whole("one two three").await;
        peer.end("completed").await;
    })
    .await;
    assert_eq!(
        (seen.ended, seen.words.as_str()),
        (Ok(0), "one two three\n")
    );
}

#[tokio::test]
async fn a_different_authoritative_text_is_shown_whole() {
    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        peer.delta(0, "key sk-").await;
        peer.delta(1, "abc").await;
        peer.whole("key [redacted]").await;
        peer.end("completed").await;
    })
    .await;
    assert_eq!(seen.words, "key sk-abc\nkey [redacted]\n");
    assert!(seen.remarks.contains("replaced by its authoritative copy"));
}

#[tokio::test]
async fn nothing_from_the_child_steers_the_terminal() {
    let seen = see(TERMINAL, true, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        let evil = "\u{1b}]0;owned\u{7}\u{9b}2J";
        let activity = json!({"activity_id":"x","kind":"tool","state":"started","name":evil,"summary":evil});
        peer.event("activity", activity).await;
        peer.event("diagnostic", json!({"code":"note","summary":evil})).await;
        peer.delta(0, evil).await;
        peer.whole(evil).await;
        peer.end("completed").await;
    })
    .await;
    assert_eq!(seen.ended, Ok(0));
    for text in [&seen.words, &seen.remarks] {
        assert!(
            !text.chars().any(|c| c.is_control() && c != '\n'),
            "{text:?}"
        );
    }
    assert!(seen.words.contains("\\u{1b}]0;owned"));
    assert!(seen.remarks.contains("→ {") && seen.remarks.contains("← {"));
}

#[tokio::test]
async fn a_terminal_gets_a_status_line_that_the_words_erase() {
    let seen = see(TERMINAL, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        let activity = json!({"activity_id":"x","kind":"tool","state":"started","name":"read","summary":"a"});
        peer.event("activity", activity).await;
        peer.whole("Done").await;
        peer.end("completed").await;
    })
    .await;
    assert!(
        seen.remarks.contains("\r\x1b[K  … read a\r\x1b[K"),
        "{:?}",
        seen.remarks
    );
    assert_eq!(seen.words, "Done\n");
}

/// Starts the run and makes the client show that it follows it: before that an interrupt means "give up".
async fn followed(peer: &mut Peer) {
    peer.start().await;
    let ask = json!({"approval_id":CHILD,"summary":"bash: ls","expires_in_ms":60000});
    peer.event("approval.requested", ask).await;
    let request = peer.expect("approval.answer").await;
    peer.answer(&request, json!({"recorded":true})).await;
}

#[tokio::test]
async fn an_interrupt_cancels_and_a_second_one_kills() {
    let (interrupt, interrupts) = mpsc::channel(1);
    let seen = see(
        PIPES,
        false,
        nobody(),
        interrupts,
        async |peer: &mut Peer| {
            followed(peer).await;
            peer.delta(0, "part").await;
            interrupt.send(()).await.unwrap();
            let request = peer.expect("turn.cancel").await;
            assert_eq!(request["params"], json!({"session_id":"s1","run_id":RUN}));
            peer.answer(&request, json!({"cancellation_requested":true}))
                .await;
            peer.whole("part").await;
            peer.end("cancelled").await;
        },
    )
    .await;
    assert_eq!((seen.ended, seen.words.as_str()), (Ok(1), "part\n"));
    assert!(seen.remarks.contains("turn cancelled"));

    let (interrupt, interrupts) = mpsc::channel(1);
    let seen = see(
        PIPES,
        false,
        nobody(),
        interrupts,
        async |peer: &mut Peer| {
            followed(peer).await;
            interrupt.send(()).await.unwrap();
            peer.expect("turn.cancel").await;
            interrupt.send(()).await.unwrap();
            // There is room again once the client has taken the second one.
            drop(interrupt.reserve().await.unwrap());
        },
    )
    .await;
    assert!(matches!(seen.ended, Err((1, why)) if why.contains("the server is killed")));
}

#[tokio::test]
async fn a_refusal_and_a_violation_have_their_own_statuses() {
    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        let request = peer.expect("initialize").await;
        let refused =
            json!({"type":"response","id":request["id"],"error":{"code":"provider_unavailable"}});
        peer.frame(refused).await;
    })
    .await;
    let Err((2, why)) = seen.ended else { panic!() };
    assert!(why.contains("provider_unavailable"));

    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await;
        peer.event("message.thought", json!({})).await;
    })
    .await;
    assert!(matches!(seen.ended, Err((1, why)) if why.contains("unknown event name")));

    let seen = see(PIPES, false, nobody(), quiet(), async |peer: &mut Peer| {
        peer.start().await
    })
    .await;
    assert!(matches!(seen.ended, Err((1, why)) if why.contains("ended before the turn did")));
}

#[tokio::test]
async fn a_silent_server_is_given_up_on() {
    let silence = std::future::pending::<Result<(), Error>>();
    let late = step(&mut quiet(), Duration::from_millis(5), silence).await;
    assert!(matches!(late, Err(Failure::Late(_))));
    let (interrupt, mut interrupts) = mpsc::channel(1);
    interrupt.send(()).await.unwrap();
    let silence = std::future::pending::<Result<(), Error>>();
    assert!(matches!(
        step(&mut interrupts, STARTUP, silence).await,
        Err(Failure::Interrupted)
    ));
}
