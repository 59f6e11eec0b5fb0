//! Lines of an MCP server: each is one message or none, twice the same; whatever a result says is a bounded outcome,
//! and whatever a list offers keeps the bounds of an offer.

use mcp::fuzzing::{message, offers, outcome};
use serde_json::Value;

use crate::input::expand;

/// Most bytes of what a model is told, notes of ours included.
const MAX_CONTENT: usize = 300 * 1024;

/// Checks a whole input. Gives a word for each line.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<&'static str> {
    let data = expand(data);
    let lines = data.split(|byte| *byte == b'\n');
    lines.map(line).collect()
}

fn line(line: &[u8]) -> &'static str {
    // A result also counts where no SDK took it for one.
    if let Ok(value) = serde_json::from_slice::<Value>(line) {
        result(&value);
        for member in ["result", "params"] {
            result(value.get(member).unwrap_or(&Value::Null));
        }
    }
    let read = message(line);
    assert_eq!(message(line), read, "the same line, the same message");
    let Some(read) = read else { return "nothing" };
    assert_eq!(read["jsonrpc"], "2.0");
    match (read.get("id"), read.get("method"), read.get("error")) {
        (_, Some(_), _) => "asked or told",
        (_, None, Some(error)) => {
            assert!(error["message"].is_string(), "{read}");
            "failed"
        }
        (Some(_), None, None) => "answered",
        (None, None, None) => panic!("{read}"),
    }
}

fn result(value: &Value) {
    let told = outcome(value);
    assert!(!told.content.is_empty() && told.content.len() <= MAX_CONTENT);
    assert!(
        !told.timed_out && told.summary.len() <= 200,
        "{}",
        told.summary
    );
    if let Some(text) = value["content"][0]["text"].as_str()
        && value["content"][0]["type"] == "text"
        && !text.trim().is_empty()
        && text.len() < 1024
    {
        assert!(told.content.starts_with(text), "{}", told.content);
    }
    for (name, description, schema) in offers(value) {
        let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"_-".contains(&b);
        assert!(
            name.starts_with("mcp__server__") && name.len() <= 64 && name.bytes().all(is_plain),
            "{name}"
        );
        assert!(description.len() <= 1024 && !description.chars().any(char::is_control));
        assert!(schema["type"] == "object" && schema.to_string().len() <= 16 * 1024);
    }
}
