//! Turns of many sessions at a time: what their events promise, whose settings they follow, how they end.
//! The wire of application-service is tested with the binary.
#![allow(clippy::unwrap_used)]

mod support;

use agent::*;
use serde_json::json;
use support::service::*;
use support::*;

#[tokio::test]
async fn a_turn_brings_its_text_in_numbered_deltas_and_whole_at_the_end() {
    let place = Place::scripted(&[
        json!([{"text": "Hello, ", "chunks": 2}, {"tool": "list", "input": {}}, {"text": "world."}]),
    ]);
    let backend = Service::start(&place);
    let (run, events) = whole_turn(&backend, None).await;
    let end = terminal(&events);
    assert_eq!(
        (end.text.as_str(), end.outcome, end.persistence, end.dropped),
        ("Hello, world.", Outcome::Completed, Persistence::Durable, 0)
    );
    assert_eq!(deltas(&events), "Hello, world.");
    let numbers: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                sequence,
                event: MayDrop::Delta { .. },
            }
            | RunEvent::MayDrop {
                sequence,
                event: MayDrop::Activity(_),
            }
            | RunEvent::MustArrive(MustArrive::Finished { sequence, .. }) => Some(*sequence),
            _ => None,
        })
        .collect();
    assert_eq!(numbers, (1..=end.sequence).collect::<Vec<_>>());
    assert!(
        !events
            .iter()
            .any(|e| matches!(e, RunEvent::MustArrive(MustArrive::Reconcile { .. })))
    );
    // Its attachment was for the turn only: another process may have it.
    let other = Service::start(&place);
    while other.open(&run.session_id).await.is_err() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_session_goes_on_over_turns_and_processes() {
    let place = Place::scripted(&[json!([{"text": "first"}]), json!([{"text": "second"}])]);
    let backend = Service::start(&place);
    let session = backend.create().await.unwrap();
    assert!(
        place.file(&session).exists(),
        "durable before its first turn"
    );
    let (_, events) = whole_turn(&backend, Some(&session)).await;
    assert_eq!(terminal(&events).text, "first");
    assert_eq!(
        Service::start(&place).open(&session).await,
        Err(ErrorKind::SessionBusy.into())
    );
    closed(&backend, &session).await;
    let other = Service::start(&place);
    other.open(&session).await.unwrap();
    let (_, events) = whole_turn(&other, Some(&session)).await;
    assert_eq!(terminal(&events).text, "second");
    assert_eq!(
        backend
            .start_turn(Some(&session), collected_run("go"))
            .await
            .unwrap_err(),
        ErrorKind::SessionBusy.into()
    );
}

#[tokio::test]
async fn a_text_beyond_the_bounds_fails_the_turn_and_keeps_what_fits() {
    for (piece, want) in [("abcdefgh", 16_384), ("\"\n\"\n\"\n\"\n", 15_872)] {
        let place = Place::scripted(&[json!([{"repeat": 4000, "text": piece}])]);
        let backend = Service::start(&place);
        let (run, events) = whole_turn(&backend, None).await;
        let end = terminal(&events);
        assert_eq!(
            (end.outcome, end.persistence),
            (Outcome::Failed, Persistence::Durable)
        );
        assert_eq!(end.text.len(), want);
        assert_eq!(deltas(&events), end.text);
        let stored = std::fs::read_to_string(place.file(&run.session_id)).unwrap();
        assert!(stored.contains("content_limit"));
    }
}

#[tokio::test]
async fn a_caller_that_does_not_read_loses_activities_but_no_text() {
    let mut steps = vec![json!({"text": "a"})];
    for _ in 0..60 {
        steps.push(json!({"tool": "list", "input": {}}));
    }
    steps.push(json!({"text": "b", "chunks": 1}));
    let place = Place::scripted(&[json!(steps)]);
    let backend = Service::start(&place);
    let mut run = backend.start_turn(None, collected_run("go")).await.unwrap();
    // The worker gets as far as it can: it waits with the last delta.
    let file = place.file(&run.session_id);
    while std::fs::read_to_string(&file)
        .unwrap()
        .matches("tool_finished")
        .count()
        < 60
    {
        tokio::task::yield_now().await;
    }
    let events = support::finish(&mut run).await;
    let end = terminal(&events);
    assert_eq!((end.text.as_str(), end.outcome), ("ab", Outcome::Completed));
    assert_eq!(deltas(&events), "ab");
    let seen = events
        .iter()
        .filter(|e| {
            matches!(
                e,
                RunEvent::MayDrop {
                    event: MayDrop::Activity(Activity::Tool { .. }),
                    ..
                }
            )
        })
        .count() as u64;
    assert!(end.dropped > 0);
    assert_eq!(seen + end.dropped, 120);
    // Dropped ones have numbers too: two deltas, 120 activities, the end.
    assert_eq!(end.sequence, 123);
}

#[tokio::test]
async fn a_turn_follows_the_settings_of_its_moment_and_says_so_in_the_session() {
    let place = Place::scripted(&[json!([{"text": "x"}])]);
    let backend = Service::start(&place);
    let session = backend.create().await.unwrap();
    whole_turn(&backend, Some(&session)).await;
    let script = place.home().join("../script.json");
    let settings = |model: &str| {
        json!({
            "model": model, "thinking_level": "high",
            "providers": {"fixture": {"script": script, "models": ["other"]}},
        })
        .to_string()
    };
    place.settings(&settings("other"));
    let (_, events) = whole_turn(&backend, Some(&session)).await;
    assert_eq!(terminal(&events).outcome, Outcome::Completed);
    let stored = std::fs::read_to_string(place.file(&session)).unwrap();
    let selections: Vec<serde_json::Value> = stored
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["body"].take())
        .filter(|body| body["type"] == "selection")
        .collect();
    assert_eq!(selections.len(), 2);
    assert_eq!(selections[1]["model"], "other");
    assert_eq!(selections[1]["thinking"], "high");
    // What can't be used fails the turn, with its input kept.
    for broken in [settings("unknown"), "{".to_owned()] {
        place.settings(&broken);
        let (_, events) = whole_turn(&backend, Some(&session)).await;
        let end = terminal(&events);
        assert_eq!(
            (end.outcome, end.persistence),
            (Outcome::Failed, Persistence::Durable)
        );
    }
    let stored = std::fs::read_to_string(place.file(&session)).unwrap();
    assert_eq!(stored.matches("user_input").count(), 4);
}

#[tokio::test]
async fn hooks_and_instructions_are_activities_without_details() {
    let place = Place::with(
        &[json!([{"text": "x"}])],
        json!({"hooks": {"turn_start": ["exit 0"]}}),
    );
    std::fs::write(place.work().join("AGENTS.md"), "Be brief.").unwrap();
    let backend = Service::start(&place);
    let (_, events) = whole_turn(&backend, None).await;
    let began: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Began { what, .. }),
                ..
            } => Some(*what),
            _ => None,
        })
        .collect();
    // The hook's program is not there for a test of the library: it fails, which is told.
    let want = [
        Category::Hook,
        Category::Diagnostic,
        Category::ContextInjection,
    ];
    assert_eq!(began, want);
    let ended = |e: &&RunEvent| {
        matches!(
            e,
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Ended { .. }),
                ..
            }
        )
    };
    assert_eq!(events.iter().filter(ended).count(), 3);
    assert_eq!(terminal(&events).outcome, Outcome::Completed);
}

#[tokio::test]
async fn cancellation_ends_a_turn_whose_caller_does_not_read() {
    let place =
        Place::scripted(&[json!([{"text": "words ", "chunks": 1}, {"repeat": 2000, "text": "x"}])]);
    let backend = Service::start(&place);
    let mut run = backend.start_turn(None, collected_run("go")).await.unwrap();
    let file = place.file(&run.session_id);
    while !std::fs::read_to_string(&file)
        .unwrap()
        .contains("assistant_text")
    {
        tokio::task::yield_now().await;
    }
    backend.cancel_turn(None, &run.run_id).unwrap();
    let events = support::finish(&mut run).await;
    let end = terminal(&events);
    assert_eq!(end.outcome, Outcome::Cancelled);
    assert!(end.text.starts_with("words "));
    // What was accepted is sent, be it after the cancellation.
    assert_eq!(deltas(&events), end.text);
}

#[tokio::test]
async fn a_lost_session_file_is_told() {
    let place = Place::scripted(&[json!([{"text": "part"}, {"wait_ms": 600_000}])]);
    let backend = Service::start(&place);
    let mut run = backend.start_turn(None, collected_run("go")).await.unwrap();
    support::until(&mut run, |e| {
        matches!(
            e,
            RunEvent::MayDrop {
                event: MayDrop::Delta { .. },
                ..
            }
        )
    })
    .await;
    std::fs::remove_file(place.file(&run.session_id)).unwrap();
    backend.cancel_turn(None, &run.run_id).unwrap();
    let end = terminal(&support::finish(&mut run).await);
    assert_eq!(
        (end.outcome, end.persistence),
        (Outcome::Cancelled, Persistence::Degraded)
    );
}

#[tokio::test]
async fn the_end_of_the_process_cancels_and_frees_everything() {
    let place = Place::scripted(&[json!([{"text": "part"}, {"wait_ms": 600_000}])]);
    let backend = Service::start(&place);
    let idle = backend.create().await.unwrap();
    let mut run = backend.start_turn(None, collected_run("go")).await.unwrap();
    backend.0.engine().close().await;
    assert_eq!(
        terminal(&support::finish(&mut run).await).outcome,
        Outcome::Cancelled
    );
    assert_eq!(backend.create().await, Err(ErrorKind::Cancelled.into()));
    let other = Service::start(&place);
    other.open(&idle).await.unwrap();
    other.open(&run.session_id).await.unwrap();
}

#[test]
fn an_event_of_a_turn_repeats_a_short_id_and_one_of_a_run_a_uuid() {
    let ids = |spec: agent::RunSpec| spec.policy.ids;
    assert_eq!(ids(collected_run("hi")), agent::RunIds::Short);
    assert_eq!(ids(reconciled_run("hi")), agent::RunIds::Uuid);
}
