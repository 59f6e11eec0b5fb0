//! Tests of the reading of messages: any order of events.
//! Exact answers are tested over a connection.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn event() -> impl Strategy<Value = Value> {
    let block = prop_oneof![
        Just(json!({"type": "text", "text": "x"})),
        Just(json!({"type": "thinking", "thinking": "x"})),
        Just(json!({"type": "redacted_thinking", "data": "x"})),
        Just(json!({"type": "tool_use", "id": "a", "name": "n", "input": {}})),
        Just(json!({"type": "other"})),
        Just(json!(7)),
    ];
    let delta = prop_oneof![
        Just(json!({"type": "text_delta", "text": "ü"})),
        Just(json!({"type": "input_json_delta", "partial_json": "{"})),
        Just(json!({"type": "thinking_delta", "thinking": "x"})),
        Just(json!({"type": "signature_delta", "signature": "S"})),
        Just(json!({})),
    ];
    prop_oneof![
        4 => (0..3_u64, block).prop_map(|(index, block)| {
            json!({"type": "content_block_start", "index": index, "content_block": block})
        }),
        4 => (0..3_u64, delta).prop_map(|(index, delta)| {
            json!({"type": "content_block_delta", "index": index, "delta": delta})
        }),
        4 => (0..3_u64).prop_map(|index| json!({"type": "content_block_stop", "index": index})),
        1 => any::<Option<u64>>().prop_map(|count| {
            json!({"type": "message_delta", "usage": {
                "input_tokens": count, "cache_read_input_tokens": count, "output_tokens": count,
            }})
        }),
        1 => Just(json!({"type": "message_delta", "delta": {"stop_reason": "max_tokens"}})),
        1 => Just(json!({"type": "message_stop"})),
    ]
}

proptest! {
    /// Any order of events gives pieces or a refusal, never one id twice, and nothing after a cut.
    #[test]
    fn no_order_of_events_makes_it_panic(events in prop::collection::vec(event(), 0..40)) {
        let mut reader = MessageReader::new(&Request::default(), false, false);
        for event in events {
            match reader.event(event, false) {
                Ok(Progress::More | Progress::Finishing) => {}
                Ok(Progress::Done) | Err(_) => break,
            }
        }
        let _ = reader.end();
        let out = reader.out;
        let mut ids = HashSet::new();
        let cut = out.iter().position(|chunk| *chunk == Chunk::Cut);
        prop_assert!(cut.is_none_or(|at| at + 1 == out.len()));
        for chunk in out {
            if let Chunk::ToolCall(call) = chunk {
                prop_assert!(!call.id.is_empty() && ids.insert(call.id));
            }
        }
    }
}
