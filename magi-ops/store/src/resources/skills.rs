//! Skills: `skills/<name>/SKILL.md` of the home directory and of the project, after collisions and disabling.
//! One that is malformed is left out with a notice; offering and loading them is done above.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::front_matter::{Document, Reason};
use super::reader::Reader;
use super::{MAX_DESCRIPTION_BYTES, Notices, ResourceError, Scopes, is_name};

/// Longest `SKILL.md`, in bytes.
pub const MAX_SKILL_BYTES: usize = 256 * 1024;
/// Most skills.
pub const MAX_SKILLS: usize = 128;
/// Longest bodies of all skills, in bytes.
pub const MAX_SKILLS_BYTES: usize = 8 * 1024 * 1024;

const FILE_NAME: &str = "SKILL.md";

/// One enabled skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// 1 to 64 of `[a-z0-9-]`.
    pub name: String,
    /// What it is for; at most [`MAX_DESCRIPTION_BYTES`], not blank.
    pub description: String,
    /// What a model reads when it loads the skill, as it was at startup.
    pub body: Arc<str>,
    /// Where the skill's other files are.
    pub directory: PathBuf,
}

pub(super) fn load(
    reader: &Reader<'_>,
    scopes: &Scopes<'_>,
    notices: &mut Notices,
) -> Result<Vec<Skill>, ResourceError> {
    // `None` is a skill that is disabled: such a project's skill also hides the global one.
    let mut found: BTreeMap<String, Option<Skill>> = BTreeMap::new();
    let mut bytes = 0;
    for scope in [scopes.project, scopes.global] {
        let directory = scope.join("skills");
        let Some(listing) = reader.names(&directory)? else {
            notices.add("a directory of skills cannot be read".to_owned());
            continue;
        };
        if listing.more {
            notices.add("a directory of skills has too many entries".to_owned());
        }
        for name in &listing.names {
            let Some(candidate) = candidate(reader, &directory, name)? else {
                continue;
            };
            match candidate {
                Err(reason) => notices.add(format!("{} {reason}", shown(name))),
                Ok((name, _)) if found.contains_key(&name) => {}
                Ok((name, None)) => {
                    found.insert(name, None);
                }
                Ok((name, Some(skill))) => {
                    let admitted = found.values().flatten().count();
                    if admitted == MAX_SKILLS || bytes + skill.body.len() > MAX_SKILLS_BYTES {
                        notices.add(format!("the skill `{name}` is one too many"));
                    } else {
                        bytes += skill.body.len();
                        found.insert(name, Some(skill));
                    }
                }
            }
        }
    }
    Ok(found.into_values().flatten().collect())
}

type Candidate = Result<(String, Option<Skill>), Reason>;

/// What stands under one name; `None` when it is no skill's directory.
fn candidate(
    reader: &Reader<'_>,
    directory: &Path,
    name: &OsStr,
) -> Result<Option<Candidate>, ResourceError> {
    let directory = directory.join(name);
    if name.as_encoded_bytes().starts_with(b".") || !directory.is_dir() {
        return Ok(None);
    }
    let Some(name) = name.to_str().filter(|name| is_name(name)) else {
        return Ok(Some(Err("is no name of a skill")));
    };
    let text = reader.text(&directory.join(FILE_NAME), MAX_SKILL_BYTES)?;
    Ok(Some(text.and_then(|text| {
        let skill = parse(&text, name, directory)?;
        Ok((name.to_owned(), skill))
    })))
}

fn parse(text: &str, name: &str, directory: PathBuf) -> Result<Option<Skill>, Reason> {
    let document = Document::parse(text)?;
    if document.text("name")? != Some(name) {
        return Err("has a name that is not its directory's");
    }
    if document.flag("disabled")? {
        return Ok(None);
    }
    let description = document.text("description")?.ok_or("has no description")?;
    if description.len() > MAX_DESCRIPTION_BYTES {
        return Err("has a description that is too long");
    }
    Ok(Some(Skill {
        name: name.to_owned(),
        description: description.to_owned(),
        body: document.body.into(),
        directory,
    }))
}

/// A name in a notice: what is no skill's name may hold anything.
fn shown(name: &OsStr) -> String {
    match name.to_str().filter(|name| is_name(name)) {
        Some(name) => format!("the skill `{name}`"),
        None => "a directory of skills holds one that".to_owned(),
    }
}
