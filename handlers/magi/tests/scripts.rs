//! What steps of a script become in a turn, and what a wrong script does.
//! The provider that plays them is tested in its own crate.
#![allow(clippy::unwrap_used)]

mod support;

use std::error::Error;

use agent::{Activity, EntryKind, MayDrop, MustArrive, Outcome, RunEvent, UsageSource};
use serde_json::json;
use support::*;

/// Two in a row are two, and one that was complete stays when the response fails later.
#[tokio::test]
async fn summaries_of_one_response_stay_apart() {
    let place = Place::scripted(&[json!([
        {"reasoning": "one", "provider_summary": true},
        {"reasoning": "two", "provider_summary": true},
        {"error": "network"}
    ])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    let (entries, _) = history(&backend, &session, &revision(&events))
        .await
        .unwrap();
    let summaries: Vec<_> = entries
        .iter()
        .filter(|entry| entry.kind == EntryKind::ReasoningSummary)
        .map(|entry| entry.text.as_str())
        .collect();
    assert_eq!(summaries, ["one", "two"]);
}

#[tokio::test]
async fn counts_without_the_cache_are_counts() {
    let place = Place::scripted(&[json!([
        {"usage": {"input": 0, "output": 0}},
        {"text": "done"}
    ])]);
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    assert!(matches!(
        events.last(),
        Some(RunEvent::MustArrive(MustArrive::Finished {
            outcome: Outcome::Completed,
            error_code: None,
            ..
        }))
    ));
    assert!(events.iter().any(|e| matches!(
        e,
        RunEvent::MayDrop {
            event: MayDrop::Activity(Activity::Usage {
                effective_input: 0,
                output: 0,
                cache_read: None,
                request: 1,
                source: UsageSource::Request,
            }),
            ..
        }
    )));
}

#[tokio::test]
async fn a_wrong_script_fails_startup_and_no_turn() {
    for steps in [json!([{"tool": ""}]), json!([{"usage": {"input": 0}}])] {
        let place = Place::scripted(std::slice::from_ref(&steps));
        let refused = magi::local_agent::Agent::new(place.environment())
            .initialize(support::never())
            .await;
        let refused = refused.unwrap_err();
        let expected = agent::StartupErrorKind::ConfigurationInvalid;
        assert_eq!(refused.kind(), expected.into(), "{steps}");
        let error = refused.source().unwrap();
        let error = error.downcast_ref::<agent::StartupError>().unwrap();
        assert_eq!(
            error.reasons[0].key.as_deref(),
            Some("providers.fixture.script")
        );
    }
}
