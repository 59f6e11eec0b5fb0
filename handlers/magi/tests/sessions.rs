//! Startup, attachment and history through the facade: identity, ownership, refusals, revisions, cancellation.
//! Runs themselves are tested in `turns.rs`.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;

use agent::{ErrorKind, MustArrive, Notice, StartupErrorKind};
use magi::local_agent::{Agent, Phase};
use serde_json::json;
use support::*;
use tokio_util::sync::CancellationToken;

fn replying() -> Place {
    Place::scripted(&[json!([{"text": "ok"}])])
}

#[tokio::test]
async fn nothing_happens_before_initialization_and_one_is_admitted() {
    let place = Place::new();
    let backend = Agent::new(place.environment());
    assert_eq!(backend.status().phase, Phase::Uninitialized);
    let refused = backend.attach(None, never()).await;
    assert_eq!(refused, Err(ErrorKind::NotInitialized.into()));
    assert_eq!(
        backend.start_turn("s", reconciled_run("go")).unwrap_err(),
        ErrorKind::NotInitialized.into()
    );
    assert_eq!(
        backend.cancel_turn("s", "r"),
        Err(ErrorKind::NotInitialized.into())
    );
    assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0);
    let status = backend.initialize(never()).await.unwrap();
    assert_eq!(status.phase, Phase::Ready);
    assert_eq!(status.provider.as_deref(), Some("fixture"));
    assert_eq!(status.model.as_deref(), Some("fixture-model"));
    assert_eq!(status.context_id.unwrap().len(), 64);
    let again = backend.initialize(never()).await;
    assert_eq!(again, Err(ErrorKind::AlreadyInitialized.into()));
}

#[tokio::test]
async fn startup_failures_have_their_words_and_stay() {
    for (settings, error, context) in [
        ("{", StartupErrorKind::ConfigurationInvalid, true),
        (
            r#"{"provider":"anthropic","model":"m"}"#,
            StartupErrorKind::ProviderUnavailable,
            true,
        ),
        (
            r#"{"model":"another"}"#,
            StartupErrorKind::ProviderUnavailable,
            true,
        ),
        (
            r#"{"providers":{"fixture":{"script":"/does/not/exist"}}}"#,
            StartupErrorKind::ConfigurationInvalid,
            true,
        ),
    ] {
        let place = Place::new();
        place.settings(settings);
        let backend = Agent::new(place.environment());
        let failed = backend.initialize(never()).await;
        let failed = failed.unwrap_err();
        assert_eq!(failed.kind(), ErrorKind::Startup(error), "{settings}");
        assert!(failed.source().is_some(), "{settings}");
        let status = backend.status();
        assert_eq!(status.phase, Phase::Failed(error));
        assert_eq!(status.context_id.is_some(), context);
        let refused = backend.attach(None, never()).await;
        assert_eq!(refused, Err(ErrorKind::Startup(error).into()));
        let again = backend.initialize(never()).await;
        assert_eq!(again, Err(ErrorKind::AlreadyInitialized.into()));
    }
}

#[tokio::test]
async fn startup_can_be_cancelled() {
    let backend = Agent::new(Place::new().environment());
    let cancel = CancellationToken::new();
    cancel.cancel();
    // Whichever is first wins; a cancelled startup never becomes ready afterwards.
    if let Err(error) = backend.initialize(cancel).await {
        assert_eq!(error, ErrorKind::from(StartupErrorKind::Cancelled).into());
        assert_eq!(
            backend.status().phase,
            Phase::Failed(StartupErrorKind::Cancelled)
        );
    }
}

#[tokio::test]
async fn a_new_session_leaves_nothing_and_reopens_as_itself() {
    let place = replying();
    let backend = place.backend().await;
    let created = backend.attach(None, never()).await.unwrap();
    assert!(!created.durable && created.notices.is_empty());
    let again = backend
        .attach(Some(&created.session_id), never())
        .await
        .unwrap();
    assert!(!again.durable && again.revision != created.revision);
    let (entries, complete) = history(&backend, &again.session_id, &again.revision)
        .await
        .unwrap();
    assert!(entries.is_empty() && complete);
    let stale = history(&backend, &again.session_id, &created.revision).await;
    assert_eq!(stale.unwrap_err(), ErrorKind::StaleRevision.into());
    // Replaced: its handle is gone without a trace.
    backend.attach(None, never()).await.unwrap();
    let gone = backend.attach(Some(&created.session_id), never()).await;
    assert_eq!(gone, Err(ErrorKind::SessionMissing.into()));
    backend.close().await;
    assert_eq!(
        std::fs::read_dir(place.home().join("sessions"))
            .unwrap()
            .count(),
        0
    );
}

#[tokio::test]
async fn a_failed_open_leaves_the_attachment() {
    let place = replying();
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    std::fs::write(place.file("broken"), "nonsense\n").unwrap();
    for (id, error) in [
        ("missing", ErrorKind::SessionMissing.into()),
        ("broken", ErrorKind::SessionInvalid.into()),
        ("../etc/passwd", ErrorKind::SessionInvalid.into()),
        ("", ErrorKind::SessionInvalid.into()),
    ] {
        assert_eq!(backend.attach(Some(id), never()).await, Err(error), "{id}");
        assert_eq!(
            backend.status().session_id.as_deref(),
            Some(session.as_str())
        );
    }
    let (entries, _) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    assert_eq!(entries.len(), 2);
    assert!(!place.home().join("sessions/missing.lock").exists());
}

#[tokio::test]
async fn a_session_has_one_owner_until_that_one_closes() {
    let place = replying();
    let (one, two) = (place.backend().await, place.backend().await);
    let session = create(&one).await;
    turn(&one, &session, "go").await;
    let refused = two.attach(Some(&session), never()).await;
    assert_eq!(refused, Err(ErrorKind::SessionBusy.into()));
    one.attach(None, never()).await.unwrap();
    two.attach(Some(&session), never()).await.unwrap();
    let refused = one.attach(Some(&session), never()).await;
    assert_eq!(refused, Err(ErrorKind::SessionBusy.into()));
    two.close().await;
    one.attach(Some(&session), never()).await.unwrap();
}

#[tokio::test]
async fn sessions_belong_to_their_directory() {
    let place = replying();
    let backend = place.backend().await;
    let session = create(&backend).await;
    turn(&backend, &session, "go").await;
    backend.close().await;
    let mut environment = place.environment();
    environment.cwd = place.home();
    let elsewhere = Agent::new(environment);
    elsewhere.initialize(never()).await.unwrap();
    let refused = elsewhere.attach(Some(&session), never()).await;
    assert_eq!(refused, Err(ErrorKind::CwdMismatch.into()));
    std::fs::write(place.file("empty"), "").unwrap();
    let opened = elsewhere.attach(Some("empty"), never()).await.unwrap();
    assert!(opened.durable);
    assert_eq!(opened.notices, [Notice::CwdUnverified]);
}

#[tokio::test]
async fn an_unavailable_saved_selection_is_told() {
    let place = replying();
    let backend = place.backend().await;
    let session = create(&backend).await;
    turn(&backend, &session, "go").await;
    backend.close().await;
    let file = place.file(&session);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("fixture-model", "retired")).unwrap();
    let backend = place.backend().await;
    let opened = backend.attach(Some(&session), never()).await.unwrap();
    assert_eq!(opened.notices, [Notice::SavedSelectionUnavailable]);
    assert_eq!(backend.status().model.as_deref(), Some("fixture-model"));
}

#[tokio::test]
async fn outside_changes_void_the_revision_for_good() {
    let place = replying();
    let backend = place.backend().await;
    let session = create(&backend).await;
    let revision = revision(&turn(&backend, &session, "first").await);
    history(&backend, &session, &revision).await.unwrap();
    let file = place.file(&session);
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("first", "FIRST")).unwrap();
    for content in [text.replace("first", "FIRST"), text] {
        std::fs::write(&file, content).unwrap();
        let stale = history(&backend, &session, &revision).await;
        assert_eq!(stale.unwrap_err(), ErrorKind::StaleRevision.into());
    }
    let opened = backend.attach(Some(&session), never()).await.unwrap();
    history(&backend, &session, &opened.revision).await.unwrap();
}

#[tokio::test]
async fn cursors_are_valid_only_as_given_out() {
    let place = Place::scripted(&[json!([{"text": "x".repeat(100_000)}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let revision = revision(&turn(&backend, &session, "go").await);
    let page = |cursor: Option<String>| {
        let (backend, session, revision) = (backend.clone(), session.clone(), revision.clone());
        async move {
            backend
                .history_page(&session, &revision, cursor.as_deref(), never())
                .await
        }
    };
    let stale = Err(ErrorKind::StaleRevision.into());
    let early = format!("{revision}.1");
    assert_eq!(page(Some(early.clone())).await, stale);
    let first = page(None).await.unwrap();
    assert_eq!(first.next_cursor.as_deref(), Some(early.as_str()));
    assert!(!first.complete);
    assert_eq!(page(Some(format!("{revision}.2"))).await, stale);
    assert_eq!(page(Some(format!("{revision}.0"))).await, stale);
    let second = page(first.next_cursor.clone()).await.unwrap();
    assert_eq!(page(first.next_cursor).await.unwrap(), second);
    let other = backend
        .history_page("other", &revision, None, never())
        .await;
    assert_eq!(other.unwrap_err(), ErrorKind::StaleSession.into());
}

#[tokio::test]
async fn closing_ends_admission_and_frees_the_session() {
    let place = Place::scripted(&[json!([{"text": "a "}, {"wait_ms": 60000}])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    let closing = tokio::spawn({
        let backend = backend.clone();
        async move { backend.close().await }
    });
    let events = finish(&mut run).await;
    closing.await.unwrap();
    assert!(matches!(
        events.last(),
        Some(agent::RunEvent::MustArrive(MustArrive::Finished {
            outcome: agent::Outcome::Cancelled,
            ..
        }))
    ));
    let refused = backend.attach(None, never()).await;
    assert_eq!(refused, Err(ErrorKind::Cancelled.into()));
    place
        .backend()
        .await
        .attach(Some(&session), never())
        .await
        .unwrap();
}

#[tokio::test]
async fn a_cancelled_operation_attaches_nothing_and_ends() {
    let place = replying();
    let backend = place.backend().await;
    let cancel = CancellationToken::new();
    cancel.cancel();
    // The work may have been done before the cancellation is seen: then it is an attachment.
    match backend.attach(None, cancel).await {
        Ok(attached) => {
            assert_eq!(backend.status().session_id, Some(attached.session_id));
        }
        Err(error) => {
            assert_eq!(error, ErrorKind::Cancelled.into());
            assert_eq!(backend.status().session_id, None);
        }
    }
    let later = async {
        while backend.attach(None, never()).await == Err(ErrorKind::Busy.into()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(10), later)
        .await
        .unwrap();
}

#[tokio::test]
async fn readiness_follows_the_settings_of_the_moment() {
    let place = Place::new();
    let backend = agent::Engine::new(
        place.environment(),
        agent::Capacity {
            sessions: 1,
            runs: 1,
        },
    );
    assert_eq!(backend.provider_ready(), Ok(true));
    // It looks and makes nothing.
    assert_eq!(std::fs::read_dir(place.home()).unwrap().count(), 0);
    place.settings(r#"{"provider":"anthropic","model":"m"}"#);
    assert_eq!(backend.provider_ready(), Ok(false));
    place.settings("{");
    assert_eq!(
        backend.provider_ready(),
        Err(ErrorKind::from(StartupErrorKind::ConfigurationInvalid).into())
    );
}
