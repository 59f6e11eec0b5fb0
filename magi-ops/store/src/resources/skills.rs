//! Skills: `skills/<name>/SKILL.md` of the home directory and of the project, after collisions and disabling.
//! One that is malformed is left out with a notice; offering and loading them is done above.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::front_matter::{Document, Fault};
use super::reader::{Content, Owner, Reader};
use super::{MAX_DESCRIPTION_BYTES, ResourceError, Scopes, faulty, ignored, is_name, unknown};
use crate::reason::{Reason, Reasons};

/// Longest `SKILL.md`, in bytes.
pub const MAX_SKILL_BYTES: usize = 256 * 1024;
/// Most skills.
pub const MAX_SKILLS: usize = 128;
/// Longest bodies of all skills, in bytes.
pub const MAX_SKILLS_BYTES: usize = 8 * 1024 * 1024;

const FILE_NAME: &str = "SKILL.md";

/// What a front matter may hold: what is read here, and what the format has for others.
const MEMBERS: [&str; 7] = [
    "name",
    "description",
    "disabled",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

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
    notices: &mut Reasons,
) -> Result<Vec<Skill>, ResourceError> {
    // `None` is a skill that is disabled: such a project's skill also hides the global one.
    let mut found: BTreeMap<String, Option<Skill>> = BTreeMap::new();
    let mut bytes = 0;
    let project = scopes.of_project("skills", notices);
    let global = scopes.global.join("skills");
    let directories = project.map(|directory| (directory, scopes.owner));
    for (directory, owner) in directories.into_iter().chain([(global, Owner::Person)]) {
        let listing = match reader.names(&directory)? {
            Ok(listing) => listing,
            Err(error) => {
                let why = format!("this directory of skills cannot be read: {error}");
                notices.add(Reason::of_file(&directory, why));
                continue;
            }
        };
        if listing.more {
            let why = "this directory of skills has too many entries";
            notices.add(Reason::of_file(&directory, why));
        }
        for name in &listing.names {
            let path = directory.join(name).join(FILE_NAME);
            let Some(candidate) = candidate(reader, &directory, name, owner, notices)? else {
                continue;
            };
            match candidate {
                Err(Left::Faulty(fault)) => {
                    notices.add(faulty(&path, &shown(name), fault).help(MEND));
                }
                Err(Left::Ignored(why)) => notices.add(ignored(&path, why)),
                Ok((name, _)) if found.contains_key(&name) => {}
                Ok((name, None)) => {
                    found.insert(name, None);
                }
                Ok((name, Some(skill))) => {
                    let admitted = found.values().flatten().count();
                    if admitted == MAX_SKILLS || bytes + skill.body.len() > MAX_SKILLS_BYTES {
                        let why = format!("the skill `{name}` is one too many");
                        notices.add(Reason::of_file(&path, why));
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

/// What to do about a skill that is left out.
const MEND: &str = "it is left out until that is mended";

/// Why a skill is left out.
enum Left {
    Faulty(Fault),
    Ignored(&'static str),
}

impl From<Fault> for Left {
    fn from(fault: Fault) -> Self {
        Self::Faulty(fault)
    }
}

type Candidate = Result<(String, Option<Skill>), Left>;

/// What stands under one name; `None` when it is no skill's directory.
fn candidate(
    reader: &Reader<'_>,
    directory: &Path,
    name: &OsStr,
    owner: Owner<'_>,
    notices: &mut Reasons,
) -> Result<Option<Candidate>, ResourceError> {
    let directory = directory.join(name);
    if name.as_encoded_bytes().starts_with(b".") || !directory.is_dir() {
        return Ok(None);
    }
    let Some(name) = name.to_str().filter(|name| is_name(name)) else {
        return Ok(Some(Err(Fault::new("is no name of a skill").into())));
    };
    let text = match reader.text(&directory.join(FILE_NAME), MAX_SKILL_BYTES, owner)? {
        Ok(Content::Read(text)) => text,
        Ok(Content::Missing) => return Ok(Some(Err(Fault::new("is missing").into()))),
        Ok(Content::Ignored(why)) => return Ok(Some(Err(Left::Ignored(why)))),
        Err(fault) => return Ok(Some(Err(fault.into()))),
    };
    let skill = parse(&text, name, directory, notices);
    Ok(Some(
        skill
            .map(|skill| (name.to_owned(), skill))
            .map_err(Left::from),
    ))
}

fn parse(
    text: &str,
    name: &str,
    directory: PathBuf,
    notices: &mut Reasons,
) -> Result<Option<Skill>, Fault> {
    let document = Document::parse(text)?;
    if document.text("name")? != Some(name) {
        let why = "has a name that is not its directory's";
        return Err(Fault::at(document.place("name"), why));
    }
    if document.flag("disabled")? {
        return Ok(None);
    }
    for member in document.unknown(&MEMBERS, &["disabled"])? {
        notices.add(unknown(member, &directory.join(FILE_NAME)));
    }
    let description = document.text("description")?;
    let description = description.ok_or_else(|| Fault::new("has no description"))?;
    if description.len() > MAX_DESCRIPTION_BYTES {
        let why = "has a description that is too long";
        return Err(Fault::at(document.place("description"), why));
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
