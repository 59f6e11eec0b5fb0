//! What a person asks of MCP servers: what one offers, which of them fail, and to be logged in.
//! Nothing is started here but what is approved, and all of it is ended again.

use store::settings::{McpServer, ServerState, Settings};
use store::{Reason, command_word};
use tools::guard::Guard;

use super::{known, named, shown};
use crate::startup::error::redacted;
use crate::startup::servers::{keep_secret, setting};
use crate::startup::workspace::withhold_keys;
use crate::startup::{Environment, StartupError};

/// What one server offers.
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
pub async fn try_server(environment: &Environment, name: &str) -> Result<Offered, Vec<Reason>> {
    let offered = async {
        let mut settings = known(environment)?;
        let server = named(&settings, name)?;
        settings.mcp_servers = vec![may_be_asked(server)?];
        start(environment, &settings).await
    };
    shown(environment, offered.await)
}

/// Starts every approved server as a start of a workspace does, and ends them: why that fails, if it does, redacted.
pub async fn failing_servers(environment: &Environment) -> Vec<Reason> {
    let started = async { start(environment, &known(environment)?).await };
    let started = shown(environment, started.await);
    started.err().unwrap_or_default()
}

/// Starts the approved servers of these settings, and ends them.
async fn start(environment: &Environment, settings: &Settings) -> Result<Offered, Vec<Reason>> {
    let reasons = StartupError::into_reasons;
    let cwd = environment.canonical_cwd().map_err(reasons)?;
    let redactor = environment.redactor();
    keep_secret(&settings.mcp_servers, &redactor);
    let guard = Guard::this_program();
    withhold_keys(&guard, settings);
    let home = environment.home().map_err(reasons)?;
    let setting = setting(&home, &cwd, settings, &guard, &redactor);
    let servers = mcp::Servers::new(&settings.mcp_servers, &setting);
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
            // What the servers' own variables and headers hold is known here alone.
            Err(redacted(reasons.collect(), &redactor))
        }
    }
}

/// The server, if the person approved it: nothing of another one is started, and none is asked anything.
fn may_be_asked(server: McpServer) -> Result<McpServer, Vec<Reason>> {
    let why = match server.state {
        ServerState::Approved => return Ok(server),
        ServerState::Unusable => "its definition has neither `command` nor `url`, or both",
        ServerState::Disabled => "it is disabled",
        ServerState::Waiting => "it is waiting for approval",
        ServerState::Elsewhere => "it is not defined here",
    };
    let approve = command_word(&server.name).filter(|_| server.state == ServerState::Waiting);
    let help =
        approve.map(|name| format!("run `magi-code mcp approve {name}` if you know what it does"));
    Err(vec![Reason {
        reason: format!("this server is not started: {why}"),
        help,
        ..server.named
    }])
}

/// Logs in with one server over HTTP, which has to be approved; `show` is given the address that the person has to visit.
///
/// # Errors
/// When there is no such server, or the login does not come about, redacted.
pub async fn log_in(
    environment: &Environment,
    name: &str,
    show: impl FnOnce(&str),
) -> Result<(), Vec<Reason>> {
    let done = async {
        let server = may_be_asked(named(&known(environment)?, name)?)?;
        let home = environment.home().map_err(StartupError::into_reasons)?;
        let redactor = environment.redactor();
        keep_secret(std::slice::from_ref(&server), &redactor);
        let done = mcp::log_in(&server, &home, &redactor, show).await;
        done.map_err(|error| {
            let reason = Reason {
                reason: error.to_string(),
                help: Some(error.help(&server.name)),
                ..server.named
            };
            // What was received meanwhile is known here alone.
            redacted(vec![reason], &redactor)
        })
    };
    shown(environment, done.await)
}
