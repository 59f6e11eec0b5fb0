//! Skills: `skills/<name>/SKILL.md` of the home directory and of the project, after collisions and disabling.
//! One that is malformed is left out with a notice; offering and loading them is done above.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::front_matter::{Document, Fault};
use super::reader::{Left, Owner, Reader};
use super::{MAX_DESCRIPTION_BYTES, ResourceError, Scopes, faulty, ignored, is_name, unknown};
use crate::file;
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
                notices.add(Reason::of_file(&directory, why).help(super::READABLE));
                continue;
            }
        };
        if listing.more {
            let why = "this directory of skills has too many entries";
            notices.add(Reason::of_file(&directory, why).help("keep skills alone in it"));
        }
        for name in &listing.names {
            let path = directory.join(name).join(FILE_NAME);
            match candidate(reader, &directory, name, owner, notices) {
                Ok(None) => {}
                Err(Left::Stopped(error)) => return Err(error),
                Err(Left::Faulty(mut fault)) => {
                    fault.help.push_str("; it is left out until then");
                    notices.add(faulty(&path, &shown(name), fault));
                }
                Err(Left::Ignored(why)) => notices.add(ignored(&path, why, owner)),
                Ok(Some((name, _))) if found.contains_key(&name) => {}
                Ok(Some((name, None))) => drop(found.insert(name, None)),
                Ok(Some((name, Some(skill)))) => {
                    let admitted = found.values().flatten().count();
                    if admitted == MAX_SKILLS || bytes + skill.body.len() > MAX_SKILLS_BYTES {
                        let why = format!("the skill `{name}` is one too many");
                        let help = "remove or disable one that you need less";
                        notices.add(Reason::of_file(&path, why).help(help));
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

/// What stands under one name, without a skill where that is disabled; `None` when it is no skill's directory.
fn candidate(
    reader: &Reader<'_>,
    directory: &Path,
    name: &OsStr,
    owner: Owner<'_>,
    notices: &mut Reasons,
) -> Result<Option<(String, Option<Skill>)>, Left> {
    let directory = directory.join(name);
    if name.as_encoded_bytes().starts_with(b".") {
        return Ok(None);
    }
    if file::is_dangling(&directory) {
        let fault = Fault::new("is a link that cannot be followed").help(file::RELINK);
        return Err(fault.into());
    }
    if !directory.is_dir() {
        return Ok(None);
    }
    let Some(name) = name.to_str().filter(|name| is_name(name)) else {
        let help = "rename the directory: 1 to 64 of a-z, 0-9 and `-`";
        return Err(Fault::new("is no name of a skill").help(help).into());
    };
    let missing = || Fault::new("is missing").help("put the skill's SKILL.md there");
    let path = directory.join(FILE_NAME);
    let text = reader.text(&path, MAX_SKILL_BYTES, owner, missing)?;
    let skill = parse(&text, name, directory, notices)?;
    Ok(Some((name.to_owned(), skill)))
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
        let help = format!("write `name: {name}`, or rename the directory");
        return Err(Fault::at(document.place("name"), why).help(help));
    }
    if document.flag("disabled")? {
        return Ok(None);
    }
    for member in document.unknown(&MEMBERS, &["disabled"])? {
        notices.add(unknown(member, &directory.join(FILE_NAME)));
    }
    let description = document.text("description")?;
    let missing = || Fault::new("has no description").help("say in `description` what it is for");
    let description = description.ok_or_else(missing)?;
    if description.len() > MAX_DESCRIPTION_BYTES {
        let why = "has a description that is too long";
        let help = format!("shorten it to {MAX_DESCRIPTION_BYTES} bytes");
        return Err(Fault::at(document.place("description"), why).help(help));
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
