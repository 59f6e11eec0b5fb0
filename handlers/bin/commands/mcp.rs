//! `magi-code mcp`: which MCP servers there are, which of them may be started, and what one offers.
//! Finds and starts nothing itself; it asks and shows.

use handlers::configuration::{
    Approval, McpServer, Reason, ServerState, approve, launch_line, lines, log_in, servers, shown,
    shown_path, try_server,
};
use host::transport::Stdio;

use super::browser;
use crate::program::{Run, complain, print};

/// The help of a command, after its arguments.
macro_rules! after_help {
    ($examples:literal) => {
        concat!(
            "Examples:\n",
            $examples,
            "\n\nExit status: 0 it is done, 1 it is not, for reasons that stand on stderr (no server of this name,\n\
            settings that can't be read, a server that does not start, a login that does not come about),\n\
            2 the command line is wrong."
        )
    };
}

/// See the MCP servers of this directory, and say which of them may be started
#[derive(clap::Args)]
#[command(after_help = after_help!("  magi-code mcp list\n  magi-code mcp approve docs"))]
pub(crate) struct Mcp {
    #[command(subcommand)]
    command: McpCommand,
}

#[derive(clap::Subcommand)]
enum McpCommand {
    /// Say of each server whether it may be started, and where it is defined
    #[command(after_help = after_help!("  magi-code mcp list"))]
    List,
    /// Let a server be started as it is defined now
    #[command(after_help = after_help!("  magi-code mcp approve docs"))]
    Approve {
        /// As `mcp list` names it
        name: String,
    },
    /// Take the approval of a server back
    #[command(after_help = after_help!("  magi-code mcp revoke docs"))]
    Revoke {
        /// As `mcp list` names it
        name: String,
    },
    /// Start a server, and print one of its tools a line
    #[command(after_help = after_help!("  magi-code mcp test docs"))]
    Test {
        /// As `mcp list` names it
        name: String,
    },
    /// Log in with a server over HTTP, in a browser
    #[command(after_help = after_help!("  magi-code mcp login tickets"))]
    Login {
        /// As `mcp list` names it
        name: String,
    },
}

impl Run for Mcp {
    const NAME: &'static str = "mcp";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        run(&self.command, stdio)
    }
}

/// The exit status.
fn run(command: &McpCommand, stdio: Stdio) -> anyhow::Result<i32> {
    let done = match command {
        McpCommand::List => list(),
        McpCommand::Approve { name } => approve(name, true).map(|done| approved(&done)),
        McpCommand::Revoke { name } => approve(name, false).map(|done| {
            let name = shown(&done.server.name);
            match done.changed {
                true if done.server.state == ServerState::Elsewhere => {
                    format!("{name} is approved nowhere any more\n")
                }
                true => format!("{name} is not started any more\n"),
                false => format!("{name} was not approved\n"),
            }
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
            log_in(name, visit).map(|()| format!("the login with {} is stored\n", shown(name)))
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

/// What was approved: nobody should have to look elsewhere for what will run.
fn approved(
    Approval {
        changed,
        server,
        unstartable,
    }: &Approval,
) -> String {
    let (name, place) = (shown(&server.name), place(server));
    let mut text = match changed {
        true => format!("{name} may be started as it is defined now in {place}:\n"),
        false => format!("{name} was approved already, as it is defined in {place}:\n"),
    };
    text.extend(launch_line(server).map(|line| format!("    {line}\n")));
    if server.is_other_approved {
        text += "The other definition of this name that was approved before is not any more.\n";
    }
    if server.is_trust_said {
        text += TRUSTED;
    }
    for reason in unstartable {
        text += &format!("As it stands it can't be started: {}\n", lines(reason));
    }
    text
}

/// What `trust` beside a definition comes to.
const TRUSTED: &str = "    `trust` is set: its tools run without a question\n";

/// A server's name, its state, and where it is defined on one line, and below it what a start would do.
fn list() -> Result<String, Vec<Reason>> {
    let servers = servers()?;
    if servers
        .iter()
        .all(|server| server.state == ServerState::Elsewhere)
    {
        complain("no MCP servers are defined here");
    }
    let names: Vec<_> = servers.iter().map(|server| shown(&server.name)).collect();
    let width = names.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    let lines = |(server, name): (&McpServer, &String)| {
        let mut text = format!(
            "{name:width$}  {:20}  {}\n",
            server.state.word(),
            place(server)
        );
        text.extend(launch_line(server).map(|line| format!("    {line}\n")));
        if server.is_trust_said {
            text += TRUSTED;
        }
        if server.state == ServerState::Elsewhere {
            text += "    approved, and defined in another project or not any more; `mcp revoke` takes the approval out\n";
        }
        if server.is_other_approved && server.state == ServerState::Waiting {
            text += "    what is approved of its name is another definition\n";
        }
        text
    };
    Ok(servers.iter().zip(&names).map(lines).collect())
}

/// Where a server is defined.
fn place(server: &McpServer) -> String {
    let file = server.named.file.as_deref().map(shown_path);
    let line = server.named.line.unwrap_or_default();
    format!("{}:{line}", file.unwrap_or_default())
}

/// Shows an address whole, on a line of its own, and opens it where there is a browser.
fn visit(address: &str) {
    browser::visit(address);
    complain("This waits for the browser to come back, ten minutes at most.");
}
