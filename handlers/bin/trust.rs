//! `magi-code trust` and `untrust`: whether a project's own files may configure what they like.
//! What that means and where it is kept is no matter of this file.

use std::path::PathBuf;

use handlers::configuration::{lines, shown_path, trust};

/// What the command line says.
#[derive(clap::Args)]
pub(crate) struct TrustArgs {
    /// The project; the current directory by default
    directory: Option<PathBuf>,
}

/// What to print, or what to complain about; then nothing was changed.
pub(crate) fn run(args: &TrustArgs, trusted: bool) -> Result<String, String> {
    let done = trust(args.directory.as_deref(), trusted)
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
