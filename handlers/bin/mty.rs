//! `mty`: the Mighty toolchain's command line. Parses arguments, picks the transport, serves.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use handlers::mighty::{self, Launch};
use host::record::Recorder;
use host::transport::{Output, Stdio};

#[derive(Parser)]
#[command(
    name = "mty",
    version,
    about = "The Mighty language's tools",
    disable_help_subcommand = true
)]
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
    #[arg(long, conflicts_with = "replay")]
    single_shot: bool,
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    /// http: listen on 127.0.0.1 at this port
    #[arg(long, default_value_t = 8889)]
    port: u16,
    /// unix: the socket's path
    #[arg(long)]
    socket: Option<PathBuf>,
    /// http: host:port; unix: the socket's path. Wins over --port and --socket
    #[arg(long)]
    listen: Option<String>,
    /// http: require `Authorization: Bearer TOKEN`
    #[arg(long)]
    auth_token: Option<String>,
    /// Append every request and its response to this file
    #[arg(long)]
    record: Option<PathBuf>,
    /// Run a recording and compare the responses, instead of serving
    #[arg(long)]
    replay: Option<PathBuf>,
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
    // Before anything else: the standard descriptors belong to the protocol.
    let Ok(stdio) = Stdio::claim() else {
        return ExitCode::from(2);
    };
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
        return Ok(usage("--single-shot is for the stdio transport only"));
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
        return mighty::replay(recording, &launch);
    }
    match args.transport {
        Transport::Stdio => mighty::serve_stdio(stdio, args.single_shot, &launch),
        #[cfg(feature = "http")]
        Transport::Http => {
            let address = args
                .listen
                .clone()
                .unwrap_or_else(|| format!("127.0.0.1:{}", args.port));
            mighty::serve_http(stdio, &address, args.auth_token.clone(), &launch)
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
                "the unix transport needs --listen PATH or --socket PATH",
            )),
        },
    }
}

fn usage(message: &str) -> i32 {
    let error = Cli::command().error(clap::error::ErrorKind::ArgumentConflict, message);
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

/// Writes to the real standard output, which descriptor 1 no longer is.
fn print(stdio: Stdio, text: &str) -> anyhow::Result<i32> {
    Output::print(stdio.output, text.as_bytes())?;
    Ok(0)
}

/// Says it on stderr, if there is one: a missing one must not turn a refusal into a panic.
fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}
