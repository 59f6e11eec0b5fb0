//! What is linked, written down for people who write clients: JSON Schema here, a Markdown page in `page`.
//! Everything comes from the registry and the dialect's rules, so one build always gives the same bytes.

use std::collections::BTreeMap;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::dialect::Rules;
use crate::event::{Delivery, EventKind};
use crate::guide::Guide;
use crate::operation::{Needs, Operation, SessionField};
use crate::registry::Registry;

mod page;

pub use page::reference;

/// Where a reference to a shared type begins.
const DEFINITIONS: &str = "#/$defs/";

/// What people are shown of one dialect: its schema document, or its reference page in Markdown, which says that
/// `command` prints it.
#[must_use]
pub fn render(registry: &Registry, rules: &Rules, markdown: bool, command: &str) -> String {
    if markdown {
        reference(registry, rules, command)
    } else {
        format!("{:#}\n", document(registry, rules))
    }
}

/// The schema document of one dialect (JSON Schema 2020-12; shared types under `$defs`). Its members are
/// sorted by name; the advertised order is that of [`reference()`] and of the protocol itself.
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
    let meanings: Map<String, Value> = rules
        .limits
        .iter()
        .map(|limit| (limit.name.to_owned(), limit.meaning.into()))
        .collect();
    let linked = linked(registry, rules);
    let elsewhere: Map<String, Value> = rules
        .guide
        .elsewhere(&linked)
        .map(|(name, meaning)| ((*name).to_owned(), (*meaning).into()))
        .collect();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("{} v{}", rules.name, rules.version),
        "dialect": rules.name,
        "version": rules.version,
        "guide": describe_guide(&rules.guide, &linked),
        "envelope": describe_envelope(&rules.guide, &linked),
        "guesses": describe_guesses(&rules.guide, &linked),
        "not_linked": elsewhere,
        "limits": rules.limits_object(),
        "limit_meanings": meanings,
        "operations": operations,
        "events": events,
        "errors": errors,
        "$defs": definitions,
    })
}

/// Whether an operation or an event of this name is linked.
fn linked(registry: &Registry, rules: &Rules) -> impl Fn(&str) -> bool {
    let (methods, events) = (
        registry.methods(rules.name),
        registry.event_names(rules.name),
    );
    move |name| methods.contains(&name) || events.contains(&name)
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

/// Launch, framing, envelope, order and closing in words, and the bounds that are no published limits.
fn describe_guide(guide: &Guide, linked: &dyn Fn(&str) -> bool) -> Value {
    let mut described: Map<String, Value> = [true, false]
        .into_iter()
        .flat_map(|before| guide.sections(before, linked))
        .map(|(title, text)| (title.to_lowercase(), text.into()))
        .collect();
    let bounds: Map<String, Value> = guide
        .bounds(linked)
        .map(|bound| (bound.what.to_owned(), bound.bound.into()))
        .collect();
    described.insert("bounds".to_owned(), bounds.into());
    described.into()
}

/// The schema of each kind of frame, with one whole frame as its example.
fn describe_envelope(guide: &Guide, linked: &dyn Fn(&str) -> bool) -> Value {
    guide
        .shapes(linked)
        .map(|shape| {
            let mut schema = parsed(shape.schema);
            if let Value::Object(members) = &mut schema {
                members.insert("examples".to_owned(), json!([parsed(shape.example)]));
            }
            (shape.name.to_owned(), schema)
        })
        .collect::<Map<_, _>>()
        .into()
}

fn describe_guesses(guide: &Guide, linked: &dyn Fn(&str) -> bool) -> Value {
    guide
        .guesses(linked)
        .map(|guess| {
            json!({ "sent": guess.sent, "answered": guess.answered, "instead": guess.instead })
        })
        .collect()
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
}
