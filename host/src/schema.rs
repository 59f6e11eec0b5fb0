//! What is linked, written down for people who write clients: JSON Schema and a Markdown reference page.
//! Everything comes from the registry and the dialect's rules, so one build always gives the same bytes.

use std::fmt::Write as _;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::dialect::{MTY_AGENT, Rules};
use crate::event::{Delivery, EventKind};
use crate::operation::{Needs, Operation, SessionField};
use crate::registry::Registry;

/// The schema document of one dialect (JSON Schema 2020-12; shared types under `$defs`). Its members are
/// sorted by name; the advertised order is that of [`reference`] and of the protocol itself.
#[must_use]
pub fn document(registry: &Registry, rules: &Rules) -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let operations: Map<String, Value> = registry
        .operations(rules.name)
        .into_iter()
        .map(|operation| {
            (
                operation.method.to_owned(),
                describe_operation(operation, &mut generator),
            )
        })
        .collect();
    let events: Map<String, Value> = registry
        .events(rules.name)
        .into_iter()
        .map(|event| (event.name.to_owned(), describe_event(event, &mut generator)))
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
        "$defs": generator.take_definitions(true),
    })
}

fn describe_operation(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
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
        "params": (operation.params)(generator),
        "answer": (operation.answer)(generator),
        "errors": operation.errors,
        "examples": examples,
    })
}

fn describe_event(event: &EventKind, generator: &mut SchemaGenerator) -> Value {
    json!({
        "description": prose(event.doc),
        "delivery": delivery(event),
        "data": (event.data)(generator),
    })
}

/// The reference page of one dialect, as it stands under `docs/protocols/`. Operations and events are in
/// advertised order; types that only one of them uses stand with it, all others under "Types".
#[must_use]
pub fn reference(registry: &Registry, rules: &Rules) -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
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
        operation_section(&mut page, operation, &mut generator);
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
        let data = (event.data)(&mut generator).to_value();
        fields(&mut page, "Data", &resolved(data, &generator));
    }
    let definitions = generator.take_definitions(true);
    let named = named_in_page(&page, &definitions);
    if !named.is_empty() {
        page.push_str("\n## Types\n");
    }
    for name in named {
        let schema = &definitions[name];
        let _ = write!(page, "\n### `{name}`\n");
        if let Some(text) = schema.get("description").and_then(Value::as_str) {
            let _ = write!(page, "\n{}\n", text.replace('\n', " "));
        }
        fields(&mut page, "Members", schema);
    }
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
fn resolved(schema: Value, generator: &SchemaGenerator) -> Value {
    let target = schema
        .get("$ref")
        .and_then(Value::as_str)
        .and_then(|path| path.rsplit('/').next())
        .and_then(|name| generator.definitions().get(name));
    match target {
        Some(definition) => definition.clone(),
        None => schema,
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

fn operation_section(page: &mut String, operation: &Operation, generator: &mut SchemaGenerator) {
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
    let params = (operation.params)(generator).to_value();
    fields(page, "Params", &resolved(params, generator));
    let answer = (operation.answer)(generator).to_value();
    fields(page, "Answer", &resolved(answer, generator));
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
        let none = schema.get("type").is_some_and(|kind| kind == "object")
            && schema.get("additionalProperties") == Some(&Value::Bool(false));
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
