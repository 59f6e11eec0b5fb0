//! The reference page of a dialect: the schema document as Markdown, in advertised order.
//! No schema is made here.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::{DEFINITIONS, delivery, document, linked, needs, prose, session};
use crate::dialect::Rules;
use crate::operation::{Operation, SessionField};
use crate::registry::Registry;

/// The reference page of one dialect, as it stands under `docs/protocols/`. Operations and events are in
/// advertised order, each with its own params, answer or data; what these name follows under "Types". `command`
/// prints the page again.
#[must_use]
pub fn reference(registry: &Registry, rules: &Rules, command: &str) -> String {
    let document = document(registry, rules);
    let mut page = format!(
        "# {} v{}\n\nGenerated from the registered operations by `{command}`; not edited by hand.\n",
        rules.name, rules.version
    );
    let linked = linked(registry, rules);
    guide_sections(&mut page, rules, &document, &linked);
    page.push_str("\n## Operations\n");
    let operations = registry.operations(rules.name);
    // Where no envelope names a session, none of its operations has to say so.
    let sessions = operations
        .iter()
        .any(|operation| operation.session != SessionField::Omitted);
    for operation in operations {
        operation_section(&mut page, operation, &document, sessions);
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
    let elsewhere: Vec<_> = rules.guide.elsewhere(&linked).collect();
    if !elsewhere.is_empty() {
        page.push_str("\n## Not in this build\n\nThe protocol has more than is linked here; what is not linked is neither advertised nor sent.\n\n| name | what it is |\n| --- | --- |\n");
    }
    for (name, meaning) in elsewhere {
        let _ = writeln!(page, "| `{name}` | {} |", cell(meaning));
    }
    page.push_str("\n## Limits\n\n| limit | value | meaning |\n| --- | ---: | --- |\n");
    for limit in rules.limits {
        let meaning = cell(limit.meaning);
        let _ = writeln!(page, "| `{}` | {} | {meaning} |", limit.name, limit.value);
    }
    let bounds: Vec<_> = rules.guide.bounds(&linked).collect();
    if !bounds.is_empty() {
        page.push_str(
            "\nWhat is bounded without a published limit:\n\n| what | bound |\n| --- | --- |\n",
        );
    }
    for bound in bounds {
        let _ = writeln!(page, "| {} | {} |", cell(bound.what), cell(bound.bound));
    }
    page.push_str("\n## Failures\n\n| code | meaning |\n| --- | --- |\n");
    for (code, meaning) in rules.words {
        let _ = writeln!(page, "| `{code}` | {} |", cell(meaning));
    }
    page
}

/// Launch, framing and envelope; each kind of frame with a whole one; what to send in place of a guess; order, closing.
fn guide_sections(
    page: &mut String,
    rules: &Rules,
    document: &Value,
    linked: &dyn Fn(&str) -> bool,
) {
    let guide = &rules.guide;
    for (title, text) in guide.sections(true, linked) {
        let _ = write!(page, "\n## {title}\n\n{text}\n");
    }
    for shape in guide.shapes(linked) {
        let schema = &document["envelope"][shape.name];
        let _ = write!(page, "\n### {}\n\n{}\n", shape.title, description(schema));
        fields(page, "Members", schema);
        let _ = write!(page, "\n```json\n{}\n```\n", shape.example);
    }
    let guesses: Vec<_> = guide.guesses(linked).collect();
    if !guesses.is_empty() {
        page.push_str(
            "\n### Not this\n\n| sent | answered with | instead |\n| --- | --- | --- |\n",
        );
    }
    for guess in guesses {
        let (sent, instead) = (cell(guess.sent), cell(guess.instead));
        let _ = writeln!(page, "| `{sent}` | {} | {instead} |", code(guess.answered));
    }
    for (title, text) in guide.sections(false, linked) {
        let _ = write!(page, "\n## {title}\n\n{text}\n");
    }
}

/// Text as code in a cell, also where it holds backticks.
fn code(text: &str) -> String {
    if text.contains('`') {
        format!("`` {} ``", cell(text))
    } else {
        format!("`{}`", cell(text))
    }
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

fn operation_section(page: &mut String, operation: &Operation, document: &Value, sessions: bool) {
    let _ = write!(
        page,
        "\n### `{}`\n\n{}\n",
        operation.method,
        prose(operation.doc)
    );
    let _ = write!(
        page,
        "\nScheduling: {}. Needs: {}.",
        operation.class.name(),
        needs(operation)
    );
    if sessions {
        let _ = write!(page, " Envelope session: {}.", session(operation));
    }
    page.push('\n');
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
            "\nExample params and answer (`<name>`: an opaque value, `…`: the rest):\n\n```json\n{}\n{}\n```\n",
            example.params, example.answer
        );
    }
}

/// A table of an object's members, a list of an alternative's variants (behind the members that all have),
/// or one line for any other schema.
fn fields(page: &mut String, title: &str, schema: &Value) {
    let members = schema.get("properties").and_then(Value::as_object);
    if let Some(variants) = variants(schema) {
        match members {
            Some(shared) => {
                table(page, title, schema, shared);
                page.push_str("\nand one of\n\n");
            }
            None => {
                let _ = write!(page, "\n{title}: one of\n\n");
            }
        }
        for variant in variants {
            let described = description(variant);
            let separator = if described.is_empty() { "" } else { ": " };
            let _ = writeln!(page, "- {}{separator}{described}", type_name(variant));
        }
        return;
    }
    let Some(members) = members else {
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
    table(page, title, schema, members);
}

fn table(page: &mut String, title: &str, schema: &Value, members: &Map<String, Value>) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

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
    fn variants_stand_behind_the_members_that_all_have() {
        let mut page = String::new();
        let schema = json!({
            "properties": {"id": {"type": "string"}}, "required": ["id"],
            "oneOf": [{"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}, {"const": "b"}],
        });
        fields(&mut page, "Members", &schema);
        let expected = "\n| members | type | meaning |\n| --- | --- | --- |\n| `id` | string | |\n\nand one of\n\n- object of `a` string\n- `\"b\"`\n";
        assert_eq!(page, expected);
    }

    #[test]
    fn a_bar_does_not_break_a_table() {
        let mut page = String::new();
        let schema = json!({"properties": {"a": {"type": "string", "description": "x|y\nz"}}, "required": ["a"]});
        fields(&mut page, "Params", &schema);
        assert!(page.ends_with("| `a` | string | x\\|y z |\n"), "{page}");
    }
}
