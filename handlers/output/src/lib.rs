//! The `log` line of mty-agent, shared by every operation that passes on what its command would print.
//! One registration for all of them: two of one name would stop the process at start.

use host::EventSink;
use mty_agent::OpFailure;
use mty_agent::messages::{Log, Stream};

host::event! {
    /// One line of captured output.
    dialect: mty_agent::MtyAgent,
    position: 20,
    data: Log,
}

/// Sends a text line by line; an empty text is no line, and a last line feed begins none.
///
/// # Errors
/// When the connection is gone.
pub async fn log(events: &EventSink, stream: Stream, text: &str) -> Result<(), OpFailure> {
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
