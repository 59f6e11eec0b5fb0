//! What `magi-code` says to a person who typed nothing else: what may be done next, as things stand here.
//! Not a command. Names only commands that this build has.

use std::fmt::Write as _;
use std::io::IsTerminal as _;

use handlers::configuration::{Examination, examine, shown};
use host::transport::Stdio;

/// A command line as it can be typed, and what comes of it.
type Step = (&'static str, &'static str);

const TRY: Step = ("try \"What is in this project?\"", "one turn, at once");
const CHAT: Step = ("chat", "talk with the model");
const EXEC: Step = (
    "exec \"What is in this project?\"",
    "one answer, for scripts",
);
const LOGIN: Step = ("login", "log in, so that a real model answers");
const MODELS: Step = ("models", "what models there are");
const SESSIONS: Step = ("sessions list", "what was said before");
const DOCTOR: Step = ("doctor", "what is wrong, where, and what to do about it");

/// Whether a person sits at both ends. A program that forgot what to start gets an error instead.
pub(crate) fn is_for_a_person(stdio: &Stdio) -> bool {
    stdio.input.is_terminal() && stdio.output.is_terminal()
}

/// The text.
///
/// # Errors
/// When the current directory is gone.
pub(crate) fn text() -> anyhow::Result<String> {
    let Examination {
        problems, model, ..
    } = examine(None)?;
    let (state, steps): (String, &[Step]) = match (problems.len(), model) {
        (0, Some(model)) => (
            format!("Turns here go to {}.", shown(&model)),
            &[CHAT, EXEC, SESSIONS, TRY],
        ),
        (0, None) => (
            "No model is chosen yet: until one is, an offline demonstration answers.".to_owned(),
            &[TRY, LOGIN, MODELS, DOCTOR],
        ),
        (1, _) => (
            "One thing keeps a start from succeeding.".to_owned(),
            &[DOCTOR],
        ),
        (count, _) => (
            format!("{count} things keep a start from succeeding."),
            &[DOCTOR],
        ),
    };
    let whole = crate::whole();
    let is_there = |(line, _): &&Step| {
        let name = line.split(' ').next().unwrap_or_default();
        whole.find_subcommand(name).is_some()
    };
    let steps: Vec<_> = steps.iter().filter(is_there).collect();
    let width = steps.iter().map(|(line, _)| line.len()).max();
    let width = width.unwrap_or_default();
    let mut text = format!("{state}\n\n");
    for (line, why) in steps {
        writeln!(text, "  {} {line:width$}   {why}", crate::NAME)?;
    }
    writeln!(text, "\nEvery command: {} --help", crate::NAME)?;
    Ok(text)
}
