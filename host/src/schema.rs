//! What is linked, written down for people who write clients: JSON Schema and a Markdown reference page.
//! Everything comes from the registry and the dialect's rules, so one build always gives the same bytes.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::dialect::{MTY_AGENT, Rules};
use crate::event::{Delivery, EventKind};
use crate::operation::{Needs, Operation, SessionField};
use crate::registry::Registry;

/// Where a reference to a shared type begins.
const DEFINITIONS: &str = "#/$defs/";

/// The schema document of one dialect (JSON Schema 2020-12; shared types under `$defs`). Its members are
/// sorted by name; the advertised order is that of [`reference`] and of the protocol itself.
#[must_use]
pub fn document(registry: &Registry, rules: &Rules) -> Value {
    // A client may leave out what has a default, but gets every member that is not skipped.
    let mut sent = SchemaSettings::draft2020_12()
        .for_deserialize()
        .into_generator();
    let mut received = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut params = Vec::new();
    let mut answers = Vec::new();
    let operations = registry.operations(rules.name);
    for operation in &operations {
        params.push((operation.params)(&mut sent).to_value());
        answers.push((operation.answer)(&mut received).to_value());
    }
    let events = registry.events(rules.name);
    let mut data: Vec<Value> = events
        .iter()
        .map(|event| (event.data)(&mut received).to_value())
        .collect();

    let mut definitions = sent.take_definitions(true);
    let received = received.take_definitions(true);
    let renamed = renamed(&definitions, &received);
    for schema in answers.iter_mut().chain(&mut data) {
        rename_references(schema, &renamed);
    }
    for (name, mut schema) in received {
        rename_references(&mut schema, &renamed);
        let name = renamed.get(&name).cloned().unwrap_or(name);
        definitions.insert(name, schema);
    }

    let operations: Map<String, Value> = operations
        .iter()
        .zip(params.into_iter().zip(answers))
        .map(|(operation, (params, answer))| {
            let entry = describe_operation(operation, params, answer);
            (operation.method.to_owned(), entry)
        })
        .collect();
    let events: Map<String, Value> = events
        .iter()
        .zip(data)
        .map(|(event, data)| (event.name.to_owned(), describe_event(event, data)))
        .collect();
    let errors: Map<String, Value> = rules
        .words
        .iter()
        .map(|(code, meaning)| ((*code).to_owned(), (*meaning).into()))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("{} v{}", rules.name, rules.version),
        "dialect": rules.name,
        "version": rules.version,
        "limits": rules.limits_object(),
        "operations": operations,
        "events": events,
        "errors": errors,
        "$defs": definitions,
    })
}

/// New names for received types whose name a sent type has too, unless both are plainly the same.
fn renamed(sent: &Map<String, Value>, received: &Map<String, Value>) -> BTreeMap<String, String> {
    let mut renamed = BTreeMap::new();
    for (name, schema) in received {
        let Some(other) = sent.get(name) else {
            continue;
        };
        // Equal text with references in it may still lead to different types.
        if other == schema && !has_reference(schema) {
            continue;
        }
        let mut fresh = format!("{name}Received");
        while sent.contains_key(&fresh) || received.contains_key(&fresh) {
            fresh.push('_');
        }
        renamed.insert(name.clone(), fresh);
    }
    renamed
}

fn has_reference(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.get("$ref").is_some_and(Value::is_string) || members.values().any(has_reference)
        }
        Value::Array(items) => items.iter().any(has_reference),
        _ => false,
    }
}

fn rename_references(schema: &mut Value, renamed: &BTreeMap<String, String>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::String(path)) = members.get_mut("$ref")
                && let Some(fresh) = path.strip_prefix(DEFINITIONS).and_then(|n| renamed.get(n))
            {
                *path = format!("{DEFINITIONS}{fresh}");
            }
            for member in members.values_mut() {
                rename_references(member, renamed);
            }
        }
        Value::Array(items) => {
            for item in items {
                rename_references(item, renamed);
            }
        }
        _ => {}
    }
}

fn describe_operation(operation: &Operation, params: Value, answer: Value) -> Value {
    let examples: Vec<Value> = operation
        .examples
        .iter()
        .map(
            |example| json!({ "params": parsed(example.params), "answer": parsed(example.answer) }),
        )
        .collect();
    json!({
        "description": prose(operation.doc),
        "class": operation.class.name(),
        "needs": needs(operation),
        "session": session(operation),
        "params": params,
        "answer": answer,
        "errors": operation.errors,
        "examples": examples,
    })
}

fn describe_event(event: &EventKind, data: Value) -> Value {
    json!({
        "description": prose(event.doc),
        "delivery": delivery(event),
        "data": data,
    })
}

/// The reference page of one dialect, as it stands under `docs/protocols/`. Operations and events are in
/// advertised order, each with its own params, answer or data; what these name follows under "Types".
#[must_use]
pub fn reference(registry: &Registry, rules: &Rules) -> String {
    let document = document(registry, rules);
    let command = match rules.name {
        MTY_AGENT => "mty schema --markdown".to_owned(),
        name => format!("magi-code schema {name} --markdown"),
    };
    let mut page = format!(
        "# {} v{}\n\nGenerated from the registered operations by `{command}`; not edited by hand.\n",
        rules.name, rules.version
    );
    page.push_str("\n## Operations\n");
    for operation in registry.operations(rules.name) {
        operation_section(&mut page, operation, &document);
    }
    let events = registry.events(rules.name);
    if !events.is_empty() {
        page.push_str("\n## Events\n");
    }
    for event in events {
        let _ = write!(
            page,
            "\n### `{}`\n\n{}\n\nDelivery: {}.\n",
            event.name,
            prose(event.doc),
            delivery(event)
        );
        let data = &document["events"][event.name]["data"];
        fields(&mut page, "Data", resolved(data, &document));
    }
    types_section(&mut page, &document);
    page.push_str("\n## Limits\n\n| limit | value |\n| --- | ---: |\n");
    for limit in rules.limits {
        let _ = writeln!(page, "| `{}` | {} |", limit.name, limit.value);
    }
    page.push_str("\n## Failures\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in rules.words {
        let _ = writeln!(page, "| `{code}` | {} |", cell(meaning));
    }
    page
}

/// The definition that a bare reference leads to, or the schema itself.
fn resolved<'d>(schema: &'d Value, document: &'d Value) -> &'d Value {
    schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| path.strip_prefix(DEFINITIONS))
        .and_then(|name| document["$defs"].get(name))
        .unwrap_or(schema)
}

fn types_section(page: &mut String, document: &Value) {
    let Some(definitions) = document["$defs"].as_object() else {
        return;
    };
    let named = named_in_page(page, definitions);
    if !named.is_empty() {
        page.push_str("\n## Types\n");
    }
    for name in named {
        let schema = &definitions[name];
        let _ = write!(page, "\n### `{name}`\n");
        let text = description(schema);
        if !text.is_empty() {
            let _ = write!(page, "\n{text}\n");
        }
        fields(page, "Members", schema);
    }
}

/// The definitions that the page's tables name, and those that these name in turn, sorted.
fn named_in_page<'d>(page: &str, definitions: &'d Map<String, Value>) -> Vec<&'d String> {
    let mut named: Vec<&String> = Vec::new();
    let mut text = page.to_owned();
    loop {
        let before = named.len();
        for (name, schema) in definitions {
            if !named.contains(&name) && text.contains(&format!("[`{name}`]")) {
                named.push(name);
                fields(&mut text, "", schema);
            }
        }
        if named.len() == before {
            named.sort_unstable();
            return named;
        }
    }
}

fn operation_section(page: &mut String, operation: &Operation, document: &Value) {
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n",
        operation.method,
        prose(operation.doc)
    );
    let _ = write!(
        page,
        "\nScheduling: {}. Needs: {}. Envelope session: {}.\n",
        operation.class.name(),
        needs(operation),
        session(operation)
    );
    let entry = &document["operations"][operation.method];
    fields(page, "Params", resolved(&entry["params"], document));
    fields(page, "Answer", resolved(&entry["answer"], document));
    if !operation.errors.is_empty() {
        let words: Vec<_> = operation
            .errors
            .iter()
            .map(|word| format!("`{word}`"))
            .collect();
        let _ = write!(page, "\nFailures: {}.\n", words.join(", "));
    }
    for example in operation.examples {
        let _ = write!(
            page,
            "\nExample params and answer:\n\n```json\n{}\n{}\n```\n",
            example.params, example.answer
        );
    }
}

/// A table of an object's members, a list of an alternative's variants, or one line for any other schema.
fn fields(page: &mut String, title: &str, schema: &Value) {
    if let Some(variants) = variants(schema) {
        let _ = write!(page, "\n{title}: one of\n\n");
        for variant in variants {
            let described = description(variant);
            let separator = if described.is_empty() { "" } else { ": " };
            let _ = writeln!(page, "- {}{separator}{described}", type_name(variant));
        }
        return;
    }
    let Some(members) = schema.get("properties").and_then(Value::as_object) else {
        // An object that describes no member, not even members of any name.
        let none = schema.get("type").is_some_and(|kind| kind == "object")
            && matches!(
                schema.get("additionalProperties"),
                None | Some(Value::Bool(false))
            );
        let kind = if none {
            "none".to_owned()
        } else {
            type_name(schema)
        };
        let _ = write!(page, "\n{title}: {kind}.\n");
        return;
    };
    if members.is_empty() {
        let _ = write!(page, "\n{title}: none.\n");
        return;
    }
    let _ = write!(
        page,
        "\n| {} | type | meaning |\n| --- | --- | --- |\n",
        title.to_lowercase()
    );
    for (name, member) in members {
        let optional = if is_required(schema, name) {
            ""
        } else {
            " (optional)"
        };
        let kind = cell(&type_name(member));
        let meaning = cell(&description(member));
        // An empty cell takes one space, so that no line ends in two.
        let meaning = if meaning.is_empty() {
            meaning
        } else {
            format!("{meaning} ")
        };
        let _ = writeln!(page, "| `{name}`{optional} | {kind} | {meaning}|");
    }
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema
        .get("required")
        .and_then(Value::as_array)
        .is_some_and(|names| names.iter().any(|required| required == name))
}

fn description(schema: &Value) -> String {
    schema
        .get("description")
        .and_then(Value::as_str)
        .unwrap_or_default()
        .replace('\n', " ")
}

fn variants(schema: &Value) -> Option<&Vec<Value>> {
    schema
        .get("oneOf")
        .or_else(|| schema.get("anyOf"))
        .and_then(Value::as_array)
}

/// Text as it may stand in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// A type in a few words. Named types link to their heading.
fn type_name(schema: &Value) -> String {
    if let Some(path) = schema.get("$ref").and_then(Value::as_str) {
        let name = path.rsplit('/').next().unwrap_or(path);
        return format!("[`{name}`](#{})", name.to_lowercase());
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    if let Some(variants) = variants(schema) {
        let names: Vec<_> = variants.iter().map(type_name).collect();
        return names.join(" or ");
    }
    match schema.get("type") {
        Some(Value::String(kind)) => concrete(kind, schema),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .map(|kind| concrete(kind, schema))
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
    }
}

/// One JSON type with what the schema adds to it: an array's items, a small object's members, a range.
fn concrete(kind: &str, schema: &Value) -> String {
    match kind {
        "array" => {
            let items = schema.get("items").map_or("any".to_owned(), type_name);
            format!("array of {items}")
        }
        "object" => match schema.get("properties").and_then(Value::as_object) {
            Some(members) => {
                let members: Vec<_> = members
                    .iter()
                    .map(|(name, member)| {
                        let optional = if is_required(schema, name) { "" } else { "?" };
                        format!("`{name}`{optional} {}", type_name(member))
                    })
                    .collect();
                format!("object of {}", members.join(", "))
            }
            None => "object".to_owned(),
        },
        "integer" | "number" => match (schema.get("minimum"), schema.get("maximum")) {
            (Some(low), Some(high)) => format!("{kind}, {low} to {high}"),
            (Some(low), None) => format!("{kind}, at least {low}"),
            (None, Some(high)) => format!("{kind}, at most {high}"),
            (None, None) => kind.to_owned(),
        },
        _ => kind.to_owned(),
    }
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn prose(lines: &[&str]) -> String {
    lines
        .iter()
        .map(|line| line.trim())
        .collect::<Vec<_>>()
        .join(" ")
}

fn needs(operation: &Operation) -> &'static str {
    match operation.needs {
        Needs::Nothing => "nothing",
        Needs::Initialization => "initialization",
    }
}

fn session(operation: &Operation) -> &'static str {
    match operation.session {
        SessionField::Omitted => "omitted",
        SessionField::Optional => "optional",
        SessionField::Required => "required",
    }
}

fn delivery(event: &EventKind) -> &'static str {
    match event.delivery {
        Delivery::MustArrive => "must arrive",
        Delivery::MayDrop => "may drop",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }

    #[test]
    fn types_of_one_name_are_kept_apart_unless_they_are_the_same() {
        let sent = map(json!({
            "Same": {"type": "string"},
            "Differs": {"type": "object"},
            "Holder": {"items": {"$ref": "#/$defs/Differs"}},
            "HolderReceived": {"type": "null"},
        }));
        let received = map(json!({
            "Same": {"type": "string"},
            "Differs": {"type": "object", "required": ["a"]},
            "Holder": {"items": {"$ref": "#/$defs/Differs"}},
            "Own": {"type": "null"},
        }));
        let renamed = renamed(&sent, &received);
        let pairs: Vec<_> = renamed
            .iter()
            .map(|(a, b)| (a.as_str(), b.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [
                ("Differs", "DiffersReceived"),
                ("Holder", "HolderReceived_")
            ]
        );

        let mut answer = json!({"properties": {
            "one": {"$ref": "#/$defs/Holder"},
            "two": {"anyOf": [{"$ref": "#/$defs/Same"}, {"$ref": "#/$defs/Differs"}]},
        }});
        rename_references(&mut answer, &renamed);
        assert_eq!(
            answer,
            json!({"properties": {
                "one": {"$ref": "#/$defs/HolderReceived_"},
                "two": {"anyOf": [{"$ref": "#/$defs/Same"}, {"$ref": "#/$defs/DiffersReceived"}]},
            }})
        );
    }

    #[test]
    fn types_are_named_in_a_few_words() {
        for (schema, expected) in [
            (json!({"type": ["string", "null"]}), "string or null"),
            (
                json!({"type": "array", "items": {"$ref": "#/$defs/Hit"}}),
                "array of [`Hit`](#hit)",
            ),
            (json!({"enum": ["a", 1]}), "`\"a\"` or `1`"),
            (json!({"const": "a"}), "`\"a\"`"),
            (
                json!({"anyOf": [{"$ref": "#/$defs/Hit"}, {"type": "null"}]}),
                "[`Hit`](#hit) or null",
            ),
            (
                json!({"type": "integer", "minimum": 1, "maximum": 16}),
                "integer, 1 to 16",
            ),
            (
                json!({"type": "object", "properties": {"a": {"type": "string"}}}),
                "object of `a`? string",
            ),
            (json!(true), "any"),
        ] {
            assert_eq!(type_name(&schema), expected, "{schema}");
        }
    }

    #[test]
    fn a_bar_does_not_break_a_table() {
        let mut page = String::new();
        let schema = json!({"properties": {"a": {"type": "string", "description": "x|y\nz"}}, "required": ["a"]});
        fields(&mut page, "Params", &schema);
        assert!(page.ends_with("| `a` | string | x\\|y z |\n"), "{page}");
    }
}
