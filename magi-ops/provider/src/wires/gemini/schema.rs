//! JSON Schema of a tool's input as Gemini takes it: a part of OpenAPI's, without references and without what it refuses.
//! What is left out is looser, never stricter: the tool itself checks its input.

use serde_json::{Map, Value, json};

/// Keywords that are taken as they are.
const TAKEN: [&str; 12] = [
    "description",
    "title",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minProperties",
    "maxProperties",
    "pattern",
    "nullable",
];
/// Formats that are taken, by the type that they are of.
const FORMATS: [(&str, &[&str]); 3] = [
    ("string", &["date-time", "enum"]),
    ("integer", &["int32", "int64"]),
    ("number", &["float", "double"]),
];
/// The type of what may be anything: one must be said, and a text can hold everything.
const ANYTHING: &str = "string";
/// Members that say what a schema is about. A choice without them is one of conditions, which are not taken.
const TELLING: [&str; 9] = [
    "$ref",
    "allOf",
    "anyOf",
    "const",
    "enum",
    "items",
    "oneOf",
    "properties",
    "type",
];
/// Deepest schema that is sent; what lies deeper may be anything.
const MAX_DEPTH: usize = 16;
/// Most schemas within one: references could make many of few.
const MAX_SCHEMAS: usize = 2048;

/// The schema of a tool's input; `None` for an input without members, which the API wants left out.
pub(super) fn parameters(schema: &Value) -> Option<Value> {
    let mut cleaner = Cleaner {
        root: schema,
        left: MAX_SCHEMAS,
    };
    let cleaned = cleaner.clean(schema, 0);
    let has_members = cleaned["properties"]
        .as_object()
        .is_some_and(|all| !all.is_empty());
    has_members.then_some(cleaned)
}

struct Cleaner<'a> {
    root: &'a Value,
    left: usize,
}

impl Cleaner<'_> {
    fn clean(&mut self, schema: &Value, depth: usize) -> Value {
        self.left = self.left.saturating_sub(1);
        let Some(members) = schema
            .as_object()
            .filter(|_| depth < MAX_DEPTH && self.left > 0)
        else {
            let is_object = schema["type"] == "object";
            return json!({ "type": if is_object { "object" } else { ANYTHING } });
        };
        let own = self.whole(members, depth);
        let mut cleaned = Map::new();
        for name in TAKEN {
            if let Some(value) = own.get(name) {
                cleaned.insert(name.to_owned(), value.clone());
            }
        }
        let kind = kind(&own, &mut cleaned);
        if let Some(format) = own.get("format").and_then(Value::as_str) {
            let mut taken = FORMATS.iter();
            if taken.any(|(of, formats)| kind == Some(of) && formats.contains(&format)) {
                cleaned.insert("format".into(), format.into());
            }
        }
        if let Some(words) = words(&own) {
            // Only texts are taken; of other values the type must do.
            if words.iter().all(Value::is_string) && kind.is_none_or(|kind| kind == "string") {
                cleaned.insert("type".into(), "string".into());
                cleaned.insert("enum".into(), words.into());
            }
        }
        if kind == Some("array") || (kind.is_none() && own.contains_key("items")) {
            let items = self.clean(own.get("items").unwrap_or(&Value::Null), depth + 1);
            cleaned.insert("type".into(), "array".into());
            cleaned.insert("items".into(), items);
        }
        if let Some(properties) = own.get("properties").and_then(Value::as_object) {
            let cleaner = &mut *self;
            let properties: Map<_, _> = properties
                .iter()
                .map(|(name, schema)| (name.clone(), cleaner.clean(schema, depth + 1)))
                .collect();
            let required = own.get("required").and_then(Value::as_array);
            let required: Vec<_> = required
                .into_iter()
                .flatten()
                .filter(|name| {
                    name.as_str()
                        .is_some_and(|name| properties.contains_key(name))
                })
                .cloned()
                .collect();
            if !required.is_empty() {
                cleaned.insert("required".into(), required.into());
            }
            if !properties.is_empty() {
                cleaned.insert("properties".into(), properties.into());
            }
            cleaned.entry("type").or_insert_with(|| "object".into());
        } else {
            for name in ["anyOf", "oneOf"] {
                self.choices(own.get(name), depth, &mut cleaned);
            }
        }
        // Nothing may stand beside choices.
        if let Some(choices) = cleaned.remove("anyOf") {
            return json!({ "anyOf": choices });
        }
        cleaned.entry("type").or_insert_with(|| ANYTHING.into());
        cleaned.into()
    }

    /// The schema with what it refers to and all that it is made of in one. Its own words come first.
    fn whole(&mut self, members: &Map<String, Value>, depth: usize) -> Map<String, Value> {
        let mut whole = members.clone();
        let add = |whole: &mut Map<String, Value>, more: &Map<String, Value>| {
            for (name, value) in more {
                match (whole.get_mut(name), value) {
                    (Some(Value::Object(known)), Value::Object(more)) => {
                        for (name, value) in more {
                            known.entry(name.clone()).or_insert_with(|| value.clone());
                        }
                    }
                    (Some(Value::Array(known)), Value::Array(more)) if name == "required" => {
                        let new = more.iter().filter(|name| !known.contains(name));
                        let new: Vec<_> = new.cloned().collect();
                        known.extend(new);
                    }
                    (Some(_), _) => {}
                    (None, value) => {
                        whole.insert(name.clone(), value.clone());
                    }
                }
            }
        };
        let mut referred = members.get("$ref");
        for _ in depth..MAX_DEPTH {
            let Some(target) = referred.and_then(|name| self.referred(name)) else {
                break;
            };
            add(&mut whole, target);
            referred = target.get("$ref");
        }
        for part in members
            .get("allOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let target = part.get("$ref").and_then(|name| self.referred(name));
            for part in target.into_iter().chain(part.as_object()) {
                add(&mut whole, part);
            }
        }
        whole
    }

    /// What a reference within the schema means.
    fn referred(&self, name: &Value) -> Option<&Map<String, Value>> {
        let path = name.as_str()?.strip_prefix('#')?;
        self.root.pointer(path)?.as_object()
    }

    fn choices(&mut self, choices: Option<&Value>, depth: usize, cleaned: &mut Map<String, Value>) {
        let choices = choices.and_then(Value::as_array).into_iter().flatten();
        let tells = |choice: &&Value| TELLING.iter().any(|name| choice.get(name).is_some());
        let choices = choices.filter(tells);
        let is_null = |choice: &&Value| choice["type"] == "null";
        let (nulls, others): (Vec<_>, Vec<_>) = choices.partition(is_null);
        if !nulls.is_empty() {
            cleaned.insert("nullable".into(), true.into());
        }
        let others: Vec<_> = others
            .into_iter()
            .map(|choice| self.clean(choice, depth + 1))
            .collect();
        match <[Value; 1]>::try_from(others) {
            // One thing or nothing.
            Ok([Value::Object(only)]) => {
                for (name, value) in only {
                    cleaned.entry(name).or_insert(value);
                }
            }
            Ok(_) => {}
            Err(others) if !others.is_empty() => {
                cleaned.insert("anyOf".into(), others.into());
            }
            Err(_) => {}
        }
    }
}

/// The type, which is one word: of several with `null` the other, of several others each is a choice.
fn kind<'a>(own: &'a Map<String, Value>, cleaned: &mut Map<String, Value>) -> Option<&'a str> {
    let kinds: Vec<&str> = match own.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if kinds.contains(&"null") {
        cleaned.insert("nullable".into(), true.into());
    }
    let others: Vec<_> = kinds.into_iter().filter(|kind| *kind != "null").collect();
    match others[..] {
        [kind] => {
            cleaned.insert("type".into(), kind.into());
            Some(kind)
        }
        [] => None,
        _ => {
            // An array among them would need its items.
            let choices = others
                .iter()
                .filter(|kind| !["array", "object"].contains(*kind));
            let choices: Vec<_> = choices.map(|kind| json!({ "type": kind })).collect();
            cleaned.insert("anyOf".into(), choices.into());
            None
        }
    }
}

/// The values that a schema takes, if it lists them.
fn words(own: &Map<String, Value>) -> Option<Vec<Value>> {
    match (own.get("const"), own.get("enum")) {
        (Some(only), _) => Some(vec![only.clone()]),
        (None, Some(Value::Array(words))) => {
            let words = words.iter().filter(|word| !word.is_null() && *word != "");
            Some(words.cloned().collect()).filter(|words: &Vec<_>| !words.is_empty())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn what_is_refused_is_left_out_and_the_rest_is_kept() {
        for (schema, expected) in [
            (
                json!({"$schema": "x", "type": "object", "additionalProperties": false,
                "required": ["path", "gone"], "properties": {
                    "path": {"type": "string", "minLength": 1, "format": "uri", "examples": ["x"]},
                    "additionalProperties": {"type": "boolean", "default": false},
                    "limit": {"type": ["integer", "null"], "exclusiveMinimum": 0, "format": "int64"},
                }}),
                json!({"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string", "minLength": 1},
                    "additionalProperties": {"type": "boolean"},
                    "limit": {"type": "integer", "nullable": true, "format": "int64"},
                }}),
            ),
            (
                json!({"type": "object", "properties": {
                    "mode": {"enum": ["a", "b"]},
                    "only": {"const": "x"},
                    "number": {"type": "integer", "enum": [1, 2]},
                    "all": {"type": "array"},
                    "pairs": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                    "any": {"type": ["string", "number"], "description": "Either."},
                    "free": {"description": "Anything."},
                    "listed": {"items": {}},
                }, "anyOf": [{"required": ["mode"]}, {"required": ["only"]}]}),
                json!({"type": "object", "properties": {
                    "mode": {"type": "string", "enum": ["a", "b"]},
                    "only": {"type": "string", "enum": ["x"]},
                    "number": {"type": "integer"},
                    "all": {"type": "array", "items": {"type": "string"}},
                    "pairs": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
                    "any": {"anyOf": [{"type": "string"}, {"type": "number"}]},
                    "free": {"type": "string", "description": "Anything."},
                    "listed": {"type": "array", "items": {"type": "string"}},
                }}),
            ),
            (
                json!({"type": "object", "$defs": {"edit": {"type": "object", "properties":
                    {"old": {"type": "string"}}, "required": ["old"]}},
                "properties": {
                    "edit": {"$ref": "#/$defs/edit", "description": "One."},
                    "more": {"type": "array", "items": {"$ref": "#/$defs/edit"}},
                    "maybe": {"oneOf": [{"type": "null"}, {"type": "string"}]},
                    "either": {"oneOf": [{"type": "string"}, {"$ref": "#/$defs/edit"}]},
                    "both": {"allOf": [{"$ref": "#/$defs/edit"}, {"properties": {"new": {"type": "string"}}}]},
                }}),
                json!({"type": "object", "properties": {
                    "edit": {"type": "object", "description": "One.", "required": ["old"],
                        "properties": {"old": {"type": "string"}}},
                    "more": {"type": "array", "items": {"type": "object", "required": ["old"],
                        "properties": {"old": {"type": "string"}}}},
                    "maybe": {"type": "string", "nullable": true},
                    "either": {"anyOf": [{"type": "string"}, {"type": "object", "required": ["old"],
                        "properties": {"old": {"type": "string"}}}]},
                    "both": {"type": "object", "required": ["old"],
                        "properties": {"old": {"type": "string"}, "new": {"type": "string"}}},
                }}),
            ),
        ] {
            assert_eq!(parameters(&schema), Some(expected));
        }
        for nothing in [
            json!({}),
            json!({"type": "object", "properties": {}}),
            json!(true),
        ] {
            assert_eq!(parameters(&nothing), None, "{nothing}");
        }
    }

    #[test]
    fn schemas_that_refer_to_themselves_end() {
        let tree = json!({"type": "object", "properties": {
            "a": {"$ref": "#"}, "b": {"$ref": "#"}, "c": {"$ref": "#/properties/c"},
        }});
        let text = parameters(&tree).unwrap().to_string();
        assert!(
            text.len() < 400 * 1024 && !text.contains("$ref"),
            "{}",
            text.len()
        );
    }
}
