//! The loop of dialects that serve strictly one request after another. One exchange is a request and its
//! lines; the loop around it belongs to whoever owns the bytes. No line's shape is known here.

use std::future::Future;
use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::mpsc;
use tracing::Instrument;

use crate::connection::Connection;
use crate::context::RawCx;
use crate::dialect::Dialect;
use crate::fault::Fault;
use crate::frame::{FrameBuffer, Framed};
use crate::operation::{Needs, Refused};
use crate::reply::{After, Outcome};
use crate::transport::{Input, Output};
use crate::work::Slot;

/// Lines of an op are handed on when they are so many bytes.
const BATCH_BYTES: usize = 32 * 1024;

/// A decoded request: its method and the whole object, from which the operation takes its own keys.
#[derive(Debug, PartialEq, Eq)]
pub struct Request<'f> {
    pub method: String,
    pub params: &'f str,
    /// Bytes that follow the object.
    pub rest: &'f [u8],
}

/// What may follow a request in the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trailing {
    /// Only whitespace: a line holds one request.
    Refuse,
    /// Further objects are reported and ignored: a body holds one request.
    Report,
}

/// The codec of a dialect that serves one request after another. It has no state.
pub trait LineCodec: Dialect {
    /// A request without the whitespace around it, in bytes.
    const REQUEST_BYTES: usize;
    /// Whitespace around a request that its bound does not count, in bytes.
    const SURROUNDING_BYTES: usize;
    /// The status of a request that could not be served as one.
    const PROTOCOL_STATUS: i32;

    /// Decodes a request, without the whitespace around it.
    ///
    /// # Errors
    /// Why it is none; nothing of it runs.
    fn decode(text: &[u8], trailing: Trailing) -> Result<Request<'_>, Fault>;
    /// The refusal of a request over its byte bound, which was never decoded.
    fn oversize() -> Fault;
    /// The refusal of a method that is not linked.
    fn unknown(method: &str) -> Fault;
    /// The refusal of params that are not the operation's; `reason` is the decoder's.
    fn malformed(reason: &str) -> Fault;
    /// Appends an event's line.
    fn event(out: &mut Vec<u8>, name: &str, data: &str);
    /// Appends the lines of an outcome. A refusal has no method.
    fn outcome(out: &mut Vec<u8>, method: Option<&str>, outcome: &Outcome);
    /// Appends the lines about what followed the request. `rest` is as a record of it would hold it.
    fn rest(out: &mut Vec<u8>, rest: &str);
    /// Appends what ends every exchange.
    fn end(out: &mut Vec<u8>, status: i32);
}

/// Response bytes on their way out. Each call holds whole lines.
pub trait LineSink: Send + Sync {
    fn write(&mut self, lines: &[u8]) -> impl Future<Output = io::Result<()>> + Send;
    /// The last lines of a response.
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

/// Sees each request with its whole response, before the response's last lines leave.
pub trait Observer: Send + Sync {
    /// Bytes of a response that are kept for it.
    const RESPONSE_BYTES: usize;
    /// `response` is `None` when it passed that bound.
    fn observe(&self, request: &[u8], response: Option<&[u8]>);
}

/// Nobody looks on.
pub struct Unobserved;

impl Observer for Unobserved {
    const RESPONSE_BYTES: usize = 0;
    fn observe(&self, _: &[u8], _: Option<&[u8]>) {}
}

/// Passes a response on and keeps a copy for the observer.
struct Observed<'a, S, O> {
    sink: &'a mut S,
    observer: Option<&'a O>,
    request: &'a [u8],
    /// `None` once the copy passed the observer's bound.
    copy: Option<Vec<u8>>,
}

impl<S, O: Observer> Observed<'_, S, O> {
    fn keep(&mut self, lines: &[u8]) {
        if let (Some(copy), Some(_)) = (&mut self.copy, self.observer) {
            copy.extend_from_slice(lines);
            if copy.len() > O::RESPONSE_BYTES {
                self.copy = None;
            }
        }
    }
}

impl<S: LineSink, O: Observer> LineSink for Observed<'_, S, O> {
    async fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        self.keep(lines);
        self.sink.write(lines).await
    }

    async fn finish(&mut self, lines: &[u8]) -> io::Result<()> {
        self.keep(lines);
        if let Some(observer) = self.observer {
            observer.observe(self.request, self.copy.as_deref());
        }
        self.copy = None;
        self.sink.finish(lines).await
    }

    async fn closed(&self) {
        self.sink.closed().await;
    }
}

/// A request without the whitespace around it: what is served, what the column of a message counts in, and
/// what a record holds, so that a replay meets the very bytes.
#[must_use]
pub fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.trim_ascii()
}

/// How an exchange ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanged {
    pub status: i32,
    /// The op ends its connection.
    pub halts: bool,
}

/// Serves one request. A response that does not come to its end is not observed.
///
/// # Errors
/// When the sink fails; the operation is cancelled then.
pub async fn exchange<D: LineCodec, S: LineSink, O: Observer>(
    connection: &Arc<Connection>,
    request: &[u8],
    trailing: Trailing,
    sink: &mut S,
    observer: Option<&O>,
) -> io::Result<Exchanged> {
    let mut sink = Observed {
        sink,
        observer,
        request,
        copy: Some(Vec::new()),
    };
    let mut out = Vec::new();
    // Kept until the sink has taken the whole answer, which is memory as well.
    let mut slotted = None;
    let (status, halts) = match D::decode(trimmed(request), trailing) {
        Ok(request) => {
            let slot = tokio::select! {
                slot = connection.workers.slot() => slot?,
                () = sink.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
            };
            slotted = Some(slot.clone());
            let outcome = perform::<D, _>(connection, &request, slot, &mut sink, &mut out).await?;
            D::rest(&mut out, &String::from_utf8_lossy(request.rest));
            (outcome.exit_code, outcome.after == After::Close)
        }
        Err(fault) => {
            let refused = Outcome::failed(fault);
            D::outcome(&mut out, None, &refused);
            (refused.exit_code, false)
        }
    };
    D::end(&mut out, status);
    sink.finish(&out).await?;
    drop(slotted);
    Ok(Exchanged { status, halts })
}

/// The whole answer to a request over its byte bound.
#[must_use]
pub fn oversize<D: LineCodec>() -> Vec<u8> {
    let mut out = Vec::new();
    let refused = Outcome::failed(D::oversize());
    D::outcome(&mut out, None, &refused);
    D::end(&mut out, refused.exit_code);
    out
}

/// Runs the op; its own lines go to the sink as they come, its last ones stay in `out`.
async fn perform<D: LineCodec, S: LineSink>(
    connection: &Arc<Connection>,
    request: &Request<'_>,
    slot: Slot,
    sink: &mut S,
    out: &mut Vec<u8>,
) -> io::Result<Outcome> {
    // One request at a time, so that a small queue is enough to overlap the op with its output.
    let (lines, mut emitted) = mpsc::channel(16);
    let cancel = connection.cancel.child_token();
    // However the exchange ends: nobody waits for the rest of its work then.
    let _on_drop = cancel.clone().drop_guard();
    let cx = RawCx {
        connection: Arc::clone(&connection.shared),
        events: lines,
        request_id: None,
        session_id: None,
        cancel,
        slot: Some(slot),
    };
    let outcome = match begin::<D>(connection, request, cx) {
        Err(fault) => {
            let refused = Outcome::failed(fault);
            D::outcome(out, None, &refused);
            return Ok(refused);
        }
        Ok(work) => {
            let span = tracing::debug_span!("request", dialect = D::NAME, method = request.method);
            span.in_scope(|| tracing::debug!("a request is served"));
            let mut work = AssertUnwindSafe(work.instrument(span)).catch_unwind();
            let finished = loop {
                tokio::select! {
                    biased;
                    Some(line) = emitted.recv() => {
                        D::event(out, line.name, &line.data);
                        // Lines that are ready together leave together, within a bound.
                        while out.len() < BATCH_BYTES && let Ok(line) = emitted.try_recv() {
                            D::event(out, line.name, &line.data);
                        }
                        sink.write(out).await?;
                        out.clear();
                    }
                    finished = &mut work => break finished,
                    () = sink.closed() => return Err(io::ErrorKind::BrokenPipe.into()),
                }
            };
            while let Ok(line) = emitted.try_recv() {
                D::event(out, line.name, &line.data);
            }
            finished.unwrap_or_else(|payload| {
                crate::panics::caught("a handler", &*payload);
                Outcome::failed(connection.rules.fault(connection.rules.standard.internal))
            })
        }
    };
    D::outcome(out, Some(&request.method), &outcome);
    Ok(outcome)
}

/// Finds and starts the operation, or gives the refusal. One request at a time is served, so that every class
/// of scheduling holds; no envelope names a session, so that no operation asks for one.
fn begin<D: LineCodec>(
    connection: &Arc<Connection>,
    request: &Request<'_>,
    cx: RawCx,
) -> Result<crate::operation::HandlerFuture, Fault> {
    let rules = connection.rules;
    let operation = connection
        .registry
        .find(rules.name, &request.method)
        .ok_or_else(|| D::unknown(&request.method))?;
    let work = operation
        .start(cx, request.params)
        .map_err(|refused| match refused {
            Refused::Params(reason) => D::malformed(&reason),
            Refused::Invalid(fault) => fault,
            Refused::NoEngine => rules.fault(rules.standard.internal),
        })?;
    match connection.gate.word() {
        Some(word) if operation.needs == Needs::Initialization => Err(rules.fault(word)),
        _ => Ok(work),
    }
}

/// Why a loop ended before its input did.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("requests cannot be read: {0}")]
    Input(#[source] io::Error),
    #[error("an answer was lost: {0}")]
    Output(#[source] io::Error),
}

/// The worst of several statuses: a protocol error outranks a failed op.
fn worse<D: LineCodec>(so_far: i32, status: i32) -> i32 {
    match (so_far, status) {
        (0, 0) => 0,
        (a, b) if a == D::PROTOCOL_STATUS || b == D::PROTOCOL_STATUS => D::PROTOCOL_STATUS,
        _ => 1,
    }
}

/// Serves lines until an operation closes, the end of input, or a dead output. Gives the status of the whole.
///
/// # Errors
/// When the input or the output fails.
pub async fn serve_lines<D: LineCodec, S: LineSink, O: Observer>(
    connection: &Arc<Connection>,
    input: &mut Input,
    sink: &mut S,
    observer: Option<&O>,
) -> Result<i32, Broken> {
    let mut frames = FrameBuffer::new(D::RULES.frame);
    let mut status = 0;
    let mut ended = false;
    loop {
        let framed = match frames.next_frame() {
            Some(framed) => framed,
            None if ended => return Ok(status),
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
                    None => return Ok(status),
                }
            }
        };
        let line = match framed {
            Framed::Frame(range) => Some(trimmed(frames.bytes(range))),
            _ => None,
        };
        // The bound is on the request; what surrounds it only has the buffer's slack.
        let Some(line) = line.filter(|line| line.len() <= D::REQUEST_BYTES) else {
            refuse_oversize::<D, _>(sink).await?;
            status = D::PROTOCOL_STATUS;
            continue;
        };
        if line.is_empty() {
            continue;
        }
        let exchanged = exchange::<D, _, _>(connection, line, Trailing::Refuse, sink, observer)
            .await
            .map_err(Broken::Output)?;
        status = worse::<D>(status, exchanged.status);
        if exchanged.halts {
            return Ok(status);
        }
    }
}

/// Reads all of the input as one request and serves it.
///
/// # Errors
/// When the input or the output fails.
pub async fn serve_once<D: LineCodec, S: LineSink, O: Observer>(
    connection: &Arc<Connection>,
    input: &mut Input,
    sink: &mut S,
    observer: Option<&O>,
) -> Result<i32, Broken> {
    let mut body = Vec::new();
    let mut chunk = vec![0; 16 * 1024];
    loop {
        let n = input.read(&mut chunk).await.map_err(Broken::Input)?;
        body.extend_from_slice(&chunk[..n]);
        let ended = n == 0;
        if ended && trimmed(&body).len() <= D::REQUEST_BYTES {
            break;
        }
        if ended || body.len() > D::REQUEST_BYTES + D::SURROUNDING_BYTES {
            refuse_oversize::<D, _>(sink).await?;
            return Ok(D::PROTOCOL_STATUS);
        }
    }
    exchange::<D, _, _>(connection, &body, Trailing::Report, sink, observer)
        .await
        .map(|exchanged| exchanged.status)
        .map_err(Broken::Output)
}

/// Answers a request whose text was not kept, so that there is nothing to observe either.
async fn refuse_oversize<D: LineCodec, S: LineSink>(sink: &mut S) -> Result<(), Broken> {
    sink.finish(&oversize::<D>()).await.map_err(Broken::Output)
}
