//! What a model wrote as the input of a call, read for what it plainly means.
//! Whether it fits the tool is the tool's to say.

use serde_json::{Value, json};

use super::json;

/// The input that `text` stands for, which the pieces of a call make together. Nothing at all is an
/// empty object, unless the output's limit cut it off (`complete` is false). A whole object replaces
/// empty ones and repeats itself without harm, and an object written as a string, alone in a list or in a
/// fence of Markdown is that object. What is no JSON stays a string, for the tool to refuse.
pub(crate) fn read_input(text: String, complete: bool) -> Value {
    if text.trim().is_empty() && complete {
        return json!({});
    }
    let inner = fenced(&text).unwrap_or(&text);
    let value = json::value(inner);
    match value.or_else(|| json::value(&with_escapes(inner)?)) {
        Some(value) => unwrapped(value),
        None => one_of(inner).unwrap_or(Value::String(text)),
    }
}

/// The same with escapes where line ends and tabs stand raw within strings, as some models write them; `None` if none does.
fn with_escapes(text: &str) -> Option<String> {
    let mut escaped = String::with_capacity(text.len() + 16);
    let (mut nesting, mut has_changed) = (json::Nesting::default(), false);
    let mut is_escaped = false;
    for c in text.chars() {
        let escape = match c {
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            _ => "",
        };
        if is_escaped && !escape.is_empty() {
            return None;
        }
        is_escaped = nesting.in_string && c == '\\' && !is_escaped;
        if nesting.in_string && !escape.is_empty() {
            escaped.push_str(escape);
            has_changed = true;
        } else {
            escaped.push(c);
        }
        let mut bytes = [0; 4];
        for byte in c.encode_utf8(&mut bytes).bytes() {
            nesting.read(byte);
        }
    }
    has_changed.then_some(escaped)
}

/// What stands in the fence that is all of `text`.
fn fenced(text: &str) -> Option<&str> {
    let inner = text.trim().strip_prefix("```")?.strip_suffix("```")?;
    let at = inner.find(['\n', '{'])?;
    Some(&inner[at..])
}

/// An object that was written as a string or alone in a list, as that object; nothing as an empty one.
pub(crate) fn unwrapped(input: Value) -> Value {
    match input {
        Value::Null => json!({}),
        // Some languages write an empty object so.
        Value::Array(items) if items.is_empty() => json!({}),
        Value::Array(items) if items.len() == 1 && items[0].is_object() => {
            items.into_iter().next().unwrap_or_default()
        }
        input => decoded(input),
    }
}

fn decoded(input: Value) -> Value {
    match input {
        Value::String(text) => match json::value(fenced(&text).unwrap_or(&text)) {
            Some(object @ Value::Object(_)) => object,
            _ => Value::String(text),
        },
        input => input,
    }
}

/// The one object that several values in a row come to; `null` is an empty one.
fn one_of(text: &str) -> Option<Value> {
    let mut found: Option<Value> = None;
    for value in serde_json::Deserializer::from_str(text).into_iter::<Value>() {
        let object = match decoded(value.ok()?) {
            Value::Object(object) => object,
            Value::Null => serde_json::Map::new(),
            _ => return None,
        };
        let is_other = |found: &Value| found.as_object().is_some_and(|known| *known != object);
        match &found {
            Some(found) if object.is_empty() || !is_other(found) => {}
            Some(Value::Object(known)) if !known.is_empty() => return None,
            _ => found = Some(Value::Object(object)),
        }
    }
    found
}

/// The tool that a call names: models put blanks around it and their training's namespace before it.
pub(crate) fn tool_name(name: &str) -> String {
    let name = name.trim();
    name.strip_prefix("functions.").unwrap_or(name).to_owned()
}

/// A call's input as it is given back: always an object, as providers demand, even where the model
/// wrote something else.
pub(crate) fn input_object(input: &Value) -> Value {
    match input {
        Value::Object(_) => input.clone(),
        other => json!({ "invalid_input": other }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Value {
        read_input(text.to_owned(), true)
    }

    #[test]
    fn inputs_that_are_no_json_stay_for_the_tool_to_refuse() {
        assert_eq!(read(" "), json!({}));
        assert_eq!(read_input(String::new(), false), json!(""));
        assert_eq!(read_input("{\"a\":1}".into(), false), json!({"a": 1}));
        assert_eq!(read("{\"a\":"), json!("{\"a\":"));
        let deep = "[".repeat(100_000);
        assert_eq!(read(&deep), Value::String(deep));
        assert_eq!(input_object(&json!({"a": 1})), json!({"a": 1}));
        assert_eq!(input_object(&json!("{")), json!({"invalid_input": "{"}));
    }

    #[test]
    fn raw_line_ends_within_strings_are_line_ends() {
        let own = json!({"content": "a\n\tb\r\n\\", "path": "x"});
        for sent in [
            "{\"content\": \"a\n\tb\r\n\\\\\",\n\t\"path\": \"x\"}",
            "```json\n{\"content\": \"a\n\tb\r\n\\\\\", \"path\": \"x\"}\n```",
        ] {
            assert_eq!(read(sent), own, "{sent}");
        }
        for broken in ["{\"a\": \"b\n", "{\"a\": \"b\n\"", "{\"a\": \"\\\n\"}"] {
            assert_eq!(read(broken), Value::String(broken.to_owned()), "{broken}");
        }
    }

    #[test]
    fn whole_objects_replace_empty_ones_and_repeat_without_harm() {
        let own = json!({"path": "a.txt"});
        let text = own.to_string();
        let encoded = json!(text).to_string();
        for sent in [
            format!("{{}}{text}"),
            format!("{text}{{}}"),
            format!("{{}} {{}}\n{text}"),
            format!("{text}{text}"),
            format!("{{}}{text}{text}"),
            encoded.clone(),
            format!("{encoded}{encoded}"),
            format!("{{}}{encoded}"),
            format!("null{text}"),
            format!("{text}null"),
            format!("[{text}]"),
            format!("```json\n{text}\n```\n"),
            format!("```{text}```"),
            json!(format!("```json\n{text}\n```")).to_string(),
        ] {
            assert_eq!(read(&sent), own, "{sent}");
        }
        assert_eq!(read("{}{}"), json!({}));
        assert_eq!(read("null"), json!({}));
        assert_eq!(read("[]"), json!({}));
        assert_eq!(read("[{},{}]"), json!([{}, {}]));
        assert_eq!(read("```json\n{"), json!("```json\n{"));
        // Two different ones mean nothing plainly, and what is encoded twice is not unwrapped twice.
        for unclear in [
            "{\"a\":1}{\"a\":2}",
            "{\"a\":1}x",
            "\"text\"",
            "{\"a\":1}[]",
        ] {
            assert!(read(unclear).is_string(), "{unclear}");
        }
        assert_eq!(read(&json!(encoded).to_string()), json!(encoded));
    }
}
