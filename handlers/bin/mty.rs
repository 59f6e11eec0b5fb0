//! `mty`: the Mighty toolchain's command line. Parses arguments and runs the command they name.
//! What commands there are stands in `mty/mod.rs`.

#[path = "mty/mod.rs"]
mod commands;
#[cfg(feature = "log")]
#[path = "log/mod.rs"]
mod log;
mod program;

use std::process::ExitCode;

use host::transport::Stdio;
use program::complain;

pub(crate) const NAME: &str = "mty";

/// The features of this binary, in the order of the manifest.
pub(crate) const PARTS: &[(&str, bool)] = &[
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

const AFTER_HELP: &str = "\
Examples:
  mty check main.mty

Exit codes:
  0  done
  1  a program, a file or an op has failed
  2  usage; `mty help COMMAND` says it of each command";

fn main() -> ExitCode {
    program::start(NAME, |stdio| {
        // An answer that nobody can get is a failure of the command; only the protocol has a code for transports.
        run(stdio).unwrap_or_else(|error| {
            complain(&format!("{NAME}: {error:#}"));
            1
        })
    })
}

/// All of the command line that is understood.
pub(crate) fn whole() -> clap::Command {
    let program = clap::Command::new(NAME)
        .about("The Mighty language's tools")
        .version(env!("CARGO_PKG_VERSION"))
        .long_version(program::version(PARTS))
        .after_help(AFTER_HELP)
        .subcommand_required(true)
        .arg_required_else_help(true);
    program::with(program, commands::TABLE)
}

/// The exit status.
fn run(stdio: Stdio) -> anyhow::Result<i32> {
    let matches = match whole().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => return program::told(&error, stdio),
    };
    // Without a command nothing was understood.
    program::run(commands::TABLE, &matches, stdio).unwrap_or(Ok(2))
}
