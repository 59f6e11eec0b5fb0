//! What a person wishes at a prompt: another model, and that some commands run without a question from now on.
//! How the latter is written is the store's part.

use store::Reason;
use store::sessions::{MAX_LIST_ITEMS, SessionId, verify_cwd};
use store::settings::{BUILT_IN, EditError};

use super::error::redacted;
use super::person::known;
use super::{Environment, StartupError};

/// Most sessions whose directory is looked at, the newest first.
const MOST_LOOKED_AT: usize = 1_000;

/// A model that a person named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// `None` for the selected one.
    pub provider: Option<String>,
    pub model: String,
}

/// Reads `[PROVIDER/]MODEL`. What stands before the first `/` is a provider only where there is one of that name: models
/// have slashes in their names too. Whether the provider has that model is not looked at. Blocks.
///
/// # Errors
/// When the settings can't be read, with everything that is wrong, redacted.
pub fn choose(environment: &Environment, named: &str) -> Result<Chosen, Vec<Reason>> {
    let settings =
        known(environment).map_err(|reasons| redacted(reasons, &environment.redactor()))?;
    let parts = named.split_once('/').filter(|(provider, model)| {
        let is_known = BUILT_IN.contains(provider) || settings.providers.contains_key(*provider);
        is_known && !model.is_empty()
    });
    Ok(match parts {
        Some((provider, model)) => Chosen {
            provider: Some(provider.to_owned()),
            model: model.to_owned(),
        },
        None => Chosen {
            provider: None,
            model: named.to_owned(),
        },
    })
}

/// The session of the working directory that changed last. One that another process has, or that can't be read, is passed
/// over. Blocks.
///
/// # Errors
/// When there is no list of sessions, redacted.
pub fn latest_session(environment: &Environment) -> Result<Option<SessionId>, Vec<Reason>> {
    let found = || {
        let reasons = StartupError::into_reasons;
        let cwd = environment.canonical_cwd().map_err(reasons)?;
        let home = environment.home().map_err(reasons)?;
        let (sessions, redactor) = (home.sessions(), environment.redactor());
        let mut all = Vec::new();
        let mut after = None;
        loop {
            let page = sessions.list(after.as_ref(), MAX_LIST_ITEMS, &redactor);
            let page = page.map_err(|error| {
                let why = std::error::Error::source(&error).map(|why| format!(": {why}"));
                vec![Reason::new(format!("{error}{}", why.unwrap_or_default()))]
            })?;
            all.extend(page.sessions.into_iter().map(|it| (it.updated_at, it.id)));
            match page.next_after {
                Some(next) if page.truncated => after = Some(next),
                _ => break,
            }
        }
        all.sort();
        let is_here = |id: &SessionId| {
            let head = sessions.attach(id).and_then(|lease| lease.head());
            head.is_ok_and(|head| matches!(verify_cwd(&head, &cwd), Ok(true)))
        };
        let newest = all.into_iter().rev().map(|(_, id)| id);
        Ok(newest.take(MOST_LOOKED_AT).find(is_here))
    };
    found().map_err(|reasons| redacted(reasons, &environment.redactor()))
}

/// Says in the person's settings that command lines which these rules cover run without a question in the working
/// directory. Blocks.
///
/// # Errors
/// When the settings can't be used or written, redacted; rules before the one that failed are written.
pub fn remember(environment: &Environment, rules: &[String]) -> Result<(), Vec<Reason>> {
    let written = || {
        let reasons = StartupError::into_reasons;
        let project = environment.canonical_cwd().map_err(reasons)?;
        let home = environment.home().map_err(reasons)?;
        for rule in rules {
            let written = home.settings().allow_command(&project, rule);
            written.map_err(EditError::into_reasons)?;
        }
        Ok(())
    };
    written().map_err(|reasons| redacted(reasons, &environment.redactor()))
}
