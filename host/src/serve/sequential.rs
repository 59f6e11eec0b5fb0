//! The dialect that serves strictly one request after another: mty-agent. One exchange is a request and
//! its lines, `done` last; the loop around it belongs to whoever owns the bytes.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;

use crate::context::{Connection, RawCx};
use crate::dialect::mty_agent::{self as wire, EXIT_PROTOCOL};
use crate::frame::{FrameBuffer, Framed};
use crate::operation::{After, Outcome, Refused};
use crate::record::{Recorder, exchange_recorded};
use crate::transport::{Input, Output};
use crate::work::Slot;

/// Lines of an op are handed on when they are so many bytes.
const BATCH_BYTES: usize = 32 * 1024;

/// Response bytes on their way out. Each call holds whole lines.
pub trait LineSink: Send + Sync {
    fn write(&mut self, lines: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// The last lines of a response, `done` included.
    fn finish(&mut self, lines: &[u8]) -> impl Future<Output = io::Result<()>> + Send {
        self.write(lines)
    }
    /// Resolves when nobody listens any more.
    fn closed(&self) -> impl Future<Output = ()> + Send;
}

impl LineSink for Output {
    async fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.write_all(lines).await
    }

    async fn closed(&self) {
        Output::closed(self).await;
    }
}

impl LineSink for Vec<u8> {
    async fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.extend_from_slice(lines);
        Ok(())
    }

    async fn closed(&self) {
        std::future::pending().await
    }
}

/// Why a line with more than one object is refused, if it has more; none of it runs. `text` is what
/// `request` was decoded from.
pub(crate) fn second_object(text: &[u8], request: &wire::Request<'_>) -> Option<String> {
    let spare = trimmed(request.rest);
    let before = text
        .get(..text.len().checked_sub(spare.len())?)
        .unwrap_or_default();
    let column = String::from_utf8_lossy(before).chars().count() + 1;
    (!spare.is_empty()).then(|| format!("malformed JSON: expected end of line at column {column}"))
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    pub exit_code: i32,
    /// The op ends its connection.
    pub halts: bool,
}

/// What may follow a request in the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trailing {
    /// Only whitespace: a line holds one request.
    Refuse,
    /// Further objects are reported and ignored: a body holds one request.
    Report,
}

/// A request without the whitespace around it: what is served, what the column of a message counts in, and
/// what a record holds, so that a replay meets the very bytes.
pub(crate) fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// Serves one request. Errs when the sink fails; the op is cancelled then.
pub async fn exchange<S: LineSink>(
    connection: &Arc<Connection>,
    request: &[u8],
    trailing: Trailing,
    sink: &mut S,
) -> io::Result<Exchanged> {
    let mut out = Vec::new();
    // Kept until the sink has taken the whole answer, which is memory as well.
    let mut slotted = None;
    let text = trimmed(request);
    let decoded = match trailing {
        Trailing::Refuse => wire::decode(text)
            .and_then(|request| second_object(text, &request).map_or(Ok(request), Err)),
        Trailing::Report => wire::decode_first(text),
    };
    let (exit_code, halts) = match decoded {
        Ok(request) => {
            let slot = tokio::select! {
                slot = connection.workers.slot() => slot?,
                () = sink.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            let outcome = perform(connection, &request, slot.clone(), sink, &mut out).await?;
            slotted = Some(slot);
            // As a record will hold it, so that a replay reports the same.
            report_rest(&String::from_utf8_lossy(request.rest), &mut out);
            (outcome.exit_code, outcome.after == After::Close)
        }
        Err(message) => {
            wire::push_error(&mut out, &message);
            (EXIT_PROTOCOL, false)
        }
    };
    wire::push_done(&mut out, exit_code);
    sink.finish(&out).await?;
    drop(slotted);
    Ok(Exchanged { exit_code, halts })
}

/// The answer to a request over its byte bound, which was never decoded.
pub fn push_oversize(out: &mut Vec<u8>) {
    wire::push_error(
        out,
        &format!("request too large: more than {} bytes", wire::REQUEST_BYTES),
    );
    wire::push_done(out, EXIT_PROTOCOL);
}

/// Runs the op; its own lines go to the sink as they come, its last ones stay in `out`.
async fn perform<S: LineSink>(
    connection: &Arc<Connection>,
    request: &wire::Request<'_>,
    slot: Slot,
    sink: &mut S,
    out: &mut Vec<u8>,
) -> io::Result<Outcome> {
    let rules = connection.rules;
    let refused = |message: String| Outcome {
        result: Err(crate::operation::Fault {
            code: "",
            message: message.into(),
            exit_code: EXIT_PROTOCOL,
            body: None,
        }),
        exit_code: EXIT_PROTOCOL,
        after: After::Continue,
        then: None,
    };
    // One request at a time, so that a small queue is enough to overlap the op with its output.
    let (lines, mut emitted) = mpsc::channel(16);
    let cancel = connection.cancel.child_token();
    // However the exchange ends: nobody waits for the rest of its work then.
    let _on_drop = cancel.clone().drop_guard();
    let cx = RawCx {
        connection: Arc::clone(connection),
        events: lines,
        request_id: None,
        session_id: None,
        cancel,
        slot: Some(slot),
    };
    let outcome = match connection.registry.find(rules.name, &request.op) {
        None => refused(format!("unknown op: {}", request.op)),
        Some(operation) => match operation.start(cx, request.object) {
            Err(Refused::Invalid(fault)) => Outcome::failed(fault),
            Err(Refused::Params(message)) => refused(format!(
                "malformed request: {}",
                wire::in_json_words(&message)
            )),
            Err(Refused::NoEngine) => refused("this op is not available here".to_owned()),
            Ok(work) => {
                let mut work = AssertUnwindSafe(work).catch_unwind();
                let finished = loop {
                    tokio::select! {
                        biased;
                        Some(line) = emitted.recv() => {
                            wire::push_line(out, line.name, &line.data);
                            // Lines that are ready together leave together, within a bound.
                            while out.len() < BATCH_BYTES && let Ok(line) = emitted.try_recv() {
                                wire::push_line(out, line.name, &line.data);
                            }
                            sink.write(out).await?;
                            out.clear();
                        }
                        finished = &mut work => break finished,
                        () = sink.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
                    }
                };
                while let Ok(line) = emitted.try_recv() {
                    wire::push_line(out, line.name, &line.data);
                }
                finished.unwrap_or_else(|payload| {
                    crate::panics::caught("an op's handler", &*payload);
                    Outcome::failed(crate::operation::Fault {
                        code: "",
                        message: "internal error: the op failed unexpectedly".into(),
                        exit_code: 1,
                        body: None,
                    })
                })
            }
        },
    };
    match &outcome.result {
        Ok(body) => wire::push_result(out, &request.op, outcome.exit_code == 0, body),
        Err(fault) => {
            wire::push_error(out, &fault.message);
            if let Some(body) = &fault.body {
                wire::push_result(out, &request.op, false, body);
            }
        }
    }
    Ok(outcome)
}

/// Objects after the first are reported, one line each, and never run.
fn report_rest(mut rest: &str, out: &mut Vec<u8>) {
    // More than this many ignored objects are summed up by the last line.
    const REPORTED: usize = 64;
    for reported in 0.. {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\n']);
        if rest.is_empty() {
            return;
        }
        if reported == REPORTED {
            return wire::push_error(out, "further objects ignored: one request is served");
        }
        match crate::scan::scan_prefix(rest, &crate::scan::ScanLimits::UNBOUNDED) {
            Ok((_, end)) => {
                wire::push_error(out, "extra object ignored: one request is served");
                rest = rest.get(end..).unwrap_or_default();
            }
            Err(_) => {
                return wire::push_error(
                    out,
                    "extra input ignored: malformed JSON after the request",
                );
            }
        }
    }
}

/// The worst of several exit codes: a protocol error outranks a failed op.
#[must_use]
pub fn worse(so_far: i32, exit_code: i32) -> i32 {
    match (so_far, exit_code) {
        (EXIT_PROTOCOL, _) | (_, EXIT_PROTOCOL) => EXIT_PROTOCOL,
        (0, 0) => 0,
        _ => 1,
    }
}

/// Why a loop ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("requests cannot be read: {0}")]
    Input(io::Error),
    #[error("an answer was lost: {0}")]
    Output(io::Error),
}

/// Serves lines until `halt`, the end of input, or a dead output. Gives the exit code of the whole.
pub async fn serve_lines<S: LineSink>(
    connection: &Arc<Connection>,
    input: &mut Input,
    sink: &mut S,
    recorder: Option<&Recorder>,
) -> Result<i32, Broken> {
    let mut frames = FrameBuffer::new(wire::RULES.frame);
    let mut code = 0;
    let mut ended = false;
    loop {
        let framed = match frames.next_frame() {
            Some(framed) => framed,
            None if ended => return Ok(code),
            None => {
                let n = tokio::select! {
                    // Where both ends are gone at once, nothing was asked that was not answered.
                    biased;
                    n = input.read(frames.space()) => n.map_err(Broken::Input)?,
                    () = sink.closed() => return Err(Broken::Output(io::ErrorKind::BrokenPipe.into())),
                };
                frames.filled(n);
                if n > 0 {
                    continue;
                }
                ended = true;
                match frames.finish() {
                    Some(framed) => framed,
                    None => return Ok(code),
                }
            }
        };
        let line = match framed {
            Framed::Frame(range) => Some(trimmed(frames.bytes(range))),
            _ => None,
        };
        // The bound is on the request; what surrounds it only has the buffer's slack.
        let Some(line) = line.filter(|line| line.len() <= wire::REQUEST_BYTES) else {
            refuse_oversize(sink).await?;
            code = EXIT_PROTOCOL;
            continue;
        };
        if line.is_empty() {
            continue;
        }
        let exchanged = exchange_recorded(connection, line, Trailing::Refuse, sink, recorder)
            .await
            .map_err(Broken::Output)?;
        code = worse(code, exchanged.exit_code);
        if exchanged.halts {
            return Ok(code);
        }
    }
}

/// Reads all of the input as one request and serves it.
pub async fn serve_once<S: LineSink>(
    connection: &Arc<Connection>,
    input: &mut Input,
    sink: &mut S,
    recorder: Option<&Recorder>,
) -> Result<i32, Broken> {
    let mut body = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let n = input.read(&mut chunk).await.map_err(Broken::Input)?;
        body.extend_from_slice(&chunk[..n]);
        let ended = n == 0;
        if ended && trimmed(&body).len() <= wire::REQUEST_BYTES {
            break;
        }
        if ended || body.len() > wire::REQUEST_BYTES + wire::SURROUNDING_BYTES {
            refuse_oversize(sink).await?;
            return Ok(EXIT_PROTOCOL);
        }
    }
    exchange_recorded(connection, &body, Trailing::Report, sink, recorder)
        .await
        .map(|exchanged| exchanged.exit_code)
        .map_err(Broken::Output)
}

/// Answers a request whose text was not kept, so that there is nothing to record either.
async fn refuse_oversize<S: LineSink>(sink: &mut S) -> Result<(), Broken> {
    let mut out = Vec::new();
    push_oversize(&mut out);
    sink.finish(&out).await.map_err(Broken::Output)
}
