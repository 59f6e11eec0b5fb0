//! Startup: what a process admits once, as one snapshot: storage roots, settings, provider, context.
//! Blocking; runs on one worker. Nothing here is read again for a running process.

use std::path::PathBuf;
use std::sync::Arc;

use provider::{FIXTURE_ID, Fixture, Provider};
use store::settings::{Overrides, Settings};
use store::{Home, Redactor, context_id};

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
}

impl Environment {
    /// Captures the process's own.
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
        })
    }

    fn var(&self, name: &str) -> Option<&str> {
        self.vars
            .iter()
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.as_str())
    }

    fn overrides(&self) -> Overrides<'_> {
        Overrides {
            provider: self.var("MC_PROVIDER"),
            model: self.var("MC_MODEL"),
        }
    }

    pub(crate) fn redactor(&self) -> Redactor {
        Redactor::new(
            self.vars
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )
    }
}

/// Why initialization failed (spec: local-agent, "Startup errors").
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartupError {
    #[error("the settings are not valid")]
    ConfigurationInvalid,
    #[error("the selected provider is not available")]
    ProviderUnavailable,
    #[error("startup was cancelled")]
    Cancelled,
    #[error("startup failed")]
    Failed,
}

/// Why a request to initialize gave no readiness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InitializeError {
    #[error("initialization was admitted before")]
    AlreadyInitialized,
    #[error(transparent)]
    Startup(#[from] StartupError),
}

/// What startup may tell of itself, as far as it got: selection and context.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reached {
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) context_id: Option<String>,
}

pub(crate) fn admit(
    environment: &Environment,
    reached: &mut Reached,
) -> Result<(), StartupError> {
    let redactor = environment.redactor();
    let cwd = environment
        .cwd
        .canonicalize()
        .map_err(|_| StartupError::Failed)?;
    let location = Home::locate(
        environment.mc_home.as_deref(),
        environment.user_home.as_deref(),
        &environment.cwd,
    )
    .map_err(|_| StartupError::Failed)?;
    let home = Home::prepare(&location).map_err(|_| StartupError::Failed)?;
    // Captured once, after the runtime directories exist.
    let context_id = context_id(&cwd, &home.roots());
    reached.context_id = Some(context_id.clone());
    let settings = Settings::load(home.root(), &cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    reached.provider = public_name(&redactor, &settings.provider);
    reached.model = settings
        .model
        .as_deref()
        .and_then(|model| public_name(&redactor, model));
    select(&settings).map(drop)
}

/// The selected provider, as far as this build has it.
fn select(settings: &Settings) -> Result<Arc<dyn Provider>, StartupError> {
    if settings.provider != FIXTURE_ID {
        return Err(StartupError::ProviderUnavailable);
    }
    let script = settings
        .providers
        .get(FIXTURE_ID)
        .and_then(|fixture| fixture.script.as_deref());
    Ok(Arc::new(match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|_| StartupError::ConfigurationInvalid)?,
    }))
}

/// A provider or model name that may be shown; omitted when secret-like or control-bearing.
fn public_name(redactor: &Redactor, name: &str) -> Option<String> {
    let shown = !redactor.is_secret_like(name) && !name.chars().any(char::is_control);
    shown.then(|| name.to_owned())
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let location = Home::locate(
        environment.mc_home.as_deref(),
        environment.user_home.as_deref(),
        &environment.cwd,
    )
    .map_err(|_| StartupError::Failed)?;
    let settings = Settings::load(&location, &environment.cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    Ok(select(&settings).is_ok())
}

/// Creates the home's directories; see [`Home::prepare`].
pub(crate) fn prepare(environment: &Environment) -> Result<(), StartupError> {
    Home::locate(
        environment.mc_home.as_deref(),
        environment.user_home.as_deref(),
        &environment.cwd,
    )
    .and_then(|location| Home::prepare(&location))
    .map(drop)
    .map_err(|_| StartupError::Failed)
}
