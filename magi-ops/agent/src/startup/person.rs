//! What a person says of MCP servers: which there are, and which may be started.
//! Where an approval is kept is the store's part; what is asked of a server stands in `ask`, accounts
//! in `accounts`.

use redact::Reading;
use store::settings::{EditError, Launch, McpServer, ServerState, Settings, SettingsError};
use store::{Reason, quoted};
use tools::guard::Guard;

use super::error::redacted;
use super::servers::{keep_secret, unstartable};
use super::{Environment, StartupError};

#[cfg(feature = "providers")]
mod accounts;
#[cfg(feature = "mcp")]
mod ask;

#[cfg(feature = "providers")]
pub use accounts::{account_statuses, log_in_to, log_out, store_key};
#[cfg(feature = "mcp")]
pub use ask::{Offered, failing_servers, log_in, try_server};

/// The servers of a working directory, by name.
///
/// # Errors
/// When the settings can't be read, with everything that is wrong, redacted.
pub fn servers(environment: &Environment) -> Result<Vec<McpServer>, Vec<Reason>> {
    let settings = shown(environment, known(environment))?;
    Ok(settings.mcp_servers)
}

/// What became of an approval, or of taking one back.
#[derive(Debug)]
pub struct Approval {
    /// Whether the settings said otherwise before.
    pub changed: bool,
    /// The definition that it is about.
    pub server: McpServer,
    /// Why it could not be started as it is defined, as far as that can be seen, redacted.
    pub unstartable: Vec<Reason>,
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
    shown(environment, change(environment, name, approved))
}

fn change(environment: &Environment, name: &str, approved: bool) -> Result<Approval, Vec<Reason>> {
    let mut settings = known(environment)?;
    let server = named(&settings, name)?;
    let digest = approved.then_some(&*server.digest);
    if approved && server.launch.is_none() {
        let reason = match server.state {
            ServerState::Elsewhere => {
                "this server is not defined here, so there is nothing to approve"
            }
            _ => "this server cannot be started, so there is nothing to approve",
        };
        return Err(vec![Reason {
            reason: reason.to_owned(),
            ..server.named
        }]);
    }
    let home = environment.home().map_err(StartupError::into_reasons)?;
    let changed = home.settings().approve_server(name, digest);
    let changed = changed.map_err(EditError::into_reasons)?;
    settings
        .mcp_servers
        .retain(|other| other.name == server.name);
    let cwd = environment
        .canonical_cwd()
        .map_err(StartupError::into_reasons)?;
    let (guard, redactor) = (Guard::this_program(), environment.redactor());
    keep_secret(&settings.mcp_servers, &redactor);
    let unstartable = unstartable(&home, &cwd, &settings, server.state, &guard, &redactor);
    Ok(Approval {
        changed,
        unstartable: redacted(unstartable, &redactor),
        server,
    })
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

/// The server of this name that counts under these settings.
fn named(settings: &Settings, name: &str) -> Result<McpServer, Vec<Reason>> {
    let servers = &settings.mcp_servers;
    let names: Vec<_> = servers.iter().map(|server| server.name.clone()).collect();
    servers
        .iter()
        .find(|server| server.name == name)
        .cloned()
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
            vec![Reason::new(reason).help(help)]
        })
}

pub(super) fn known(environment: &Environment) -> Result<Settings, Vec<Reason>> {
    let reasons = StartupError::into_reasons;
    let cwd = environment.canonical_cwd().map_err(reasons)?;
    let home = environment.home_as_it_is().map_err(reasons)?;
    let settings = environment.settings(&home, &cwd);
    settings.map_err(SettingsError::into_reasons)
}

/// What is told outside: without secrets, whatever the reasons are.
fn shown<T>(environment: &Environment, result: Result<T, Vec<Reason>>) -> Result<T, Vec<Reason>> {
    result.map_err(|reasons| redacted(reasons, &environment.redactor()))
}
