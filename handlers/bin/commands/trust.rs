//! `magi-code trust` and `untrust`: whether a project's own files may configure what they like.
//! What that means and where it is kept is no matter of this file.

use std::path::{Path, PathBuf};

use handlers::configuration::{lines, shown_path, trust};
use host::transport::Stdio;

use crate::program::{Run, complain, print};

/// Let the files of a project and of all below it configure providers, permissions and instructions
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code trust
  magi-code trust ../other

Exit status: 0 the project is trusted, 1 it is not, for reasons that stand on stderr,
2 the command line is wrong.")]
pub(crate) struct Trust {
    /// The project; the current directory by default
    directory: Option<PathBuf>,
}

/// Take back the trust in a project and everything below it
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code untrust
  magi-code untrust ../other

Exit status: 0 the project is not trusted, 1 it could not be changed, for reasons that stand on stderr,
2 the command line is wrong.")]
pub(crate) struct Untrust {
    /// The project; the current directory by default
    directory: Option<PathBuf>,
}

impl Run for Trust {
    const NAME: &'static str = "trust";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        answer(stdio, set(self.directory.as_deref(), true))
    }
}

impl Run for Untrust {
    const NAME: &'static str = "untrust";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        answer(stdio, set(self.directory.as_deref(), false))
    }
}

fn answer(stdio: Stdio, done: Result<String, String>) -> anyhow::Result<i32> {
    match done {
        Ok(text) => print(stdio, &text),
        Err(why) => {
            complain(&why);
            Ok(1)
        }
    }
}

/// What to print, or what to complain about; then nothing was changed.
fn set(directory: Option<&Path>, trusted: bool) -> Result<String, String> {
    let done = trust(directory, trusted)
        .map_err(|reasons| reasons.iter().map(lines).collect::<Vec<_>>().join("\n"))?;
    let project = shown_path(&done.project);
    let mut text = match (trusted, done.changed) {
        (true, true) => format!(
            "{project} is trusted now, and everything below it: a project's own files count there\n"
        ),
        (true, false) => format!("{project} was trusted already\n"),
        (false, true) => format!("{project} is not trusted any more, nor what lies below it\n"),
        (false, false) => format!("{project} was not trusted\n"),
    };
    if trusted && done.is_wide {
        text += "Your home directory lies in it: whatever is cloned there counts too. `magi-code untrust` takes that back.\n";
    }
    Ok(text)
}
