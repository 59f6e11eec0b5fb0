//! Changes in settings files: one at a time under a lock over processes, the file replaced whole or not at all, and never
//! over what an editor saved meanwhile. The nearest entry of `projects` counts whole, so whoever adds one for another reason
//! says `trusted` in it as it held before. How a text is changed stands in `edit`.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::edit::{Edit, quoted};
use super::folder::Folder;
use super::layer::{COMMANDS, PermissionLayer};
use super::source::File;
use super::{FILE_NAME, MAX_BYTES, PROJECT_FOLDER, SettingsError};
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

/// Why a change is not accepted.
pub type Refusal = Box<dyn std::error::Error + Send + Sync>;

/// Why settings were not changed.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The file as it is can't be used, so it is left alone; at least one reason.
    #[error("{}", first(.0))]
    Unusable(Vec<Reason>),
    /// The project has no settings of its own that would be read.
    #[error("{0}")]
    NoProject(Box<Reason>),
    /// Something else than an object, or a list, stands where something was to be put.
    #[error("{}: `{key}` is no object", path.display())]
    NoObject { path: PathBuf, key: String },
    /// JSON has no way to write it.
    #[error("{} is no UTF-8", .0.display())]
    NoText(PathBuf),
    /// The settings that all layers would make can't be used; at least one reason.
    #[error(transparent)]
    Effect(Box<SettingsError>),
    /// Whoever was asked does not accept the settings that all layers would make.
    #[error("the change is refused")]
    Refused(#[source] Refusal),
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
            Self::NoProject(reason) => vec![*reason],
            Self::Effect(error) => error.into_reasons(),
            Self::Refused(why) => vec![Reason::new(why.to_string())],
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

/// A word of the settings as JSON.
pub(super) fn json(word: &impl serde::Serialize) -> String {
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
    decide: impl FnMut(&File) -> (T, Vec<Edit>),
) -> Result<T, EditError> {
    change_seen(home, project, decide, |answer, _| Ok(answer))
}

/// The same; `accept` gets what the file is to hold before it does.
pub(super) fn change_seen<T, U>(
    home: &LocalHome,
    project: Option<&Path>,
    mut decide: impl FnMut(&File) -> (T, Vec<Edit>),
    mut accept: impl FnMut(T, &[u8]) -> Result<U, EditError>,
) -> Result<U, EditError> {
    let path = match project {
        None => home.root().join(FILE_NAME),
        Some(project) => of_project(home, project)?,
    };
    // A linked file is replaced where it really is, so that the link stays one.
    let path = path.canonicalize().unwrap_or(path);
    let failed = |source| EditError::Io {
        path: path.clone(),
        source,
    };
    let lock = lock::open(&home.root().join(LOCK_NAME)).map_err(failed)?;
    if !lock::within(&lock, LOCK_WAIT).map_err(failed)? {
        return Err(failed(lock::held()));
    }
    for _ in 0..TRIES {
        let found = read(&path)?;
        let bytes = found.clone().unwrap_or_else(|| b"{}\n".to_vec());
        let file = File::of_bytes(&path, bytes.clone(), &[]);
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
        if text.len() as u64 > MAX_BYTES {
            return Err(failed(io::ErrorKind::FileTooLarge.into()));
        }
        let answer = accept(answer, text.as_bytes())?;
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
        let is_same = || read(&path).is_ok_and(|now| now == found);
        let placed = file::replace_if(&path, text.as_bytes(), mode, home.staging(), is_same);
        if placed.map_err(failed)? {
            return Ok(answer);
        }
    }
    Err(EditError::Contended(path))
}

fn read(path: &Path) -> Result<Option<Vec<u8>>, EditError> {
    file::read(path, MAX_BYTES).map_err(|why| EditError::Unusable(vec![*why]))
}

/// Where the settings of a project are. One that would not be read is not written either: it is a file of somebody else's.
fn of_project(home: &LocalHome, project: &Path) -> Result<PathBuf, EditError> {
    let folder = project.join(PROJECT_FOLDER);
    let path = folder.join(FILE_NAME);
    if Folder::is_home(&folder, home.root()) {
        let why = "these are the person's own settings, so the project has none of its own";
        let reason = Reason::of_file(&path, why).help("change the global ones");
        return Err(EditError::NoProject(Box::new(reason)));
    }
    match file::open_inside(&path, project) {
        Ok(Found::Missing | Found::There(_)) => Ok(path),
        Ok(Found::Ignored(why)) => Err(EditError::NoProject(Box::new(Reason::of_file(&path, why)))),
        Err(error) => Err(EditError::Unusable(vec![file::unreadable(&path, &error)])),
    }
}

/// See [`super::SettingsStore::has_project`].
pub(super) fn has_project(home: &LocalHome, project: &Path) -> bool {
    !matches!(of_project(home, project), Err(EditError::NoProject(_)))
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
