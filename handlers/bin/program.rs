//! What both mains do alike: how they begin and end, what they say of themselves, and where they say it.
//! Nothing of one command stands here; those that both have alike lie below.

mod completions;
mod man;
mod table;
mod version;

use std::io::Write as _;
use std::process::ExitCode;

pub(crate) use completions::Completions;
use host::transport::{Output, Stdio, without_stdout};
pub(crate) use man::Man;
pub(crate) use table::{Entry, Run, entry, misuse, run, told, with};
pub(crate) use version::Version;

/// Runs a program under its name; `run` gives the exit status.
pub(crate) fn start(name: &str, run: impl FnOnce(Stdio) -> i32) -> ExitCode {
    // Before anything else: the standard descriptors belong to the protocol.
    let status = match Stdio::claim() {
        Ok(stdio) => run(stdio),
        Err(error) => {
            complain(&format!(
                "{name}: standard input and output must be open: {error}"
            ));
            2
        }
    };
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// Writes to the real standard output, which descriptor 1 no longer is.
///
/// # Errors
/// When it is closed or can't be written.
pub(crate) fn print(stdio: Stdio, text: &str) -> anyhow::Result<i32> {
    open_output()?;
    Output::print(stdio.output, text.as_bytes())?;
    Ok(0)
}

/// An answer that nobody can get is a failure of the command.
///
/// # Errors
/// When standard output is closed.
pub(crate) fn open_output() -> anyhow::Result<()> {
    anyhow::ensure!(!without_stdout(), "standard output is closed");
    Ok(())
}

/// Says it on stderr, if there is one: a missing one must not turn a refusal into a panic.
pub(crate) fn complain(message: &str) {
    let _ = writeln!(std::io::stderr(), "{message}");
}

/// The version, a line of dialects and one of features, of which `parts` are those that could be linked. Made once a
/// process.
pub(crate) fn version(parts: &[(&'static str, bool)]) -> &'static str {
    // Where two registrations claim one name, whoever serves says so, and does not start.
    let dialects =
        host::Registry::collect().map_or_else(|_| Vec::new(), |linked| linked.dialects());
    let dialects: Vec<String> = dialects
        .into_iter()
        .map(|rules| format!("{} {}", rules.name, rules.version))
        .collect();
    let linked = parts.iter().filter(|(_, linked)| *linked);
    let parts: Vec<&str> = linked.map(|(name, _)| *name).collect();
    format!(
        "{}\ndialects: {}\nfeatures: {}",
        env!("CARGO_PKG_VERSION"),
        dialects.join(", "),
        parts.join(", ")
    )
    .leak()
}
