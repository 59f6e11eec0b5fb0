//! What was said as a file of Markdown.
//! Reads no session itself: it is told what the server said.

use std::fmt::Write as _;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::PathBuf;

use consumer::local_agent::{EntryKind, History};

/// Writes a new file, by default named after the session; what came of it, for a person.
pub(super) fn to_file(history: &History, session: &str, file: Option<&str>) -> String {
    let path = file.map_or_else(
        || PathBuf::from(format!("chat-{session}.md")),
        PathBuf::from,
    );
    let shown = path.display();
    // What was said is the person's alone.
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)
        .and_then(|mut file| file.write_all(markdown(history, session).as_bytes()));
    match written {
        Ok(()) => format!("{} entries are in {shown}.", history.messages().len()),
        Err(error) => format!("{shown} cannot be written: {error}"),
    }
}

fn markdown(history: &History, session: &str) -> String {
    let mut text = format!("# Session {session}\n");
    for message in history.messages() {
        let words = message.text.trim_end();
        // Writing to a string never fails.
        let _ = match message.kind {
            EntryKind::User => write!(text, "\n## You\n\n{words}\n"),
            EntryKind::Assistant => write!(text, "\n## Assistant\n\n{words}\n"),
            EntryKind::Activity => write!(text, "\n- {}\n", words.replace('\n', " ")),
            EntryKind::ReasoningSummary => write!(text, "\n> {}\n", words.replace('\n', "\n> ")),
            EntryKind::Compaction => write!(text, "\n## Summary of what came before\n\n{words}\n"),
            EntryKind::Diagnostic => write!(text, "\n*{}*\n", words.replace('\n', " ")),
        };
        if message.partial {
            text.push_str("\n*(cut short)*\n");
        }
    }
    if !history.is_complete() {
        text.push_str("\n*Not all of the session is here.*\n");
    }
    text
}
