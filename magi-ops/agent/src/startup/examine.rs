//! A look at the configuration: what startup does, without starting anything, and everything that it would say.
//! How it is shown is the caller's matter.

use std::sync::Arc;

use store::Reason;
use store::settings::McpServer;
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;

use super::cache::ProviderCache;
use super::error::redacted;
use super::guidance::Guidance;
use super::select::{select, unusable_addresses};
use super::servers::unstartable;
use super::services::Services;
use super::workspace::{Workspace, named_keys};
use super::{Environment, StartupStatus};

/// What is wrong with a configuration, and what is ignored of it. Redacted; never for the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Why startup fails; it does not if there are none.
    pub problems: Vec<Reason>,
    /// What is ignored or left out.
    pub notices: Vec<Reason>,
    /// MCP servers, whether they may be started or not; none where startup fails before.
    pub servers: Vec<McpServer>,
}

/// Looks at the configuration as startup does. Creates the home directory where it is missing, asks no provider and
/// runs nothing. Blocks.
#[must_use]
pub fn examine(environment: &Environment) -> Examination {
    let stop = CancellationToken::new();
    let mut status = StartupStatus::default();
    let mut found = Examination::default();
    let services = Services::start(environment, &stop);
    let admitted = services.and_then(|services| {
        Workspace::admit(&Arc::new(services), &environment.cwd, &mut status, &stop)
    });
    match admitted {
        Ok(workspace) => {
            match workspace.select() {
                Ok(selected) => found.notices = workspace.unavailable_models(&selected),
                Err(error) => found.problems = error.reasons,
            }
            found.problems.extend(workspace.unstartable_servers());
            found.servers = workspace.settings().mcp_servers.clone();
            found.notices.splice(0..0, status.notices);
            found.notices.extend(workspace.unusable_addresses());
        }
        Err(error) => {
            found.problems = error.reasons;
            found.notices = status.notices;
            let further = further(environment, &stop);
            add_new(&mut found.problems, further.problems);
            add_new(&mut found.notices, further.notices);
        }
    }
    // A start goes on: what is stored can be listed and read. Whatever stores something fails later.
    if let Ok(home) = environment.home() {
        let reasons = redacted(home.unwritable(), &environment.redactor());
        found.notices.extend(reasons);
    }
    // A start goes on without them: only what needs a login fails later.
    if status.context_id.is_some()
        && let Err(error) = environment
            .home()
            .and_then(|home| Ok(home.accounts().check()?))
    {
        let reasons = redacted(error.reasons, &environment.redactor());
        // What needs them says it already.
        let new = reasons.into_iter();
        let new = new.filter(|reason| !found.problems.contains(reason));
        found.notices.extend(new);
    }
    found
}

fn add_new(known: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        if !known.contains(&reason) {
            known.push(reason);
        }
    }
}

/// What is wrong and what is ignored behind the stage at which startup fails. Redacted.
fn further(environment: &Environment, stop: &CancellationToken) -> Examination {
    let redactor = environment.redactor();
    let (Ok(cwd), Ok(home)) = (environment.canonical_cwd(), environment.home()) else {
        // Nothing can be read without them.
        return Examination::default();
    };
    let mut found = Examination::default();
    let (mut settings, is_selection_known) = match environment.settings(&*home, &cwd) {
        Ok(settings) => (settings, true),
        // Where the settings' own words for the provider are wrong, what follows from them is no news.
        Err(error) => (
            error.usable().clone(),
            !error.concerns(&["provider", "model"]),
        ),
    };
    redactor.learn(named_keys(&settings, environment));
    let notices = &mut found.notices;
    match Guidance::load(&*home, &cwd, &settings, environment, stop, notices) {
        Ok(guidance) => found
            .notices
            .extend(guidance.choose_model(&mut settings, environment)),
        Err(error) => found.problems = error.reasons,
    }
    let guard = Guard::this_program();
    found
        .problems
        .extend(unstartable(&home, &cwd, &settings, &guard, &redactor));
    let providers = ProviderCache::new(redactor.clone(), Arc::clone(&home), None);
    if is_selection_known && let Err(error) = select(&settings, environment, &providers) {
        found.problems.extend(error.reasons);
    }
    found
        .notices
        .extend(unusable_addresses(&settings, &providers));
    Examination {
        problems: redacted(found.problems, &redactor),
        notices: redacted(found.notices, &redactor),
        servers: Vec::new(),
    }
}
