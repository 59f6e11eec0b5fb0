//! `magi-code doctor`: what is wrong with the configuration and what is ignored of it, without starting anything but the
//! approved MCP servers, where that is asked for.
//! Finds nothing itself; it asks and shows.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use handlers::configuration::{
    Examination, McpServer, Reason, ServerState, command_word, examine, failing_servers, lines,
    shown,
};
use host::transport::Stdio;
use serde_json::json;

use crate::program::{Run, print};

/// Say what is wrong with the configuration and what is ignored of it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code doctor
  magi-code doctor --json

Exit status: 0 a start would succeed, 1 it would fail, 2 the command line is wrong.")]
pub(crate) struct Doctor {
    /// Where a start would work; the current directory by default
    #[arg(long)]
    cwd: Option<PathBuf>,
    /// One JSON object with `problems` and `notices`
    #[arg(long)]
    json: bool,
    /// Start the approved MCP servers too, and end them again
    #[cfg(feature = "mcp")]
    #[arg(long)]
    servers: bool,
}

impl Run for Doctor {
    const NAME: &'static str = "doctor";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let (status, text) = found(&self)?;
        print(stdio, &text)?;
        Ok(status)
    }
}

/// The exit status, 1 if a start would fail, and what to print.
fn found(args: &Doctor) -> anyhow::Result<(i32, String)> {
    let mut found = examine(args.cwd.as_deref())?;
    #[cfg(feature = "mcp")]
    let tries = args.servers;
    #[cfg(not(feature = "mcp"))]
    let tries = false;
    match tries {
        true => add_failing(&mut found, args.cwd.as_deref())?,
        false => found.notices.extend(untried(&found)),
    }
    #[cfg(feature = "log")]
    found
        .notices
        .extend(crate::log::odd().into_iter().map(|why| Reason {
            variable: Some("MC_LOG".to_owned()),
            help: Some("see *Environment* in docs/configuration.md".to_owned()),
            ..Reason::new(why)
        }));
    let status = i32::from(!found.problems.is_empty());
    if args.json {
        let all = |reasons: &[Reason]| reasons.iter().map(object).collect::<Vec<_>>();
        let object = json!({"problems": all(&found.problems), "notices": all(&found.notices)});
        return Ok((status, format!("{object}\n")));
    }
    let mut text = String::new();
    for (title, reasons) in [("Problems", &found.problems), ("Notices", &found.notices)] {
        if !reasons.is_empty() {
            writeln!(text, "{title}:")?;
        }
        for reason in reasons {
            writeln!(text, "{}", lines(reason))?;
        }
    }
    if !found.servers.is_empty() {
        writeln!(text, "MCP servers:")?;
    }
    for server in &found.servers {
        writeln!(text, "{}: {}", shown(&server.name), server.state.word())?;
    }
    let (problems, notices) = (found.problems.len(), found.notices.len());
    let started: Vec<_> = approved(&found).map(|server| shown(&server.name)).collect();
    let verdict = match (problems, tries || started.is_empty()) {
        (0, true) => "A start would succeed".to_owned(),
        (0, false) => {
            let started = started.join(", ");
            format!(
                "A start would succeed if these MCP servers start, which was not tried: {started}"
            )
        }
        _ => "A start would fail".to_owned(),
    };
    writeln!(text, "{verdict}: problems {problems}, notices {notices}.")?;
    Ok((status, text))
}

/// Why servers fail that look right. Without settings that can be read nothing is started.
fn add_failing(found: &mut Examination, cwd: Option<&Path>) -> anyhow::Result<()> {
    if found.problems.is_empty() {
        let failing = failing_servers(cwd);
        found.problems = host::resources::runtime()?.block_on(failing);
    }
    Ok(())
}

/// The servers that a start would start.
fn approved(found: &Examination) -> impl Iterator<Item = &McpServer> {
    let servers = found.servers.iter();
    servers.filter(|server| server.state == ServerState::Approved)
}

/// What a start would do that is not tried here.
fn untried(found: &Examination) -> Vec<Reason> {
    let seen = |server: &&McpServer| {
        !found
            .problems
            .iter()
            .any(|known| known.key == server.named.key)
    };
    let told = approved(found).filter(seen).map(|server| Reason {
        reason: "every start starts this server; whether that succeeds was not tried".to_owned(),
        help: command_word(&server.name)
            .map(|name| format!("run `magi-code mcp test {name}` to try it")),
        ..server.named.clone()
    });
    told.collect()
}

fn object(reason: &Reason) -> serde_json::Value {
    json!({
        "file": reason.file.as_ref().map(|file| file.to_string_lossy()),
        "line": reason.line,
        "column": reason.column,
        "key": reason.key,
        "variable": reason.variable,
        "reason": reason.reason,
        "help": reason.help,
    })
}
