//! Profiles of the primary agent and of subagents: `agents/<name>.md` of the home directory and of the project.
//! Whether the tools and the model that they name exist is decided above.

use std::collections::BTreeMap;
use std::path::Path;

use super::front_matter::{Document, Reason};
use super::reader::Reader;
use super::{MAX_DESCRIPTION_BYTES, ResourceError, Scopes, is_name};
use crate::settings::MAX_NAME_BYTES;

/// Longest profile, in bytes.
pub const MAX_PROFILE_BYTES: usize = 64 * 1024;
/// Most profiles of one directory.
pub const MAX_PROFILES: usize = 64;
/// Most tools of one profile.
const MAX_TOOLS: usize = 256;

/// One enabled profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Profile {
    /// 1 to 64 of `[a-z0-9-]`; the file's name where the profile says none.
    pub name: String,
    /// At most [`MAX_DESCRIPTION_BYTES`]; empty where the profile says none.
    pub description: String,
    /// The tools that such an agent may use; `None` are all.
    pub tools: Option<Vec<String>>,
    /// The model that it uses, at most [`MAX_NAME_BYTES`]; `None` is the selected one.
    pub model: Option<String>,
    /// What it is told.
    pub body: String,
}

/// By name; `None` is one that is disabled.
type Found = BTreeMap<String, Option<Profile>>;

pub(super) fn load(
    reader: &Reader<'_>,
    scopes: &Scopes<'_>,
) -> Result<Vec<Profile>, ResourceError> {
    let mut all = scope(reader, &scopes.global.join("agents"))?;
    // A project's profile that is disabled hides the global one.
    all.extend(scope(reader, &scopes.project.join("agents"))?);
    Ok(all.into_values().flatten().collect())
}

fn scope(reader: &Reader<'_>, directory: &Path) -> Result<Found, ResourceError> {
    let invalid = |path: &Path, reason| ResourceError::Profile {
        path: path.to_owned(),
        reason,
    };
    let listing = reader
        .names(directory)?
        .ok_or_else(|| invalid(directory, "cannot be read"))?;
    let mut found = Found::new();
    let mut count = 0;
    for name in &listing.names {
        let path = directory.join(name);
        let is_hidden = name.as_encoded_bytes().starts_with(b".");
        if is_hidden || path.extension().is_none_or(|extension| extension != "md") {
            continue;
        }
        count += 1;
        if count > MAX_PROFILES {
            return Err(invalid(&path, "is one too many"));
        }
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let (name, profile) = reader
            .text(&path, MAX_PROFILE_BYTES)?
            .and_then(|text| parse(&text, &stem))
            .map_err(|reason| invalid(&path, reason))?;
        match (found.get_mut(&name), profile) {
            (Some(Some(_)), Some(_)) => return Err(invalid(&path, "has the name of another")),
            // A disabled one beside it is no collision.
            (Some(_), None) => {}
            (Some(slot), profile) => *slot = profile,
            (None, profile) => {
                found.insert(name, profile);
            }
        }
    }
    if listing.more {
        return Err(invalid(directory, "has too many entries beside it"));
    }
    Ok(found)
}

fn parse(text: &str, stem: &str) -> Result<(String, Option<Profile>), Reason> {
    let document = Document::parse(text)?;
    let name = document.text("name")?.unwrap_or(stem);
    if !is_name(name) {
        return Err("has a name beyond `[a-z0-9-]{1,64}`");
    }
    if document.flag("disabled")? {
        return Ok((name.to_owned(), None));
    }
    let description = document.text("description")?.unwrap_or_default();
    if description.len() > MAX_DESCRIPTION_BYTES {
        return Err("has a description that is too long");
    }
    let model = document.text("model")?;
    if model.is_some_and(|model| model.len() > MAX_NAME_BYTES) {
        return Err("names a model that is too long");
    }
    let tools = document.list("tools")?;
    if tools.is_some_and(|tools| tools.len() > MAX_TOOLS) {
        return Err("names too many tools");
    }
    let profile = Profile {
        name: name.to_owned(),
        description: description.to_owned(),
        tools: tools.map(<[String]>::to_vec),
        model: model.map(str::to_owned),
        body: document.body.to_owned(),
    };
    Ok((name.to_owned(), Some(profile)))
}
