//! `mty`: the Mighty toolchain's command line. Parses arguments, picks the transport, serves.

#[cfg(feature = "log")]
#[path = "log/mod.rs"]
mod log;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

mod program;

#[cfg(any(feature = "check", feature = "fmt"))]
#[path = "mty/mod.rs"]
mod tools;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use host::transport::{Output, Stdio};
use mighty::{Launch, Recorder};
use program::{complain, print};

/// The features of this binary, in the order of the manifest.
const PARTS: &[(&str, bool)] = &[
    ("check", cfg!(feature = "check")),
    ("explain", cfg!(feature = "explain")),
    ("find", cfg!(feature = "find")),
    ("fix", cfg!(feature = "fix")),
    ("fmt", cfg!(feature = "fmt")),
    ("halt", cfg!(feature = "halt")),
    ("http", cfg!(feature = "http")),
    ("unix", cfg!(feature = "unix")),
    ("log", cfg!(feature = "log")),
];

#[derive(Parser)]
#[command(name = "mty", version, about = "The Mighty language's tools")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the agent protocol: one JSON request a line, response lines, `done` last
    Agent(AgentArgs),
    /// Check programs and report what is wrong with them
    #[cfg(feature = "check")]
    Check(tools::check::CheckArgs),
    /// Bring source files into their canonical form
    #[cfg(feature = "fmt")]
    Fmt(tools::fmt::FmtArgs),
    /// Apply the fixes of diagnostics; without --apply nothing happens
    #[cfg(feature = "fix")]
    Fix(tools::fix::FixArgs),
    /// Print the long text of a diagnostic code
    #[cfg(feature = "explain")]
    Explain {
        /// `MT3014`, `mt3014` or `3014`
        code: String,
    },
    /// Print the JSON Schema of every linked op, or the reference page
    Schema {
        /// The reference page, in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Print the version, the dialect and the linked features
    Version,
}

#[derive(Args)]
#[command(after_help = "\
Exit codes:
  0  every request succeeded, or a server was ended by a signal (--replay: every response is the recorded one)
  1  an op failed: diagnostics, a failed test, a missing file (--replay: a response drifted)
  2  a protocol, transport or usage error (--replay: unreadable recording); outranks 1")]
struct AgentArgs {
    /// Read one request from standard input, answer it and exit with its code
    #[arg(long, conflicts_with = "replay")]
    single_shot: bool,
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    /// http: listen on 127.0.0.1 at this port, 8889 by default
    #[arg(long)]
    port: Option<u16>,
    /// unix: the socket's path
    #[arg(long)]
    socket: Option<PathBuf>,
    /// http: host:port; unix: the socket's path. Wins over --port and --socket
    #[arg(long)]
    listen: Option<String>,
    /// http: require `Authorization: Bearer TOKEN`; ignored on the other transports. The variable
    /// MTY_AUTH_TOKEN does the same, and does not show in the list of processes
    #[arg(long, value_name = "TOKEN", value_parser = token)]
    auth_token: Option<String>,
    /// Append every request and its response to this file
    #[arg(long, conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Run a recording and compare the responses, instead of serving
    #[arg(long)]
    replay: Option<PathBuf>,
    /// --replay: let the recorded requests change files again
    #[arg(long, requires = "replay")]
    allow_writes: bool,
}

/// A token that a header can carry whole: one that it can't would lock everybody out.
fn token(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        return Err("the token is empty");
    }
    if text.trim() != text || text.contains(char::is_control) {
        return Err("the token has white space around it or control characters");
    }
    Ok(text.to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    #[cfg(feature = "http")]
    Http,
    #[cfg(feature = "unix")]
    Unix,
}

fn main() -> ExitCode {
    program::start("mty", |stdio| {
        run(stdio).unwrap_or_else(|error| {
            complain(&format!("mty: {error:#}"));
            2
        })
    })
}

fn run(stdio: Stdio) -> anyhow::Result<i32> {
    let version = program::version(PARTS);
    let cli: Cli = match program::parse(version) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            if error.use_stderr() {
                complain(text.trim_end());
            } else {
                Output::print(stdio.output, text.as_bytes())?;
            }
            return Ok(error.exit_code());
        }
    };
    let command = match cli.command {
        Command::Agent(args) => {
            #[cfg(feature = "log")]
            log::start(redact::Redactor::of_process(), None);
            return agent(stdio, &args);
        }
        command => command,
    };
    // An answer that nobody can get is a failure of the command; only the protocol has a code for transports.
    Ok(tool(stdio, command, version).unwrap_or_else(|error| {
        complain(&format!("mty: {error:#}"));
        1
    }))
}

fn tool(stdio: Stdio, command: Command, version: &str) -> anyhow::Result<i32> {
    match command {
        Command::Agent(args) => agent(stdio, &args),
        Command::Version => print(stdio, &format!("mty {version}\n")),
        #[cfg(feature = "check")]
        Command::Check(args) => tools::check::run(stdio, &args),
        #[cfg(feature = "fmt")]
        Command::Fmt(args) => tools::fmt::run(stdio, &args),
        #[cfg(feature = "fix")]
        Command::Fix(args) => tools::fix::run(stdio, &args),
        #[cfg(feature = "explain")]
        Command::Explain { code } => explain(stdio, &code),
        Command::Schema { markdown } => {
            let registry = host::Registry::collect()?;
            let rules = &mighty::RULES;
            let command = "mty schema --markdown";
            print(
                stdio,
                &host::schema::render(&registry, rules, markdown, command),
            )
        }
    }
}

fn agent(stdio: Stdio, args: &AgentArgs) -> anyhow::Result<i32> {
    host::panics::log_panics_too();
    if args.transport == Transport::Stdio
        && args.replay.is_none()
        && let Some(why) = stdio.unusable()
    {
        anyhow::bail!(why);
    }
    if let Some(misplaced) = misplaced(args) {
        return Ok(usage("agent", misplaced));
    }
    let recorder = args.record.as_deref().and_then(|path| {
        Recorder::open(path, |message| complain(&format!("mty: {message}")))
            // Recording is best effort: the session is served all the same.
            .inspect_err(|error| {
                complain(&format!(
                    "mty: recording failed: {}: {error}",
                    path.display()
                ))
            })
            .ok()
            .map(Arc::new)
    });
    let launch = Launch {
        recorder,
        warn: complain,
    };
    if let Some(recording) = &args.replay {
        return mighty::replay(recording, args.allow_writes, &launch);
    }
    match args.transport {
        Transport::Stdio => mighty::serve_stdio(stdio, args.single_shot, &launch),
        #[cfg(feature = "http")]
        Transport::Http => {
            let address = args
                .listen
                .clone()
                .unwrap_or_else(|| format!("127.0.0.1:{}", args.port.unwrap_or(8889)));
            let token = match args.auth_token.clone().map_or_else(environment_token, Ok) {
                Ok(token) => Some(token).filter(|token| !token.is_empty()),
                Err(why) => return Ok(usage("agent", &format!("MTY_AUTH_TOKEN: {why}"))),
            };
            mighty::serve_http(stdio, &address, token, &launch)
        }
        #[cfg(feature = "unix")]
        Transport::Unix => match args
            .listen
            .as_ref()
            .map(PathBuf::from)
            .or_else(|| args.socket.clone())
        {
            Some(path) => mighty::serve_unix(stdio, &path, &launch),
            None => Ok(usage(
                "agent",
                "the unix transport needs --listen PATH or --socket PATH",
            )),
        },
    }
}

/// The token of the environment; an empty one counts as none, as for every variable of the tools.
#[cfg(feature = "http")]
fn environment_token() -> Result<String, &'static str> {
    match std::env::var_os("MTY_AUTH_TOKEN") {
        Some(value) if !value.is_empty() => token(value.to_str().ok_or("the token is not UTF-8")?),
        _ => Ok(String::new()),
    }
}

/// An option that means nothing on the chosen transport. (A token does, by the protocol's own word.)
fn misplaced(args: &AgentArgs) -> Option<&'static str> {
    let on = |name| {
        args.transport
            .to_possible_value()
            .is_some_and(|value| value.get_name() == name)
    };
    if args.single_shot && !on("stdio") {
        Some("--single-shot is for the stdio transport only")
    } else if args.port.is_some() && !on("http") {
        Some("--port is for --transport http only")
    } else if args.socket.is_some() && !on("unix") {
        Some("--socket is for --transport unix only")
    } else if args.listen.is_some() && on("stdio") {
        Some("--listen is for --transport http and --transport unix only")
    } else {
        None
    }
}

/// Says what is wrong with the use of a subcommand, and how it is used.
fn usage(subcommand: &str, message: &str) -> i32 {
    let mut command = Cli::command();
    command.build();
    let of = match command.find_subcommand_mut(subcommand) {
        Some(found) => found,
        None => &mut command,
    };
    let error = of.error(clap::error::ErrorKind::ArgumentConflict, message);
    complain(error.render().to_string().trim_end());
    2
}

#[cfg(feature = "explain")]
fn explain(stdio: Stdio, code: &str) -> anyhow::Result<i32> {
    match mighty::explain(code) {
        Ok(text) => print(stdio, &format!("{text}\n")),
        Err((message, status)) => {
            complain(&format!("error: {message}"));
            Ok(status)
        }
    }
}
