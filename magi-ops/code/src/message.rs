//! What the host and a snippet's process tell each other: frames of a length (four bytes, big-endian) and JSON.
//! The host believes nothing of what it reads here; what either does with it stands elsewhere.

use std::io::{self, Read, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};

/// Longest frame, in bytes: a source or a result with every character escaped.
const MAX_FRAME_BYTES: usize = 4 * 1024 * 1024;

/// From the host.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Order {
    /// The first one: the body of an async function, and the names of the tools that it may call.
    Start { source: String, tools: Vec<String> },
    /// What a call came to.
    Result {
        id: u32,
        is_error: bool,
        text: String,
    },
}

/// From the snippet's process.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Report {
    Call {
        id: u32,
        name: String,
        input: Value,
    },
    /// Some output. `cut` says that there was more, of which nothing more is told.
    Printed {
        text: String,
        cut: bool,
    },
    /// The last one.
    Ended(End),
}

/// A snippet's end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct End {
    pub(crate) how: Ended,
    /// Calls whose result the snippet did not wait for: those that ran, those that waited for one of them, and those whose
    /// result it had not looked at.
    pub(crate) open: u32,
    /// What was rejected without anybody to handle it, in one line; empty if nothing was.
    pub(crate) unhandled: String,
}

/// How a snippet ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    /// With this value as text, if it returned one.
    Returned(Option<String>),
    /// With what an error says: its message, then the lines of the snippet that it came from.
    Threw(String),
    /// At the end of its own time, with a line near the one that it was at, where that is known.
    OutOfTime(Option<u32>),
}

/// A message as a frame.
///
/// # Errors
///
/// When it is longer than a frame may be.
pub(crate) fn frame(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, message)?;
    let length = bytes.len() - 4;
    if length > MAX_FRAME_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let length = u32::try_from(length).map_err(io::Error::other)?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// Writes one message.
///
/// # Errors
///
/// When it is too long, or the other side is gone.
pub(crate) fn write(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&frame(message)?)
}

/// Reads one message.
///
/// # Errors
///
/// When the other side is gone, or says something else.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let mut bytes = vec![0; checked(u32::from_be_bytes(length))?];
    from.read_exact(&mut bytes)?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// As [`read`].
///
/// # Errors
///
/// As [`read`].
pub(crate) async fn receive<T: DeserializeOwned>(
    from: &mut (impl AsyncRead + Unpin),
) -> io::Result<T> {
    let mut bytes = vec![0; checked(from.read_u32().await?)?];
    from.read_exact(&mut bytes).await?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// A length from the other side, before anything of that size is reserved.
fn checked(length: u32) -> io::Result<usize> {
    let length = usize::try_from(length).map_err(io::Error::other)?;
    match length <= MAX_FRAME_BYTES {
        true => Ok(length),
        false => Err(io::ErrorKind::InvalidData.into()),
    }
}
