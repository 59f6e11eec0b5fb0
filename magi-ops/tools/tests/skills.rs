//! The tool `skill`: what is offered and loaded of the admitted skills.
//! Finding skills is tested in the store.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use serde_json::json;
use support::place;
use tokio_util::sync::CancellationToken;
use tools::{Context, Skill, ToolSet};

mod support;

fn skill(name: &str, description: &str, body: &str) -> Skill {
    Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        dir: PathBuf::from("/skills").join(name),
        body: body.to_owned(),
    }
}

#[tokio::test]
async fn skills_are_offered_and_loaded() {
    let place = place();
    let none = place.tools();
    assert!(none.spec("skill").is_none());
    let outcome = none
        .run("skill", &json!({ "name": "pdf" }), CancellationToken::new())
        .await;
    assert!(
        outcome.content.starts_with("no such tool;"),
        "{}",
        outcome.content
    );

    let long = "line\n".repeat(100_000);
    let mut context = place.context();
    context.skills = vec![
        skill(
            "pdf",
            "Fills forms.\nReads \u{202e}them.",
            "# PDF\n\nRun fill.py",
        ),
        skill("long", &"words ".repeat(1000), &long),
    ];
    let tools = ToolSet::registered(context).unwrap();
    let spec = tools.specs().last().unwrap();
    assert_eq!((spec.name.as_str(), spec.read_only), ("skill", true));
    assert!(
        spec.description
            .contains("\n- pdf: Fills forms.\\nReads \\u{202e}them.\n- long: words")
    );
    assert!(spec.description.len() < 1000);
    assert_eq!(spec.input_schema["required"], json!(["name"]));
    let run = async |input| tools.run("skill", &input, CancellationToken::new()).await;
    let outcome = run(json!({ "name": "pdf" })).await;
    assert_eq!(
        outcome.content,
        "[skill directory, for relative paths: /skills/pdf]\n# PDF\n\nRun fill.py\n"
    );
    assert_eq!(outcome.summary, "3 lines");
    let outcome = run(json!({ "name": "long" })).await;
    assert!(outcome.content.len() < 300 * 1024);
    assert!(outcome.content.ends_with(
        "[truncated: the first 262144 of 500000 bytes; the rest is in /skills/long/SKILL.md]\n"
    ));
    let outcome = run(json!({ "name": "none" })).await;
    assert_eq!(outcome.content, "no such skill; the skills are pdf, long");
    assert_eq!(outcome.summary, "unknown skill");
    assert!(
        run(json!({ "skill": "pdf" }))
            .await
            .content
            .contains("missing field `name`")
    );
}

#[test]
fn the_description_of_many_skills_is_bounded() {
    let skills = (0..500).map(|n| skill(&format!("skill-{n}"), &"d".repeat(500), "x"));
    let mut context = Context::new(PathBuf::from("/"), Vec::new());
    context.skills = skills.collect();
    let tools = ToolSet::registered(context).unwrap();
    let description = &tools.specs().last().unwrap().description;
    assert!(description.len() < 9 * 1024 && description.contains(" more are not listed"));
}
