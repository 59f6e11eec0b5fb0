//! What the lists of models of OpenAI and of the many servers that copied it say of a model, and what llama.cpp and Ollama say
//! of single ones. Reads values alone.

use serde_json::{Value, json};

use crate::discovered::DiscoveredModel;
use crate::message::ThinkingLevel;
use crate::wires::listing::{first_count, first_text, level, names_word};

/// What no conversation can be had with.
const OTHER_KINDS: [&str; 7] = [
    "embedding",
    "embeddings",
    "rerank",
    "reranker",
    "moderation",
    "image",
    "audio",
];

pub(crate) fn entry(entry: &Value) -> Option<DiscoveredModel> {
    let id = match entry {
        Value::String(id) => id.clone(),
        _ => first_text(entry, &["id", "slug", "model", "name"])?,
    };
    let kind = entry["type"].as_str().unwrap_or_default();
    if OTHER_KINDS.contains(&kind) || entry["capabilities"]["completion_chat"] == false {
        return None;
    }
    let label = first_text(entry, &["display_name", "displayName", "name"]);
    Some(DiscoveredModel {
        label: label.filter(|label| *label != id),
        context_window: first_count(
            entry,
            &[
                "/context_window",
                "/context_length",
                "/max_context_length",
                "/max_context_window_tokens",
                "/capabilities/limits/max_context_window_tokens",
                "/max_model_len",
                "/max_input_tokens",
                "/meta/n_ctx",
            ],
        ),
        max_output_tokens: first_count(
            entry,
            &[
                "/max_output_tokens",
                "/max_completion_tokens",
                "/top_provider/max_completion_tokens",
                "/capabilities/limits/max_output_tokens",
            ],
        ),
        thinking_levels: levels(entry),
        images: images(entry),
        disabled: is_disabled(entry),
        id,
    })
}

/// The levels that an entry lists, or none if it lists what a request may say and no level is among that.
fn levels(entry: &Value) -> Option<Vec<ThinkingLevel>> {
    if let Some(all) = entry["supported_reasoning_levels"].as_array() {
        let words = all
            .iter()
            .filter_map(|one| one.as_str().or(one["effort"].as_str()));
        return Some(words.filter_map(level).collect());
    }
    let words = ["reasoning", "reasoning_effort", "include_reasoning"];
    let thinks = names_word(entry, &["/supported_parameters"], &words)?;
    (!thinks).then(Vec::new)
}

fn images(entry: &Value) -> Option<bool> {
    let paths = ["/architecture/input_modalities", "/input_modalities"];
    let told = names_word(entry, &paths, &["image"]);
    told.or_else(|| entry["capabilities"]["vision"].as_bool())
}

fn is_disabled(entry: &Value) -> bool {
    let hidden = |visibility: &Value| visibility.as_str().is_some_and(|word| word != "list");
    entry["disabled"] == true
        || entry["active"] == false
        || entry["policy"]["state"] == "disabled"
        || hidden(&entry["visibility"])
}

/// llama.cpp tells the window of the one model that it serves beside the list.
pub(super) fn ask_properties(model: &DiscoveredModel, count: usize) -> Option<Option<Value>> {
    (count == 1 && model.context_window.is_none()).then_some(None)
}

pub(super) fn read_properties(said: &Value, model: &mut DiscoveredModel) -> bool {
    let paths = ["/default_generation_settings/n_ctx", "/n_ctx"];
    model.context_window = model.context_window.or(first_count(said, &paths));
    model.images = model.images.or(said["modalities"]["vision"].as_bool());
    true
}

/// Ollama tells what a model can when it is asked for that one.
pub(super) fn ask_details(model: &DiscoveredModel, _count: usize) -> Option<Option<Value>> {
    Some(Some(json!({ "model": model.id })))
}

pub(super) fn read_details(said: &Value, model: &mut DiscoveredModel) -> bool {
    if let Some(info) = said["model_info"].as_object() {
        let own = info.get("general.architecture").and_then(Value::as_str);
        let own = own.map(|own| format!("{own}.context_length"));
        let any = || {
            info.keys()
                .find(|name| name.ends_with(".context_length"))
                .cloned()
        };
        let name = own.filter(|own| info.contains_key(own)).or_else(any);
        let count = name.and_then(|name| crate::wires::json::count(&info[&name]));
        model.context_window = count.filter(|count| *count > 0).or(model.context_window);
    }
    let can = |word: &str| names_word(said, &["/capabilities"], &[word]);
    model.images = can("vision").or(model.images);
    if can("thinking") == Some(false) {
        model.thinking_levels = Some(Vec::new());
    }
    can("completion") != Some(false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn entries_of_many_servers_are_understood() {
        use ThinkingLevel::{High, Low, XHigh};
        let read = |value: Value| entry(&value).unwrap();
        let plain = read(json!({"id": "gpt-x", "object": "model", "created": 1, "owned_by": "o"}));
        assert_eq!(
            plain,
            DiscoveredModel {
                id: "gpt-x".into(),
                ..DiscoveredModel::default()
            }
        );
        assert_eq!(read(json!("m")).id, "m");
        for (said, window) in [
            (json!({"id": "m", "context_length": "8192"}), 8192),
            (json!({"id": "m", "max_model_len": 4096.0}), 4096),
            (
                json!({"id": "m", "context_window": 0, "max_context_length": 7}),
                7,
            ),
            (
                json!({"id": "m", "meta": {"n_ctx": 5, "n_ctx_train": 9}}),
                5,
            ),
        ] {
            assert_eq!(read(said).context_window, Some(window));
        }
        let router = read(json!({
            "id": "a/b", "name": "A: B", "context_length": 9,
            "architecture": {"input_modalities": ["text", "image"]},
            "top_provider": {"max_completion_tokens": 3}, "supported_parameters": ["tools"],
        }));
        assert_eq!(router.label.as_deref(), Some("A: B"));
        assert_eq!(
            (router.max_output_tokens, router.images),
            (Some(3), Some(true))
        );
        assert_eq!(router.thinking_levels, Some(vec![]));
        let thinks = json!({"id": "m", "supported_parameters": ["reasoning"]});
        assert_eq!(read(thinks).thinking_levels, None);
        let codex = read(json!({
            "slug": "gpt-c", "display_name": "GPT-C", "visibility": "list", "context_window": 272_000,
            "supported_reasoning_levels": [{"effort": "minimal"}, {"effort": "low"}, {"effort": "xhigh"}, "high"],
        }));
        assert_eq!((codex.id.as_str(), codex.disabled), ("gpt-c", false));
        assert_eq!(codex.thinking_levels, Some(vec![Low, XHigh, High]));
        for disabled in [
            json!({"id": "m", "active": false}),
            json!({"id": "m", "visibility": "hide"}),
            json!({"id": "m", "policy": {"state": "disabled"}}),
            json!({"id": "m", "disabled": true}),
        ] {
            assert!(read(disabled).disabled);
        }
        for other in [
            json!({"id": "m", "type": "embedding"}),
            json!({"id": "m", "capabilities": {"completion_chat": false}}),
            json!({"id": 7}),
            json!([]),
            json!(null),
        ] {
            assert_eq!(entry(&other), None, "{other}");
        }
    }

    #[test]
    fn local_servers_tell_more_of_single_models() {
        let mut model = DiscoveredModel {
            id: "q".into(),
            ..DiscoveredModel::default()
        };
        assert_eq!(ask_properties(&model, 1), Some(None));
        assert_eq!(ask_properties(&model, 2), None);
        let props = json!({"default_generation_settings": {"n_ctx": 4096}, "modalities": {"vision": false}});
        assert!(read_properties(&props, &mut model));
        assert_eq!(
            (model.context_window, model.images),
            (Some(4096), Some(false))
        );
        assert_eq!(ask_properties(&model, 1), None);

        let details = json!({
            "model_info": {"general.architecture": "qwen3", "clip.context_length": 77, "qwen3.context_length": 40_960},
            "capabilities": ["completion", "tools", "vision"],
        });
        assert!(read_details(&details, &mut model));
        assert_eq!(
            (model.context_window, model.images),
            (Some(40_960), Some(true))
        );
        assert_eq!(model.thinking_levels, Some(vec![]));
        assert!(!read_details(
            &json!({"capabilities": ["embedding"]}),
            &mut model
        ));
        for odd in [
            json!({}),
            json!(7),
            json!({"model_info": {"x.context_length": "many"}}),
        ] {
            assert!(read_details(&odd, &mut model));
            assert_eq!(model.context_window, Some(40_960));
        }
    }
}
