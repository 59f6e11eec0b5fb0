//! `magi-code`: parses arguments, picks the dialect or the command, runs it.
//! What commands there are stands in `commands.rs`.

#[cfg(feature = "client")]
mod client;
mod commands;
#[cfg(feature = "log")]
#[path = "log/mod.rs"]
mod log;
mod program;

use std::process::ExitCode;

use clap::{Args as _, FromArgMatches as _, ValueEnum};
use handlers as _;
use host::transport::Stdio;
use program::complain;

pub(crate) const NAME: &str = "magi-code";

/// The features of this binary, in the order of the manifest.
pub(crate) const PARTS: &[(&str, bool)] = &[
    ("lifecycle", cfg!(feature = "lifecycle")),
    ("session", cfg!(feature = "session")),
    ("history", cfg!(feature = "history")),
    ("turn", cfg!(feature = "turn")),
    ("approval", cfg!(feature = "approval")),
    ("auth", cfg!(feature = "auth")),
    ("config", cfg!(feature = "config")),
    ("catalog", cfg!(feature = "catalog")),
    ("providers", cfg!(feature = "providers")),
    ("mcp", cfg!(feature = "mcp")),
    ("code-mode", cfg!(feature = "code-mode")),
    ("sessions", cfg!(feature = "sessions")),
    ("log", cfg!(feature = "log")),
    ("doctor", cfg!(feature = "doctor")),
    ("trust", cfg!(feature = "trust")),
    ("try", cfg!(feature = "try")),
    ("exec", cfg!(feature = "exec")),
    ("chat", cfg!(feature = "chat")),
];

const AFTER_HELP: &str = "\
Examples:
  magi-code try \"What is in this project?\"
  magi-code --app service < requests.ndjson

Exit status: 0 it is done, 1 it failed, 2 the command line or the launch is not valid.
`magi-code help COMMAND` says more of each command.";

/// What may stand where a command could.
#[derive(clap::Args)]
struct Top {
    /// Serve the application-service protocol on the standard streams
    #[arg(long, value_enum)]
    app: Option<App>,
}

#[derive(Clone, Copy, ValueEnum)]
enum App {
    #[cfg(feature = "application-service")]
    Service,
}

fn main() -> ExitCode {
    program::start(NAME, |stdio| {
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
pub(crate) fn refuse(status: i32, why: &str) -> i32 {
    complain(&format!("{NAME}: {why}"));
    status
}

/// All of the command line that is understood.
pub(crate) fn whole() -> clap::Command {
    let program = Top::augment_args(clap::Command::new(NAME))
        .about("An agent backend for frontends")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(program::version(PARTS))
        .after_help(AFTER_HELP)
        .arg_required_else_help(true)
        .args_conflicts_with_subcommands(true);
    program::with(program, commands::TABLE)
}

/// The exit status.
fn run(stdio: Stdio) -> anyhow::Result<i32> {
    let matches = match whole().try_get_matches() {
        Ok(matches) => matches,
        // Nothing was typed but the name.
        Err(_) if std::env::args_os().len() == 1 && commands::next::is_for_a_person(&stdio) => {
            return program::print(stdio, &commands::next::text()?);
        }
        Err(error) => return program::told(&error, stdio),
    };
    match Top::from_arg_matches(&matches)?.app {
        #[cfg(feature = "application-service")]
        Some(App::Service) => commands::serve::application_service(stdio),
        _ => program::run(commands::TABLE, &matches, stdio)
            .unwrap_or_else(|| Ok(refuse(2, "nothing to do; see --help"))),
    }
}
