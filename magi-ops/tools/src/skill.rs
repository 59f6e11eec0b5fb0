//! `skill`: the text of one of the admitted skills, with its directory for the files beside it.
//! Finds and reads nothing itself: the skills were loaded when the process started.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{
    OUTPUT_BYTES, SKILL_DESCRIPTION_CHARS, SKILL_LIST_BYTES, clip_bytes, clip_chars, counted,
    printable,
};
use crate::error::ToolError;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::{Access, Context, DefaultPolicy, Question, Skill, input};

const NAME: &str = "skill";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The skill's name.
    name: String,
}

crate::register! {
    name: NAME,
    position: 80,
    make: |cx| {
        let skills = &cx.skills;
        (!skills.is_empty()).then(|| Arc::new(SkillTool(skills[..].into())) as _)
    },
}

struct SkillTool(Arc<[Skill]>);

impl Tool for SkillTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            looks: false,
            section: section(&self.0),
            ..ToolSpec::reading(NAME, &description(&self.0), input::schema::<Input>())
        }
    }

    fn access(&self, input: &Value, _: &Context) -> Access {
        let name = input.get("name").and_then(Value::as_str);
        Access::new(
            DefaultPolicy::Allow,
            Question::new(NAME, name.unwrap_or_default()),
        )
    }

    /// Only a name that the person gave a skill is said.
    fn subject(&self, input: &Value, _: &Context) -> String {
        let name = input.get("name").and_then(Value::as_str);
        match self
            .0
            .iter()
            .find(|skill| Some(skill.name.as_str()) == name)
        {
            Some(skill) => skill.name.clone(),
            None => String::new(),
        }
    }

    fn run(&self, call: Call, _: Arc<Context>) -> Running {
        let outcome = load(&self.0, &call.input).into();
        Box::pin(async { outcome })
    }
}

/// What the system prompt says of the skills, one a line.
fn section(skills: &[Skill]) -> String {
    let mut section = "# Skills\n\nBefore work that one of these is for, load it with the `skill` tool and follow it.\n\n".to_owned();
    for skill in skills {
        let words: Vec<_> = skill.description.split_whitespace().collect();
        let colon = if words.is_empty() { "" } else { ": " };
        section += &format!("- {}{colon}{}\n", skill.name, words.join(" "));
    }
    section
}

/// What a model is told of the tool, with each skill and what it is for.
fn description(skills: &[Skill]) -> String {
    let mut description =
        "Loads a skill: instructions for one kind of task. Load it before doing such a task. The skills:"
            .to_owned();
    let mut listed = 0;
    for skill in skills {
        let about = printable(clip_chars(
            skill.description.trim(),
            SKILL_DESCRIPTION_CHARS,
        ));
        let line = format!("\n- {}: {about}", printable(&skill.name));
        if description.len() + line.len() > SKILL_LIST_BYTES {
            break;
        }
        description += &line;
        listed += 1;
    }
    if listed < skills.len() {
        description += &format!(
            "\n[{} more are not listed; an unknown name answers with all names]",
            skills.len() - listed
        );
    }
    description
}

fn load(skills: &[Skill], input: &Value) -> Result<Success, ToolError> {
    let input: Input = input::decode(input)?;
    let Some(skill) = skills.iter().find(|skill| skill.name == input.name) else {
        let names: Vec<_> = skills.iter().map(|skill| printable(&skill.name)).collect();
        let names = names.join(", ");
        return Err(ToolError::UnknownSkill(format!(
            "no such skill; the skills are {}",
            clip_bytes(&names, SKILL_LIST_BYTES)
        )));
    };
    let body = clip_bytes(&skill.body, OUTPUT_BYTES);
    let dir = printable(&skill.dir.to_string_lossy());
    let mut content = format!("[skill directory, for relative paths: {dir}]\n{body}");
    if !body.ends_with('\n') {
        content.push('\n');
    }
    if body.len() < skill.body.len() {
        content += &format!(
            "[truncated: the first {} of {} bytes; the rest is in {dir}/SKILL.md]\n",
            body.len(),
            skill.body.len()
        );
    }
    let lines = counted(skill.body.lines().count() as u64, "line", "lines");
    Ok(Success::text(content, lines))
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    #[test]
    fn the_prompt_lists_each_skill_on_one_line() {
        let skill = |name: &str, description: &str| Skill {
            name: name.to_owned(),
            description: description.to_owned(),
            dir: PathBuf::from("/skills"),
            body: "body".to_owned(),
        };
        let section = section(&[skill("pdf", "Fills\n  forms"), skill("z", "")]);
        assert!(section.starts_with("# Skills\n\nBefore work"), "{section}");
        assert!(
            section.ends_with("\n\n- pdf: Fills forms\n- z\n"),
            "{section}"
        );
    }
}
