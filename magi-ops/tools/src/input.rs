//! Inputs of the tools: strict decoding with words that help a model, and schemas from the types.
//! No meaning of any one tool.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bounds::{PATTERN_BYTES, clip_bytes, printable};
use crate::error::ToolError;

/// Words for the model about members that its tool does not have.
const IGNORED_NAMES: usize = 8;

/// An input as the tool takes it: members that its schema does not have are taken out, and numbers and booleans
/// that stand in text are read, where the schema wants them. With a word for the model on what was taken out.
pub(crate) fn lenient(schema: &Value, input: &Value) -> (Value, Option<String>) {
    let (Some(members), Some(given)) = (
        schema.get("properties").and_then(Value::as_object),
        input.as_object(),
    ) else {
        return (input.clone(), None);
    };
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
    let mut taken = serde_json::Map::new();
    let mut ignored = Vec::new();
    for (name, value) in given {
        match members.get(name) {
            Some(member) => {
                taken.insert(name.clone(), plain(member, value));
            }
            None if closed => ignored.push(name),
            None => {
                taken.insert(name.clone(), value.clone());
            }
        }
    }
    let note = (!ignored.is_empty()).then(|| {
        let names: Vec<_> = ignored
            .iter()
            .take(IGNORED_NAMES)
            .map(|name| clip_bytes(&printable(name), 64).to_owned())
            .collect();
        let more = if ignored.len() > names.len() {
            ", …"
        } else {
            ""
        };
        let known: Vec<_> = members.keys().map(String::as_str).collect();
        format!(
            "[ignored, the tool has no such input: {}{more}; it has {}]\n",
            names.join(", "),
            known.join(", ")
        )
    });
    (Value::Object(taken), note)
}

/// A number or a boolean out of a text, if that is what the schema of the member wants.
fn plain(schema: &Value, value: &Value) -> Value {
    let Some(text) = value.as_str() else {
        return value.clone();
    };
    let wants = |kind: &str| match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().any(|wanted| wanted == kind),
        wanted => wanted.is_some_and(|wanted| wanted == kind),
    };
    if wants("string") {
        return value.clone();
    }
    let read = match serde_json::from_str(text.trim()) {
        Ok(Value::Number(number)) if wants("number") => Some(Value::Number(number)),
        Ok(Value::Number(number)) if wants("integer") && !number.is_f64() => {
            Some(Value::Number(number))
        }
        Ok(Value::Bool(word)) if wants("boolean") => Some(Value::Bool(word)),
        _ => None,
    };
    read.unwrap_or_else(|| value.clone())
}

/// Decodes an input strictly: unknown members and wrong types are errors that name the member.
///
/// # Errors
/// [`ToolError::Input`] for what is not of the form.
pub fn decode<T: DeserializeOwned>(input: &Value) -> Result<T, ToolError> {
    if !input.is_object() {
        return Err(ToolError::Input(
            "the input must be a JSON object".to_owned(),
        ));
    }
    serde_path_to_error::deserialize(input).map_err(|error| {
        let reason = error.inner().to_string();
        let reason = clip_bytes(&reason, 400);
        let member = error.path().to_string();
        ToolError::Input(match member.as_str() {
            "." => reason.to_owned(),
            _ => format!("{}: {reason}", clip_bytes(&member, 64)),
        })
    })
}

/// Refuses an empty or over-long pattern.
pub(crate) fn check_pattern(member: &str, pattern: &str) -> Result<(), ToolError> {
    if pattern.is_empty() {
        return Err(ToolError::Input(format!("{member} must not be empty")));
    }
    if pattern.len() > PATTERN_BYTES {
        return Err(ToolError::Input(format!(
            "{member} is longer than {PATTERN_BYTES} bytes"
        )));
    }
    Ok(())
}

/// The plain schema of an input type: no `$schema`, no title, no Rust number formats, and an
/// optional member simply is not required, since some providers take no more than that.
pub fn schema<T: JsonSchema>() -> Value {
    let generator = SchemaGenerator::new(SchemaSettings::draft2020_12());
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(root) = schema.as_object_mut() {
        root.remove("$schema");
        root.remove("title");
        root.remove("description");
        let members = root.get_mut("properties").and_then(Value::as_object_mut);
        for member in members.into_iter().flat_map(|members| members.values_mut()) {
            if let Some(member) = member.as_object_mut() {
                member.remove("format");
                member.remove("default");
                let plain = match member.get("type") {
                    Some(Value::Array(types)) => types.iter().find(|kind| *kind != "null").cloned(),
                    _ => None,
                };
                if let Some(plain) = plain {
                    member.insert("type".to_owned(), plain);
                }
            }
        }
    }
    schema
}
