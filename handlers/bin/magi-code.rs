//! `magi-code`: parses arguments, picks the dialect, serves.

#[cfg(feature = "doctor")]
mod doctor;
#[cfg(feature = "mcp")]
mod mcp;
mod program;
#[cfg(feature = "trust")]
mod trust;
#[cfg(feature = "try")]
mod try_turn;

#[cfg(feature = "log")]
#[path = "log/mod.rs"]
mod log;

use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use handlers as _;
use host::transport::Stdio;
use program::{complain, print};

/// The features of this binary, in the order of the manifest.
const PARTS: &[(&str, bool)] = &[
    ("lifecycle", cfg!(feature = "lifecycle")),
    ("session", cfg!(feature = "session")),
    ("history", cfg!(feature = "history")),
    ("turn", cfg!(feature = "turn")),
    ("approval", cfg!(feature = "approval")),
    ("providers", cfg!(feature = "providers")),
    ("mcp", cfg!(feature = "mcp")),
    ("code-mode", cfg!(feature = "code-mode")),
    ("log", cfg!(feature = "log")),
    ("doctor", cfg!(feature = "doctor")),
    ("trust", cfg!(feature = "trust")),
    ("try", cfg!(feature = "try")),
];

#[derive(Parser)]
#[command(name = "magi-code", version, about = "An agent backend for frontends")]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true)]
struct Cli {
    /// Serve the application-service protocol on the standard streams
    #[arg(long, value_enum)]
    app: Option<App>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Clone, Copy, ValueEnum)]
enum App {
    #[cfg(feature = "application-service")]
    Service,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the local-agent protocol to the process that owns this one
    #[cfg(feature = "local-agent")]
    Serve {
        /// On standard input and output, which must be pipes
        #[arg(long, required = true)]
        stdio: bool,
        /// A file that is there, to add why a start or a call failed to; `try` reads it
        #[arg(long, hide = true)]
        reasons: Option<std::path::PathBuf>,
    },
    /// Hold one turn with a child of its own and show what happens
    #[cfg(feature = "try")]
    Try(try_turn::TryArgs),
    /// Say what is wrong with the configuration and what is ignored of it
    #[cfg(feature = "doctor")]
    Doctor(doctor::DoctorArgs),
    /// Let a project's own files, and those of everything below it, configure providers, permissions and instructions
    #[cfg(feature = "trust")]
    Trust(trust::TrustArgs),
    /// Take back the trust in a project and everything below it
    #[cfg(feature = "trust")]
    Untrust(trust::TrustArgs),
    /// See the MCP servers of this directory, and say which of them may be started
    #[cfg(feature = "mcp")]
    #[command(subcommand)]
    Mcp(mcp::McpCommand),
    /// Print the JSON Schema of every linked method and event, or the reference page
    Schema {
        /// `local-agent` or `application-service`
        dialect: String,
        /// The reference page, in Markdown
        #[arg(long)]
        markdown: bool,
    },
    /// Print the version, the dialects and the linked features
    Version,
}

fn main() -> ExitCode {
    program::start("magi-code", |stdio| {
        if let Some(serve) = handlers::magi::helper() {
            return serve(stdio);
        }
        run(stdio).unwrap_or_else(|error| {
            // A launch that is not valid, or a wrongly composed binary, must not look like a server that failed.
            let invalid = error.is::<host::resources::Insufficient>()
                || error.is::<host::registry::DuplicateRegistration>()
                || error.is::<host::MissingEngine>();
            refuse(if invalid { 2 } else { 1 }, &format!("{error:#}"))
        })
    })
}

/// Says why the exit status is what it is.
fn refuse(status: i32, why: &str) -> i32 {
    complain(&format!("magi-code: {why}"));
    status
}

/// What the process keeps secret, known to its log too, which begins here if it is asked for, in `reasons` for `try`.
#[cfg_attr(not(feature = "log"), allow(unused_variables))]
fn logged(reasons: Option<&std::path::Path>) -> redact::Redactor {
    let redactor = redact::Redactor::of_process();
    #[cfg(feature = "log")]
    log::start(redactor.clone(), reasons);
    redactor
}

/// The exit status.
fn run(stdio: Stdio) -> anyhow::Result<i32> {
    let version = program::version(PARTS);
    let cli: Cli = match program::parse(version) {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            if error.use_stderr() {
                complain(text.trim_end());
                return Ok(error.exit_code());
            }
            return print(stdio, &text);
        }
    };
    match (cli.app, cli.command) {
        #[cfg(feature = "application-service")]
        (Some(App::Service), None) => {
            handlers::magi::serve_application_service(stdio, logged(None)).map(served)
        }
        #[cfg(feature = "local-agent")]
        (None, Some(Command::Serve { reasons, .. })) => {
            handlers::magi::serve_local_agent(stdio, logged(reasons.as_deref())).map(served)
        }
        #[cfg(feature = "try")]
        (None, Some(Command::Try(args))) => try_turn::run(args, stdio),
        #[cfg(feature = "doctor")]
        (None, Some(Command::Doctor(args))) => {
            let (status, text) = doctor::run(&args)?;
            print(stdio, &text)?;
            Ok(status)
        }
        #[cfg(feature = "trust")]
        (None, Some(Command::Trust(args))) => trusting(stdio, trust::run(&args, true)),
        #[cfg(feature = "trust")]
        (None, Some(Command::Untrust(args))) => trusting(stdio, trust::run(&args, false)),
        #[cfg(feature = "mcp")]
        (None, Some(Command::Mcp(command))) => mcp::run(&command, stdio),
        (None, Some(Command::Schema { dialect, markdown })) => schema(stdio, &dialect, markdown),
        (None, Some(Command::Version)) => print(stdio, &format!("magi-code {version}\n")),
        _ => Ok(refuse(2, "nothing to do; see --help")),
    }
}

/// An invalid launch exits with 2 and says why.
fn served(ended: Result<i32, handlers::magi::Refused>) -> i32 {
    ended.unwrap_or_else(|refused| refuse(2, refused.0))
}

#[cfg(feature = "trust")]
fn trusting(stdio: Stdio, done: Result<String, String>) -> anyhow::Result<i32> {
    match done {
        Ok(text) => print(stdio, &text),
        Err(why) => {
            complain(&why);
            Ok(1)
        }
    }
}

fn schema(stdio: Stdio, dialect: &str, markdown: bool) -> anyhow::Result<i32> {
    let registry = host::Registry::collect()?;
    let linked = registry.dialects();
    let Some(rules) = linked.iter().find(|rules| rules.name == dialect) else {
        let message = if dialect == "mty-agent" {
            "mty-agent is the other binary's: mty schema".to_owned()
        } else {
            let names: Vec<&str> = linked.iter().map(|rules| rules.name).collect();
            let names = names.join(", ");
            format!("no dialect `{dialect}` in this build; it serves {names}")
        };
        return Ok(refuse(2, &message));
    };
    let command = format!("magi-code schema {dialect} --markdown");
    let text = host::schema::render(&registry, rules, markdown, &command);
    print(stdio, &text)
}
