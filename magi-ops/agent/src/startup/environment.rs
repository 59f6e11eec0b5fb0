//! Where a process runs and what its environment says; where the home is, from both.
//! Captured once by the main; nothing here reads a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use store::settings::{Overrides, Settings, SettingsError};
use store::{Home, LocalHome, Reason, Redactor};

use super::StartupError;

/// Where a process runs and what its environment says, captured by the main.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub cwd: PathBuf,
    /// `MC_HOME`.
    pub mc_home: Option<PathBuf>,
    /// The person's home directory.
    pub user_home: Option<PathBuf>,
    /// Every environment variable that is valid UTF-8.
    pub vars: Vec<(String, String)>,
    /// Sessions that were saved with another selection go on with that of the start all the same: a person chose it.
    pub insists: bool,
    /// What knows the secrets of `vars`, shared with whoever else shows something; made from them without it.
    pub redactor: Option<Redactor>,
}

impl Environment {
    /// Captures the process's own.
    ///
    /// # Errors
    /// When the current directory is gone.
    pub fn of_process() -> std::io::Result<Self> {
        Ok(Self {
            cwd: std::env::current_dir()?,
            mc_home: std::env::var_os("MC_HOME").map(PathBuf::from),
            user_home: std::env::home_dir(),
            vars: std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            insists: false,
            redactor: None,
        })
    }

    pub(super) fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    pub(crate) fn overrides(&self) -> Overrides<'_> {
        Overrides {
            provider: self.var("MC_PROVIDER"),
            model: self.var("MC_MODEL"),
        }
    }

    /// Whether the environment names a provider or a model.
    pub(super) fn selects(&self) -> bool {
        let Overrides { provider, model } = self.overrides();
        [provider, model]
            .into_iter()
            .flatten()
            .any(|name| !name.is_empty())
    }

    /// The person's home, whose directories are there afterwards: the one place that says what kind of home it is.
    /// Blocks.
    pub(crate) fn home(&self) -> Result<Arc<dyn Home>, StartupError> {
        Ok(Arc::new(LocalHome::prepare(&self.home_location()?)?))
    }

    /// The same to look at: nothing is made, and nothing need be there.
    pub(crate) fn home_as_it_is(&self) -> Result<LocalHome, StartupError> {
        Ok(LocalHome::at(&self.home_location()?))
    }

    fn home_location(&self) -> Result<PathBuf, StartupError> {
        let (mc_home, user_home) = (self.mc_home.as_deref(), self.user_home.as_deref());
        Ok(LocalHome::locate(mc_home, user_home, &self.cwd)?)
    }

    /// The working directory under its real name.
    pub(crate) fn canonical_cwd(&self) -> Result<PathBuf, StartupError> {
        canonical(&self.cwd)
    }

    /// The settings of a home and a working directory, as this process sees them.
    pub(crate) fn settings(&self, home: &dyn Home, cwd: &Path) -> Result<Settings, SettingsError> {
        let tools = tools::registered_names();
        home.settings().load(cwd, self.overrides(), &tools)
    }

    pub(crate) fn redactor(&self) -> Redactor {
        if let Some(redactor) = &self.redactor {
            return redactor.clone();
        }
        Redactor::new(
            self.vars
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )
    }
}

/// A working directory under its real name.
pub(super) fn canonical(directory: &Path) -> Result<PathBuf, StartupError> {
    let refused = |why: String| {
        let reason = Reason::of_file(directory, why);
        StartupError::failed(reason.help("start in a directory that is there"))
    };
    let cwd = directory
        .canonicalize()
        .map_err(|error| refused(format!("this working directory cannot be used: {error}")))?;
    if !cwd.is_dir() {
        return Err(refused("this working directory is no directory".to_owned()));
    }
    Ok(cwd)
}
