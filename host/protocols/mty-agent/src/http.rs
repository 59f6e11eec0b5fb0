//! mty-agent over HTTP/1.1: one request a connection, answers streamed as they are made
//! (spec: mty-agent, "HTTP"). Who may ask is decided before anything is read.

mod link;

use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{
    ACCEPT_ENCODING, ALLOW, AUTHORIZATION, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HOST,
    HeaderName, HeaderValue, ORIGIN, TRANSFER_ENCODING, WWW_AUTHENTICATE,
};
use hyper::service::service_fn;
use hyper::{HeaderMap, Method, Request, Response, StatusCode};
use subtle::ConstantTimeEq;
use tokio::net::TcpListener;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio::time::timeout;

use host::Connection;
use host::serve::sequential::{LineSink, Trailing, exchange, oversize};
use host::transport::accept::accept_until;

use crate::Factory;
use crate::codec::MtyAgent;
use crate::record::Recorder;
use crate::rules::{PROTOCOL_VERSION, REQUEST_BYTES};
use crate::wire::{push_error, shorten};

/// From the end of a header to the end of its body: a trickle must not hold a place for ever.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// Of a body, without waiting for a place among the large ones.
const SMALL_BODY: usize = 64 * 1024;
/// Larger bodies that are held at once.
const LARGE_BODIES: usize = 16;
/// How long an answer is gathered so that its length can be told, and how many bytes of it.
const GATHER: Duration = Duration::from_millis(50);
const GATHERED_BYTES: usize = 64 * 1024;
/// Bytes of an answer that are handed to the connection at once, and how many such pieces may wait there.
const PIECE_BYTES: usize = 16 * 1024;
const PIECES: usize = 4;
const NDJSON: &str = "application/x-ndjson";

/// What the command line decides.
pub struct Options {
    /// Required of every request when set.
    pub token: Option<String>,
    pub recorder: Option<Arc<Recorder>>,
    /// Told by `GET /v1/agent/version`.
    pub version: &'static str,
}

struct Server {
    options: Options,
    factory: Box<Factory>,
    bound: SocketAddr,
    large_bodies: Arc<Semaphore>,
}

/// Serves until `shutdown` resolves.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    factory: Box<Factory>,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let server = Arc::new(Server {
        options,
        factory,
        bound: listener.local_addr()?,
        large_bodies: Arc::new(Semaphore::new(LARGE_BODIES)),
    });
    let accept = move |cx: &mut Context<'_>| listener.poll_accept(cx).map_ok(|(stream, _)| stream);
    accept_until(2, accept, shutdown, |stream, stop| {
        let server = Arc::clone(&server);
        async move {
            // The address that was dialled: a listener on every address has none of its own.
            let Ok(local) = stream.local_addr() else {
                return;
            };
            let service =
                service_fn(move |request| Box::pin(answer(Arc::clone(&server), local, request)));
            link::run(stream, service, error_body, stop).await;
        }
    })
    .await;
    Ok(())
}

async fn answer(
    server: Arc<Server>,
    local: SocketAddr,
    request: Request<Incoming>,
) -> Result<Response<Lines>, Infallible> {
    let refused = unclear(&request)
        .or_else(|| server.admit(local, &request))
        .or_else(|| encoded(request.headers()));
    let response = match (refused, request.uri().path(), request.method()) {
        (Some(refused), _, _) => refused,
        (None, "/v1/agent/version", &Method::GET | &Method::HEAD) => {
            // Both are fixed texts of this build, so nothing needs escaping.
            let version = server.options.version;
            let body =
                format!(r#"{{"mty_version":"{version}","agent_protocol":"{PROTOCOL_VERSION}"}}"#);
            whole(StatusCode::OK, "application/json", body.into_bytes())
        }
        (None, path @ ("/v1/agent" | "/v1/agent/batch"), &Method::POST) => {
            let batch = path.ends_with("batch");
            match server.collect(request.into_body()).await {
                Ok(body) => perform(&server, body, batch).await,
                Err(refused) => refused,
            }
        }
        (None, "/v1/agent/version", _) => not_allowed("GET, HEAD"),
        (None, "/v1/agent" | "/v1/agent/batch", _) => not_allowed("POST"),
        (None, _, _) => error(StatusCode::NOT_FOUND, "no such path"),
    };
    Ok(with(response, CONNECTION, "close"))
}

impl Server {
    /// Refuses who may not ask: without the token, or, where none is set, from a web page.
    fn admit(&self, local: SocketAddr, request: &Request<Incoming>) -> Option<Response<Lines>> {
        if let Some(token) = &self.options.token {
            if bearer(request.headers().get(AUTHORIZATION)).is_some_and(|given| same(given, token))
            {
                return None;
            }
            let refusal = error(StatusCode::UNAUTHORIZED, "unauthorized");
            return Some(with(refusal, WWW_AUTHENTICATE, "Bearer"));
        }
        let forbidden = |why: &str| {
            let message = format!("forbidden: {why}; --auth-token lifts this");
            Some(error(StatusCode::FORBIDDEN, &message))
        };
        if request.headers().contains_key(ORIGIN) {
            return forbidden("the request has an Origin header, as those of web pages have");
        }
        let mut hosts: Vec<_> = request
            .headers()
            .get_all(HOST)
            .iter()
            .map(|host| String::from_utf8_lossy(host.as_bytes()))
            .collect();
        // A target in absolute form names a host too, and the one that counts.
        hosts.extend(
            request
                .uri()
                .authority()
                .map(|target| target.as_str().into()),
        );
        let foreign = hosts
            .iter()
            .find(|host| !is_ours(self.bound, local, host))?;
        forbidden(&format!(
            "Host `{}` is neither a loopback name nor the bound address",
            shorten(foreign)
        ))
    }

    /// Reads a whole body. Many small ones may be on their way at once, and few large ones.
    async fn collect(&self, mut body: Incoming) -> Result<Collected, Response<Lines>> {
        let too_large = || {
            whole(
                StatusCode::PAYLOAD_TOO_LARGE,
                NDJSON,
                oversize::<MtyAgent>(),
            )
        };
        if body.size_hint().lower() > REQUEST_BYTES as u64 {
            return Err(too_large());
        }
        let mut all = Collected::default();
        let deadline = tokio::time::Instant::now() + BODY_TIMEOUT;
        let message = "the body did not arrive in time";
        let late = |_| error(StatusCode::REQUEST_TIMEOUT, message);
        loop {
            let frame = tokio::time::timeout_at(deadline, body.frame())
                .await
                .map_err(late)?;
            let Some(frame) = frame else { return Ok(all) };
            let frame = frame.map_err(|cause| {
                tracing::debug!(%cause, "the body could not be read");
                error(StatusCode::BAD_REQUEST, "the body could not be read")
            })?;
            let data = frame.into_data().unwrap_or_default();
            let length = all.bytes.len() + data.len();
            if length > REQUEST_BYTES {
                return Err(too_large());
            }
            if length > SMALL_BODY && all._place.is_none() {
                let places = Arc::clone(&self.large_bodies);
                let place = tokio::time::timeout_at(deadline, places.acquire_owned()).await;
                all._place = place.map_err(late)?.ok();
            }
            all.bytes.extend_from_slice(&data);
        }
    }
}

/// A body, and its place among the large ones if it is one.
#[derive(Default)]
struct Collected {
    bytes: Vec<u8>,
    _place: Option<OwnedSemaphorePermit>,
}

/// Refuses a request that does not say once whom it is for (RFC 9112, section 3.2). HTTP/1.0 may say nothing.
fn unclear(request: &Request<Incoming>) -> Option<Response<Lines>> {
    let why = match request.headers().get_all(HOST).iter().count() {
        1 => return None,
        0 if request.version() == hyper::Version::HTTP_10 => return None,
        0 => "the request has no Host header",
        _ => "the request has more than one Host header",
    };
    Some(error(StatusCode::BAD_REQUEST, why))
}

/// Whether a `Host` names a loopback address, the one that is listened on, or the one that was dialled.
/// Any port will do: a tunnel or a container's map has one of its own on the client's side.
fn is_ours(bound: SocketAddr, dialled: SocketAddr, host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        _ => (host, ""),
    };
    if !port.is_empty() && port.parse::<u16>().is_err() {
        return false;
    }
    let bracketed = name.strip_prefix('[').and_then(|n| n.strip_suffix(']'));
    let bare = bracketed.unwrap_or_else(|| name.strip_suffix('.').unwrap_or(name));
    if bare.eq_ignore_ascii_case("localhost") {
        return bracketed.is_none();
    }
    let Ok(ip) = bare.parse::<IpAddr>() else {
        return false;
    };
    let (bound, dialled) = (bound.ip().to_canonical(), dialled.ip().to_canonical());
    let ip = ip.to_canonical();
    ip.is_loopback()
        || ip == bound
        || ip == dialled
        // A listener on every address is reached by either family's name for that.
        || (ip.is_unspecified() && bound.is_unspecified())
}

/// Refuses a body that we would not understand: of the transfer codings only `chunked` is undone for us, and
/// of the content codings none.
fn encoded(headers: &HeaderMap) -> Option<Response<Lines>> {
    let identity = |coding: &HeaderValue| coding.as_bytes().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(identity) {
        let refusal = error(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "no content coding is understood",
        );
        return Some(with(refusal, ACCEPT_ENCODING, "identity"));
    }
    let mut codings = headers.get_all(TRANSFER_ENCODING).iter();
    let plain = match (codings.next(), codings.next()) {
        (None, _) => true,
        (Some(only), None) => only
            .to_str()
            .is_ok_and(|only| only.trim().eq_ignore_ascii_case("chunked")),
        _ => false,
    };
    let message = "no transfer coding but chunked is understood";
    (!plain).then(|| error(StatusCode::NOT_IMPLEMENTED, message))
}

/// The token of an `Authorization` header; the scheme's case does not count.
fn bearer(header: Option<&HeaderValue>) -> Option<&[u8]> {
    let value = header?.as_bytes();
    let (scheme, rest) = value.split_at_checked(6)?;
    let token = rest.strip_prefix(b" ")?;
    scheme
        .eq_ignore_ascii_case(b"bearer")
        .then(|| token.trim_ascii())
}

fn same(given: &[u8], token: &str) -> bool {
    given.ct_eq(token.as_bytes()).into()
}

/// Runs the requests beside their own answer, so that lines leave as they are made. An answer that is
/// complete soon and small has a known length.
async fn perform(server: &Arc<Server>, body: Collected, batch: bool) -> Response<Lines> {
    let (sender, mut pieces) = mpsc::channel(PIECES);
    let connection = (server.factory)();
    let recorder = server.options.recorder.clone();
    tokio::spawn(async move {
        let mut sink = Channel { sender };
        let served = exchanges(
            &connection,
            &body.bytes,
            batch,
            &mut sink,
            recorder.as_deref(),
        );
        if let Err(error) = served.await {
            tracing::debug!(%error, "the client left before its answer was whole");
        }
        connection.cancel.cancel();
    });
    // Nothing is known before the first lines are there.
    let mut first = pieces.recv().await.unwrap_or_default();
    let gather = async {
        while first.len() < GATHERED_BYTES {
            match pieces.recv().await {
                Some(piece) => first.extend_from_slice(&piece),
                None => return true,
            }
        }
        false
    };
    if timeout(GATHER, gather).await.unwrap_or(false) {
        return whole(StatusCode::OK, NDJSON, first);
    }
    let lines = Lines::Streamed {
        first: Some(first),
        pieces,
    };
    with(Response::new(lines), CONTENT_TYPE, NDJSON)
}

async fn exchanges(
    connection: &Arc<Connection>,
    body: &[u8],
    batch: bool,
    sink: &mut Channel,
    recorder: Option<&Recorder>,
) -> io::Result<()> {
    if !batch {
        return exchange::<MtyAgent, _, _>(connection, body, Trailing::Report, sink, recorder)
            .await
            .map(drop);
    }
    for line in body
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::trim_ascii)
        .filter(|line| !line.is_empty())
    {
        if exchange::<MtyAgent, _, _>(connection, line, Trailing::Refuse, sink, recorder)
            .await?
            .halts
        {
            break;
        }
    }
    Ok(())
}

/// The way to the connection's task, by pieces of a bounded size. Where it is full, the op waits.
struct Channel {
    sender: mpsc::Sender<Vec<u8>>,
}

impl LineSink for Channel {
    async fn write(&mut self, lines: &[u8]) -> io::Result<()> {
        for piece in lines.chunks(PIECE_BYTES) {
            let sent = self.sender.send(piece.to_vec()).await;
            sent.map_err(|gone| io::Error::new(io::ErrorKind::BrokenPipe, gone))?;
        }
        Ok(())
    }

    async fn closed(&self) {
        self.sender.closed().await;
    }
}

/// A response body: one piece, or lines as they come.
enum Lines {
    Whole(Option<Bytes>),
    Streamed {
        first: Option<Vec<u8>>,
        pieces: mpsc::Receiver<Vec<u8>>,
    },
}

impl Body for Lines {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::Streamed { first, pieces } => {
                let lines = match first.take() {
                    Some(first) => Poll::Ready(Some(first)),
                    None => pieces.poll_recv(cx),
                };
                lines.map(|lines| lines.map(|lines| Ok(Frame::data(lines.into()))))
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(bytes) => {
                SizeHint::with_exact(bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
            }
            Self::Streamed { .. } => SizeHint::default(),
        }
    }
}

fn whole(status: StatusCode, kind: &'static str, body: Vec<u8>) -> Response<Lines> {
    let mut response = Response::new(Lines::Whole(Some(body.into())));
    *response.status_mut() = status;
    with(response, CONTENT_TYPE, kind)
}

fn with(mut response: Response<Lines>, name: HeaderName, value: &'static str) -> Response<Lines> {
    let value = HeaderValue::from_static(value);
    response.headers_mut().insert(name, value);
    response
}

fn error(status: StatusCode, message: &str) -> Response<Lines> {
    whole(status, "application/json", error_body(message))
}

/// The error shape as one object, not a line of a stream.
fn error_body(message: &str) -> Vec<u8> {
    let mut body = Vec::new();
    push_error(&mut body, message);
    body.pop();
    body
}

fn not_allowed(method: &'static str) -> Response<Lines> {
    let refusal = error(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
    with(refusal, ALLOW, method)
}
