//! A look at the configuration: what startup does, without starting anything, and everything that it would say.
//! How it is shown is the caller's matter.

use store::settings::Settings;
use store::{Home, Reason};
use tokio_util::sync::CancellationToken;

use super::admitted::{admit, named_keys};
use super::error::redacted;
use super::guidance::Guidance;
use super::select::{ProviderCache, select};
use super::{Environment, StartupError, StartupStatus};

/// What is wrong with a configuration, and what is ignored of it. Redacted; never for the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Why startup fails; it does not if there are none.
    pub problems: Vec<Reason>,
    /// What is ignored or left out.
    pub notices: Vec<Reason>,
}

/// Looks at the configuration as startup does. Creates the home directory where it is missing, asks no provider and
/// runs nothing. Blocks.
#[must_use]
pub fn examine(environment: &Environment) -> Examination {
    let stop = CancellationToken::new();
    let mut reached = StartupStatus::default();
    let mut found = Examination::default();
    match admit(environment, &mut reached, &stop) {
        Ok(admitted) => {
            if let Err(error) = admitted.select() {
                found.problems = error.reasons;
            }
            found.notices = admitted.notices().to_vec();
        }
        Err(error) => {
            found.problems = error.reasons;
            found.notices = reached.notices;
            let further = further(environment, &found.problems, &stop);
            let further = further.into_iter();
            let new = further.filter(|reason| !found.problems.contains(reason));
            let new: Vec<_> = new.collect();
            found.problems.extend(new);
        }
    }
    // A start goes on without them: only what needs a login fails later.
    let credentials = || Ok::<_, StartupError>(store::auth::check(&environment.home()?)?);
    if reached.context_id.is_some()
        && let Err(error) = credentials()
    {
        let reasons = redacted(error.reasons, &environment.redactor());
        found.notices.extend(reasons);
    }
    found
}

/// What else is wrong behind the stage of startup that fails with `told`. Redacted.
fn further(environment: &Environment, told: &[Reason], stop: &CancellationToken) -> Vec<Reason> {
    let redactor = environment.redactor();
    let home = environment.home().ok().map(|home| Home::prepare(&home));
    let (Ok(cwd), Some(Ok(home))) = (environment.canonical_cwd(), home) else {
        // Nothing can be read without them.
        return Vec::new();
    };
    let tools = tools::registered_names();
    let loaded = Settings::load(home.root(), &cwd, environment.overrides(), &tools);
    let is_sound = loaded.is_ok();
    let mut settings = loaded.unwrap_or_else(|error| error.usable().clone());
    redactor.learn(named_keys(&settings, environment));
    let mut found = Vec::new();
    let user_home = environment.user_home.as_deref();
    match Guidance::load(&home, &cwd, &settings, user_home, stop) {
        Ok(guidance) => drop(guidance.choose_model(&mut settings, environment)),
        Err(error) => found = error.reasons,
    }
    // Where the settings' own words for the provider are wrong, what follows from them is no news.
    let is_about_provider = |reason: &Reason| match (&reason.key, &reason.variable) {
        (Some(key), _) => ["provider", "model"]
            .iter()
            .any(|word| key.starts_with(word)),
        (None, variable) => variable.is_some() || reason.file.as_deref() == Some(&home.settings()),
    };
    if (is_sound || !told.iter().any(is_about_provider))
        && let Err(error) = select(
            &settings,
            environment,
            &ProviderCache::new(redactor.clone()),
        )
    {
        found.extend(error.reasons);
    }
    redacted(found, &redactor)
}
