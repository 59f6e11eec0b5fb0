//! What Gemini's list of models says of one.
//! Reads values alone.

use serde_json::Value;

use crate::discovered::DiscoveredModel;
use crate::wires::listing::{first_count, first_text, names_word};

pub(crate) fn entry(entry: &Value) -> Option<DiscoveredModel> {
    let methods = ["/supportedGenerationMethods", "/supportedActions"];
    if names_word(entry, &methods, &["generateContent"]) == Some(false) {
        return None;
    }
    let name = first_text(entry, &["name", "id"])?;
    let id = name.strip_prefix("models/").unwrap_or(&name);
    let never_thinks = entry["thinking"] == false;
    Some(DiscoveredModel {
        id: id.to_owned(),
        label: first_text(entry, &["displayName"]),
        context_window: first_count(entry, &["/inputTokenLimit"]),
        max_output_tokens: first_count(entry, &["/outputTokenLimit"]),
        thinking_levels: never_thinks.then(Vec::new),
        images: None,
        disabled: entry["disabled"] == true,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn ids_stand_without_their_folder_and_other_kinds_are_left_out() {
        let model = entry(&json!({
            "name": "models/gemini-x", "displayName": "Gemini X", "inputTokenLimit": 1_048_576,
            "outputTokenLimit": 65_536, "supportedGenerationMethods": ["generateContent", "countTokens"], "thinking": true,
        }));
        let model = model.unwrap();
        assert_eq!(
            (model.id.as_str(), model.label.as_deref()),
            ("gemini-x", Some("Gemini X"))
        );
        assert_eq!(
            (model.context_window, model.max_output_tokens),
            (Some(1_048_576), Some(65_536))
        );
        assert_eq!(model.thinking_levels, None);
        let never = json!({"name": "models/y", "thinking": false});
        assert_eq!(entry(&never).unwrap().thinking_levels, Some(vec![]));
        let other = json!({"name": "models/e", "supportedGenerationMethods": ["embedContent"]});
        assert_eq!(entry(&other), None);
        assert_eq!(entry(&json!({"name": 7})), None);
    }
}
