//! Trusting a project: what the person says once, so that its own files count (decisions: "Trust").
//! Where that is kept is the store's part.

use std::path::{Path, PathBuf};

use store::Reason;
use store::settings::EditError;

use super::error::redacted;
use super::{Environment, StartupError};

/// What became of a wish to trust a project, or not to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    /// The project, under its real name.
    pub project: PathBuf,
    /// Whether something else held for it before.
    pub changed: bool,
    /// Whether the person's home directory lies in it, and so nearly everything that is ever cloned.
    pub is_wide: bool,
}

/// Says in the person's settings whether the files of the project in `directory` are trusted. Blocks.
///
/// # Errors
/// When there is no such directory, or the settings can't be used or written, with everything that is
/// wrong, redacted; then nothing is changed.
pub fn trust(
    environment: &Environment,
    directory: &Path,
    trusted: bool,
) -> Result<Trusted, Vec<Reason>> {
    change(environment, directory, trusted)
        .map_err(|reasons| redacted(reasons, &environment.redactor()))
}

fn change(
    environment: &Environment,
    directory: &Path,
    trusted: bool,
) -> Result<Trusted, Vec<Reason>> {
    let directory = environment.cwd.join(directory);
    let unusable =
        |why: String| vec![Reason::of_file(&directory, why).help("name a directory that is there")];
    let project = directory
        .canonicalize()
        .map_err(|error| unusable(format!("this directory cannot be used: {error}")))?;
    if !project.is_dir() {
        return Err(unusable("this is no directory".to_owned()));
    }
    let home = environment.home().map_err(StartupError::into_reasons)?;
    let changed = home.settings().set_trusted(&project, trusted);
    let changed = changed.map_err(EditError::into_reasons)?;
    let user_home = environment.user_home.as_deref();
    let user_home = user_home.and_then(|home| home.canonicalize().ok());
    let is_wide = project.parent().is_none()
        || user_home.is_some_and(|user_home| user_home.starts_with(&project));
    Ok(Trusted {
        project,
        changed,
        is_wide,
    })
}
