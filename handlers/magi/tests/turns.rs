//! Runs through the facade with the offline provider: order, storage, cancellation, tools, limits, approvals.
//! Time is virtual where something waits for it.
#![allow(clippy::unwrap_used)]

mod support;

use agent::{
    ActivityState, EntryKind, ErrorKind, MayDrop, MustArrive, Outcome, Persistence, RunErrorCode,
    RunEvent,
};
use serde_json::json;
use support::*;

#[tokio::test]
async fn a_turn_is_stored_streamed_reconciled_and_read_back() {
    let place = Place::scripted(&[json!([{"text": "Hello, world.", "chunks": 4}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    assert!(!place.file(&session).exists());
    let events = turn(&backend, &session, "hi there").await;
    assert!(matches!(
        events[0],
        RunEvent::MustArrive(MustArrive::InputPersisted { .. })
    ));
    assert_finished(&events, Outcome::Completed, Persistence::Durable, None);
    assert_eq!(deltas(&events), "Hello, world.");
    assert_eq!(reconciled(&events), ["Hello, world."]);
    let (entries, complete) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert!(complete);
    let shown: Vec<_> = entries
        .iter()
        .map(|e| (e.kind, e.text.as_str(), e.partial))
        .collect();
    assert_eq!(
        shown,
        [
            (EntryKind::User, "hi there", false),
            (EntryKind::Assistant, "Hello, world.", false)
        ]
    );
    backend.close().await;
}

#[tokio::test]
async fn the_input_is_in_the_file_when_it_is_acknowledged() {
    let place = Place::scripted(&[json!([{"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend
        .start_turn(&session, reconciled_run("canary"))
        .unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MustArrive(MustArrive::InputPersisted { .. })
        )
    })
    .await;
    assert!(
        std::fs::read_to_string(place.file(&session))
            .unwrap()
            .contains("canary")
    );
    assert_eq!(
        backend.status().run_id.as_deref(),
        Some(run.run_id.as_str())
    );
    backend.cancel_turn(&session, &run.run_id).unwrap();
    finish(&mut run).await;
    assert_eq!(backend.status().run_id, None);
}

#[tokio::test]
async fn cancellation_keeps_the_partial_reply_and_is_prompt() {
    let place = Place::scripted(&[json!([{"text": "Half of "}, {"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MayDrop {
                event: MayDrop::Delta { .. },
                ..
            }
        )
    })
    .await;
    let asked = std::time::Instant::now();
    backend.cancel_turn(&session, &run.run_id).unwrap();
    backend.cancel_turn(&session, &run.run_id).unwrap();
    let events = finish(&mut run).await;
    assert!(asked.elapsed().as_millis() < 1000, "{:?}", asked.elapsed());
    assert_finished(&events, Outcome::Cancelled, Persistence::Durable, None);
    assert_eq!(reconciled(&events), ["Half of "]);
    assert!(events.iter().all(|e| !matches!(
        e,
        RunEvent::MustArrive(MustArrive::Reconcile { partial: false, .. })
    )));
    let stale = backend.cancel_turn(&session, &run.run_id);
    assert_eq!(stale, Err(ErrorKind::UnknownRun.into()));
    let (entries, complete) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert!(complete && entries[1].partial && entries[1].text.as_str() == "Half of ");
}

#[tokio::test]
async fn partial_text_reaches_the_file_while_the_provider_pauses() {
    let place = Place::scripted(&[json!([{"text": "Half of "}, {"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MayDrop {
                event: MayDrop::Delta { .. },
                ..
            }
        )
    })
    .await;
    let stored = async {
        while !std::fs::read_to_string(place.file(&session))
            .unwrap()
            .contains("Half of ")
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), stored)
        .await
        .unwrap();
    backend.cancel_turn(&session, &run.run_id).unwrap();
    finish(&mut run).await;
}

#[tokio::test]
async fn tools_run_and_their_results_reach_the_model_but_no_event() {
    let place = Place::scripted(&[json!([
        {"text": "Before."},
        {"tool": "read", "input": {"path": "data.txt"}},
        {"tool": "read", "input": {"path": "absent.txt"}},
        {"text": "After."}
    ])]);
    std::fs::write(place.work().join("data.txt"), "result-canary\n").unwrap();
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    assert_finished(&events, Outcome::Completed, Persistence::Durable, None);
    assert_eq!(reconciled(&events), ["Before.", "After."]);
    let states: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(agent::Activity::Tool { state, .. }),
                ..
            } => Some(*state),
            _ => None,
        })
        .collect();
    use ActivityState::{Completed, Failed, Started};
    assert_eq!(states, [Started, Completed, Started, Failed]);
    assert!(!format!("{events:?}").contains("result-canary"));
    // Stored for the provider's replay, and not shown.
    assert!(
        std::fs::read_to_string(place.file(&session))
            .unwrap()
            .contains("result-canary")
    );
    let (entries, _) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert!(!format!("{entries:?}").contains("result-canary"));
    let kinds: Vec<_> = entries.iter().map(|entry| entry.kind).collect();
    use EntryKind::{Activity, Assistant, User};
    assert_eq!(kinds, [User, Assistant, Activity, Activity, Assistant]);
}

#[tokio::test]
async fn a_reopened_conversation_goes_on_where_it_stood() {
    let turns = [
        json!([{"text": "one"}]),
        json!([{"tool": "list", "input": {}}, {"text": "two"}]),
        json!([{"text": "three"}]),
    ];
    let place = Place::scripted(&turns);
    let backend = place.backend().await;
    let session = create(&backend).await;
    assert_eq!(reconciled(&turn(&backend, &session, "a").await), ["one"]);
    assert_eq!(reconciled(&turn(&backend, &session, "b").await), ["two"]);
    backend.close().await;
    let backend = place.backend().await;
    let opened = backend.attach(Some(&session), never()).await.unwrap();
    assert!(opened.durable && opened.notices.is_empty());
    assert_eq!(reconciled(&turn(&backend, &session, "c").await), ["three"]);
}

#[tokio::test]
async fn provider_errors_fail_the_run_and_keep_what_came() {
    let place = Place::scripted(&[json!([{"text": "Half of "}, {"error": "overloaded"}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    let code = Some(RunErrorCode::ProviderUnavailable);
    assert_finished(&events, Outcome::Failed, Persistence::Durable, code);
    assert_eq!(reconciled(&events), ["Half of "]);
    let (entries, complete) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert!(complete);
    assert_eq!(entries.last().unwrap().kind, EntryKind::Diagnostic);
}

#[tokio::test]
async fn text_beyond_8_mib_is_a_content_limit_and_says_so() {
    let mib = "word ".repeat(1024 * 1024 / 5 + 1)[..1024 * 1024].to_owned();
    let script = |times: u32| json!([{"repeat": times, "text": mib}]);
    let place = Place::scripted(&[script(8), script(9)]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "fits").await;
    assert_finished(&events, Outcome::Completed, Persistence::Durable, None);
    assert_eq!(reconciled(&events)[0].len(), 8 * 1024 * 1024);
    let events = turn(&backend, &session, "too much").await;
    let code = Some(RunErrorCode::ContentLimit);
    assert_finished(&events, Outcome::Failed, Persistence::Durable, code);
    assert_eq!(reconciled(&events)[0].len(), 8 * 1024 * 1024);
    assert!(events.iter().all(|e| !matches!(
        e,
        RunEvent::MustArrive(MustArrive::Reconcile { partial: false, .. })
    )));
    // So much is more than a history may hold: said, not cut.
    let limit = history(&backend, &session, &revision(&events)).await;
    assert_eq!(limit.unwrap_err(), ErrorKind::HistoryLimit.into());
}

#[tokio::test]
async fn nothing_is_lost_with_a_reader_that_lives() {
    let place = Place::scripted(&[json!([{"repeat": 20000, "text": "some words "}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    assert_eq!(deltas(&events), "some words ".repeat(20000));
    let mut next = 0;
    for event in &events {
        if let RunEvent::MayDrop {
            event: MayDrop::Delta { part, text, .. },
            ..
        } = event
        {
            assert_eq!(*part, next);
            assert!(text.len() <= 4000);
            next += 1;
        }
    }
    assert_eq!(reconciled(&events)[0], "some words ".repeat(20000));
}

#[tokio::test]
async fn work_is_one_at_a_time() {
    let place = Place::scripted(&[json!([{"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let attached = backend.attach(None, never()).await.unwrap();
    let session = attached.session_id;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    assert_eq!(
        backend
            .start_turn(&session, reconciled_run("go"))
            .unwrap_err(),
        ErrorKind::Busy.into()
    );
    let busy = Err(ErrorKind::Busy.into());
    assert_eq!(backend.attach(None, never()).await, busy);
    assert_eq!(backend.attach(Some(&session), never()).await, busy);
    let page = backend
        .history_page(&session, &attached.revision, None, never())
        .await;
    assert_eq!(page.unwrap_err(), ErrorKind::Busy.into());
    backend.cancel_turn(&session, &run.run_id).unwrap();
    until(&mut run, |event| {
        matches!(event, RunEvent::MustArrive(MustArrive::Finished { .. }))
    })
    .await;
    // Whoever has the terminal event may still be telling of it.
    assert_eq!(
        backend
            .start_turn(&session, reconciled_run("go"))
            .unwrap_err(),
        ErrorKind::Busy.into()
    );
    // The moment the caller lets go of the run, the next may begin.
    drop(run);
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    backend.cancel_turn(&session, &run.run_id).unwrap();
    finish(&mut run).await;
}

#[tokio::test]
async fn prompts_are_bounded_and_sessions_exact() {
    let place = Place::scripted(&[json!([{"text": "ok"}])]);
    let backend = place.backend().await;
    let refused = |session: &str, prompt: &str| {
        backend
            .start_turn(session, reconciled_run(prompt))
            .unwrap_err()
    };
    assert_eq!(refused("x", "go"), ErrorKind::SessionMissing.into());
    let session = create(&backend).await;
    assert_eq!(refused("other", "go"), ErrorKind::StaleSession.into());
    for prompt in ["", " \t\n", "\u{2003}", &"x".repeat(16_385)] {
        assert_eq!(refused(&session, prompt), ErrorKind::InvalidPrompt.into());
    }
    assert!(!place.file(&session).exists());
    turn(&backend, &session, &"é".repeat(8192)).await;
}

#[tokio::test]
async fn input_that_can_t_be_stored_starts_nothing() {
    let place = Place::scripted(&[json!([{"text": "never said"}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let sessions = place.home().join("sessions");
    std::fs::remove_dir_all(&sessions).unwrap();
    std::fs::write(&sessions, "in the way").unwrap();
    let events = turn(&backend, &session, "go").await;
    let code = Some(RunErrorCode::PersistenceFailed);
    assert_finished(&events, Outcome::Failed, Persistence::NotStarted, code);
    assert!(!events.iter().any(|event| matches!(
        event,
        RunEvent::MustArrive(MustArrive::InputPersisted { .. })
    )));
    assert!(deltas(&events).is_empty() && reconciled(&events).is_empty());
}

#[tokio::test]
async fn a_file_lost_in_a_run_degrades_it() {
    let place = Place::scripted(&[json!([{"text": "said"}, {"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MayDrop {
                event: MayDrop::Delta { .. },
                ..
            }
        )
    })
    .await;
    std::fs::remove_file(place.file(&session)).unwrap();
    backend.cancel_turn(&session, &run.run_id).unwrap();
    let events = finish(&mut run).await;
    assert_finished(&events, Outcome::Cancelled, Persistence::Degraded, None);
    assert_eq!(reconciled(&events), ["said"]);
    assert!(events.iter().any(|event| matches!(
        event,
        RunEvent::MustArrive(MustArrive::Diagnostic {
            code: RunErrorCode::PersistenceFailed,
            ..
        })
    )));
    assert!(matches!(
        events.last(),
        Some(RunEvent::MustArrive(MustArrive::Finished {
            revision: None,
            ..
        }))
    ));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_stalls_cancels_the_run_after_2000_ms() {
    let place = Place::scripted(&[
        json!([{"repeat": 5000, "text": "words and words "}, {"wait_ms": 600000}]),
    ]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MustArrive(MustArrive::InputPersisted { .. })
        )
    })
    .await;
    let started = tokio::time::Instant::now();
    // The deltas may drop; nothing has to arrive before the reconciliation.
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(backend.status().run_id.is_some());
    backend.cancel_turn(&session, &run.run_id).unwrap();
    let stored = || std::fs::read_to_string(place.file(&session)).unwrap();
    while !stored().contains("turn_finished") {
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    let waited = started.elapsed().as_millis();
    assert!((7000..7500).contains(&waited), "{waited}");
    assert!(stored().contains("output_unavailable"));
    // What was in the queue is still there; the terminal event found no room.
    let mut left = Vec::new();
    while let Some(event) = run.events.recv().await {
        left.push(event);
    }
    assert_eq!(left.len(), 32);
    assert!(
        !left
            .iter()
            .any(|event| matches!(event, RunEvent::MustArrive(MustArrive::Finished { .. })))
    );
    assert_eq!(backend.status().run_id, None);
    let opened = backend.attach(Some(&session), never()).await.unwrap();
    let (entries, _) = history(&backend, &session, &opened.revision).await.unwrap();
    let said: String = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::Assistant)
        .map(|entry| entry.text.as_str())
        .collect();
    assert_eq!(said, "words and words ".repeat(5000));
}

#[tokio::test]
async fn dropping_the_events_cancels_the_run_and_frees_the_backend() {
    let place = Place::scripted(&[json!([{"text": "a "}, {"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    until(&mut run, |event| {
        matches!(
            event,
            RunEvent::MayDrop {
                event: MayDrop::Delta { .. },
                ..
            }
        )
    })
    .await;
    drop(run);
    let free = async {
        while backend.status().run_id.is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), free)
        .await
        .unwrap();
    backend.attach(None, never()).await.unwrap();
}

#[tokio::test]
async fn only_summaries_of_the_provider_are_kept() {
    let place = Place::scripted(&[json!([
        {"reasoning": "raw-canary", "provider_summary": false},
        {"reasoning": "a verified summary", "provider_summary": true},
        {"text": "done"}
    ])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    assert!(!format!("{events:?}").contains("raw-canary"));
    let stored = std::fs::read_to_string(place.file(&session)).unwrap();
    assert!(!stored.contains("raw-canary"));
    let (entries, _) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert_eq!(entries[1].kind, EntryKind::ReasoningSummary);
    assert_eq!(entries[1].text.as_str(), "a verified summary");
}
