//! Seeds of answers that list models, and of what is kept of them.

use crate::Seeds;

pub fn seeds() -> Seeds {
    [
        ("anthropic", r#"{"data":[{"type":"model","id":"claude-x","display_name":"Claude X","max_input_tokens":200000,"max_tokens":64000,"capabilities":{"effort":{"supported":true,"low":{"supported":true},"max":{"supported":true}},"thinking":{"supported":true},"image_input":{"supported":true}}}],"has_more":true,"last_id":"claude-x"}"#),
        ("openai", r#"{"object":"list","data":[{"id":"gpt-x","object":"model"},{"id":"a/b","name":"A: B","context_length":"8192","top_provider":{"max_completion_tokens":3},"supported_parameters":["reasoning"],"architecture":{"input_modalities":["image"]}},{"id":"off","active":false},{"id":"gpt-x"}]}"#),
        ("codex", r#"{"models":[{"slug":"gpt-c","display_name":"GPT-C","visibility":"hide","supported_reasoning_levels":[{"effort":"low"},{"effort":"xhigh"}]}]}"#),
        ("gemini", r#"{"models":[{"name":"models/gemini-x","displayName":"X","inputTokenLimit":9,"thinking":false},{"name":"models/e","supportedGenerationMethods":["embedContent"]}],"nextPageToken":"t"}"#),
        ("bare", r#"["m",{"id":"n"},7,null]"#),
        ("unsafe", "{\"data\":[{\"id\":\"sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789\"},{\"id\":\"a b\"},{\"id\":\"m\",\"name\":\"\\u001b[31mred\\n\u{202e}x\"}]}"),
        ("refused", r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#),
        ("empty", r#"{"data":[]}"#),
        ("kept", r#"{"version":1,"fetched_at":"1970-01-01T00:00:00Z","expires_at":"1970-01-02T00:00:00Z","fingerprint":"92fb056574ef0ed01654fe362bede5d2c6d91b1315e348de64cd173376cf52fb","etag":"\"7\"","models":[{"id":"a","label":"A","thinking_levels":["max","low"],"context_window":0},{"id":"a"},{"id":"b","disabled":true}]}"#),
        ("page", "<html></html>"),
    ]
    // The fingerprint is that of the configuration which the checks have.
    .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
    .into()
}
