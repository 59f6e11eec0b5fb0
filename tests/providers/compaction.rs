//! Compaction with real wires: which refusals are of a conversation's length, what a request for a summary looks like, and
//! how the conversation goes on behind it.

use super::*;

fn said(text: &str) -> Answer {
    let data =
        json!({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": "stop"}]});
    Answer::events(&[data.to_string(), "[DONE]".to_owned()])
}

fn settings(model: &Model) -> Value {
    json!({
        "provider": "gateway",
        "model": "large",
        "providers": {"gateway": {"api": "openai-chat", "base_url": model.base(), "models": ["large"]}},
    })
}

#[test]
fn refusal_for_length_asks_for_a_summary_without_tools_and_then_once_more() {
    let refusals = [
        (
            400,
            r#"{"error":{"message":"too much","code":"context_length_exceeded"}}"#,
        ),
        (
            400,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens."}}"#,
        ),
        (
            400,
            r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 5 tokens > 4"}}"#,
        ),
    ];
    for (status, body) in refusals {
        let model = Model::answering(vec![
            said("Answer 1."),
            Answer::refusal(status, body),
            said("In short."),
            said("Answer 2."),
        ]);
        let place = Place::with_settings(&settings(&model));
        let mut agent = ready(&place);
        let session = agent.create();
        agent.turn(&session, "one");
        let run = agent.turn(&session, "two");
        assert_eq!(
            (run.outcome(), &run.reconciled()[..]),
            ("completed", &["Answer 2.".to_owned()][..])
        );
        agent.end();
        let [_, refused, summary, again] = [(); 4].map(|()| model.asked().body);
        assert!(summary.get("tools").is_none(), "{summary}");
        let messages = summary["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "{summary}");
        assert_eq!(messages[1]["role"], "user");
        let told = messages[1]["content"].as_str().unwrap();
        assert!(told.contains("one") && told.contains("Answer 1."), "{told}");
        assert!(summary["max_tokens"].as_u64().unwrap() <= 4096);
        // The same request, with one message in the place of what was before.
        assert_eq!(refused["tools"], again["tools"]);
        let messages = again["messages"].as_array().unwrap();
        assert_eq!(messages.len(), 2, "{again}");
        let told = messages[1]["content"].as_str().unwrap();
        assert!(
            told.contains("\n\nIn short.\n\ntwo") && !told.contains("Answer 1."),
            "{told}"
        );
    }
}

#[test]
fn second_refusal_ends_the_turn_and_any_other_is_no_reason() {
    let long = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
    let model = Model::answering(vec![
        said("Answer 1."),
        Answer::refusal(400, long),
        said("In short."),
        Answer::refusal(400, long),
        Answer::refusal(400, r#"{"error":{"message":"a bad request"}}"#),
    ]);
    let place = Place::with_settings(&settings(&model));
    let mut agent = ready(&place);
    let session = agent.create();
    agent.turn(&session, "one");
    let run = agent.turn(&session, "two");
    assert_eq!(
        (run.outcome(), &run.end()["error_code"]),
        ("failed", &json!("provider_unavailable"))
    );
    let run = agent.turn(&session, "three");
    assert_eq!(run.outcome(), "failed");
    agent.end();
    for _ in 0..5 {
        model.asked();
    }
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert_eq!(
        stored
            .matches(r#""error_code":"compaction_required""#)
            .count(),
        1
    );
}

#[test]
fn filtered_or_empty_summary_is_none() {
    let filtered = json!({"choices": [{"index": 0, "delta": {"content": "Half"}, "finish_reason": "content_filter"}]});
    for summary in [
        Answer::events(&[filtered.to_string(), "[DONE]".to_owned()]),
        said(" "),
    ] {
        let long = r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#;
        let model = Model::answering(vec![said("Answer 1."), Answer::refusal(400, long), summary]);
        let place = Place::with_settings(&settings(&model));
        let mut agent = ready(&place);
        let session = agent.create();
        agent.turn(&session, "one");
        let run = agent.turn(&session, "two");
        assert_eq!(run.outcome(), "failed");
        agent.end();
        let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
        assert!(!stored.contains("checkpoint"), "{stored}");
    }
}
