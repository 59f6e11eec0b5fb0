//! The messages of a server that is a program: read line by line, written by a task of their own.
//! What is no message costs nothing but itself; starting the program is no matter of this file.

use std::io::{self, Write as _};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;

use rmcp::model::{
    CustomResult, ErrorCode, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage,
    ServerResult,
};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use serde::Deserialize as _;
use serde_json::Value;
use tokio::net::unix::pipe;
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
    /// Watched for what can be read alone: a socket that is watched for room wakes this process each time the program reads.
    lines: Lines<pipe::Receiver>,
    /// `None` once it is closed, which ends the program's input.
    to: Option<mpsc::Sender<Vec<u8>>>,
}

impl Stdio {
    /// Takes a socket that does not block.
    ///
    /// # Errors
    /// When the system is out of descriptors.
    pub(crate) fn new(stream: UnixStream) -> io::Result<Self> {
        let to = Input(stream.try_clone()?);
        // A socket is read as a pipe is.
        let from = pipe::Receiver::from_owned_fd_unchecked(stream.into())?;
        let (sender, messages) = mpsc::channel(UNREAD);
        tokio::spawn(write(messages, to));
        Ok(Self {
            lines: Lines::new(from),
            to: Some(sender),
        })
    }
}

/// A program's input, which ends with this.
struct Input(UnixStream);

impl Drop for Input {
    fn drop(&mut self) {
        // Of a program that is gone there is none to end.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

impl Input {
    async fn write_all(&self, mut message: &[u8]) -> io::Result<()> {
        while !message.is_empty() {
            match (&self.0).write(message) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(written) => message = &message[written..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    // Only for as long as there is no room.
                    let watched = tokio::net::UnixStream::from_std(self.0.try_clone()?)?;
                    watched.writable().await?;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

/// Writes until there is nothing more to come or nobody reads; then the program's input ends.
async fn write(mut messages: mpsc::Receiver<Vec<u8>>, to: Input) {
    while let Some(message) = messages.recv().await {
        if let Err(error) = to.write_all(&message).await {
            tracing::debug!(%error, "a server does not take any more messages");
            return;
        }
    }
}

impl Stdio {
    /// Queues a message.
    ///
    /// # Errors
    /// When the program takes no more, or does not read.
    pub(crate) fn send(&mut self, message: TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
        serde_json::to_vec(&message)
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
            })
    }

    /// The next message that means something here; `None` at the end. Nothing is lost when the future is dropped.
    pub(crate) async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let message = match self.lines.next().await? {
                Line::Whole(line) => message(line),
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

    /// Ends the program's input, once what is queued is written.
    pub(crate) fn close(&mut self) {
        self.to = None;
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
    if let Some(answer) = answer(&mut value) {
        return Some(answer);
    }
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

/// A result as the server says it: who asked reads it. The SDK would look for its form among twenty, copy by copy, and
/// wants only that of the handshake for itself, which is left to it.
fn answer(message: &mut Value) -> Option<ServerJsonRpcMessage> {
    let message = message.as_object_mut()?;
    let is_plain = message
        .get("jsonrpc")
        .is_some_and(|version| version == "2.0")
        && !["method", "error"]
            .iter()
            .any(|other| message.contains_key(*other));
    let is_handshake = message.get("result")?.get("protocolVersion").is_some();
    if !is_plain || is_handshake {
        return None;
    }
    let id = RequestId::deserialize(message.get("id")?).ok()?;
    let result = CustomResult::new(message.remove("result")?);
    Some(ServerJsonRpcMessage::response(
        ServerResult::CustomResult(result),
        id,
    ))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn an_answer_is_what_the_server_says_whatever_its_form() {
        for result in [
            json!({"content": [{"type": "text", "text": "one", "more": 1}], "isError": "no"}),
            json!({"tools": [{"name": "t", "execution": {"taskSupport": "required"}}]}),
            json!({}),
            json!(null),
            json!([1, "two"]),
        ] {
            for id in [json!(7), json!("seven")] {
                let line = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                let Some(ServerJsonRpcMessage::Response(answer)) = message(line.as_bytes()) else {
                    panic!("no answer: {line}");
                };
                assert_eq!(serde_json::to_value(&answer.id).unwrap(), id);
                let ServerResult::CustomResult(said) = answer.result else {
                    panic!("read by the SDK: {line}");
                };
                assert_eq!(said.0, result);
            }
        }
    }

    #[test]
    fn what_only_looks_like_an_answer_is_the_sdk_s_matter() {
        let greeting = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "serverInfo": {"name": "s", "version": "1"}});
        let hello = json!({"jsonrpc": "2.0", "id": 0, "result": greeting}).to_string();
        let Some(ServerJsonRpcMessage::Response(hello)) = message(hello.as_bytes()) else {
            panic!("no greeting");
        };
        assert!(matches!(hello.result, ServerResult::InitializeResult(_)));
        for no_answer in [
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "error": {"code": 1, "message": "no"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}, "method": "ping"}),
            json!({"jsonrpc": "1.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": null, "result": {}}),
        ] {
            let message = message(no_answer.to_string().as_bytes());
            let is_answer = matches!(message, Some(ServerJsonRpcMessage::Response(_)));
            assert!(!is_answer, "{no_answer}");
        }
    }
}
