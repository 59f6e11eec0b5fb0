//! Changes in settings files: one at a time under a lock over processes, the file replaced whole or not at all, and never
//! over what an editor saved meanwhile. The nearest entry of `projects` counts whole, so whoever adds one for another reason
//! says `trusted` in it as it held before. How a text is changed stands in `edit`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::edit::{Edit, quoted};
use super::layer::{COMMANDS, PermissionLayer};
use super::model::ThinkingLevel;
use super::source::File;
use super::{FILE_NAME, MAX_BYTES, PROJECT_FOLDER};
use crate::file::{self, Found};
use crate::local::LocalHome;
use crate::lock;
use crate::reason::{Reason, first};

/// The lock's name in the home: of whichever file is changed.
const LOCK_NAME: &str = "settings.lock";
/// How long a change by another process is waited for: each is one small file.
const LOCK_WAIT: Duration = Duration::from_secs(5);
/// How often a change is made again because somebody without the lock changed the file meanwhile.
const TRIES: u32 = 5;

/// Which file is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The person's settings.
    Global,
    /// Those of the project in the working directory.
    Project,
}

/// What is to be selected; what is `None` stays as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Change {
    /// The provider and its model.
    pub selection: Option<(String, String)>,
    pub thinking_level: Option<ThinkingLevel>,
    /// Global settings only.
    pub fast: Option<bool>,
}

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file as it is can't be used, so it is left alone; at least one reason.
    #[error("{}", first(.0))]
    Unusable(Vec<Reason>),
    /// Something else than an object, or a list, stands where something was to be put.
    #[error("{}: `{key}` is no object", path.display())]
    NoObject { path: PathBuf, key: String },
    /// JSON has no way to write it.
    #[error("{} is no UTF-8", .0.display())]
    NoText(PathBuf),
    /// Somebody else changed the file each time before this change was in it.
    #[error("{} is changed by somebody else all the time", .0.display())]
    Contended(PathBuf),
    #[error("cannot write {}: {source}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl EditError {
    /// Why, for a person; at least one reason.
    #[must_use]
    pub fn into_reasons(self) -> Vec<Reason> {
        match self {
            Self::Unusable(reasons) => reasons,
            other => vec![Reason::new(other.to_string())],
        }
    }
}

/// See [`super::SettingsStore::set_trusted`].
pub(super) fn set_trusted(
    home: &LocalHome,
    directory: &Path,
    trusted: bool,
) -> Result<bool, EditError> {
    let name = text(directory)?;
    change(home, None, |file| {
        let projects = &file.layer.projects;
        let held = super::Projects::of(projects).trust(directory);
        // Every entry for the directory, however it spells it: the strictest of them counts.
        let entries: Vec<_> = entries(file, directory).collect();
        let mut edits: Vec<_> = entries
            .iter()
            .filter(|(_, own)| own.trusted != Some(trusted) && (trusted || own.trusted.is_some()))
            .map(|(name, _)| Edit::set(&["projects", name, "trusted"], trusted.to_string()))
            .collect();
        // What is not trusted by any entry needs none that says so.
        if entries.is_empty() && (trusted || held) {
            let entry = format!("{{\"trusted\": {trusted}}}");
            edits.push(Edit::set(&["projects", name], entry));
        }
        (held != trusted, edits)
    })
}

/// See [`super::SettingsStore::approve_server`].
pub(super) fn approve_server(
    home: &LocalHome,
    name: &str,
    digest: Option<&str>,
) -> Result<bool, EditError> {
    change(home, None, |file| {
        let held = file.layer.mcp_servers.get(name);
        let held = held.and_then(|server| server.approved.as_deref());
        let changes = held != digest;
        let value = digest.map_or_else(|| "null".to_owned(), quoted);
        let edit = Edit::set(&["mcp_servers", name, "approved"], value);
        (changes, changes.then_some(edit).into_iter().collect())
    })
}

/// See [`super::SettingsStore::allow_command`].
pub(super) fn allow_command(
    home: &LocalHome,
    directory: &Path,
    rule: &str,
) -> Result<bool, EditError> {
    let own = text(directory)?;
    change(home, None, |file| {
        let rule = quoted(rule);
        let mut edits = Vec::new();
        let mut above = directory.ancestors();
        let nearest = above.find_map(|above| Some((above, entries(file, above).next()?)));
        let (name, entry) = match nearest {
            Some((above, (name, entry))) if above == directory => (name, Some(entry)),
            // A new entry counts in place of the one above, so it says the same.
            Some((_, (name, entry))) => {
                let written = file
                    .source
                    .as_ref()
                    .and_then(|source| source.written(&["projects", name, "permissions"]));
                let permissions =
                    written.map_or_else(String::new, |it| format!(", \"permissions\": {it}"));
                let trusted = entry.trusted.unwrap_or_default();
                let said = format!("{{\"trusted\": {trusted}{permissions}}}");
                edits.push(Edit::set(&["projects", own], said));
                (own, Some(entry))
            }
            None => (own, None),
        };
        let path = ["projects", name, "permissions", COMMANDS];
        let rules = entry.and_then(|entry| entry.permissions.0.get(COMMANDS));
        match rules {
            Some(PermissionLayer::Word(word)) => {
                let rules = format!("{{\"default\": {}, \"allow\": [{rule}]}}", json(word));
                edits.push(Edit::set(&path, rules));
            }
            Some(PermissionLayer::Rules(rules))
                if rules.allow.iter().any(|it| quoted(it) == rule) =>
            {
                return (false, Vec::new());
            }
            _ => edits.push(Edit::push(&[&path[..], &["allow"]].concat(), rule)),
        }
        (true, edits)
    })
}

/// See [`super::SettingsStore::change`].
pub(super) fn change_selection(
    home: &LocalHome,
    project: Option<&Path>,
    wanted: &Change,
) -> Result<(), EditError> {
    let mut edits = Vec::new();
    if let Some((provider, model)) = &wanted.selection {
        edits.push(Edit::set(&["provider"], quoted(provider)));
        edits.push(Edit::set(&["model"], quoted(model)));
    }
    if let Some(level) = wanted.thinking_level {
        edits.push(Edit::set(&["thinking_level"], json(&level)));
    }
    if let Some(fast) = wanted.fast {
        edits.push(Edit::set(&["fast"], fast.to_string()));
    }
    change(home, project, |_| ((), edits.clone()))
}

/// A word of the settings as JSON.
fn json(word: &impl serde::Serialize) -> String {
    serde_json::json!(word).to_string()
}

fn text(directory: &Path) -> Result<&str, EditError> {
    directory
        .to_str()
        .ok_or_else(|| EditError::NoText(directory.to_owned()))
}

/// The entries of `projects` for a directory.
fn entries<'a>(
    file: &'a File,
    directory: &Path,
) -> impl Iterator<Item = (&'a str, &'a super::layer::ProjectLayer)> {
    let all = file.layer.projects.iter();
    all.filter(move |(name, _)| super::projects::directory(name).as_deref() == Some(directory))
        .map(|(name, entry)| (name.as_str(), entry))
}

/// Changes the global settings, or those of the project in `project`, by the edits that `decide` names.
pub(super) fn change<T>(
    home: &LocalHome,
    project: Option<&Path>,
    mut decide: impl FnMut(&File) -> (T, Vec<Edit>),
) -> Result<T, EditError> {
    let path = match project {
        None => home.root().join(FILE_NAME),
        Some(project) => of_project(project)?,
    };
    // A linked file is replaced where it really is, so that the link stays one.
    let path = path.canonicalize().unwrap_or(path);
    let failed = |source| EditError::Io {
        path: path.clone(),
        source,
    };
    let lock = lock::open(&home.root().join(LOCK_NAME)).map_err(failed)?;
    if !lock::within(&lock, LOCK_WAIT).map_err(failed)? {
        return Err(failed(io::ErrorKind::WouldBlock.into()));
    }
    for _ in 0..TRIES {
        let found = read(&path)?;
        let bytes = found.clone().unwrap_or_else(|| b"{}\n".to_vec());
        let file = File::of_bytes(&path, bytes.clone());
        if !file.problems.is_empty() {
            return Err(EditError::Unusable(file.problems.into_vec()));
        }
        let (answer, edits) = decide(&file);
        let mut text = String::from_utf8(bytes)
            .map_err(|error| failed(io::Error::new(io::ErrorKind::InvalidData, error)))?;
        for edit in &edits {
            text = edit.apply(&text).map_err(|key| EditError::NoObject {
                path: path.clone(),
                key,
            })?;
        }
        if found.as_deref().unwrap_or(b"{}\n") == text.as_bytes() {
            return Ok(answer);
        }
        let is_new = found.is_none();
        if is_new && let Some(project) = project {
            make_folder(project).map_err(failed)?;
        }
        let mode = match is_new {
            true => 0o600,
            false => fs::metadata(&path).map_err(failed)?.permissions().mode() & 0o7777,
        };
        // An editor knows no lock: what it saved since the reading is not written over.
        if read(&path)? == found {
            file::replace(&path, text.as_bytes(), mode, home.staging()).map_err(failed)?;
            return Ok(answer);
        }
    }
    Err(EditError::Contended(path))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, EditError> {
    file::read(path, MAX_BYTES).map_err(|why| EditError::Unusable(vec![*why]))
}

/// Where the settings of a project are. One that would not be read is not written either: it is a file of somebody else's.
fn of_project(project: &Path) -> Result<PathBuf, EditError> {
    let path = project.join(PROJECT_FOLDER).join(FILE_NAME);
    match file::open_inside(&path, project) {
        Ok(Found::Missing | Found::There(_)) => Ok(path),
        Ok(Found::Ignored(why)) => Err(EditError::Unusable(vec![Reason::of_file(&path, why)])),
        Err(error) => Err(EditError::Unusable(vec![file::unreadable(&path, &error)])),
    }
}

fn make_folder(project: &Path) -> io::Result<()> {
    match DirBuilder::new()
        .mode(0o755)
        .create(project.join(PROJECT_FOLDER))
    {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}
