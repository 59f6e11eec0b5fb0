//! Many sessions at a time: what attaches one, how many there may be, and what lets go of them.
//! The wire of application-service is tested with the binary.
#![allow(clippy::unwrap_used)]

mod support;

use agent::*;
use serde_json::json;
use support::service::*;
use support::*;

async fn closed_with(backend: &Service, runs: Vec<Run>) {
    for mut run in runs {
        backend.cancel_turn(None, &run.run_id).unwrap();
        support::finish(&mut run).await;
    }
}

#[tokio::test]
async fn closing_cancels_the_turn_and_ends_with_it() {
    let place = Place::scripted(&[json!([{"text": "part"}, {"wait_ms": 600_000}])]);
    let backend = Service::start(&place);
    let session = backend.create().await.unwrap();
    let mut run = backend
        .start_turn(Some(&session), collected_run("go"))
        .await
        .unwrap();
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
    assert_eq!(
        backend
            .start_turn(Some(&session), collected_run("go"))
            .await
            .unwrap_err(),
        ErrorKind::SessionBusy.into()
    );
    assert_eq!(backend.close(&session).await, Ok(Detached::Closing));
    assert_eq!(backend.close(&session).await, Ok(Detached::Closing));
    assert_eq!(
        backend.open(&session).await,
        Err(ErrorKind::SessionBusy.into())
    );
    let end = terminal(&support::finish(&mut run).await);
    assert_eq!(
        (end.text.as_str(), end.outcome),
        ("part", Outcome::Cancelled)
    );
    assert_eq!(backend.close(&session).await, Ok(Detached::Closed));
    assert_eq!(
        backend.cancel_turn(None, &run.run_id),
        Err(ErrorKind::UnknownRun.into())
    );
    backend.open(&session).await.unwrap();
}

#[tokio::test]
async fn opening_the_session_of_a_turn_keeps_it() {
    let place = Place::scripted(&[json!([{"text": "part"}, {"wait_ms": 600_000}])]);
    let backend = Service::start(&place);
    let mut run = backend.start_turn(None, collected_run("go")).await.unwrap();
    let session = run.session_id.clone();
    backend.open(&session).await.unwrap();
    let asked = backend.cancel_turn(Some("other"), &run.run_id);
    assert_eq!(asked, Err(ErrorKind::UnknownRun.into()));
    backend.cancel_turn(Some(&session), &run.run_id).unwrap();
    support::finish(&mut run).await;
    assert_eq!(
        Service::start(&place).open(&session).await,
        Err(ErrorKind::SessionBusy.into())
    );
    assert_eq!(backend.close(&session).await, Ok(Detached::Closed));
    Service::start(&place).open(&session).await.unwrap();
}

#[tokio::test]
async fn sixteen_sessions_are_attached_at_most() {
    let place = Place::scripted(&[json!([{"wait_ms": 600_000}])]);
    let backend = Service::start(&place);
    let mut sessions = Vec::new();
    for _ in 0..16 {
        sessions.push(backend.create().await.unwrap());
    }
    assert_eq!(
        backend.create().await,
        Err(ErrorKind::TooManySessions.into())
    );
    assert_eq!(
        backend
            .start_turn(None, collected_run("go"))
            .await
            .unwrap_err(),
        ErrorKind::TooManySessions.into()
    );
    backend.open(&sessions[3]).await.unwrap();
    let mut runs = Vec::new();
    for session in &sessions {
        runs.push(
            backend
                .start_turn(Some(session), collected_run("go"))
                .await
                .unwrap(),
        );
    }
    assert_eq!(
        backend
            .start_turn(None, collected_run("go"))
            .await
            .unwrap_err(),
        ErrorKind::TooManyRuns.into()
    );
    closed_with(&backend, runs).await;
    assert_eq!(backend.close(&sessions[0]).await, Ok(Detached::Closed));
    backend.create().await.unwrap();
}

#[tokio::test]
async fn unknown_and_broken_sessions_are_refused_and_stay_free() {
    let place = Place::scripted(&[json!([{"text": "x"}])]);
    let backend = Service::start(&place);
    assert_eq!(
        backend.open("none").await,
        Err(ErrorKind::SessionMissing.into())
    );
    assert_eq!(backend.close("none").await, Ok(Detached::Closed));
    let session = backend.create().await.unwrap();
    closed(&backend, &session).await;
    let begin = std::fs::read_to_string(place.file(&session)).unwrap();
    std::fs::write(place.file(&session), "broken\n").unwrap();
    assert_eq!(
        backend.open(&session).await,
        Err(ErrorKind::SessionInvalid.into())
    );
    std::fs::write(place.file(&session), begin + "broken\n").unwrap();
    // Attaching reads the beginning; a turn reads all.
    backend.open(&session).await.unwrap();
    for _ in 0..2 {
        assert_eq!(
            backend
                .start_turn(Some(&session), collected_run("go"))
                .await
                .unwrap_err(),
            ErrorKind::SessionInvalid.into()
        );
    }
    closed(&backend, &session).await;
    assert_eq!(
        backend
            .start_turn(Some(&session), collected_run("go"))
            .await
            .unwrap_err(),
        ErrorKind::SessionInvalid.into()
    );
    Service::start(&place).open(&session).await.unwrap();
}

#[tokio::test]
async fn settings_that_cannot_be_read_close_no_session() {
    let place = Place::scripted(&[json!([{"text": "x"}])]);
    let settings = std::fs::read_to_string(place.home().join("settings.json")).unwrap();
    place.settings("{");
    let backend = Service::start(&place);
    let session = backend.create().await.unwrap();
    let other = Service::start(&place);
    assert_eq!(
        other
            .0
            .engine()
            .list(None, 32)
            .await
            .unwrap()
            .sessions
            .len(),
        1
    );
    assert!(
        other
            .0
            .engine()
            .replay(session.parse().unwrap(), None, 32)
            .await
            .unwrap()
            .items
            .is_empty()
    );
    let begun = backend
        .start_turn(Some(&session), collected_run("go"))
        .await;
    assert_eq!(
        begun.unwrap_err(),
        ErrorKind::from(agent::StartupErrorKind::ConfigurationInvalid).into()
    );
    place.settings(&settings);
    let (_, events) = whole_turn(&backend, Some(&session)).await;
    assert_eq!(terminal(&events).text, "x");
}
