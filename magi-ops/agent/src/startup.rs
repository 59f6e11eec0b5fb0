//! Startup: what a process admits once, as one snapshot: storage roots, settings, provider, context.
//! Blocking; runs on one worker. Nothing here is read again for a running process.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use provider::{FIXTURE_ID, FIXTURE_MODEL, Fixture, Provider};
use store::sessions::Sessions;
use store::settings::{Overrides, Permission, Settings};
use store::{Home, Redactor, context_id};
use tools::Toolbox;

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
    /// Whether the other side can answer an approval. Where it can't, what the settings say to ask for
    /// is denied at once.
    pub can_ask: bool,
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
            can_ask: false,
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

    fn home(&self) -> Result<PathBuf, StartupError> {
        Home::locate(
            self.mc_home.as_deref(),
            self.user_home.as_deref(),
            &self.cwd,
        )
        .map_err(|_| StartupError::Failed)
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

/// A provider and one of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    pub(crate) provider: String,
    pub(crate) model: String,
}

/// Everything that a process works with, as it was at startup.
pub(crate) struct Admitted {
    /// Canonical.
    pub(crate) cwd: PathBuf,
    pub(crate) sessions: Sessions,
    pub(crate) redactor: Redactor,
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) selection: Selection,
    pub(crate) toolbox: Toolbox,
    /// The tools that a model is offered: all that are not denied.
    pub(crate) tools: Vec<provider::ToolSpec>,
    /// Models of the provider.
    models: Vec<String>,
    permissions: BTreeMap<String, Permission>,
    /// See [`Environment::can_ask`].
    pub(crate) can_ask: bool,
}

impl Admitted {
    /// Whether a selection is one of this process's provider.
    pub(crate) fn offers(&self, selection: &Selection) -> bool {
        selection.provider == self.provider.id() && self.models.contains(&selection.model)
    }

    /// What the tool `name` may do; a tool that changes something asks by default. A name that
    /// is no tool's has nothing to ask for: the toolbox refuses it.
    pub(crate) fn permission(&self, name: &str) -> Permission {
        self.permissions
            .get(name)
            .copied()
            .unwrap_or(Permission::Allow)
    }

    /// A name as it may be shown; see [`public_name`].
    pub(crate) fn public_name(&self, name: &str) -> Option<String> {
        public_name(&self.redactor, name)
    }
}

impl std::fmt::Debug for Admitted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Admitted")
            .field("selection", &self.selection)
            .finish_non_exhaustive()
    }
}

pub(crate) fn admit(
    environment: &Environment,
    reached: &mut Reached,
) -> Result<Admitted, StartupError> {
    let cwd = environment
        .cwd
        .canonicalize()
        .map_err(|_| StartupError::Failed)?;
    let home = Home::prepare(&environment.home()?).map_err(|_| StartupError::Failed)?;
    // Captured once, after the runtime directories exist.
    reached.context_id = Some(context_id(&cwd, &home.roots()));
    let mut settings = Settings::load(home.root(), &cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    let redactor = environment
        .redactor()
        .knowing(named_keys(&settings, environment));
    reached.provider = public_name(&redactor, &settings.provider);
    reached.model = settings
        .model
        .as_deref()
        .and_then(|model| public_name(&redactor, model));
    let Selected {
        provider,
        selection,
        models,
    } = select(&settings)?;
    let mut tools = Vec::new();
    for spec in Toolbox::specs() {
        let permission =
            *settings
                .permissions
                .entry(spec.name.to_owned())
                .or_insert(if spec.read_only {
                    Permission::Allow
                } else {
                    Permission::Ask
                });
        if permission != Permission::Deny {
            tools.push(provider::ToolSpec {
                name: spec.name.to_owned(),
                description: spec.description.to_owned(),
                input_schema: spec.input_schema,
            });
        }
    }
    Ok(Admitted {
        sessions: Sessions::new(&home),
        toolbox: Toolbox::new(cwd.clone(), home.hidden()),
        tools,
        cwd,
        redactor,
        provider,
        selection,
        models,
        permissions: settings.permissions,
        can_ask: environment.can_ask,
    })
}

/// The keys that settings name by their variables, whatever those are called.
fn named_keys<'a>(
    settings: &'a Settings,
    environment: &'a Environment,
) -> impl Iterator<Item = &'a str> {
    settings
        .providers
        .values()
        .filter_map(|provider| environment.var(provider.api_key_env.as_deref()?))
}

struct Selected {
    provider: Arc<dyn Provider>,
    selection: Selection,
    models: Vec<String>,
}

/// The selected provider and model, as far as this build has them.
fn select(settings: &Settings) -> Result<Selected, StartupError> {
    let model = settings
        .model
        .clone()
        .filter(|_| settings.provider == FIXTURE_ID)
        .ok_or(StartupError::ProviderUnavailable)?;
    let fixture = settings.providers.get(FIXTURE_ID);
    let mut models = vec![FIXTURE_MODEL.to_owned()];
    models.extend(fixture.iter().flat_map(|fixture| fixture.models.clone()));
    if !models.contains(&model) {
        return Err(StartupError::ProviderUnavailable);
    }
    let script = fixture.and_then(|fixture| fixture.script.as_deref());
    let provider = match script {
        None => Fixture::demonstration(),
        Some(path) => Fixture::from_script(path).map_err(|_| StartupError::ConfigurationInvalid)?,
    };
    Ok(Selected {
        provider: Arc::new(provider),
        selection: Selection {
            provider: settings.provider.clone(),
            model,
        },
        models,
    })
}

/// A provider or model name that may be shown; omitted when secret-like or control-bearing.
fn public_name(redactor: &Redactor, name: &str) -> Option<String> {
    let shown = !redactor.is_secret_like(name) && !name.chars().any(char::is_control);
    shown.then(|| name.to_owned())
}

/// Whether the selection as it is configured now could authenticate. Reads settings and environment
/// again; refreshes nothing and asks nobody.
pub(crate) fn provider_ready(environment: &Environment) -> Result<bool, StartupError> {
    let home = environment.home()?;
    let settings = Settings::load(&home, &environment.cwd, environment.overrides())
        .map_err(|_| StartupError::ConfigurationInvalid)?;
    store::auth::check(&home).map_err(|_| StartupError::Failed)?;
    Ok(has_credential(&settings, environment))
}

/// Whether the selection has what it needs to authenticate, whatever this build can do with it.
fn has_credential(settings: &Settings, environment: &Environment) -> bool {
    let filled = |name: &str| environment.var(name).is_some_and(|value| !value.is_empty());
    match (
        settings.provider.as_str(),
        settings.providers.get(&settings.provider),
    ) {
        (FIXTURE_ID, _) => true,
        ("anthropic", _) => filled("ANTHROPIC_API_KEY"),
        // A custom provider says where its key is, or that it needs none.
        (_, Some(custom)) if custom.api.is_some() => {
            custom.api_key_env.as_deref().is_none_or(filled)
        }
        _ => false,
    }
}

/// Creates the home's directories; see [`Home::prepare`].
pub(crate) fn prepare(environment: &Environment) -> Result<(), StartupError> {
    Home::prepare(&environment.home()?)
        .map(drop)
        .map_err(|_| StartupError::Failed)
}
