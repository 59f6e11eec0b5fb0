//! What the commands for people ask about the configuration: a look at it, the trust in a project,
//! MCP servers and accounts.
//! No output: how a reason is shown is the command's matter.

use std::path::Path;

use agent::Environment;
#[cfg(feature = "mcp")]
pub use agent::Offered;
#[cfg(feature = "auth")]
pub use agent::{AccountStatus, AuthMethod, AuthSource, Readiness};
pub use agent::{
    Approval, Chosen, Configuration, Examination, McpServer, Reason, Scope, ServerState, Setting,
    ThinkingLevel, Trusted, command_word, covers, on_a_line, shown, shown_path, suggest,
};

/// Does what a start in `cwd` does, without starting anything.
///
/// # Errors
/// When the current directory is gone.
pub fn examine(cwd: Option<&Path>) -> std::io::Result<Examination> {
    let environment = at(Environment::of_process()?, cwd);
    Ok(agent::examine(&environment))
}

fn at(mut environment: Environment, cwd: Option<&Path>) -> Environment {
    if let Some(cwd) = cwd {
        environment.cwd = environment.cwd.join(cwd);
    }
    environment
}

/// Says whether the files of the project in `directory`, the current one by default, are trusted.
///
/// # Errors
/// With everything that is wrong; then nothing is changed.
pub fn trust(directory: Option<&Path>, trusted: bool) -> Result<Trusted, Vec<Reason>> {
    agent::trust(&here()?, directory.unwrap_or(Path::new(".")), trusted)
}

/// The model that a person names in `cwd` as `[PROVIDER/]MODEL`; see [`agent::choose`].
///
/// # Errors
/// With everything that is wrong with the settings.
pub fn choose(cwd: Option<&Path>, named: &str) -> Result<Chosen, Vec<Reason>> {
    agent::choose(&at(here()?, cwd), named)
}

/// The session of `cwd` that changed last.
///
/// # Errors
/// When there is no list of sessions.
pub fn latest_session(cwd: Option<&Path>) -> Result<Option<String>, Vec<Reason>> {
    let latest = agent::latest_session(&at(here()?, cwd))?;
    Ok(latest.map(|id| id.to_string()))
}

/// Says in the person's settings that command lines which these rules cover run without a question in `cwd`.
///
/// # Errors
/// With everything that is wrong; then nothing is changed.
pub fn remember(cwd: Option<&Path>, rules: &[String]) -> Result<(), Vec<Reason>> {
    agent::remember(&at(here()?, cwd), rules)
}

/// What is selected in the current directory.
///
/// # Errors
/// With everything that is wrong.
pub fn effective() -> Result<Configuration, Vec<Reason>> {
    agent::effective(&here()?)
}

/// Changes what is selected, for the project of the current directory or for all.
///
/// # Errors
/// With everything that is wrong; then nothing is changed.
pub fn set(scope: Scope, setting: &Setting) -> Result<Configuration, Vec<Reason>> {
    agent::set(&here()?, scope, setting)
}

/// The MCP servers of the current directory, by name.
///
/// # Errors
/// With everything that is wrong with the settings.
pub fn servers() -> Result<Vec<McpServer>, Vec<Reason>> {
    agent::servers(&here()?)
}

/// Says whether the definition of a server that counts here may be started.
///
/// # Errors
/// With everything that is wrong; then nothing is changed.
pub fn approve(name: &str, approved: bool) -> Result<Approval, Vec<Reason>> {
    agent::approve(&here()?, name, approved)
}

/// What a start of a server would do, on one line; `None` without a definition.
#[must_use]
pub fn launch_line(server: &McpServer) -> Option<String> {
    agent::launch_line(&here().ok()?, server)
}

/// Starts every approved server of a directory as a start does, and ends them: why that fails, if it does. A build
/// without servers has none that could.
#[cfg_attr(not(feature = "mcp"), allow(clippy::unused_async, unused_variables))]
pub async fn failing_servers(cwd: Option<&Path>) -> Vec<Reason> {
    #[cfg(feature = "mcp")]
    return match here() {
        Ok(environment) => agent::failing_servers(&at(environment, cwd)).await,
        Err(reasons) => reasons,
    };
    #[cfg(not(feature = "mcp"))]
    Vec::new()
}

/// Starts one approved server, asks it for its tools, and ends it.
///
/// # Errors
/// Why it can't be asked.
#[cfg(feature = "mcp")]
pub fn try_server(name: &str) -> Result<Offered, Vec<Reason>> {
    waited_for(agent::try_server(&here()?, name))
}

/// Logs in with one server; `show` is given the address that the person has to visit.
///
/// # Errors
/// Why there is no login.
#[cfg(feature = "mcp")]
pub fn log_in(name: &str, show: impl FnOnce(&str)) -> Result<(), Vec<Reason>> {
    waited_for(agent::log_in(&here()?, name, show))
}

/// How every provider stands.
///
/// # Errors
/// When that can't be read.
#[cfg(feature = "auth")]
pub fn account_statuses() -> Result<Vec<AccountStatus>, Vec<Reason>> {
    agent::account_statuses(&here()?)
}

/// Logs in to a provider; `show` is given the page that the person has to visit, and whether the browser of this machine
/// comes back by itself. Of `pasted` lines one is taken.
///
/// # Errors
/// Why there is no login.
#[cfg(feature = "auth")]
pub fn log_in_to(
    provider: &str,
    show: impl FnOnce(&str, bool),
    pasted: &mut tokio::sync::mpsc::Receiver<String>,
) -> Result<(), Vec<Reason>> {
    waited_for(agent::log_in_to(&here()?, provider, show, pasted))
}

/// Stores the key of a provider.
///
/// # Errors
/// Why it is not stored.
#[cfg(feature = "auth")]
pub fn store_key(provider: &str, key: &str) -> Result<(), Vec<Reason>> {
    waited_for(agent::store_key(&here()?, provider, key))
}

/// Removes what is stored of a provider. Whether there was anything.
///
/// # Errors
/// Why it is not removed.
#[cfg(feature = "auth")]
pub fn log_out(provider: &str) -> Result<bool, Vec<Reason>> {
    waited_for(agent::log_out(&here()?, provider))
}

#[cfg(any(feature = "mcp", feature = "auth"))]
fn waited_for<T>(work: impl Future<Output = Result<T, Vec<Reason>>>) -> Result<T, Vec<Reason>> {
    let failed = |error: &dyn std::fmt::Display| vec![Reason::new(error.to_string())];
    let runtime = host::resources::runtime().map_err(|error| failed(&error))?;
    runtime.block_on(work)
}

pub(crate) fn here() -> Result<Environment, Vec<Reason>> {
    Environment::of_process().map_err(|error| {
        let why = format!("the current directory cannot be used: {error}");
        vec![Reason::new(why)]
    })
}

/// A reason as people read it: where it stands and what it is, then the key and what to do on a line of its own. The
/// words of files make no lines of their own.
#[must_use]
pub fn lines(reason: &Reason) -> String {
    let mut text = reason.place_and_reason();
    let more = [reason.key.as_deref(), reason.help.as_deref()];
    let more: Vec<_> = more.into_iter().flatten().map(on_a_line).collect();
    if !more.is_empty() {
        text.push_str("\n    ");
        text.push_str(&more.join(": "));
    }
    text
}
