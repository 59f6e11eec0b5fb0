//! The `log` line of mty-agent, shared by every operation that passes on what its command would print.
//! One registration for all of them: two of one name would stop the process at start.

use host::EventSink;
use mty_agent::OpFailure;
use schemars::JsonSchema;
use serde::Serialize;

/// One line of what a command would print.
#[derive(Debug, Serialize, JsonSchema)]
struct Log {
    /// `stdout` or `stderr`
    stream: &'static str,
    /// One line, without its line feed.
    text: String,
}

host::event! {
    /// One line of captured output.
    dialect: mty_agent::MtyAgent,
    name: "log",
    position: 20,
    delivery: MustArrive,
    data: Log,
}

/// Which stream a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// Sends a text line by line; an empty text is no line, and a last line feed begins none.
///
/// # Errors
/// When the connection is gone.
pub async fn log(events: &EventSink, stream: Stream, text: &str) -> Result<(), OpFailure> {
    let stream = match stream {
        Stream::Stdout => "stdout",
        Stream::Stderr => "stderr",
    };
    for line in text.lines() {
        let log = Log {
            stream,
            text: line.to_owned(),
        };
        let sent = events.send(&log).await;
        sent.map_err(|error| OpFailure::failed(error.to_string()))?;
    }
    Ok(())
}
