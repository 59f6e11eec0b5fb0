//! Tests of the events: whatever their order and packets, each text and each call is told once.
//! No connection.

#![allow(clippy::unwrap_used)]

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn read(events: &[Value]) -> (Vec<Chunk>, Result<(), ProviderError>) {
    let mut reader = ResponseReader::new(&Request::default(), None);
    for event in events {
        match reader.event(event.clone(), false) {
            Ok(Progress::Done) => break,
            Ok(_) => {}
            Err(error) => return (reader.out.into(), Err(error)),
        }
    }
    let end = reader.end();
    (reader.out.into(), end)
}

proptest! {
    /// However the pieces of a call and a text are cut and repeated as a whole, they come once.
    #[test]
    fn nothing_is_lost_nor_doubled(
        text in "[aé😀 ]{0,8}",
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..3),
        repeats in prop::collection::vec(any::<bool>(), 8),
        ids in any::<bool>(),
        indexes in any::<bool>(),
    ) {
        let arguments = json!({ "path": text }).to_string();
        let pieces = |whole: &str| -> Vec<String> {
            let mut ends: Vec<_> = cuts.iter().map(|cut| whole.floor_char_boundary(cut.index(whole.len() + 1))).collect();
            ends.extend([0, whole.len()]);
            ends.sort_unstable();
            ends.windows(2).map(|cut| whole[cut[0]..cut[1]].to_owned()).collect()
        };
        let place = |mut event: Value, at: usize| {
            if ids { event["item_id"] = json!(format!("i{at}")); }
            if indexes { event["output_index"] = json!(at); }
            event
        };
        let item = |mut item: Value, at: usize| {
            if ids { item["id"] = json!(format!("i{at}")); }
            item
        };
        let message = item(json!({"type": "message", "content": [{"type": "output_text", "text": text}]}), 0);
        let call = item(json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": arguments}), 1);
        let mut events = Vec::new();
        if repeats[0] {
            events.push(place(json!({"type": "response.output_item.added", "item": item(json!({"type": "message", "content": []}), 0)}), 0));
        }
        for piece in pieces(&text) {
            events.push(place(json!({"type": "response.output_text.delta", "delta": piece}), 0));
        }
        if repeats[1] {
            events.push(place(json!({"type": "response.output_text.done", "text": text}), 0));
        }
        if repeats[2] {
            events.push(place(json!({"type": "response.content_part.done", "part": {"type": "output_text", "text": text}}), 0));
        }
        if repeats[3] {
            events.push(place(json!({"type": "response.output_item.done", "item": message}), 0));
        }
        // A call has its name from the start or from its end.
        let (start, end, whole) = (repeats[4], repeats[5], repeats[6]);
        if start {
            events.push(place(json!({"type": "response.output_item.added", "item": item(json!({"type": "function_call", "call_id": "c", "name": "read", "arguments": ""}), 1)}), 1));
        }
        for piece in pieces(&arguments) {
            events.push(place(json!({"type": "response.function_call_arguments.delta", "delta": piece}), 1));
        }
        if repeats[7] {
            events.push(place(json!({"type": "response.function_call_arguments.done", "arguments": arguments}), 1));
        }
        if end {
            events.push(place(json!({"type": "response.output_item.done", "item": call}), 1));
        }
        let mut last = json!({"type": "response.completed", "response": {"status": "completed"}});
        if whole || !(start || end) {
            last["response"]["output"] = json!([message, call]);
        }
        events.push(last);
        let (chunks, ended) = read(&events);
        prop_assert_eq!(ended, Ok(()));
        let said: String = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::Text(text) => Some(text.as_str()),
            _ => None,
        }).collect();
        prop_assert_eq!(said, text.clone());
        let calls: Vec<_> = chunks.iter().filter_map(|chunk| match chunk {
            Chunk::ToolCall(call) => Some(call.clone()),
            _ => None,
        }).collect();
        prop_assert_eq!(calls, vec![ToolCall { id: "c".into(), name: "read".into(), input: json!({ "path": text }) }]);
    }

    /// Any events in any order: no id twice, no summary twice, and nothing that panics.
    #[test]
    fn any_events_are_read(
        picked in prop::collection::vec((0..14_usize, proptest::option::of(0..3_u64), "[ab]?"), 0..20),
    ) {
        let kinds = [
            "output_item.added", "output_item.done", "output_text.delta", "output_text.done",
            "content_part.added", "content_part.done", "reasoning_text.delta", "reasoning_text.done",
            "reasoning_summary_text.delta", "reasoning_summary_text.done",
            "reasoning_summary_part.done", "function_call_arguments.delta",
            "function_call_arguments.done", "in_progress",
        ];
        let items = ["message", "reasoning", "function_call", "web_search_call"];
        let mut events: Vec<_> = picked.iter().enumerate().map(|(at, (kind, index, id))| json!({
            "type": format!("response.{}", kinds[*kind]),
            "output_index": index, "item_id": id, "delta": "d", "text": "dd", "arguments": "{}",
            "summary_index": at % 2, "part": {"type": "output_text", "text": "ddd"},
            "item": {"type": items[at % 4], "id": id, "call_id": id, "encrypted_content": "g",
                "content": [{"text": "dddd"}], "summary": [{"text": "s"}]},
        })).collect();
        events.push(json!({"type": "response.completed", "response": {"status": "completed"}}));
        let (chunks, ended) = read(&events);
        prop_assert_eq!(ended, Ok(()));
        let mut ids = HashSet::new();
        for chunk in chunks {
            match chunk {
                Chunk::ToolCall(call) => prop_assert!(!call.id.is_empty() && ids.insert(call.id)),
                Chunk::Text(text) | Chunk::Reasoning { text, .. } => prop_assert!(!text.is_empty()),
                _ => {}
            }
        }
    }
}
