//! `mty`: the Mighty toolchain's command line. Parses arguments, picks the transport, serves.

use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use handlers as _;
use host::transport::{Output, Stdio};

#[derive(Parser)]
#[command(name = "mty", version, about = "The Mighty language's tools", disable_help_subcommand = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve the agent protocol: one JSON request a line, response lines, `done` last
    Agent(AgentArgs),
    /// Print the long text of a diagnostic code
    #[cfg(feature = "explain")]
    Explain { code: String },
    /// Print the JSON Schema of every linked op, or the reference page
    Schema {
        #[arg(long)]
        markdown: bool,
    },
}

#[derive(Args)]
struct AgentArgs {
    /// Read one request from standard input, answer it and exit with its code
    #[arg(long)]
    single_shot: bool,
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
}

fn main() -> ExitCode {
    // Before anything else: the standard descriptors belong to the protocol.
    let Ok(stdio) = Stdio::claim() else { return ExitCode::from(2) };
    let status = run(stdio).unwrap_or_else(|error| {
        complain(&format!("mty: {error:#}"));
        2
    });
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn run(stdio: Stdio) -> anyhow::Result<i32> {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let text = error.render().to_string();
            if error.use_stderr() {
                complain(text.trim_end());
            } else {
                print(stdio, &text)?;
            }
            return Ok(error.exit_code());
        }
    };
    match cli.command {
        Command::Agent(args) => agent(stdio, &args),
        #[cfg(feature = "explain")]
        Command::Explain { code } => explain(stdio, &code),
        Command::Schema { markdown } => {
            let registry = handlers::registry()?;
            let rules = &host::dialect::mty_agent::RULES;
            print(stdio, &handlers::schema::render(&registry, rules, markdown))
        }
    }
}

fn agent(stdio: Stdio, args: &AgentArgs) -> anyhow::Result<i32> {
    if args.single_shot && args.transport != Transport::Stdio {
        let conflict = Cli::command().error(
            clap::error::ErrorKind::ArgumentConflict,
            "--single-shot is for the stdio transport only",
        );
        complain(conflict.render().to_string().trim_end());
        return Ok(2);
    }
    handlers::mighty::serve_stdio(stdio, args.single_shot)
}

#[cfg(feature = "explain")]
fn explain(stdio: Stdio, code: &str) -> anyhow::Result<i32> {
    match handlers::mighty::explain(code) {
        Ok(text) => print(stdio, &format!("{text}\n")),
        Err((message, status)) => {
            complain(&format!("error: {message}"));
            Ok(status)
        }
    }
}

/// Writes to the real standard output, which descriptor 1 no longer is.
fn print(stdio: Stdio, text: &str) -> anyhow::Result<i32> {
    Output::print(stdio.output, text.as_bytes())?;
    Ok(0)
}

#[allow(clippy::print_stderr)]
fn complain(message: &str) {
    eprintln!("{message}");
}
