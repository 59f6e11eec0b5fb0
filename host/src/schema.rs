//! What is linked, written down for people who write clients: JSON Schema and a Markdown reference page.
//! Everything comes from the registry and the dialect's rules; the order is the advertised one.

use std::fmt::Write as _;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::dialect::Rules;
use crate::event::{Delivery, EventKind};
use crate::operation::{Needs, Operation, SessionField};
use crate::registry::Registry;

/// The schema document of one dialect (JSON Schema 2020-12; shared types under `$defs`).
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

/// The reference page of one dialect, as it stands under `docs/protocols/`.
#[must_use]
pub fn reference(registry: &Registry, rules: &Rules) -> String {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut page = format!(
        "# {} v{}\n\nGenerated from the registered operations by the binary's `schema --markdown`; not edited by hand.\n",
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
        fields(&mut page, "Data", &(event.data)(&mut generator).to_value());
    }
    let definitions = generator.take_definitions(true);
    if !definitions.is_empty() {
        page.push_str("\n## Types\n");
        for (name, schema) in &definitions {
            let _ = write!(page, "\n### `{name}`\n");
            fields(&mut page, "Members", schema);
        }
    }
    page.push_str("\n## Limits\n\n| limit | value |\n| --- | ---: |\n");
    for limit in rules.limits {
        let _ = writeln!(page, "| `{}` | {} |", limit.name, limit.value);
    }
    page.push_str("\n## Failures\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in rules.words {
        let _ = writeln!(page, "| `{code}` | {meaning} |");
    }
    page
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
    fields(page, "Params", &(operation.params)(generator).to_value());
    fields(page, "Answer", &(operation.answer)(generator).to_value());
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
            "\n```json\n{}\n{}\n```\n",
            example.params, example.answer
        );
    }
}

/// A table of an object's members, or one line for any other schema.
fn fields(page: &mut String, title: &str, schema: &Value) {
    let Some(members) = schema.get("properties").and_then(Value::as_object) else {
        let _ = write!(page, "\n{title}: {}.\n", type_name(schema));
        return;
    };
    if members.is_empty() {
        let _ = write!(page, "\n{title}: none.\n");
        return;
    }
    let required = schema.get("required").and_then(Value::as_array);
    let _ = write!(
        page,
        "\n| {} | type | meaning |\n| --- | --- | --- |\n",
        title.to_lowercase()
    );
    for (name, member) in members {
        let optional = !required.is_some_and(|names| names.iter().any(|n| n == name));
        let meaning = member
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .replace('\n', " ");
        let _ = writeln!(
            page,
            "| `{name}`{} | {} | {meaning} |",
            if optional { " (optional)" } else { "" },
            type_name(member)
        );
    }
}

fn type_name(schema: &Value) -> String {
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        return format!("`{}`", name.rsplit('/').next().unwrap_or(name));
    }
    match schema.get("type") {
        Some(Value::String(kind)) if kind == "array" => {
            format!(
                "array of {}",
                schema.get("items").map_or("anything".to_owned(), type_name)
            )
        }
        Some(Value::String(kind)) => kind.clone(),
        Some(Value::Array(kinds)) => kinds
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(" or "),
        _ => "any".to_owned(),
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
