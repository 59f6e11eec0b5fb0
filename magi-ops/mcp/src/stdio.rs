//! The messages of a server that is a program: read line by line, written by a task of their own.
//! What is no message costs nothing but itself; starting the program is no matter of this file.

use std::io;

use rmcp::model::{ErrorCode, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::mpsc;

use crate::lines::{IdScan, Line, Lines, MAX_MESSAGE_BYTES};
use crate::result::bound_parts;

/// Messages that wait for a server to read them; one that leaves more unread gets no more.
const UNREAD: usize = 256;
/// Notifications that mean something here. Whatever else a server tells is not even kept.
const HEEDED: [&str; 3] = [
    "notifications/progress",
    "notifications/tools/list_changed",
    "notifications/cancelled",
];

/// The two directions of a program's standard streams.
pub(crate) struct Stdio {
    lines: Lines<OwnedReadHalf>,
    /// `None` once it is closed, which ends the program's input.
    to: Option<mpsc::Sender<Vec<u8>>>,
}

impl Stdio {
    pub(crate) fn new(stream: UnixStream) -> Self {
        let (from, to) = stream.into_split();
        let (sender, messages) = mpsc::channel(UNREAD);
        tokio::spawn(write(messages, to));
        Self {
            lines: Lines::new(from),
            to: Some(sender),
        }
    }
}

/// Writes until there is nothing more to come or nobody reads; then the program's input ends.
async fn write(mut messages: mpsc::Receiver<Vec<u8>>, mut to: OwnedWriteHalf) {
    while let Some(message) = messages.recv().await {
        if let Err(error) = to.write_all(&message).await {
            tracing::debug!(%error, "a server does not take any more messages");
            return;
        }
    }
}

impl Transport<RoleClient> for Stdio {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let queued = serde_json::to_vec(&message)
            .map_err(io::Error::from)
            .and_then(|mut line| {
                line.push(b'\n');
                let to = self.to.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
                to.try_send(line).map_err(|refused| {
                    let why = match refused {
                        mpsc::error::TrySendError::Full(_) => "it does not read what it is sent",
                        mpsc::error::TrySendError::Closed(_) => "it takes no more messages",
                    };
                    io::Error::new(io::ErrorKind::BrokenPipe, why)
                })
            });
        std::future::ready(queued)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match self.lines.next().await? {
                Line::Whole(line) => message(&line),
                Line::TooLong(id) => {
                    tracing::debug!("a message of a server is too long and was skipped");
                    let why =
                        format!("the server's answer is longer than {MAX_MESSAGE_BYTES} bytes");
                    id.and_then(|id| failure(&id, why))
                }
            };
            if message.is_some() {
                return message;
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.to = None;
        Ok(())
    }
}

/// A line as a message, if it is one that means something here. An answer that can't be read fails its call.
pub(crate) fn message(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let mut value: Value = match serde_json::from_slice(line) {
        Ok(value) => value,
        Err(error) => {
            if !line.trim_ascii().is_empty() {
                tracing::debug!(%error, bytes = line.len(), "a line of a server is no message");
            }
            let is_meant = memchr::memmem::find(line, b"\"jsonrpc\"").is_some();
            let id = is_meant.then(|| IdScan::id_of(line)).flatten()?;
            return failure(&id, "the server's answer cannot be read".to_owned());
        }
    };
    keep_execution(&mut value);
    // The SDK tries one form of answer after the other on all of it.
    value.get_mut("result").map(bound_parts);
    let (id, method) = (value.get("id"), value.get("method"));
    value.get("jsonrpc")?;
    if id.is_none() && method.is_some_and(|method| !HEEDED.iter().any(|heeded| method == heeded)) {
        return None;
    }
    let unreadable = |error: &serde_json::Error| {
        tracing::debug!(%error, "a message of a server is of another form");
        let words = value.pointer("/error/message").and_then(Value::as_str);
        let why = words.unwrap_or("the server's answer cannot be read");
        id.filter(|_| method.is_none())
            .and_then(|id| failure(id, why.to_owned()))
    };
    match serde::Deserialize::deserialize(&value) {
        Ok(message) => Some(message),
        Err(error) => unreadable(&error),
    }
}

/// How a tool has to be called, the SDK does not know: it goes along where the SDK keeps what it does not know.
fn keep_execution(message: &mut Value) {
    let tools = message.pointer_mut("/result/tools");
    let tools = tools.and_then(Value::as_array_mut).into_iter().flatten();
    for tool in tools.filter_map(Value::as_object_mut) {
        let Some(execution) = tool.remove("execution") else {
            continue;
        };
        let meta = tool
            .entry("_meta")
            .or_insert_with(|| Value::Object(Map::new()));
        if let Some(meta) = meta.as_object_mut() {
            meta.insert("execution".to_owned(), execution);
        }
    }
}

/// The failure of the call with this id.
fn failure(id: &Value, why: String) -> Option<ServerJsonRpcMessage> {
    let id: RequestId = match id {
        Value::Number(number) => NumberOrString::Number(number.as_i64()?),
        Value::String(text) => NumberOrString::String(text.as_str().into()),
        _ => return None,
    };
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None);
    Some(ServerJsonRpcMessage::error(error, Some(id)))
}
