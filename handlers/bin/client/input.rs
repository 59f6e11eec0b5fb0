//! What a person gives a client, judged before anything is started: the prompt, the directory, where the answer goes.
//! Nothing here talks to a server.

use std::io::Read as _;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Longest prompt of local-agent, in bytes.
const PROMPT_BYTES: usize = consumer::local_agent::Limits::VERSION_1.prompt_bytes;

/// The prompt as it was given, or from `input` for `-`. Judged here: a session that never has a prompt is not
/// to be made.
///
/// # Errors
/// What is wrong with it, for a person.
pub(crate) fn prompt(given: String, input: OwnedFd) -> Result<String, String> {
    let prompt = if given == "-" {
        let mut bytes = Vec::new();
        std::fs::File::from(input)
            .take(PROMPT_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| format!("the prompt cannot be read from standard input: {error}"))?;
        // A cut in the middle of a character is a matter of length.
        match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.as_bytes().len() > PROMPT_BYTES => {
                return Err(too_long("more than 16,384"));
            }
            Err(error) => return Err(format!("the prompt is not UTF-8: {error}")),
        }
    } else {
        given
    };
    judge(&prompt)?;
    Ok(prompt)
}

/// What is wrong with a prompt, for a person.
pub(crate) fn judge(prompt: &str) -> Result<(), String> {
    if prompt.len() > PROMPT_BYTES {
        return Err(too_long(&prompt.len().to_string()));
    }
    if prompt.trim().is_empty() {
        return Err("the prompt is blank".to_owned());
    }
    Ok(())
}

fn too_long(bytes: &str) -> String {
    format!("the prompt has {bytes} bytes; at most 16,384 are taken")
}

/// Whether a file is the very one that stderr writes to.
#[cfg(feature = "try")]
pub(crate) fn is_stderr(output: &std::fs::File) -> bool {
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::MetadataExt as _;
    let stderr = std::io::stderr().as_fd().try_clone_to_owned();
    let about = |file: &std::fs::File| file.metadata().map(|about| (about.dev(), about.ino()));
    let stderr = stderr.and_then(|fd| about(&fd.into()));
    matches!((about(output), stderr), (Ok(out), Ok(err)) if out == err)
}

/// Why a directory cannot be worked in, if it is known beforehand.
pub(crate) fn unusable(cwd: &Path) -> Option<String> {
    let shown = cwd.display();
    match std::fs::metadata(cwd) {
        Ok(about) if about.is_dir() => None,
        Ok(_) => Some(format!("--cwd: {shown} is no directory")),
        Err(error) => Some(format!("--cwd: {shown}: {error}")),
    }
}
