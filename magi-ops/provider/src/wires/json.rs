//! A server's JSON as it is meant: values one after the other, among them markers, comments and words.
//! What the values say is the wires'.

use std::borrow::Cow;

use serde_json::Value;

use super::halves;
use crate::error::{ErrorKind, ProviderError};

/// One thing in an event's data.
#[derive(Debug, PartialEq)]
pub(crate) enum Item {
    Value(Value),
    /// The end marker `[DONE]`.
    Marker,
    /// A line that is no JSON.
    Words(String),
}

/// A whole body as text: without the mark that some put before it, and with other characters where bytes are no UTF-8, so that
/// a mistake in one name costs no more than that name.
pub(crate) fn plain(body: &[u8]) -> Cow<'_, str> {
    let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    String::from_utf8_lossy(body)
}

/// Where in JSON text a reading stands, byte by byte.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    /// Objects and arrays that are open.
    pub(crate) depth: usize,
    pub(crate) in_string: bool,
    escaped: bool,
}

impl Nesting {
    /// Reads a byte. Whether it is one of JSON's own marks: outside of strings, and no quote.
    pub(crate) fn read(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' if self.depth > 0 => self.in_string = !self.in_string,
            _ if self.in_string => {}
            b'{' | b'[' => {
                self.depth += 1;
                return true;
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                return true;
            }
            _ => return true,
        }
        false
    }
}

/// What stands in `data`, in order, and whether [`halves`] of characters are in its texts.
///
/// # Errors
/// For JSON that is broken.
pub(crate) fn items(data: &[u8]) -> Result<(Vec<Item>, bool), ProviderError> {
    match std::str::from_utf8(data) {
        Ok(text) => items_of(text),
        Err(_) => {
            tracing::debug!("an event holds bytes that are no UTF-8");
            let (items, _) = items_of(&halves::marked(data))?;
            Ok((items, true))
        }
    }
}

fn items_of(data: &str) -> Result<(Vec<Item>, bool), ProviderError> {
    let broken = match serde_json::from_str::<Value>(data) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => {
            return Ok((vec![Item::Value(value)], false));
        }
        read => read.is_err(),
    };
    if broken && let Some(shallow) = shallow(data) {
        let mut found = items_of(&shallow)?;
        for item in &mut found.0 {
            if let Item::Value(value) = item
                && (value.is_array() || !drop_depths(value, false))
            {
                return Err(ProviderError::malformed("it is nested too deep"));
            }
        }
        return Ok(found);
    }
    let repaired = broken.then(|| repaired(data)).flatten();
    let mut rest = repaired.as_deref().unwrap_or(data);
    let mut items = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
        if rest.is_empty() {
            return Ok((items, repaired.is_some()));
        }
        let line = rest.lines().next().unwrap_or_default();
        let word = line.trim();
        if word.eq_ignore_ascii_case("[done]") {
            items.push(Item::Marker);
        } else if rest.starts_with(['{', '[']) {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            match values.next() {
                Some(Ok(value)) => items.push(Item::Value(value)),
                Some(Err(error)) => {
                    return Err(ProviderError::new(ErrorKind::Malformed).with_source(error));
                }
                None => {}
            }
            rest = &rest[values.byte_offset()..];
            continue;
        } else if let Some(field) = word.strip_prefix("data:") {
            // A gateway that wraps the server's lines in its own.
            rest = &rest[line.len() - field.len()..];
            continue;
        } else if !word.starts_with(':') {
            items.push(Item::Words(word.to_owned()));
        }
        rest = &rest[line.len()..];
    }
}

/// Deepest nesting that is read; the JSON reader takes 127.
const MAX_DEPTH: usize = 100;
/// Stands for what was nested deeper.
const DEPTHS: &str = "\u{10fffd}depths\u{10fffd}";

/// JSON text in which [`DEPTHS`] replaces what is nested deeper than [`MAX_DEPTH`]; `None` if nothing is.
fn shallow(json: &str) -> Option<String> {
    let mut out = String::new();
    let (mut nesting, mut kept) = (Nesting::default(), 0);
    for (at, byte) in json.bytes().enumerate() {
        let before = nesting.depth;
        nesting.read(byte);
        if before == MAX_DEPTH && nesting.depth > before {
            out.push_str(json.get(kept..at)?);
        } else if nesting.depth == MAX_DEPTH && nesting.depth < before {
            out.push('"');
            out.push_str(DEPTHS);
            out.push('"');
            kept = at + 1;
        }
    }
    if nesting.depth > MAX_DEPTH {
        return None;
    }
    out.push_str(json.get(kept..)?);
    (kept > 0).then_some(out)
}

/// Makes `null` of what was too deep; `false` if it is in the input of a call, which is never changed.
fn drop_depths(value: &mut Value, in_call: bool) -> bool {
    match value {
        Value::String(text) if text == DEPTHS => {
            *value = Value::Null;
            !in_call
        }
        Value::Array(items) => items.iter_mut().all(|item| drop_depths(item, in_call)),
        Value::Object(members) => members.iter_mut().all(|(name, value)| {
            let is_input = matches!(name.as_str(), "args" | "arguments" | "input" | "parameters");
            drop_depths(value, in_call || is_input)
        }),
        _ => true,
    }
}

/// `json` with its last, broken value ended as well as can be: for the words in what was cut off.
pub(crate) fn prefix(json: &str) -> Option<Value> {
    let mut open = Vec::new();
    let mut nesting = Nesting::default();
    // Where the last whole member ended, and what was open there.
    let mut whole = None;
    for (at, byte) in json.bytes().enumerate() {
        if !nesting.read(byte) {
            continue;
        }
        match byte {
            b'{' => open.push('}'),
            b'[' => open.push(']'),
            b'}' | b']' => {
                open.pop()?;
            }
            b',' => whole = Some((at, open.len())),
            _ => {}
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
    }
    let ended = |text: &str, quote: bool, open: &[char]| {
        let mut text = text.to_owned();
        if quote {
            text.push('"');
        }
        text.extend(open.iter().rev());
        self::value(&text)
    };
    // A cut escape is at most six bytes long.
    let text = match nesting.in_string {
        true => match json.rfind('\\').filter(|at| json.len() - at < 6) {
            Some(at) => &json[..at],
            None => json.trim_end_matches(char::REPLACEMENT_CHARACTER),
        },
        false => json,
    };
    ended(text, nesting.in_string, &open).or_else(|| {
        let (at, depth) = whole?;
        ended(&json[..at], false, open.get(..depth)?)
    })
}

/// JSON text whose lone surrogate escapes are [`halves::surrogate`] and whose numbers that JSON does not
/// have are `null`; `None` if it has neither.
fn repaired(json: &str) -> Option<String> {
    let mut out = String::with_capacity(json.len());
    let (mut rest, mut in_string, mut changed) = (json, false, false);
    while let Some(at) = rest.find(['"', '\\', 'N', 'I', '-']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = match (in_string, from.as_bytes()[0]) {
            (_, b'"') => {
                in_string = !in_string;
                1
            }
            (true, b'\\') => match escape(from) {
                Some(first @ 0xD800..=0xDFFF) => {
                    let second = from.get(6..).and_then(escape);
                    if first < 0xDC00 && matches!(second, Some(0xDC00..=0xDFFF)) {
                        12
                    } else {
                        out.push(halves::surrogate(first));
                        changed = true;
                        rest = &from[6..];
                        continue;
                    }
                }
                // The character behind the backslash belongs to it.
                _ => 1 + from[1..].chars().next().map_or(0, char::len_utf8),
            },
            (false, _) => {
                let number = ["NaN", "Infinity", "-Infinity"]
                    .into_iter()
                    .find(|word| from.starts_with(word));
                if let Some(number) = number {
                    out.push_str("null");
                    changed = true;
                    rest = &from[number.len()..];
                    continue;
                }
                1
            }
            (true, _) => 1,
        };
        out.push_str(&from[..length]);
        rest = &from[length..];
    }
    out.push_str(rest);
    changed.then_some(out)
}

/// The number of an escape `\uXXXX` at the start of `text`.
fn escape(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u16::from_str_radix(digits, 16).ok())?
}

/// Reads `text` as one value. Halves of characters become U+FFFD.
pub(crate) fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| {
        let text: String = repaired(text)?
            .chars()
            .map(|c| match c {
                '\u{10d800}'..='\u{10dfff}' => char::REPLACEMENT_CHARACTER,
                c => c,
            })
            .collect();
        serde_json::from_str(&text).ok()
    })
}

/// The member `name`, which is then `null`; `null` for what has no such member.
pub(crate) fn take(value: &mut Value, name: &str) -> Value {
    value.get_mut(name).map_or(Value::Null, Value::take)
}

/// Of several choices or candidates the first, which is the one that was asked for; what is no list is the one itself.
pub(crate) fn first_of(choices: Value) -> Option<Value> {
    match choices {
        Value::Array(choices) => choices.into_iter().find(|choice| {
            let index = choice.get("index").and_then(count);
            index.is_none_or(|index| index == 0)
        }),
        choice => Some(choice),
    }
}

/// Largest count that is one: what is beyond it no JSON client holds exactly.
const MAX_COUNT: u64 = (1 << 53) - 1;

/// A count, whichever way the server writes numbers.
pub(crate) fn count(value: &Value) -> Option<u64> {
    let count = match value {
        Value::Number(number) => number.as_u64().or_else(|| {
            let number = number.as_f64().filter(|number| *number >= 0.0)?;
            Some(number as u64)
        }),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    };
    count.filter(|count| *count <= MAX_COUNT)
}

/// A word, such as an id, that some servers write as a number.
pub(crate) fn word(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(word)) => word.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

/// The text of a text, of a part, or of a list of parts.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text),
        Value::Number(number) => Some(number.to_string()),
        Value::Object(mut part) => ["text", "content"]
            .iter()
            .find_map(|name| part.remove(*name).and_then(text)),
        Value::Array(parts) => {
            let texts: Vec<_> = parts.into_iter().filter_map(text).collect();
            (!texts.is_empty()).then(|| texts.concat())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn values_stand_among_markers_comments_and_words() {
        for (data, expected) in [
            ("{\"a\":1}", vec![Item::Value(json!({"a": 1}))]),
            (
                "{\"a\":1}\n{\"b\":\n2} [1]",
                vec![
                    Item::Value(json!({"a": 1})),
                    Item::Value(json!({"b": 2})),
                    Item::Value(json!([1])),
                ],
            ),
            (" [DONE] ", vec![Item::Marker]),
            ("{}\n[done]", vec![Item::Value(json!({})), Item::Marker]),
            (": OPENROUTER PROCESSING", vec![]),
            (
                ": PROCESSING\n{\"a\":1}",
                vec![Item::Value(json!({"a": 1}))],
            ),
            (
                "{\"a\":1}\n: PROCESSING",
                vec![Item::Value(json!({"a": 1}))],
            ),
            ("data: {\"a\":1}", vec![Item::Value(json!({"a": 1}))]),
            ("\u{feff}{\"a\":1}", vec![Item::Value(json!({"a": 1}))]),
            ("ping", vec![Item::Words("ping".into())]),
            ("7", vec![Item::Words("7".into())]),
            ("", vec![]),
        ] {
            let expected = (expected, false);
            assert_eq!(items(data.as_bytes()).unwrap(), expected, "{data}");
        }
        for broken in ["{", "{\"a\"", "[1,", "{\"a\":1}{"] {
            assert_eq!(
                items(broken.as_bytes()).unwrap_err(),
                ErrorKind::Malformed,
                "{broken}"
            );
        }
    }

    #[test]
    fn counts_are_what_every_client_can_hold() {
        for (value, expected) in [
            (json!(7), Some(7)),
            (json!("7"), Some(7)),
            (json!(7.5), Some(7)),
            (
                json!(9_007_199_254_740_991_u64),
                Some(9_007_199_254_740_991),
            ),
            (json!(9_007_199_254_740_992_u64), None),
            (json!(1e30), None),
            (json!(-1), None),
        ] {
            assert_eq!(count(&value), expected, "{value}");
        }
    }

    #[test]
    fn halves_of_characters_and_numbers_that_are_none_cost_nothing() {
        for (data, value) in [
            (
                r#"{"a":"x\ud83d","b":"\ude00\\ud83d\ud83d\ude00"}"#,
                json!({"a": "x\u{10d83d}", "b": "\u{10de00}\\ud83d\u{1f600}"}),
            ),
            (
                r#"{"a":NaN,"b":-Infinity,"c":"NaN","d":-1}"#,
                json!({"a": null, "b": null, "c": "NaN", "d": -1}),
            ),
        ] {
            let expected = (vec![Item::Value(value)], true);
            assert_eq!(items(data.as_bytes()).unwrap(), expected, "{data}");
        }
        assert_eq!(super::value(r#""\ud83d!""#), Some(json!("\u{FFFD}!")));
    }

    #[test]
    fn what_is_nested_too_deep_is_skipped_but_for_the_input_of_a_call() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (data, fits) in [
            (format!(r#"{{"a":"x]","b":{deep},"c":1}}"#), true),
            (format!(r#"{{"a":{{"arguments":{deep}}}}}"#), false),
            (format!(r#"{{"input":{deep}}}"#), false),
            ("[".repeat(200), false),
        ] {
            assert_eq!(items(data.as_bytes()).is_ok(), fits, "{data}");
        }
        let data = format!(r#"{{"a":"x]","b":{{"d":{deep}}},"c":1}}"#);
        let Item::Value(value) = items(data.as_bytes()).unwrap().0.remove(0) else {
            panic!();
        };
        assert_eq!((&value["a"], &value["c"]), (&json!("x]"), &json!(1)));
        assert!(value["b"]["d"].is_array() && !value.to_string().contains("depths"));
    }

    proptest! {
        #[test]
        fn no_data_makes_it_panic(data in "[{}\\[\\]\":,\\\\udD8c0NaI\n é-]{0,40}") {
            let _ = items(data.as_bytes());
            let _ = value(&data);
        }
    }
}
