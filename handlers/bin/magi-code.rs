//! `magi-code`: parses arguments, picks the dialect, serves.

#[cfg(feature = "try")]
mod try_turn;

use std::io::Write as _;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use handlers as _;
use host::transport::{Output, Stdio};

#[derive(Parser)]
#[command(
    name = "magi-code",
    version,
    about = "An agent backend for frontends",
    disable_help_subcommand = true
)]
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
    },
    /// Hold one turn with a child of its own and show what happens
    #[cfg(feature = "try")]
    Try {
        /// Where the turn works; the current directory by default
        #[arg(long)]
        cwd: Option<std::path::PathBuf>,
        /// Show every frame both ways on stderr
        #[arg(long)]
        frames: bool,
        prompt: String,
    },
    /// Print the JSON Schema of every linked method and event, or the reference page
    Schema {
        /// `local-agent` or `application-service`
        dialect: String,
        #[arg(long)]
        markdown: bool,
    },
}

fn main() -> ExitCode {
    // Before anything else: the standard descriptors belong to the protocol.
    let stdio = match Stdio::claim() {
        Ok(stdio) => stdio,
        Err(error) => {
            complain(&format!(
                "magi-code: standard input and output must be open: {error}"
            ));
            return ExitCode::from(2);
        }
    };
    if handlers::magi::is_guard() {
        return exit_code(handlers::magi::serve_guard(stdio));
    }
    let (status, message) = match run(stdio) {
        Ok(ended) => ended,
        Err(error) => {
            // A wrongly composed binary must not look like a server that failed.
            let status = if error.is::<host::registry::DuplicateRegistration>() {
                2
            } else {
                1
            };
            (status, Some(format!("magi-code: {error:#}")))
        }
    };
    if let Some(message) = message {
        complain(&message);
    }
    exit_code(status)
}

fn exit_code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// The exit status, and what to say on stderr.
fn run(stdio: Stdio) -> anyhow::Result<(i32, Option<String>)> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            if error.use_stderr() {
                return Ok((error.exit_code(), Some(text.trim_end().to_owned())));
            }
            Output::print(stdio.output, text.as_bytes())?;
            return Ok((0, None));
        }
    };
    match (cli.app, cli.command) {
        #[cfg(feature = "application-service")]
        (Some(App::Service), None) => handlers::magi::serve_application_service(stdio).map(served),
        #[cfg(feature = "local-agent")]
        (None, Some(Command::Serve { .. })) => handlers::magi::serve_local_agent(stdio).map(served),
        #[cfg(feature = "try")]
        (
            None,
            Some(Command::Try {
                cwd,
                frames,
                prompt,
            }),
        ) => {
            let args = try_turn::TryArgs {
                cwd,
                frames,
                prompt,
                program: std::env::current_exe()?,
                out_is_terminal: stdio.output_endpoint() == host::transport::Endpoint::Terminal,
            };
            Ok((
                try_turn::run(args, &mut std::fs::File::from(stdio.output))?,
                None,
            ))
        }
        (None, Some(Command::Schema { dialect, markdown })) => schema(stdio, &dialect, markdown),
        _ => Ok((2, Some("magi-code: nothing to do; see --help".to_owned()))),
    }
}

/// An invalid launch exits with 2 and says why.
fn served(ended: Result<i32, handlers::magi::Refused>) -> (i32, Option<String>) {
    match ended {
        Ok(status) => (status, None),
        Err(refused) => (2, Some(format!("magi-code: {}", refused.0))),
    }
}

fn schema(stdio: Stdio, dialect: &str, markdown: bool) -> anyhow::Result<(i32, Option<String>)> {
    let linked = handlers::schema::dialects();
    let Some(rules) = linked.iter().find(|rules| rules.name == dialect) else {
        return Ok((
            2,
            Some("magi-code: no such dialect in this build".to_owned()),
        ));
    };
    let text = handlers::schema::render(&*handlers::registry()?, rules, markdown);
    Output::print(stdio.output, text.as_bytes())?;
    Ok((0, None))
}

/// Says it on stderr, if there is one: a missing one must not turn a refusal into a panic.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}
