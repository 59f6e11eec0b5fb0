//! One HTTP connection's life beneath its requests: bounded header, bounded writing, a close that does not
//! cut off an answer, words for what could not be read as a request. Knows no routes.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::rules::{HEADER_READ_TIMEOUT, WRITE_STALL};

const HEADER_BYTES: usize = 64 * 1024;
/// From the decision to refuse what is no request to the last byte of that.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(2);
/// How long, and for how many bytes, a client that is still sending is listened to after its answer.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 32 * 1024 * 1024;

/// Serves one connection: one request, one response, closed. From `stop` on no request is begun.
/// `refuse` makes the body of the answer to what is no request.
pub(super) async fn run<S, B>(
    stream: TcpStream,
    service: S,
    refuse: fn(&str) -> Vec<u8>,
    stop: CancellationToken,
) where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Unpin,
    S::Future: Unpin,
    B: Body<Data = Bytes, Error = Infallible> + Unpin + 'static,
{
    let requested = Arc::new(AtomicBool::new(false));
    let mut connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_READ_TIMEOUT)
        .keep_alive(false)
        .half_close(false)
        .max_buf_size(HEADER_BYTES)
        .serve_connection(
            TokioIo::new(Impatient {
                stream,
                stalled: None,
                requested: Arc::clone(&requested),
                refusal: Vec::new(),
            }),
            Noting {
                service,
                requested: Arc::clone(&requested),
            },
        );
    let mut stopping = false;
    let ended = loop {
        tokio::select! {
            ended = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break ended,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    };
    let mut io = connection.into_parts().io.into_inner();
    if let Err(error) = &ended {
        tracing::debug!(%error, "an HTTP connection ended early");
    }
    if !requested.load(Ordering::Relaxed)
        && let Some(status) = refusal(&io.refusal, ended.err())
    {
        let head_and_body = refusal_response(status, refuse);
        // Broken or slow: there is nobody to tell.
        let _ = timeout(REFUSAL_TIMEOUT, io.stream.write_all(&head_and_body)).await;
    }
    if !stopping {
        linger(io.stream).await;
    }
}

/// The status for what was never a request: the one that hyper would have sent with an empty body, or one
/// for what it ends without a word.
fn refusal(unsent: &[u8], ended: Option<hyper::Error>) -> Option<StatusCode> {
    let sent = unsent
        .get(9..12)
        .and_then(|digits| StatusCode::from_bytes(digits).ok());
    sent.or_else(|| match ended? {
        error if error.is_timeout() => Some(StatusCode::REQUEST_TIMEOUT),
        // The preface of HTTP/2 is the only one.
        error if error.is_parse() => Some(StatusCode::BAD_REQUEST),
        _ => None,
    })
}

fn refusal_response(status: StatusCode, refuse: fn(&str) -> Vec<u8>) -> Vec<u8> {
    let body = refuse(match status {
        StatusCode::URI_TOO_LONG => "malformed request: the target is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => "malformed request: the header is too large",
        StatusCode::REQUEST_TIMEOUT => "the header did not arrive in time",
        _ => "malformed request: not HTTP/1.1",
    });
    let mut response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\ndate: {}\r\n\r\n",
        body.len(),
        httpdate::fmt_http_date(std::time::SystemTime::now()),
    )
    .into_bytes();
    response.extend_from_slice(&body);
    response
}

/// Notes that a request was read.
struct Noting<S> {
    service: S,
    requested: Arc<AtomicBool>,
}

impl<S: Service<Request<Incoming>>> Service<Request<Incoming>> for Noting<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, request: Request<Incoming>) -> S::Future {
        self.requested.store(true, Ordering::Relaxed);
        self.service.call(request)
    }
}

/// Closes our side and reads on for a moment: closing a socket with unread bytes resets it, and a reset
/// may take the answer (a 413, say) from a client that has not read it yet.
async fn linger(mut stream: TcpStream) {
    let drain = async {
        stream.shutdown().await?;
        let mut sink = vec![0; 16 * 1024];
        let mut read = 0;
        while read < LINGER_BYTES {
            match stream.read(&mut sink).await? {
                0 => break,
                n => read += n,
            }
        }
        Ok::<_, io::Error>(())
    };
    let _ = timeout(LINGER, drain).await;
}

/// A stream whose writes fail when the other end takes nothing for [`WRITE_STALL`]. What is written before
/// there was a request is hyper's own refusal, which has no body: it is kept, for one that has.
struct Impatient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
    requested: Arc<AtomicBool>,
    refusal: Vec<u8>,
}

impl Impatient {
    fn judge<T>(
        &mut self,
        cx: &mut Context<'_>,
        progress: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if progress.is_ready() {
            self.stalled = None;
            return progress;
        }
        let stalled = self
            .stalled
            .get_or_insert_with(|| Box::pin(sleep(WRITE_STALL)));
        stalled
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Impatient {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Impatient {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !self.requested.load(Ordering::Relaxed) {
            self.refusal.extend_from_slice(buf);
            return Poll::Ready(Ok(buf.len()));
        }
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if !self.requested.load(Ordering::Relaxed) {
            let before = self.refusal.len();
            for buf in bufs {
                self.refusal.extend_from_slice(buf);
            }
            return Poll::Ready(Ok(self.refusal.len() - before));
        }
        let progress = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.judge(cx, progress)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
