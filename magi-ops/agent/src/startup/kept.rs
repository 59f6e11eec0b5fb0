//! What a person's commands on stored sessions begin with: the home as it is, and a redactor that knows what is secret
//! there. Nothing is made and nothing started.

use store::settings::Settings;
use store::{LocalHome, Reason, Redactor};

use super::servers::keep_secret;
use super::workspace::{learn_accounts, named_keys};
use super::{Environment, StartupError};

/// The home, and what must not be shown of it. Settings that can't be read keep nobody from their sessions. Blocks.
pub(crate) fn kept(environment: &Environment) -> Result<(LocalHome, Redactor), Vec<Reason>> {
    let home = environment
        .home_as_it_is()
        .map_err(StartupError::into_reasons)?;
    let redactor = environment.redactor();
    learn_accounts(&home, &redactor);
    match environment.settings(&home, &environment.cwd) {
        Ok(settings) => learn(&settings, environment, &redactor),
        Err(error) => learn(error.usable(), environment, &redactor),
    }
    Ok((home, redactor))
}

fn learn(settings: &Settings, environment: &Environment, redactor: &Redactor) {
    redactor.learn(named_keys(settings, environment));
    keep_secret(&settings.mcp_servers, redactor);
}

/// For how many days sessions of a directory are kept; 0 for ever.
///
/// # Errors
/// When its settings can't be read.
pub(crate) fn retention_days(
    environment: &Environment,
    home: &LocalHome,
    cwd: &std::path::Path,
) -> Result<u32, Vec<Reason>> {
    let settings = environment.settings(home, cwd);
    let settings = settings.map_err(store::settings::SettingsError::into_reasons)?;
    Ok(settings.retention_days)
}
