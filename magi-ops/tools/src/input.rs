//! Inputs of the tools: strict decoding with words that help a model, and schemas from the types.
//! No meaning of any one tool.

use schemars::{JsonSchema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::bounds::{PATTERN_BYTES, clip_bytes};
use crate::context::Context;
use crate::error::ToolError;

/// Decodes an input strictly: unknown members and wrong types are errors that name the member.
pub(crate) fn decode<T: DeserializeOwned>(input: &Value) -> Result<T, ToolError> {
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

/// The subject of a call whose member `path` says it: the tool and the path.
pub(crate) fn path_subject(name: &str, input: &Value, cx: &Context) -> String {
    match input.get("path").and_then(Value::as_str) {
        Some(path) => format!("{name} {}", cx.subject(path)),
        None => name.to_owned(),
    }
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
pub(crate) fn schema<T: JsonSchema>() -> Value {
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
