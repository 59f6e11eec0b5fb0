//! What a run makes of summaries of reasoning.
//! Tools and bounds of messages are tested beside.

use super::*;

fn summary(text: &str) -> Chunk {
    Chunk::Reasoning {
        text: text.into(),
        provider_summary: true,
    }
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
            RunEvent::Activity {
                activity: Activity::ReasoningSummary { id, text, .. },
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
async fn summaries_beyond_4096_are_a_content_limit() {
    let played = play(vec![vec![summary("s"); 4097]]).await;
    assert_eq!(error_code(&played.events), Some(RunErrorCode::ContentLimit));
    assert_eq!(played.stored.matches("\"reasoning\"").count(), 4096);
}
