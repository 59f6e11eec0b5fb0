//! Where a run ends because it is too much: its messages, activities, results, responses, inputs.
//! What the bounds are is each dialect's matter.

use super::*;

#[tokio::test]
async fn messages_beyond_the_bound_are_a_content_limit() {
    let most = RECONCILED.text.max_messages;
    let response = |count: usize| {
        let chunk = |n| [text("x "), call(format!("c{n}"), "nonsense", json!({}))];
        (0..count).flat_map(chunk).collect::<Vec<_>>()
    };
    let messages = |events: &[RunEvent]| {
        let last = |e: &&RunEvent| {
            matches!(
                e,
                RunEvent::MustArrive(MustArrive::Reconcile {
                    last_part: true,
                    ..
                })
            )
        };
        events.iter().filter(last).count()
    };
    let played = play(vec![response(most)]).await;
    assert_eq!(error_code(&played.events), None);
    assert_eq!(messages(&played.events), most);
    let played = play(vec![response(most + 1)]).await;
    assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    assert_eq!(messages(&played.events), most);
    assert!(played.stored.contains("content_limit"));
}

#[tokio::test]
async fn activities_beyond_the_bound_are_a_content_limit() {
    let most = RECONCILED.max_activities;
    let calls = (0..=most)
        .map(|n| call(format!("c{n}"), "nonsense", json!({})))
        .collect();
    let played = play(vec![calls]).await;
    assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    let started = |e: &&RunEvent| {
        matches!(
            e,
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Tool {
                    state: ActivityState::Started,
                    ..
                }),
                ..
            }
        )
    };
    assert_eq!(played.events.iter().filter(started).count(), most);
    let ended = |e: &&RunEvent| {
        matches!(
            e,
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::Tool {
                    state: ActivityState::Failed,
                    ..
                }),
                ..
            }
        )
    };
    assert_eq!(played.events.iter().filter(ended).count(), most);
}

/// Within one response too: what its calls bring stays in memory until all of them are over.
#[tokio::test]
async fn results_beyond_the_bound_stop_the_calls_that_bring_them() {
    let big = format!("{}\n", "x".repeat(170)).repeat(1500);
    let reads = (0..40).map(|n| call(format!("r{n}"), "read", json!({ "path": "big" })));
    let write = call("w", "write", json!({ "path": "big", "content": big }));
    let played = play(vec![vec![write], reads.collect()]).await;
    assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    let results: usize = played
        .replayed
        .iter()
        .map(|message| match message {
            Message::ToolResult { content, .. } => content.len(),
            _ => 0,
        })
        .sum();
    assert!(results > RECONCILED.max_result_bytes, "{results}");
    assert!(
        results < RECONCILED.max_result_bytes + 16 * 300 * 1024,
        "{results}"
    );
}

#[tokio::test]
async fn a_model_that_never_stops_asking_is_stopped() {
    let responses = (0..=RECONCILED.max_responses)
        .map(|n| vec![call(format!("c{n}"), "nonsense", json!({ "n": n }))]);
    let played = play(responses.collect()).await;
    assert_eq!(
        error_code(&played.events),
        Some(RunErrorCode::ExecutionFailed)
    );
    assert_eq!(played.asked.len(), RECONCILED.max_responses as usize);
}

#[tokio::test]
async fn overlong_call_ids_are_malformed() {
    let played = play(vec![vec![
        text("x"),
        call("c".repeat(1025), "read", json!({})),
    ]])
    .await;
    assert_eq!(
        error_code(&played.events),
        Some(RunErrorCode::ExecutionFailed)
    );
    let played = play(vec![vec![call("c".repeat(1024), "nonsense", json!({}))]]).await;
    assert_eq!(error_code(&played.events), None);
}

#[tokio::test]
async fn endless_reasoning_and_inputs_are_a_content_limit() {
    let reasoning = Chunk::Reasoning {
        text: "r".repeat(RECONCILED.max_unshown_bytes / 8),
        provider_summary: true,
    };
    let input = json!({"path": "x".repeat(RECONCILED.max_unshown_bytes / 8)});
    for chunks in [
        vec![reasoning; 9],
        (0..9)
            .map(|i| call(format!("c{i}"), "read", input.clone()))
            .collect(),
        (0..=RECONCILED.max_activities)
            .map(|i| call(format!("c{i}"), "none", json!({})))
            .collect(),
    ] {
        let played = play(vec![chunks]).await;
        assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    }
}
