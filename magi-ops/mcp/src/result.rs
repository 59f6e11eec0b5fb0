//! What a call of a server's tool came to, as a model is told it: text as it is, everything else in words.
//! A pure function of the answer, which a server may have given any form.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use media::Image;
use rmcp::model::ServerResult;
use serde_json::{Value, json};
use tools::ToolOutcome;

/// Most bytes of a result.
pub(crate) const MAX_RESULT_BYTES: usize = 256 * 1024;
/// Room for what says that more of it was left out.
const NOTE_BYTES: usize = 128;
/// Most images of a result that are shown to a model as such; all of them are in one message.
const MAX_IMAGES: usize = 8;
/// Most parts of a result that are looked at. Nobody reads more, and each costs far more time than its bytes.
const MAX_PARTS: usize = 1000;
/// Longest words of a server within our own, in bytes: a type, a name, an address.
const MAX_WORD_BYTES: usize = 256;

/// A result as JSON, whatever form the SDK took it for, if it looked; with as many parts as are read.
pub(crate) fn value(result: ServerResult) -> Value {
    let mut value = match result {
        ServerResult::CustomResult(result) => result.0,
        known => serde_json::to_value(known).unwrap_or_default(),
    };
    bound_parts(&mut value);
    value
}

/// Leaves out the parts of a result beyond the bound, and says so in the last one's place.
pub(crate) fn bound_parts(result: &mut Value) {
    let content = result.get_mut("content");
    let Some(parts) = content.and_then(Value::as_array_mut) else {
        return;
    };
    if parts.len() > MAX_PARTS {
        let (kept, all) = (MAX_PARTS - 1, parts.len());
        parts.truncate(kept);
        let words = format!("[truncated: the first {kept} of {all} parts]");
        parts.push(json!({"type": "text", "text": words}));
    }
}

/// The outcome that a result says, which has passed [`bound_parts`].
pub(crate) fn outcome(result: &Value) -> ToolOutcome {
    let says = |name| result.get(name).is_some_and(|value| !value.is_null());
    if !["content", "structuredContent", "toolResult", "isError"]
        .into_iter()
        .any(says)
    {
        let words = "the server's answer is no result of a tool: it has no content";
        return ToolOutcome::failed(words, "the server answers with no result").because(words);
    }
    let content = result.get("content");
    let parts = content.and_then(Value::as_array);
    let parts = parts.map(Vec::as_slice).unwrap_or_default();
    let mut text = Text::default();
    // A text in place of the list of parts.
    text.add(content.and_then(Value::as_str).unwrap_or_default());
    let mut others = 0;
    let mut images = Vec::new();
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("text") => text.add(word(part, "text")),
            Some("resource") => match part.pointer("/resource/text").and_then(Value::as_str) {
                Some(content) => text.add(content),
                None => {
                    others += 1;
                    text.add(&format!("[{}]", described(part, part.get("resource"))));
                }
            },
            kind => {
                others += 1;
                text.add(&format!("[{}]", described(part, Some(part))));
                if kind == Some("image") && images.len() < MAX_IMAGES {
                    images.extend(image(word(part, "data")));
                }
            }
        }
    }
    let structured = result.get("structuredContent");
    if text.is_empty()
        && let Some(structured) = structured.filter(|value| !value.is_null())
    {
        text.add(&structured.to_string());
    }
    // The first revision of the protocol has this in place of `content`.
    if text.is_empty()
        && let Some(older) = result.get("toolResult").filter(|value| !value.is_null())
    {
        text.add(&older.to_string());
    }
    let content = text.finish();
    if result.get("isError") == Some(&Value::Bool(true)) {
        // As much as a first line takes.
        let why = content[..content.floor_char_boundary(4096)].to_owned();
        return ToolOutcome {
            images,
            ..ToolOutcome::failed(content, "the server tells an error").because(why)
        };
    }
    let lines = content.lines().count();
    let mut summary = format!("{lines} {}", if lines == 1 { "line" } else { "lines" });
    if others > 0 {
        summary += &format!(
            ", {others} that {} no text",
            if others == 1 { "is" } else { "are" }
        );
    }
    ToolOutcome {
        content,
        images,
        is_error: false,
        timed_out: false,
        summary,
        why: None,
    }
}

/// An image of a kind that models take.
fn image(data: &str) -> Option<Image> {
    let bytes = BASE64_STANDARD.decode(data).ok()?;
    Image::new(bytes)
}

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What can't be shown to a model, in words. `about` holds its type and address.
fn described(part: &Value, about: Option<&Value>) -> String {
    let kind = match word(part, "type") {
        "image" => "an image",
        "audio" => "a sound",
        "resource_link" => "a resource that can be read from the server",
        "resource" => "a resource that is no text",
        "" => "a part of the result without a type",
        _ => "a part of the result of a type that is not known here",
    };
    let nothing = Value::Null;
    let about = about.unwrap_or(&nothing);
    let data = about.get("data").or_else(|| about.get("blob"));
    // Four characters of base64 for three bytes.
    let bytes = data.and_then(Value::as_str).map(|data| data.len() / 4 * 3);
    let bytes = bytes.map(|bytes| format!("about {bytes} bytes"));
    let words = ["mimeType", "name", "uri"].map(|name| clip(word(about, name)).to_owned());
    let known: Vec<_> = words
        .into_iter()
        .filter(|word| !word.is_empty())
        .chain(bytes)
        .collect();
    match known.is_empty() {
        true => kind.to_owned(),
        false => format!("{kind}: {}", known.join(", ")),
    }
}

fn clip(word: &str) -> &str {
    &word[..word.floor_char_boundary(MAX_WORD_BYTES)]
}

/// Parts on lines of their own, within the bound.
#[derive(Default)]
struct Text {
    kept: String,
    /// Bytes of all parts.
    total: usize,
}

impl Text {
    fn is_empty(&self) -> bool {
        self.kept.trim().is_empty()
    }

    fn add(&mut self, part: &str) {
        let gap = !self.kept.is_empty() && !self.kept.ends_with('\n');
        self.total += part.len() + usize::from(gap);
        if gap && self.kept.len() < MAX_RESULT_BYTES - NOTE_BYTES {
            self.kept.push('\n');
        }
        let room = (MAX_RESULT_BYTES - NOTE_BYTES).saturating_sub(self.kept.len());
        self.kept.push_str(&part[..part.floor_char_boundary(room)]);
    }

    fn finish(mut self) -> String {
        if self.is_empty() {
            return "[the server's result is empty]\n".to_owned();
        }
        if self.kept.len() < self.total {
            let (kept, total) = (self.kept.len(), self.total);
            self.kept += &format!("\n[truncated: the first {kept} of {total} bytes]\n");
        }
        self.kept
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn said(result: Value) -> (String, String) {
        let outcome = outcome(&result);
        assert!(!outcome.is_error && !outcome.timed_out);
        (outcome.content, outcome.summary)
    }

    #[test]
    fn text_is_told_as_it_is_and_what_is_none_in_words() {
        let result = json!({"content": [
            {"type": "text", "text": "one"},
            {"type": "resource", "resource": {"uri": "file:///a", "text": "two\n"}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "audio", "data": "AAAAAAAA", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "file:///b", "blob": "AAAA", "mimeType": "x/y"}},
            {"type": "resource_link", "uri": "file:///c", "name": "c"},
            {"type": "hologram"},
            {"text": "lost"},
        ], "structuredContent": {"not": "told"}});
        let (content, summary) = said(result);
        assert_eq!(
            content,
            "one\ntwo\n[an image: image/png, about 3 bytes]\n[a sound: audio/wav, about 6 bytes]\n\
             [a resource that is no text: x/y, file:///b, about 3 bytes]\n\
             [a resource that can be read from the server: c, file:///c]\n\
             [a part of the result of a type that is not known here]\n[a part of the result without a type]"
        );
        assert_eq!(summary, "8 lines, 6 that are no text");
    }

    #[test]
    fn an_image_of_a_kind_that_models_take_is_one() {
        let png = BASE64_STANDARD.encode(b"\x89PNG\r\n\x1a\nrest");
        let image = |data: &str| json!({"type": "image", "data": data, "mimeType": "image/png"});
        let images = |parts: Vec<Value>| outcome(&json!({"content": parts})).images;
        assert_eq!(images(vec![image(&png)]).len(), 1);
        assert_eq!(
            images(vec![image("AAAA"), image("no base64"), image("")]),
            []
        );
        assert_eq!(images(vec![image(&png); 20]).len(), MAX_IMAGES);
    }

    #[test]
    fn without_text_the_structured_content_is_told() {
        let structured = json!({"a": [1, null]});
        for content in [
            json!([]),
            json!(null),
            json!([{"type": "text", "text": " "}]),
        ] {
            let (content, _) = said(json!({"content": content, "structuredContent": structured}));
            assert!(content.ends_with(r#"{"a":[1,null]}"#), "{content}");
        }
        let empty = said(json!({"content": []})).0;
        assert_eq!(empty, "[the server's result is empty]\n");
        assert_eq!(said(json!({"content": "plain text"})).0, "plain text");
    }

    #[test]
    fn what_is_no_result_is_no_success() {
        for none in [
            json!({}),
            json!(null),
            json!([]),
            json!({"content": null}),
            json!("text"),
        ] {
            let outcome = outcome(&none);
            assert!(
                outcome.is_error && outcome.content.contains("no result"),
                "{none}"
            );
        }
    }

    #[test]
    fn an_error_is_one_and_a_long_result_is_cut_and_says_so() {
        let error = outcome(&json!({"isError": true, "content": [{"type": "text", "text": "no"}]}));
        assert_eq!((error.content.as_str(), error.is_error), ("no", true));
        assert_eq!(error.summary, "the server tells an error");
        let long = "é".repeat(MAX_RESULT_BYTES);
        let text = json!({"type": "text", "text": long});
        let (content, _) = said(json!({"content": [text, text]}));
        let bytes = 4 * MAX_RESULT_BYTES + 1;
        assert!(content.ends_with(&format!(
            "\n[truncated: the first 262016 of {bytes} bytes]\n"
        )));
        assert!(content.len() <= MAX_RESULT_BYTES);
    }

    #[test]
    fn of_very_many_parts_only_so_many_are_read_and_it_says_so() {
        let text = json!({"type": "text", "text": "x"});
        let mut result = json!({"content": vec![text.clone(); MAX_PARTS]});
        let whole = result.clone();
        bound_parts(&mut result);
        assert_eq!(result, whole, "as many as may be");
        let mut result = json!({"content": vec![text; 100_000], "isError": true});
        bound_parts(&mut result);
        let bounded = result.clone();
        assert_eq!(bounded["content"].as_array().unwrap().len(), MAX_PARTS);
        bound_parts(&mut result);
        assert_eq!(result, bounded, "once is enough");
        let content = outcome(&result).content;
        assert_eq!(content.matches("x\n").count(), MAX_PARTS - 1);
        assert!(content.ends_with("\n[truncated: the first 999 of 100000 parts]"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "[a-z]{0,8}".prop_map(Value::from),
            Just(json!("text")),
            Just(json!("image")),
            Just(json!("resource")),
        ];
        let name = prop_oneof![
            Just("content"),
            Just("type"),
            Just("text"),
            Just("resource"),
            Just("data"),
            Just("isError"),
            Just("structuredContent"),
        ];
        leaf.prop_recursive(5, 40, 6, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn whatever_a_server_answers_is_a_bounded_outcome(result in any_json()) {
            let outcome = outcome(&result);
            prop_assert!(!outcome.content.is_empty() && outcome.content.len() <= MAX_RESULT_BYTES);
            prop_assert!(outcome.summary.len() <= 200);
        }
    }
}
