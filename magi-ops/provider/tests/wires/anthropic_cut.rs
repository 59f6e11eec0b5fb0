//! The Messages API where something ends early: at the output's limit, or a connection within a summary.
//! Whole messages are tested beside.

use provider::{Api, Chunk, ErrorKind, ThinkingLevel, ToolCall};
use serde_json::{Value, json};

use crate::anthropic::{START, STOP, begin, content_of, delta, end, message, say, stop};
use crate::support::{answer, prompt, streamed, text};

fn list(id: &str, input: Value) -> Chunk {
    Chunk::ToolCall(ToolCall {
        id: id.into(),
        name: "list".into(),
        input,
    })
}

/// The API ends a block also where the limit cut it off.
#[tokio::test]
async fn the_last_call_before_a_limit_is_whole_only_if_its_input_is() {
    let call = |index, id: &str, input: &str| {
        vec![
            begin(
                index,
                json!({"type": "tool_use", "id": id, "name": "list", "input": {}}),
            ),
            delta(
                index,
                json!({"type": "input_json_delta", "partial_json": input}),
            ),
            end(index),
        ]
    };
    let whole = json!({"path": "src"});
    for (reason, input, expected) in [
        ("max_tokens", "", json!("")),
        ("max_tokens", "{\"pa", json!("{\"pa")),
        ("max_tokens", "{\"path\":\"src\"}", whole),
        ("model_context_window_exceeded", "", json!("")),
    ] {
        let events = message(vec![call(0, "a", ""), call(1, "b", input)], reason);
        let calls = [list("a", json!({})), list("b", expected), Chunk::Cut];
        assert_eq!(
            content_of(&events).await,
            (calls.to_vec(), None),
            "{reason} {input}"
        );
    }
    // Nothing was cut off.
    let events = message(
        vec![call(0, "a", ""), say(1, "So."), call(2, "b", "")],
        "tool_use",
    );
    let calls = [list("a", json!({})), text("So."), list("b", json!({}))];
    assert_eq!(content_of(&events).await, (calls.to_vec(), None));
}

#[tokio::test]
async fn the_output_limit_ends_with_what_came() {
    let (chunks, error) = content_of(&[
        START.to_owned(),
        begin(0, json!({"type": "text", "text": "Half a sen"})),
        end(0),
        begin(
            1,
            json!({"type": "tool_use", "id": "a", "name": "list", "input": {}}),
        ),
        stop("max_tokens", 9),
        STOP.to_owned(),
    ])
    .await;
    assert_eq!(error, None);
    // Not an empty object: the input may have had more to it.
    assert_eq!(
        chunks,
        [text("Half a sen"), list("a", json!("")), Chunk::Cut]
    );
}

/// A summary whose block did not end is none, whatever of it came; those before it stay.
#[tokio::test]
async fn every_summary_is_one_piece_and_half_a_one_is_none() {
    let thinking = |index, words: &str| {
        vec![
            begin(index, json!({"type": "thinking", "thinking": ""})),
            delta(index, json!({"type": "thinking_delta", "thinking": words})),
            delta(
                index,
                json!({"type": "signature_delta", "signature": "SIG"}),
            ),
            end(index),
        ]
    };
    let mut asked = prompt();
    asked.model = "claude-opus-4-7".into();
    asked.thinking = ThinkingLevel::High;
    let mut begun = vec![START.to_owned()];
    begun.extend(thinking(0, "one"));
    begun.extend(thinking(1, "two"));
    let mut third = thinking(2, "thr");
    third.pop();
    begun.extend(third);
    let cut = [begun.clone(), vec![stop("max_tokens", 9), STOP.to_owned()]].concat();
    for (events, failure) in [(begun, Some(ErrorKind::Interrupted)), (cut, None)] {
        let (chunks, error) = answer(Api::Anthropic, asked.clone(), streamed(&events)).await;
        assert_eq!(error, failure);
        let summaries: Vec<_> = chunks
            .iter()
            .filter_map(|chunk| match chunk {
                Chunk::Reasoning { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(summaries, ["one", "two"]);
        assert_eq!(chunks.last() == Some(&Chunk::Cut), failure.is_none());
    }
}
