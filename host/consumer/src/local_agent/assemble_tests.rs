//! Tests of `assemble`: the order of a run's events, and that display always ends at the authoritative text.
//! No streams here.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use super::*;
use crate::local_agent::event::{InputPersisted, MessageDelta, MessageReconcile};
use proptest::prelude::*;

fn run() -> Transcript {
    Transcript::new("s".into(), "r".into())
}

fn session() -> Arc<str> {
    "s".into()
}

fn named() -> Arc<str> {
    "r".into()
}

fn persisted() -> Event {
    Event::InputPersisted(InputPersisted {
        session_id: session(),
        run_id: named(),
        message_id: "in".into(),
        durable: true,
        revision: "v1".into(),
    })
}

fn delta(id: &str, part: u64, text: &str) -> Event {
    Event::MessageDelta(MessageDelta {
        session_id: session(),
        run_id: named(),
        message_id: id.into(),
        part,
        text: text.into(),
    })
}

fn reconcile(id: &str, part: u64, text: &str, last_part: bool) -> Event {
    Event::MessageReconcile(MessageReconcile {
        session_id: session(),
        run_id: named(),
        message_id: id.into(),
        part,
        text: text.into(),
        last_part,
        partial: false,
    })
}

fn activity(id: &str, kind: ActivityKind, state: ActivityState) -> Event {
    Event::ActivityEvent(ActivityEvent {
        session_id: session(),
        run_id: named(),
        activity_id: id.into(),
        kind,
        state,
        name: "read".into(),
        summary: String::new(),
    })
}

fn finished(outcome: Outcome, persistence: Persistence) -> Event {
    Event::RunFinished(RunFinished {
        session_id: session(),
        run_id: named(),
        outcome,
        persistence,
        revision: Some("v2".into()),
        error_code: None,
    })
}

fn all(events: &[Event]) -> Result<Transcript, Violation> {
    let mut transcript = run();
    events
        .iter()
        .try_for_each(|event| transcript.apply(event))?;
    Ok(transcript)
}

#[test]
fn reconciliation_replaces_and_never_appends() {
    let transcript = all(&[
        persisted(),
        delta("m", 0, "Hel"),
        delta("m", 2, "wor"),
        reconcile("m", 0, "Hello, ", false),
    ])
    .unwrap();
    let segment = transcript.segment("m").unwrap();
    assert_eq!(
        (segment.text(), segment.prefix(), segment.is_settled()),
        ("Helwor", "Hel", false)
    );
    let mut transcript = transcript;
    transcript
        .apply(&reconcile("m", 1, "world.", true))
        .unwrap();
    let segment = transcript.segment("m").unwrap();
    assert_eq!(
        (segment.text(), segment.prefix(), segment.is_settled()),
        ("Hello, world.", "Hello, world.", true)
    );
    // A late delta changes nothing any more.
    transcript.apply(&delta("m", 3, "ld")).unwrap();
    assert_eq!(transcript.text(), "Hello, world.");
}

#[test]
fn the_first_delta_missing_is_a_gap_too() {
    let transcript = all(&[persisted(), delta("m", 1, "late")]).unwrap();
    assert_eq!(transcript.segment("m").unwrap().prefix(), "");
}

#[test]
fn parts_out_of_order_are_violations() {
    assert_eq!(
        all(&[persisted(), delta("m", 0, "a"), delta("m", 0, "a")]),
        Err(Violation::Sequence)
    );
    assert_eq!(
        all(&[persisted(), reconcile("m", 1, "b", true)]),
        Err(Violation::ReconcileGap)
    );
    assert_eq!(
        all(&[
            persisted(),
            reconcile("m", 0, "a", false),
            reconcile("m", 2, "c", true)
        ]),
        Err(Violation::ReconcileGap)
    );
}

#[test]
fn the_input_is_persisted_once_and_first() {
    assert_eq!(all(&[delta("m", 0, "a")]), Err(Violation::OutOfOrder));
    assert_eq!(
        all(&[reconcile("m", 0, "a", true)]),
        Err(Violation::OutOfOrder)
    );
    assert_eq!(
        all(&[activity("a", ActivityKind::Tool, ActivityState::Started)]),
        Err(Violation::OutOfOrder)
    );
    assert_eq!(all(&[persisted(), persisted()]), Err(Violation::OutOfOrder));
    assert!(all(&[persisted()]).unwrap().is_persisted());
}

#[test]
fn events_keep_to_their_run_and_end_with_it() {
    let of = |session: &str, run: &str| {
        let mut transcript = Transcript::new(session.into(), run.into());
        transcript.apply(&persisted())
    };
    assert_eq!(of("s", "x"), Err(Violation::UnknownRun));
    assert_eq!(of("x", "r"), Err(Violation::IdentityMismatch("session_id")));
    let end = finished(Outcome::Completed, Persistence::Durable);
    for late in [
        delta("m", 0, "x"),
        end.clone(),
        activity("a", ActivityKind::Tool, ActivityState::Started),
    ] {
        assert_eq!(
            all(&[persisted(), end.clone(), late]),
            Err(Violation::AfterTerminal)
        );
    }
}

#[test]
fn a_terminal_must_fit_what_came_before() {
    let end = finished;
    assert_eq!(
        all(&[persisted(), end(Outcome::Failed, Persistence::NotStarted)]),
        Err(Violation::Contradiction("persistence"))
    );
    assert_eq!(
        all(&[end(Outcome::Failed, Persistence::Durable)]),
        Err(Violation::Contradiction("persistence"))
    );
    assert_eq!(
        all(&[end(Outcome::Completed, Persistence::NotStarted)]),
        Err(Violation::Contradiction("outcome"))
    );
    assert!(all(&[end(Outcome::Cancelled, Persistence::NotStarted)]).is_ok());
    let cut = [persisted(), delta("m", 0, "a")];
    let with = |last: Event| all(&[cut[0].clone(), cut[1].clone(), last]);
    assert_eq!(
        with(end(Outcome::Completed, Persistence::Durable)),
        Err(Violation::Unreconciled)
    );
    let failed = with(end(Outcome::Failed, Persistence::Degraded)).unwrap();
    assert!(!failed.is_settled());
}

#[test]
fn activities_and_approvals_are_accounted_for() {
    use ActivityKind::{Subagent, Tool};
    use ActivityState::{Completed, Failed, Started};
    let mut transcript = all(&[
        persisted(),
        activity("a", Tool, Started),
        activity("b", Tool, Started),
    ])
    .unwrap();
    transcript.apply(&activity("a", Tool, Completed)).unwrap();
    assert_eq!(transcript.running(), 1);
    assert_eq!(
        transcript.clone().apply(&activity("a", Tool, Failed)),
        Err(Violation::Activity)
    );
    assert_eq!(
        transcript.clone().apply(&activity("b", Subagent, Failed)),
        Err(Violation::Activity)
    );
    let ask = Event::ApprovalRequested(ApprovalRequested {
        session_id: session(),
        run_id: named(),
        approval_id: "q".into(),
        summary: "run ls".into(),
        expires_in_ms: 60_000,
    });
    transcript.apply(&ask).unwrap();
    assert_eq!(transcript.approvals().len(), 1);
    transcript.answered("q");
    assert!(transcript.approvals().is_empty());
    assert_eq!(transcript.apply(&ask), Err(Violation::OutOfOrder));
}

#[test]
fn content_is_bounded() {
    let mut transcript = all(&[persisted()]).unwrap();
    for n in 0..SEGMENTS {
        transcript
            .apply(&reconcile(&format!("m{n}"), 0, "", true))
            .unwrap();
    }
    assert_eq!(
        transcript.apply(&delta("more", 0, "")),
        Err(Violation::ContentLimit)
    );

    let mut transcript = all(&[persisted()]).unwrap();
    let chunk = "x".repeat(4096);
    for part in 0..(CONTENT_BYTES / 4096) as u64 {
        transcript
            .apply(&reconcile("m", part, &chunk, false))
            .unwrap();
    }
    assert_eq!(
        transcript.apply(&reconcile("m", 2048, "x", true)),
        Err(Violation::ContentLimit)
    );
}

/// A text, how it was cut for streaming, which deltas were lost, and how it was cut for reconciliation.
fn stream() -> impl Strategy<Value = (Vec<String>, Vec<bool>, usize)> {
    (
        proptest::collection::vec("\\PC{0,6}", 1..12),
        proptest::collection::vec(any::<bool>(), 12),
        1usize..9,
    )
}

proptest! {
    #[test]
    fn whatever_was_lost_the_text_ends_at_the_reconciliation(
        streams in proptest::collection::vec(stream(), 1..5),
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..120),
    ) {
        // One queue of events for each message, mixed in any order that keeps each queue's own.
        let mut queues: Vec<std::collections::VecDeque<Event>> = Vec::new();
        let mut wanted: HashMap<String, String> = HashMap::new();
        for (n, (chunks, lost, cut)) in streams.iter().enumerate() {
            let id = format!("m{n}");
            let text = chunks.concat();
            let mut queue: std::collections::VecDeque<_> = chunks.iter().enumerate()
                .filter(|(part, _)| !lost[*part])
                .map(|(part, chunk)| delta(&id, part as u64, chunk))
                .collect();
            let letters: Vec<char> = text.chars().collect();
            let parts: Vec<String> = letters.chunks(*cut).map(|part| part.iter().collect()).collect();
            let parts = if parts.is_empty() { vec![String::new()] } else { parts };
            for (part, piece) in parts.iter().enumerate() {
                queue.push_back(reconcile(&id, part as u64, piece, part + 1 == parts.len()));
            }
            queues.push(queue);
            wanted.insert(id, text);
        }
        let mut transcript = all(&[persisted()]).unwrap();
        let mut order = order.into_iter();
        while queues.iter().any(|queue| !queue.is_empty()) {
            let open: Vec<usize> = (0..queues.len()).filter(|n| !queues[*n].is_empty()).collect();
            let pick = order.next().map_or(open[0], |index| *index.get(&open));
            let next = queues[pick].pop_front().unwrap();
            transcript.apply(&next).unwrap();
            for segment in transcript.segments() {
                // What can be shown is at all times a beginning of the true text.
                prop_assert!(wanted[segment.message_id()].starts_with(segment.prefix()));
            }
        }
        for (id, text) in &wanted {
            prop_assert_eq!(transcript.segment(id).unwrap().text(), text);
        }
        prop_assert!(transcript.is_settled());
        transcript.apply(&finished(Outcome::Completed, Persistence::Durable)).unwrap();
    }
}
