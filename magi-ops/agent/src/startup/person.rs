//! What a person says of MCP servers, and asks about them: which there are, which may be started, what one offers.
//! Where an approval is kept is the store's part; nothing is started here but the one server that is asked for.

use std::path::PathBuf;

use redact::Reading;
use store::settings::{EditError, Launch, McpServer, Settings};
use store::{Reason, quoted};
#[cfg(feature = "mcp")]
use {store::command_word, store::settings::ServerState, tools::guard::Guard};

use super::Environment;
use super::error::redacted;
use super::servers::keep_secret;
#[cfg(feature = "mcp")]
use super::{servers::setting, workspace::withhold_keys};

/// The servers of a working directory, by name.
///
/// # Errors
/// When the settings can't be read, with everything that is wrong, redacted.
pub fn servers(environment: &Environment) -> Result<Vec<McpServer>, Vec<Reason>> {
    known(environment).map(|settings| settings.mcp_servers)
}

/// What became of an approval, or of taking one back.
#[derive(Debug)]
pub struct Approval {
    /// Whether the settings said otherwise before.
    pub changed: bool,
    /// The definition that it is about.
    pub server: McpServer,
}

/// Says in the person's settings that the definition of this server that counts here may be started, or that none may.
/// Blocks.
///
/// # Errors
/// When there is no such server, it has no definition, or the settings can't be used or written, redacted.
pub fn approve(
    environment: &Environment,
    name: &str,
    approved: bool,
) -> Result<Approval, Vec<Reason>> {
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
    let changed = changed.map_err(|error| {
        let reasons = match error {
            EditError::Unusable(reasons) => reasons,
            other => vec![Reason::new(other.to_string())],
        };
        shown(environment, reasons)
    })?;
    Ok(Approval { changed, server })
}

/// What a start of a server would do, on one line in which everything is seen but what is secret: its variables, program
/// and arguments as a shell would read them, or its address and the names of its headers. `None` without a definition.
#[must_use]
pub fn launch_line(environment: &Environment, server: &McpServer) -> Option<String> {
    /// What is longer loses its middle, and says so.
    const MAX_BYTES: usize = 8 * 1024;
    let redactor = environment.redactor();
    keep_secret(std::slice::from_ref(server), &redactor);
    let (action, reading, subject) = match server.launch.as_ref()? {
        Launch::Command { command, args, env } => {
            let env = env
                .iter()
                .map(|(name, value)| format!("{name}={}", quoted(value)));
            let words = std::iter::once(command)
                .chain(args)
                .map(|word| quoted(word));
            (
                "starts",
                Reading::CommandLine,
                env.chain(words).collect::<Vec<_>>().join(" "),
            )
        }
        Launch::Http { url, headers } => {
            let names: Vec<_> = headers.keys().map(String::as_str).collect();
            let names = match names.is_empty() {
                true => String::new(),
                false => format!(" with {}", names.join(", ")),
            };
            ("asks", Reading::Words, quoted(url) + &names)
        }
    };
    Some(
        redactor
            .question(action, &subject, reading, MAX_BYTES)
            .to_string(),
    )
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
    let server = may_be_asked(environment, server)?;
    start(environment, std::slice::from_ref(&server)).await
}

/// Starts every approved server as a start of a workspace does, and ends them: why that fails, if it does, redacted.
#[cfg(feature = "mcp")]
pub async fn failing_servers(environment: &Environment) -> Vec<Reason> {
    let servers = match servers(environment) {
        Ok(servers) => servers,
        Err(reasons) => return reasons,
    };
    start(environment, &servers).await.err().unwrap_or_default()
}

#[cfg(feature = "mcp")]
async fn start(environment: &Environment, servers: &[McpServer]) -> Result<Offered, Vec<Reason>> {
    let reasons = |error: super::StartupError| error.reasons;
    let cwd = environment.canonical_cwd().map_err(reasons)?;
    let redactor = environment.redactor();
    keep_secret(servers, &redactor);
    let guard = Guard::this_program();
    let settings = known(environment)?;
    withhold_keys(&guard, &settings);
    let home = environment.home().map_err(reasons)?;
    let setting = setting(&home, &cwd, &settings, &guard);
    let servers = mcp::Servers::new(servers, &setting);
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

/// The server, if the person approved it: nothing of another one is started, and none is asked anything.
#[cfg(feature = "mcp")]
fn may_be_asked(environment: &Environment, server: McpServer) -> Result<McpServer, Vec<Reason>> {
    if server.state != ServerState::Approved {
        let reason = format!(
            "this server is not started: {}",
            match server.state {
                ServerState::Unusable => "its definition has neither `command` nor `url`, or both",
                ServerState::Disabled => "it is disabled",
                ServerState::Waiting | ServerState::Approved => "it is waiting for approval",
            }
        );
        let approve = command_word(&server.name).filter(|_| server.state == ServerState::Waiting);
        let help = approve
            .map(|name| format!("run `magi-code mcp approve {name}` if you know what it does"));
        let reason = Reason {
            reason,
            help,
            ..server.named
        };
        return Err(shown(environment, vec![reason]));
    }
    Ok(server)
}

/// Logs in with one server over HTTP, which has to be approved; `show` is given the address that the person has to visit.
///
/// # Errors
/// When there is no such server, or the login does not come about, redacted.
#[cfg(feature = "mcp")]
pub async fn log_in(
    environment: &Environment,
    name: &str,
    show: impl FnOnce(&str),
) -> Result<(), Vec<Reason>> {
    let server = may_be_asked(environment, named(environment, name)?)?;
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
