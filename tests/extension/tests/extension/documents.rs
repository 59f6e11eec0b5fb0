//! What is linked as JSON Schema and as a reference page, a third party's operations included.
//! No child is started here.

use super::*;

const DIALECTS: [&Rules; 3] = [
    &::local_agent::RULES,
    &::application_service::RULES,
    &::mty_agent::RULES,
];

/// Every `$ref` below `value`.
fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
    match value {
        Value::Object(members) => {
            if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                found.push(target);
            }
            members
                .values()
                .for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn the_schema_describes_exactly_what_is_linked() {
    for rules in DIALECTS {
        let registry = registry();
        let document = host::schema::document(&registry, rules);
        let operations = document["operations"].as_object().unwrap();
        let mut methods = registry.methods(rules.name);
        let mut events = registry.event_names(rules.name);
        methods.sort_unstable();
        events.sort_unstable();
        assert_eq!(operations.keys().collect::<Vec<_>>(), methods);
        assert_eq!(
            document["events"]
                .as_object()
                .unwrap()
                .keys()
                .collect::<Vec<_>>(),
            events
        );
        assert_eq!(
            document["errors"].as_object().unwrap().len(),
            rules.words.len()
        );
        assert_eq!(document["limits"], Value::Object(rules.limits_object()));
        for (method, operation) in operations {
            assert!(
                !operation["description"].as_str().unwrap().is_empty(),
                "{method}"
            );
            for word in list(&operation["errors"]) {
                assert!(document["errors"][word].is_string(), "{method}: {word}");
            }
        }
        let mut found = Vec::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for target in found {
            let pointer = target.strip_prefix('#').expect("a local reference");
            assert!(
                document.pointer(pointer).is_some(),
                "{target} leads nowhere"
            );
        }
    }
}

#[test]
fn a_third_partys_types_are_described_like_ours() {
    let document = host::schema::document(&registry(), DIALECTS[0]);
    let operation = &document["operations"][METHOD];
    assert_eq!(operation["class"], "inline");
    assert_eq!(operation["needs"], "initialization");
    let params = document
        .pointer(
            operation["params"]["$ref"]
                .as_str()
                .unwrap()
                .strip_prefix('#')
                .unwrap(),
        )
        .unwrap();
    assert_eq!(params["additionalProperties"], false);
    assert_eq!(params["required"], json!(["text"]));
    assert_eq!(params["properties"]["repeat"]["maximum"], REPEATS);
    assert_eq!(document["events"][EVENT]["delivery"], "must arrive");

    // A status always has its nullable members, although their type says `Option`.
    let status = &document["operations"]["status"]["answer"]["$ref"];
    let status = document
        .pointer(status.as_str().unwrap().strip_prefix('#').unwrap())
        .unwrap();
    assert!(list(&status["required"]).contains(&"run_id"), "{status}");
}

#[test]
fn the_reference_page_is_stable_and_tidy() {
    for rules in DIALECTS {
        let registry = registry();
        let page = host::schema::reference(&registry, rules, "the command");
        assert_eq!(
            page,
            host::schema::reference(&registry, rules, "the command")
        );
        assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
        assert!(page.lines().all(|line| line.trim_end() == line));
        let headings: Vec<_> = page
            .lines()
            .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
            .collect();
        let mut advertised = registry.methods(rules.name);
        advertised.extend(registry.event_names(rules.name));
        assert_eq!(headings[..advertised.len()], advertised);
        for (code, meaning) in rules.words {
            assert!(
                page.contains(&format!("| `{code}` | {meaning} |")),
                "{code}"
            );
        }
        // Every row of a table has as many cells as the table's head.
        let mut cells = 0;
        for line in page.lines() {
            let here = line.replace("\\|", "").matches('|').count();
            assert!(cells == 0 || here == 0 || here == cells, "{line}");
            cells = here;
        }
    }
    let page = host::schema::reference(&registry(), DIALECTS[0], "the command");
    assert!(
        page.contains(
            "| `repeat` (optional) | integer, 1 to 16 | How often to say it, once when left out. |"
        ),
        "{page}"
    );
    assert!(page.contains("| `text` | string | At most 8192 bytes of UTF-8. |"));
}
