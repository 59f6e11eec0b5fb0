//! Questions to a person through the facade: one answer decides, and everything but a timely yes denies.
//! Time is virtual where something waits for it.
#![allow(clippy::unwrap_used)]

mod support;

use agent::{ActivityState, ErrorKind, MayDrop, MustArrive, Outcome, Persistence, RunEvent};
use serde_json::json;
use support::*;

#[tokio::test]
async fn approvals_allow_once_and_deny_by_every_other_way() {
    let steps = json!([{"tool": "read", "input": {"path": "data.txt"}}, {"text": "done"}]);
    let place = Place::with(&[steps], json!({"permissions": {"read": "ask"}}));
    std::fs::write(place.work().join("data.txt"), "x\n").unwrap();
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut approvals: Vec<String> = Vec::new();
    for allow in [true, false] {
        let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
        let asked = until(&mut run, |e| {
            matches!(
                e,
                RunEvent::MustArrive(MustArrive::ApprovalRequested { .. })
            )
        })
        .await;
        let Some(RunEvent::MustArrive(MustArrive::ApprovalRequested {
            approval_id,
            summary,
            expires_in_ms,
        })) = asked.last()
        else {
            panic!("{asked:?}");
        };
        assert_eq!(*expires_in_ms, 60_000);
        assert!(summary.as_str().contains("read") && summary.as_str().contains("data.txt"));
        let answer = |run_id: &str, id: &str| backend.answer_approval(&session, run_id, id, allow);
        let stale = Err(ErrorKind::UnknownApproval.into());
        assert_eq!(answer(&run.run_id, "no-such"), stale);
        assert_eq!(answer("other", approval_id), stale);
        for old in &approvals {
            assert_eq!(
                answer(&run.run_id, old),
                stale,
                "an approval of another run"
            );
        }
        assert_eq!(answer(&run.run_id, approval_id), Ok(()));
        assert_eq!(answer(&run.run_id, approval_id), stale);
        let events = finish(&mut run).await;
        let want = if allow {
            ActivityState::Completed
        } else {
            ActivityState::Failed
        };
        assert!(
            events
                .iter()
                .any(|e| matches!(e, RunEvent::MayDrop { event: MayDrop::Activity(agent::Activity::Tool { state, .. }), .. } if *state == want))
        );
        assert_eq!(answer(&run.run_id, approval_id), stale);
        approvals.push(approval_id.clone());
    }
}

#[tokio::test(start_paused = true)]
async fn an_approval_expires_after_60_seconds_as_denied() {
    let steps = json!([{"tool": "read", "input": {"path": "x"}}, {"text": "done"}]);
    let place = Place::with(&[steps], json!({"permissions": {"read": "ask"}}));
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    let asked = until(&mut run, |e| {
        matches!(
            e,
            RunEvent::MustArrive(MustArrive::ApprovalRequested { .. })
        )
    })
    .await;
    let Some(RunEvent::MustArrive(MustArrive::ApprovalRequested { approval_id, .. })) =
        asked.last()
    else {
        panic!("{asked:?}");
    };
    let before = tokio::time::Instant::now();
    let events = until(&mut run, |e| {
        matches!(
            e,
            RunEvent::MayDrop {
                event: MayDrop::Activity(_),
                ..
            }
        )
    })
    .await;
    assert_eq!(before.elapsed().as_secs(), 60);
    assert!(matches!(
        events[0],
        RunEvent::MayDrop {
            event: MayDrop::Activity(agent::Activity::Tool {
                state: ActivityState::Failed,
                ..
            }),
            ..
        }
    ));
    let late = backend.answer_approval(&session, &run.run_id, approval_id, true);
    assert_eq!(late, Err(ErrorKind::UnknownApproval.into()));
    assert_eq!(reconciled(&finish(&mut run).await), ["done"]);
}

#[tokio::test]
async fn cancelling_denies_a_waiting_approval() {
    let steps = json!([{"tool": "read", "input": {"path": "x"}}, {"text": "done"}]);
    let place = Place::with(&[steps], json!({"permissions": {"read": "ask"}}));
    let backend = place.backend().await;
    let session = create(&backend).await;
    let mut run = backend.start_turn(&session, reconciled_run("go")).unwrap();
    let asked = until(&mut run, |e| {
        matches!(
            e,
            RunEvent::MustArrive(MustArrive::ApprovalRequested { .. })
        )
    })
    .await;
    let Some(RunEvent::MustArrive(MustArrive::ApprovalRequested { approval_id, .. })) =
        asked.last()
    else {
        panic!("{asked:?}");
    };
    backend.cancel_turn(&session, &run.run_id).unwrap();
    let late = backend.answer_approval(&session, &run.run_id, approval_id, true);
    assert_eq!(late, Err(ErrorKind::UnknownApproval.into()));
    let events = finish(&mut run).await;
    assert_finished(&events, Outcome::Cancelled, Persistence::Durable, None);
    assert!(reconciled(&events).is_empty());
}

#[tokio::test]
async fn a_denied_tool_is_neither_offered_nor_run() {
    let steps = json!([{"tool": "read", "input": {"path": "data.txt"}}, {"text": "done"}]);
    let place = Place::with(&[steps], json!({"permissions": {"read": "deny"}}));
    std::fs::write(place.work().join("data.txt"), "result-canary\n").unwrap();
    let backend = place.backend().await;
    let session = create(&backend).await;
    let events = turn(&backend, &session, "go").await;
    assert!(events.iter().any(|e| matches!(
        e,
        RunEvent::MayDrop {
            event: MayDrop::Activity(agent::Activity::Tool {
                state: ActivityState::Failed,
                ..
            }),
            ..
        }
    )));
    let stored = std::fs::read_to_string(place.file(&session)).unwrap();
    assert!(!stored.contains("result-canary"));
}
