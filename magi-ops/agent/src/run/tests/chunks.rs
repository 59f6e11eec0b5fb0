//! What a run makes of summaries of reasoning and of an answer that was cut off.
//! Tools and bounds of messages are tested beside.

use super::*;

fn summary(text: &str) -> Chunk {
    Chunk::Reasoning {
        text: text.into(),
        provider_summary: true,
    }
}

/// The diagnostics, as they were told.
fn diagnostics(events: &[RunEvent]) -> Vec<(RunErrorCode, &str)> {
    let told = events.iter().filter_map(|event| match event {
        RunEvent::MustArrive(MustArrive::Diagnostic { code, summary }) => {
            Some((*code, summary.as_str()))
        }
        _ => None,
    });
    told.collect()
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_told_and_the_run_goes_on() {
    let played = play(vec![
        vec![
            text("Half a sen"),
            call("c1", "read", json!({ "path": "a.txt" })),
            call("c2", "read", json!("{\"pa")),
            Chunk::Cut,
            Chunk::Usage(Default::default()),
        ],
        vec![text("Whole.")],
    ])
    .await;
    assert_eq!(error_code(&played.events), None);
    let told = diagnostics(&played.events);
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!(told[0].0, RunErrorCode::ContentLimit);
    assert!(told[0].1.contains("limit of its output"), "{told:?}");
    // Once the text it is about is whole on the screen, and before the calls.
    let place = |wanted: fn(&RunEvent) -> bool| played.events.iter().position(wanted).unwrap();
    let diagnostic = place(|e| matches!(e, RunEvent::MustArrive(MustArrive::Diagnostic { .. })));
    assert!(
        place(|e| matches!(
            e,
            RunEvent::MustArrive(MustArrive::Reconcile {
                last_part: true,
                ..
            })
        )) < diagnostic
    );
    assert!(
        diagnostic
            < place(|e| {
                let RunEvent::MayDrop {
                    event: MayDrop::Activity(activity),
                    ..
                } = e
                else {
                    return false;
                };
                matches!(activity, Activity::Tool { .. })
            })
    );
    // The complete call ran, the other one was refused.
    let results = |message: &Message| match message {
        Message::ToolResult { is_error, .. } => Some(*is_error),
        _ => None,
    };
    let results: Vec<_> = played.asked[1].iter().filter_map(results).collect();
    assert_eq!(results, [false, true]);
    assert!(played.stored.contains(told[0].1), "{}", played.stored);
}

#[tokio::test]
async fn a_run_ends_as_completed_with_what_the_limit_left_of_it() {
    let played = play(vec![vec![text("Half a sen"), Chunk::Cut]]).await;
    assert_eq!(error_code(&played.events), None);
    assert_eq!(diagnostics(&played.events).len(), 1);
    let partial = |e: &RunEvent| {
        matches!(
            e,
            RunEvent::MustArrive(MustArrive::Reconcile { partial: true, .. })
        )
    };
    assert!(!played.events.iter().any(partial));
}

#[tokio::test]
async fn each_summary_is_an_item_of_its_own() {
    let raw = Chunk::Reasoning {
        text: "raw-canary".into(),
        provider_summary: false,
    };
    let played = play(vec![
        vec![
            summary("one"),
            summary("two"),
            summary(""),
            raw,
            text("said"),
            summary("three"),
            text(" more"),
        ],
        vec![],
    ])
    .await;
    let shown: Vec<_> = played
        .events
        .iter()
        .filter_map(|event| match event {
            RunEvent::MayDrop {
                event: MayDrop::Activity(Activity::ReasoningSummary { id, text, .. }),
                ..
            } => Some((id.as_str(), text.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(shown, [("0.0", "one"), ("0.1", "two"), ("0.2", "three")]);
    for words in ["\"one\"", "\"two\"", "\"three\""] {
        assert_eq!(played.stored.matches(words).count(), 1, "{words}");
    }
    assert!(!played.stored.contains("raw-canary"));
}

#[tokio::test]
async fn summaries_beyond_the_bound_are_a_content_limit() {
    let played = play(vec![vec![summary("s"); RECONCILED.max_activities + 1]]).await;
    assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    assert_eq!(
        played.stored.matches("\"reasoning\"").count(),
        RECONCILED.max_activities
    );
}

#[tokio::test]
async fn what_a_request_goes_on_without_is_told() {
    let why = ProviderError::new(provider::ErrorKind::NotStored)
        .with_source(std::io::Error::other("zz-reason"));
    let played = play(vec![vec![Chunk::Notice(why), text("Whole.")]]).await;
    assert_eq!(error_code(&played.events), None);
    let told = diagnostics(&played.events);
    let words = "the renewed login of the provider cannot be stored: zz-reason";
    assert_eq!(told, [(RunErrorCode::ProviderUnavailable, words)]);
}
