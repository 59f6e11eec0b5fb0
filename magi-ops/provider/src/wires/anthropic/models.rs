//! What Anthropic's list of models says of one.
//! Reads values alone.

use serde_json::Value;

use crate::discovered::DiscoveredModel;
use crate::wires::listing::{first_count, first_text, level};

pub(crate) fn entry(entry: &Value) -> Option<DiscoveredModel> {
    let can = |path: &str| entry.pointer(path)?.as_bool();
    let efforts = can("/capabilities/effort/supported") == Some(true);
    let levels = match (efforts, can("/capabilities/thinking/supported")) {
        (true, _) => {
            let all = entry.pointer("/capabilities/effort")?.as_object()?;
            let own = all.iter().filter(|(_, of)| of["supported"] == true);
            Some(own.filter_map(|(word, _)| level(word)).collect())
        }
        (false, Some(false)) => Some(Vec::new()),
        // By budgets, or not told.
        (false, _) => None,
    };
    Some(DiscoveredModel {
        id: first_text(entry, &["id"])?,
        label: first_text(entry, &["display_name", "name"]),
        context_window: first_count(
            entry,
            &["/max_input_tokens", "/context_window", "/context_length"],
        ),
        max_output_tokens: first_count(entry, &["/max_tokens", "/max_output_tokens"]),
        thinking_levels: levels,
        images: can("/capabilities/image_input/supported"),
        disabled: entry["disabled"] == true,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::message::ThinkingLevel;

    #[test]
    fn an_entry_says_what_it_says() {
        let plain = json!({"type": "model", "id": "claude-x", "display_name": "Claude X", "created_at": "2025-02-19T00:00:00Z"});
        let model = entry(&plain).unwrap();
        assert_eq!(model.label.as_deref(), Some("Claude X"));
        assert_eq!((model.context_window, model.thinking_levels), (None, None));
        let whole = json!({
            "id": "claude-y", "max_input_tokens": 1_000_000, "max_tokens": 128_000,
            "capabilities": {
                "image_input": {"supported": true}, "thinking": {"supported": true},
                "effort": {"supported": true, "low": {"supported": true}, "high": {"supported": true}, "max": {"supported": false}},
            },
        });
        let model = entry(&whole).unwrap();
        assert_eq!(
            (model.context_window, model.max_output_tokens),
            (Some(1_000_000), Some(128_000))
        );
        let mut levels = model.thinking_levels.unwrap();
        levels.sort_by_key(|level| *level as u8);
        assert_eq!(levels, [ThinkingLevel::Low, ThinkingLevel::High]);
        assert_eq!(model.images, Some(true));
        let none = json!({"id": "z", "capabilities": {"thinking": {"supported": false}}});
        assert_eq!(entry(&none).unwrap().thinking_levels, Some(vec![]));
        for odd in [
            json!({}),
            json!({"id": 7}),
            json!(null),
            json!("x"),
            json!({"id": " "}),
        ] {
            assert_eq!(entry(&odd), None, "{odd}");
        }
    }
}
