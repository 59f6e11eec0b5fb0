//! `skill`: the text of one of the admitted skills, with its directory for the files beside it.
//! Finds and reads nothing itself: the skills were loaded when the process started.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{
    OUTPUT_BYTES, SKILL_DESCRIPTION_CHARS, SKILL_LIST_BYTES, clip_bytes, clip_chars, counted,
    printable,
};
use crate::error::ToolError;
use crate::{Done, ToolSpec, input};

pub(crate) const NAME: &str = "skill";

/// A skill as it was admitted (the Agent Skills convention).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    pub name: String,
    /// What it is for; models choose by it.
    pub description: String,
    /// Where `SKILL.md` and the files beside it are.
    pub dir: PathBuf,
    /// The Markdown after the front matter. At most 256 KiB of it are shown.
    pub body: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The skill's name.
    name: String,
}

/// The tool, if there is a skill to load.
pub(crate) fn spec(skills: &[Skill]) -> Option<ToolSpec> {
    if skills.is_empty() {
        return None;
    }
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
    Some(ToolSpec {
        name: NAME,
        description,
        input_schema: input::schema::<Input>(),
        read_only: true,
    })
}

pub(crate) fn load(skills: &[Skill], input: &Value) -> Result<Done, ToolError> {
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
    Ok(Done {
        content,
        summary: format!(
            "{} ({})",
            skill.name,
            counted(skill.body.lines().count() as u64, "line", "lines")
        ),
    })
}
