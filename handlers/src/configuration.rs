//! What the commands for people ask about the configuration: a look at it, and the trust in a project.
//! No output: how a reason is shown is the command's matter.

use std::path::Path;

use agent::Environment;
pub use agent::{Examination, Reason, Trusted, shown_path};

/// Does what a start in `cwd` does, without starting anything.
///
/// # Errors
/// When the current directory is gone.
pub fn examine(cwd: Option<&Path>) -> std::io::Result<Examination> {
    let mut environment = Environment::of_process()?;
    if let Some(cwd) = cwd {
        environment.cwd = environment.cwd.join(cwd);
    }
    Ok(agent::examine(&environment))
}

/// Says whether the files of the project in `directory`, the current one by default, are trusted.
///
/// # Errors
/// With everything that is wrong; then nothing is changed.
pub fn trust(directory: Option<&Path>, trusted: bool) -> Result<Trusted, Vec<Reason>> {
    let environment = Environment::of_process().map_err(|error| {
        let why = format!("the current directory cannot be used: {error}");
        vec![Reason::new(why)]
    })?;
    agent::trust(&environment, directory.unwrap_or(Path::new(".")), trusted)
}

/// A reason as people read it: where it stands and what it is, then the key and what to do on a line of its own.
#[must_use]
pub fn lines(reason: &Reason) -> String {
    let mut text = reason.place_and_reason();
    let more = [reason.key.as_deref(), reason.help.as_deref()];
    let more: Vec<_> = more.into_iter().flatten().collect();
    if !more.is_empty() {
        text.push_str("\n    ");
        text.push_str(&more.join(": "));
    }
    text
}
