//! What a model is told of the tools that a snippet may call: TypeScript declarations, made from their JSON schemas.
//! Schemas and descriptions may come from anywhere: all is bounded, and nothing of them leaves its place.

use std::fmt::Write;

use serde_json::Value;
use tools::ToolSpec;

/// Longest text of all declarations, in bytes. Tools whose declaration has no room left are counted.
const ALL_BYTES: usize = 32 * 1024;
/// Longest type of one input, in bytes; a longer one is told as `object`.
const TYPE_BYTES: usize = 2 * 1024;
/// Longest description, in bytes.
const DESCRIPTION_BYTES: usize = 240;
/// Longest literal of a type, in bytes.
const LITERAL_BYTES: usize = 128;
/// How deep a type nests.
const DEPTH: usize = 8;
/// Most alternatives of one type; of more, the type is `unknown`.
const ALTERNATIVES: usize = 24;

/// The declarations of `specs`, in their order.
pub(crate) fn declarations<'a>(specs: impl IntoIterator<Item = &'a ToolSpec>) -> String {
    const END: &str = "};\n";
    let mut text = "declare const tools: {\n".to_owned();
    let mut left_out = 0;
    for spec in specs {
        let declared = format!(
            "  /** {} */\n  {}(input: {}): Promise<string>;\n",
            comment(&spec.description),
            key(&spec.name),
            input(&spec.input_schema),
        );
        match text.len() + declared.len() + END.len() <= ALL_BYTES {
            true => text += &declared,
            false => left_out += 1,
        }
    }
    text += END;
    if left_out > 0 {
        let _ = writeln!(
            text,
            "// {left_out} more, not declared here: `Object.keys(tools)` has the names of all"
        );
    }
    text
}

fn input(schema: &Value) -> String {
    let mut types = Types {
        root: schema,
        text: String::new(),
    };
    types.write(schema, 0);
    match types.text.len() <= TYPE_BYTES && types.text.starts_with('{') {
        true => types.text,
        false => "object".to_owned(),
    }
}

struct Types<'a> {
    root: &'a Value,
    text: String,
}

impl<'a> Types<'a> {
    /// Writes one type. Ends soon once the text is too long, whatever the schema is.
    fn write(&mut self, schema: &'a Value, depth: usize) {
        if self.text.len() > TYPE_BYTES {
            return;
        }
        if depth > DEPTH || !schema.is_object() {
            let word = if schema == &Value::Bool(false) {
                "never"
            } else {
                "unknown"
            };
            return self.text.push_str(word);
        }
        if let Some(target) = schema.get("$ref").and_then(Value::as_str) {
            let target = target
                .strip_prefix('#')
                .and_then(|pointer| self.root.pointer(pointer));
            return self.write(target.unwrap_or(&Value::Null), depth + 1);
        }
        if let Some(value) = schema.get("const") {
            return self.text.push_str(&literal(value));
        }
        if let Some(values) = list(schema, "enum") {
            return self.any(values, |types, value| types.text.push_str(&literal(value)));
        }
        if let Some(types) = list(schema, "anyOf").or_else(|| list(schema, "oneOf")) {
            return self.any(types, |types, schema| types.write(schema, depth + 1));
        }
        match schema.get("type") {
            Some(Value::Array(names)) => self.any(names, |types, name| {
                types.named(name.as_str().unwrap_or_default(), schema, depth);
            }),
            Some(Value::String(name)) => self.named(name, schema, depth),
            _ if schema.get("properties").is_some() => self.object(schema, depth),
            _ => self.text.push_str("unknown"),
        }
    }

    fn any<T>(&mut self, all: &'a [T], one: impl Fn(&mut Self, &'a T)) {
        if all.is_empty() || all.len() > ALTERNATIVES {
            return self.text.push_str("unknown");
        }
        for (at, each) in all.iter().enumerate() {
            if at > 0 {
                self.text.push_str(" | ");
            }
            one(self, each);
        }
    }

    fn named(&mut self, name: &str, schema: &'a Value, depth: usize) {
        match name {
            "integer" => self.text.push_str("number"),
            "string" | "number" | "boolean" | "null" => self.text.push_str(name),
            "object" => self.object(schema, depth),
            "array" => {
                self.text.push_str("Array<");
                match schema.get("items") {
                    Some(items) => self.write(items, depth + 1),
                    None => self.text.push_str("unknown"),
                }
                self.text.push('>');
            }
            _ => self.text.push_str("unknown"),
        }
    }

    fn object(&mut self, schema: &'a Value, depth: usize) {
        let members = schema.get("properties").and_then(Value::as_object);
        let required = list(schema, "required").unwrap_or_default();
        self.text.push('{');
        for (at, (name, schema)) in members.into_iter().flatten().enumerate() {
            if self.text.len() > TYPE_BYTES {
                return;
            }
            let optional = !required.iter().any(|required| required == name);
            let separator = if at == 0 { " " } else { "; " };
            self.text += &format!(
                "{separator}{}{}: ",
                key(name),
                if optional { "?" } else { "" }
            );
            self.write(schema, depth + 1);
        }
        self.text
            .push_str(if self.text.ends_with('{') { "}" } else { " }" });
    }
}

fn list<'a>(schema: &'a Value, member: &str) -> Option<&'a [Value]> {
    schema.get(member)?.as_array().map(Vec::as_slice)
}

/// A name as it stands in a type.
fn key(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$');
    let plain = !name.is_empty()
        && name.chars().all(is_word)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    match plain {
        true => name.to_owned(),
        false => quoted(name),
    }
}

/// A value as a type of its own, if it is one that has one.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) if text.len() <= LITERAL_BYTES => quoted(text),
        Value::String(_) => "string".to_owned(),
        Value::Array(_) | Value::Object(_) => "unknown".to_owned(),
        plain => plain.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut quoted = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if is_plain(c) => quoted.push(c),
            c => quoted += &format!("\\u{{{:x}}}", u32::from(c)),
        }
    }
    quoted + "\""
}

/// The beginning of a description, on one line and without an end of the comment.
fn comment(description: &str) -> String {
    let words = description
        .split(|c: char| !is_plain(c) || c == ' ')
        .filter(|word| !word.is_empty());
    let mut text = String::new();
    for word in words {
        if text.len() + word.len() >= DESCRIPTION_BYTES {
            text.push('…');
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        text += &word.replace("*/", "* /");
    }
    text
}

/// Whether a character can be seen and is what it looks like.
fn is_plain(c: char) -> bool {
    c.is_ascii_graphic() || c == ' ' || c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn declared(name: &str, description: &str, schema: Value) -> String {
        declarations([&ToolSpec::reading(name, description, schema)])
    }

    #[test]
    fn types_are_those_of_the_schema() {
        for (schema, expected) in [
            (json!({}), "object"),
            (json!({"type": "object"}), "{}"),
            (
                json!({"type": "object", "required": ["path"], "properties": {
                    "path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}, "a-b": {"type": "boolean"},
                }}),
                r#"{ "a-b"?: boolean; limit?: number; path: string }"#,
            ),
            (
                json!({"properties": {"of": {"type": "array", "items": {"$ref": "#/$defs/Of"}}}, "$defs": {
                    "Of": {"anyOf": [{"enum": ["a", 1, null]}, {"const": true}, {"type": ["string", "null"]}]},
                }}),
                r#"{ of?: Array<"a" | 1 | null | true | string | null> }"#,
            ),
            (
                json!({"properties": {"of": {"$ref": "https://elsewhere"}, "to": false}}),
                "{ of?: unknown; to?: never }",
            ),
            (
                json!({"properties": {"*/\n\u{202e}": {"type": "new"}}}),
                r#"{ "*/\u{a}\u{202e}"?: unknown }"#,
            ),
        ] {
            let text = declared("x", "", schema.clone());
            let expected = format!(
                "declare const tools: {{\n  /**  */\n  x(input: {expected}): Promise<string>;\n}};\n"
            );
            assert_eq!(text, expected, "{schema}");
        }
    }

    #[test]
    fn what_refers_to_itself_ends() {
        let text = declared(
            "x",
            "",
            json!({"properties": {"a": {"$ref": "#"}, "b": {"$ref": "#/properties/b"}}}),
        );
        assert!(text.len() < ALL_BYTES, "{text}");
    }

    #[test]
    fn a_description_stays_in_its_comment() {
        let text = declared("a-b", "Reads.\n*/ x(): void; /* \u{200b}y", json!({}));
        assert!(
            text.contains("  /** Reads. * / x(): void; /* y */\n  \"a-b\"(input: object)"),
            "{text}"
        );
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let specs: Vec<_> = (0..400)
            .map(|at| ToolSpec::reading(&format!("tool_{at}"), &"word ".repeat(100), json!({})))
            .collect();
        let text = declarations(&specs);
        assert!(text.len() <= ALL_BYTES + 100);
        let declared = text.matches("Promise<string>").count();
        assert!(text.ends_with(&format!(
            "// {} more, not declared here: `Object.keys(tools)` has the names of all\n",
            400 - declared
        )));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let word = prop::sample::select(vec![
            "type",
            "properties",
            "items",
            "enum",
            "anyOf",
            "oneOf",
            "const",
            "$ref",
            "required",
            "object",
            "array",
            "#",
            "#/properties",
            "string",
            "*/",
            "\"",
            "\u{2028}",
        ]);
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            word.clone().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 8, move |inner| {
            let name = prop_oneof![word.clone().prop_map(str::to_owned), any::<String>()];
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::vec((name, inner), 0..8)
                    .prop_map(|members| Value::Object(members.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_schema_is_one_bounded_declaration(schema in any_json(), description: String) {
            let text = declared("x", &description, json!({"type": "object", "properties": {"p": schema}}));
            prop_assert!(text.len() < TYPE_BYTES + DESCRIPTION_BYTES + 400);
            prop_assert_eq!(text.lines().count(), 4, "{}", &text);
            prop_assert_eq!(text.matches("*/").count() - text.lines().nth(2).map_or(0, |line| line.matches("*/").count()), 1);
            // Brackets match outside of literals.
            let mut open = Vec::new();
            let mut in_literal = false;
            let line = text.lines().nth(2).unwrap_or_default();
            let mut chars = line.chars();
            while let Some(c) = chars.next() {
                match c {
                    '\\' if in_literal => { chars.next(); }
                    '"' => in_literal = !in_literal,
                    _ if in_literal => {}
                    '{' | '(' => open.push(c),
                    '}' => prop_assert_eq!(open.pop(), Some('{')),
                    ')' => prop_assert_eq!(open.pop(), Some('(')),
                    _ => {}
                }
            }
            prop_assert!(open.is_empty() && !in_literal, "{}", line);
        }
    }
}
