//! `magi-code mcp`: which MCP servers there are, which of them may be started, and what one offers.
//! Finds and starts nothing itself; it asks and shows.

use std::process::{Command, Stdio as Descriptor};

use handlers::configuration::{
    McpServer, Reason, approve, lines, log_in, servers, shown, shown_path, try_server,
};
use host::transport::Stdio;

use crate::program::{complain, print};

/// What the command line says.
#[derive(clap::Subcommand)]
pub(crate) enum McpCommand {
    /// Say of each server whether it may be started, and where it is defined
    List,
    /// Let a server be started as it is defined now
    Approve { name: String },
    /// Take the approval of a server back
    Revoke { name: String },
    /// Start a server, and print one of its tools a line
    Test { name: String },
    /// Log in with a server over HTTP, in a browser
    Login { name: String },
}

/// The exit status.
pub(crate) fn run(command: &McpCommand, stdio: Stdio) -> anyhow::Result<i32> {
    let done = match command {
        McpCommand::List => list(),
        McpCommand::Approve { name } => approve(name, true).map(|changed| match changed {
            true => format!("{name} may be started as it is defined now\n"),
            false => format!("{name} was approved already\n"),
        }),
        McpCommand::Revoke { name } => approve(name, false).map(|changed| match changed {
            true => format!("{name} is not started any more\n"),
            false => format!("{name} was not approved\n"),
        }),
        McpCommand::Test { name } => try_server(name).map(|offered| {
            offered
                .left_out
                .iter()
                .for_each(|reason| complain(&lines(reason)));
            offered
                .tools
                .iter()
                .map(|tool| format!("{tool}\n"))
                .collect()
        }),
        McpCommand::Login { name } => {
            log_in(name, visit).map(|()| format!("the login with {name} is stored\n"))
        }
    };
    match done {
        Ok(text) => print(stdio, &text),
        Err(reasons) => {
            reasons.iter().for_each(|reason| complain(&lines(reason)));
            Ok(1)
        }
    }
}

/// One server a line: its name, its state, and where it is defined.
fn list() -> Result<String, Vec<Reason>> {
    let servers = servers()?;
    let names: Vec<_> = servers.iter().map(|server| shown(&server.name)).collect();
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let line = |(server, name): (&McpServer, &String)| {
        let place = server.named.file.as_deref().map(shown_path);
        let line = server.named.line.unwrap_or_default();
        format!(
            "{name:width$}  {:20}  {}:{line}\n",
            server.state.word(),
            place.unwrap_or_default()
        )
    };
    Ok(servers.iter().zip(&names).map(line).collect())
}

/// Shows an address whole, on a line of its own, and opens it where there is a browser.
fn visit(address: &str) {
    complain(&format!("To log in, visit\n{address}"));
    let browser = std::env::var_os("BROWSER").filter(|browser| !browser.is_empty());
    let started = Command::new(browser.unwrap_or_else(|| "xdg-open".into()))
        .arg(address)
        .stdin(Descriptor::null())
        .stdout(Descriptor::null())
        .stderr(Descriptor::null())
        .spawn();
    if let Err(error) = started {
        complain(&format!("(no browser was opened: {error})"));
    }
}
