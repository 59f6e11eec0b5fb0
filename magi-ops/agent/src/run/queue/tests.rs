//! Tests of event delivery: nothing lost for a reader that lives, visible gaps for one that stalls, room for what must arrive.
//! Virtual time; no run behind the events.
#![allow(clippy::unwrap_used)]

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::run::tests::policy::*;

fn ends() -> (Sink, RunEvents) {
    ends_for(&RECONCILED, CancellationToken::new())
}

fn ends_for(policy: &crate::RunPolicy, cancel: CancellationToken) -> (Sink, RunEvents) {
    let owner = crate::Engine::new(
        Default::default(),
        crate::Capacity {
            sessions: 1,
            runs: 1,
        },
    );
    let spec = crate::RunSpec {
        policy: *policy,
        ..reconciled_run("go")
    };
    let active = ActiveRun::new("s".parse().unwrap(), spec, cancel);
    channel(owner, Arc::new(active))
}

fn text(text: &str) -> Redacted {
    store::Redactor::default().redact(text)
}

fn taken(events: &mut RunEvents) -> Vec<(u64, String)> {
    let mut all = Vec::new();
    while let Ok(queued) = events.queue.try_recv() {
        match queued.event {
            RunEvent::MayDrop {
                event: MayDrop::Delta { part, text, .. },
                ..
            } => all.push((part, text.to_string())),
            other => panic!("{other:?}"),
        }
    }
    all
}

#[tokio::test(start_paused = true)]
async fn a_stalled_reader_sees_a_gap_and_no_wrong_text() {
    let (sink, mut events) = ends();
    let mut deltas = Deltas::new("m".into());
    let piece = "x".repeat(1000);
    let started = Instant::now();
    for _ in 0..1000 {
        deltas.push(&sink, &text(&piece)).await;
    }
    assert!(
        started.elapsed() <= DELTA_WAIT,
        "waited {:?}",
        started.elapsed()
    );
    let before = taken(&mut events);
    assert_eq!(before.len(), RECONCILED.delivery.queued_deltas);
    // The reader is back: what was held comes, then the gap.
    deltas.push(&sink, &text("after")).await;
    deltas.push(&sink, &text("wards")).await;
    let after = taken(&mut events);
    let parts: Vec<_> = before.iter().chain(&after).map(|(part, _)| *part).collect();
    let next = RECONCILED.delivery.queued_deltas as u64;
    let mut want: Vec<u64> = (0..=next).collect();
    want.extend([next + 2, next + 3]);
    assert_eq!(parts, want);
    assert_eq!(after[0].1, "x".repeat(4000));
    assert_eq!(
        (after[1].1.as_str(), after[2].1.as_str()),
        ("after", "wards")
    );
}

#[tokio::test(start_paused = true)]
async fn deltas_leave_room_for_what_must_arrive() {
    let (sink, mut events) = ends();
    let mut deltas = Deltas::new("m".into());
    for _ in 0..100 {
        deltas.push(&sink, &text(&"x".repeat(4000))).await;
    }
    let started = Instant::now();
    let note = || MustArrive::Diagnostic {
        code: RunErrorCode::ExecutionFailed,
        summary: Redacted::fixed("note"),
    };
    for _ in 0..RECONCILED.delivery.queue - RECONCILED.delivery.queued_deltas {
        sink.send(note()).await.unwrap();
    }
    assert_eq!(started.elapsed(), Duration::ZERO);
    assert_eq!(sink.send(note()).await, Err(Lost));
    assert_eq!(Some(started.elapsed()), RECONCILED.delivery.wait);
    // Lost once, lost for good: no event may come after a missing one.
    assert!(events.queue.recv().await.is_some());
    assert_eq!(sink.send(note()).await, Err(Lost));
    assert!(sink.reserve_terminal().await.is_ok());
}

#[tokio::test]
async fn a_slow_reader_that_lives_loses_nothing() {
    let (sink, mut events) = ends();
    let writer = tokio::spawn(async move {
        let mut deltas = Deltas::new("m".into());
        for n in 0..3000 {
            deltas
                .push(&sink, &text(&format!("{n} {}", "y".repeat(700))))
                .await;
        }
        while !deltas.flush(&sink) {
            tokio::task::yield_now().await;
        }
    });
    let mut whole = String::new();
    let mut next = 0;
    while let Some(event) = events.recv().await {
        let (part, text) = match event {
            RunEvent::MayDrop {
                event: MayDrop::Delta { part, text, .. },
                ..
            } => (part, text),
            // What a vanished worker leaves.
            RunEvent::MustArrive(MustArrive::Finished { .. }) => break,
            event => panic!("{event:?}"),
        };
        assert_eq!(part, next);
        next += 1;
        whole.push_str(text.as_str());
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
    writer.await.unwrap();
    let want: String = (0..3000)
        .map(|n| format!("{n} {}", "y".repeat(700)))
        .collect();
    assert_eq!(whole, want);
}

#[tokio::test(start_paused = true)]
async fn room_is_waited_for_while_the_reader_reads_and_not_beyond_a_time() {
    const TIME: Duration = Duration::from_millis(50);
    let cancel = CancellationToken::new();
    let mut policy = RECONCILED;
    policy.delivery.deltas_may_drop = false;
    policy.delivery.wait = None;
    let (sink, mut events) = ends_for(&policy, cancel.clone());
    let mut deltas = Deltas::new("m".into());
    while sink.queue.capacity() > 0 {
        deltas.push(&sink, &text("x")).await;
    }
    let started = Instant::now();
    assert!(!sink.has_room_within(TIME).await);
    assert_eq!(started.elapsed(), TIME);
    let (room, _) = tokio::join!(sink.has_room_within(TIME), events.recv());
    assert!(room);
    assert_eq!(started.elapsed(), TIME);
    // Nobody waits for a run that is cancelled.
    deltas.push(&sink, &text("x")).await;
    cancel.cancel();
    assert!(sink.queue.capacity() == 0 && sink.has_room_within(TIME).await);
    assert_eq!(started.elapsed(), TIME);
}
