//! A look at the configuration: what startup does, without starting anything, and everything that it would say.
//! How it is shown is the caller's matter.

use std::sync::Arc;

use provider::FIXTURE_ID;
use store::settings::{McpServer, ServerState};
use store::{Reason, near_miss};
use tokio_util::sync::CancellationToken;
use tools::guard::Guard;

use super::cache::ProviderCache;
use super::error::redacted;
use super::guidance::Guidance;
use super::select::{Choice, select, unusable_addresses};
use super::servers::unstartable;
use super::services::{Services, recorder};
use super::workspace::{Workspace, named_keys};
use super::{Environment, StartupStatus};

/// What is wrong with a configuration, and what is ignored of it. Redacted; never for the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Examination {
    /// Why startup fails; it does not if there are none.
    pub problems: Vec<Reason>,
    /// What is ignored or left out.
    pub notices: Vec<Reason>,
    /// What turns here go to, as `PROVIDER/MODEL`; `None` where that is the offline provider, or where startup fails.
    pub model: Option<String>,
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
                Ok(selected) => {
                    found.notices = workspace.unavailable_models(&selected);
                    let Choice {
                        provider, model, ..
                    } = selected.choice;
                    found.model = (provider != FIXTURE_ID).then(|| format!("{provider}/{model}"));
                }
                Err(error) => found.problems = error.reasons,
            }
            found
                .problems
                .extend(workspace.unstartable_servers(ServerState::Approved));
            found.servers = workspace.settings().mcp_servers.clone();
            found.notices.splice(0..0, status.notices);
            found
                .notices
                .extend(workspace.unstartable_servers(ServerState::Waiting));
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
    // A start goes on without them: only what needs a login fails later, and nothing is kept of exchanges.
    if status.context_id.is_some() {
        let checked = environment.home().and_then(|home| {
            home.accounts().check()?;
            Ok(home.accounts().exposed().into_iter().collect())
        });
        let reasons = checked.unwrap_or_else(|error| error.reasons);
        let reasons = redacted(reasons, &environment.redactor());
        // What needs them says it already.
        let new = reasons.into_iter();
        let new = new.filter(|reason| !found.problems.contains(reason));
        found.notices.extend(new);
    }
    if let Err(error) = recorder(environment, &environment.redactor()) {
        let why = format!("exchanges with models can't be kept: {error}");
        let reason = Reason::of_variable("MC_RECORD", why);
        let reason = reason.help("name a folder that you may write, or unset it");
        found
            .notices
            .extend(redacted(vec![reason], &environment.redactor()));
    }
    let problems = &found.problems;
    found.notices.retain(|notice| !problems.contains(notice));
    found
}

fn add_new(known: &mut Vec<Reason>, more: Vec<Reason>) {
    for reason in more {
        if !known.contains(&reason) {
            known.push(reason);
        }
    }
}

/// Whether a selection fails for another reason than that settings could not be read: what follows from a word that is
/// `wrong` itself is no news.
fn is_news(reason: &Reason, wrong: &[Reason], provider: &str) -> bool {
    let own = ["providers", provider].join(".");
    let key = reason.key.as_deref().unwrap_or_default();
    let (parent, member) = key.rsplit_once('.').unwrap_or(("", key));
    wrong.iter().all(|wrong| {
        // A file that can't be read may have said anything.
        let Some(wrong) = wrong.key.as_deref() else {
            return false;
        };
        let below = wrong.strip_prefix(&own);
        let is_selection = matches!(wrong, "provider" | "model" | "providers") || below == Some("");
        let is_models = key == "model" && below.is_some_and(|below| below.starts_with(".models"));
        // The same member, or one that was to be it.
        let is_meant = wrong
            .rsplit_once('.')
            .is_some_and(|(of, misspelt)| of == parent && near_miss(misspelt, [member]).is_some());
        !is_selection && !is_models && !is_meant
    })
}

/// What is wrong and what is ignored behind the stage at which startup fails. Redacted.
fn further(environment: &Environment, stop: &CancellationToken) -> Examination {
    let redactor = environment.redactor();
    let (Ok(cwd), Ok(home)) = (environment.canonical_cwd(), environment.home()) else {
        // Nothing can be read without them.
        return Examination::default();
    };
    let mut found = Examination::default();
    let (mut settings, wrong) = match environment.settings(&*home, &cwd) {
        Ok(settings) => (settings, Vec::new()),
        Err(error) => (error.usable().clone(), error.into_reasons()),
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
    let of_state = |state| unstartable(&home, &cwd, &settings, state, &guard, &redactor);
    found.problems.extend(of_state(ServerState::Approved));
    found.notices.extend(of_state(ServerState::Waiting));
    let providers = ProviderCache::new(redactor.clone(), Arc::clone(&home), None);
    if let Err(error) = select(&settings, environment, &providers) {
        let news = error.reasons.into_iter();
        let news = news.filter(|reason| is_news(reason, &wrong, &settings.provider));
        found.problems.extend(news);
    }
    found
        .notices
        .extend(unusable_addresses(&settings, &providers));
    Examination {
        model: None,
        problems: redacted(found.problems, &redactor),
        notices: redacted(found.notices, &redactor),
        servers: Vec::new(),
    }
}
