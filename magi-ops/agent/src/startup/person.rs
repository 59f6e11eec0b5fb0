//! What a person says of MCP servers, and asks about them: which there are, which may be started, what one offers.
//! Where an approval is kept is the store's part; nothing is started here but the one server that is asked for.

use std::path::PathBuf;

use store::Reason;
use store::settings::{EditError, McpServer, Settings};
#[cfg(feature = "mcp")]
use {store::settings::ServerState, tools::guard::Guard};

use super::Environment;
use super::error::redacted;
#[cfg(feature = "mcp")]
use super::{
    servers::{keep_secret, setting},
    workspace::withhold_keys,
};

/// The servers of a working directory, by name.
///
/// # Errors
/// When the settings can't be read, with everything that is wrong, redacted.
pub fn servers(environment: &Environment) -> Result<Vec<McpServer>, Vec<Reason>> {
    known(environment).map(|settings| settings.mcp_servers)
}

/// Says in the person's settings that the definition of this server that counts here may be started, or that none may.
/// Whether that was not what they said before. Blocks.
///
/// # Errors
/// When there is no such server, it has no definition, or the settings can't be used or written, redacted.
pub fn approve(environment: &Environment, name: &str, approved: bool) -> Result<bool, Vec<Reason>> {
    let server = named(environment, name)?;
    let digest = approved.then_some(&*server.digest);
    if approved && server.launch.is_none() {
        let reason = "this server cannot be started, so there is nothing to approve".to_owned();
        return Err(shown(
            environment,
            vec![Reason {
                reason,
                ..server.named
            }],
        ));
    }
    let home = environment.home().map_err(|error| error.reasons)?;
    let changed = home.settings().approve_server(name, digest);
    changed.map_err(|error| {
        let reasons = match error {
            EditError::Unusable(reasons) => reasons,
            other => vec![Reason::new(other.to_string())],
        };
        shown(environment, reasons)
    })
}

/// What one server offers.
#[cfg(feature = "mcp")]
#[derive(Debug, Default)]
pub struct Offered {
    /// The names of its tools as models are offered them.
    pub tools: Vec<String>,
    /// What of its tools is left out, redacted.
    pub left_out: Vec<Reason>,
}

/// Starts one server that is approved, asks it for its tools, and ends it.
///
/// # Errors
/// When there is no such server, it may not be started, or it does not start, redacted.
#[cfg(feature = "mcp")]
pub async fn try_server(environment: &Environment, name: &str) -> Result<Offered, Vec<Reason>> {
    let server = named(environment, name)?;
    let refused = |reason: String| {
        shown(
            environment,
            vec![Reason {
                reason,
                ..server.named.clone()
            }],
        )
    };
    if server.state != ServerState::Approved {
        return Err(refused(format!(
            "this server is not started: it is {}",
            server.state.word()
        )));
    }
    let reasons = |error: super::StartupError| error.reasons;
    let cwd = environment.canonical_cwd().map_err(reasons)?;
    let redactor = environment.redactor();
    keep_secret(std::slice::from_ref(&server), &redactor);
    let guard = Guard::this_program();
    withhold_keys(&guard, &known(environment)?);
    let home = environment.home().map_err(reasons)?;
    let setting = setting(&home, &cwd, &guard);
    let servers = mcp::Servers::new(std::slice::from_ref(&server), &setting);
    let started = servers.connect().await;
    let tools = servers.tools(tools::Context::new(cwd, Vec::new()));
    servers.close().await;
    match started {
        Ok(left_out) => Ok(Offered {
            tools: tools.specs().map(|spec| spec.name.clone()).collect(),
            left_out: redacted(left_out, &redactor),
        }),
        Err(errors) => {
            let reasons = errors.into_iter().map(mcp::StartError::into_reason);
            Err(redacted(reasons.collect(), &redactor))
        }
    }
}

/// Logs in with one server over HTTP; `show` is given the address that the person has to visit.
///
/// # Errors
/// When there is no such server, or the login does not come about, redacted.
#[cfg(feature = "mcp")]
pub async fn log_in(
    environment: &Environment,
    name: &str,
    show: impl FnOnce(&str),
) -> Result<(), Vec<Reason>> {
    let server = named(environment, name)?;
    let home = environment.home().map_err(|error| error.reasons)?;
    let done = mcp::log_in(&server, &home, show).await;
    done.map_err(|error| {
        let reason = error.to_string();
        shown(
            environment,
            vec![Reason {
                reason,
                ..server.named
            }],
        )
    })
}

/// The server of this name that counts in a working directory.
fn named(environment: &Environment, name: &str) -> Result<McpServer, Vec<Reason>> {
    let servers = servers(environment)?;
    let names: Vec<_> = servers.iter().map(|server| server.name.clone()).collect();
    servers
        .into_iter()
        .find(|server| server.name == name)
        .ok_or_else(|| {
            let meant = store::near_miss(name, names.iter().map(String::as_str));
            let reason = format!(
                "there is no MCP server `{}` here{}",
                store::shown(name),
                store::did_you_mean(meant)
            );
            let help = match names.is_empty() {
                true => "define one under `mcp_servers` of the settings".to_owned(),
                false => format!("there are {}", store::listed(&names)),
            };
            shown(environment, vec![Reason::new(reason).help(help)])
        })
}

fn known(environment: &Environment) -> Result<Settings, Vec<Reason>> {
    let reasons = |error: super::StartupError| error.reasons;
    let cwd: PathBuf = environment.canonical_cwd().map_err(reasons)?;
    let home = environment.home_as_it_is().map_err(reasons)?;
    let settings = environment.settings(&home, &cwd);
    settings.map_err(|error| shown(environment, error.into_reasons()))
}

fn shown(environment: &Environment, reasons: Vec<Reason>) -> Vec<Reason> {
    redacted(reasons, &environment.redactor())
}
