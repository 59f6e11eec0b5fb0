//! One HTTP connection's life beneath its requests: bounded header, bounded writing, a close that does not
//! cut off an answer. Knows no routes.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use hyper::body::{Body, Incoming};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::dialect::mty_agent::HEADER_READ_TIMEOUT;

/// A client that takes no byte for so long is gone.
const WRITE_STALL: Duration = Duration::from_secs(30);
const HEADER_BYTES: usize = 64 * 1024;
/// How long, and for how many bytes, a client that is still sending is listened to after its answer.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 32 * 1024 * 1024;

/// Serves one connection: one request, one response, closed. From `stop` on no request is begun.
pub(super) async fn run<S, B>(stream: TcpStream, service: S, stop: CancellationToken)
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Unpin,
    S::Future: Unpin,
    B: Body<Data = Bytes, Error = Infallible> + Unpin + 'static,
{
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
            }),
            service,
        );
    let mut stopping = false;
    loop {
        tokio::select! {
            // Broken or complete, there is nobody to tell.
            _ = poll_fn(|cx| connection.poll_without_shutdown(cx)) => break,
            () = stop.cancelled(), if !stopping => {
                stopping = true;
                Pin::new(&mut connection).graceful_shutdown();
            }
        }
    }
    let stream = connection.into_parts().io.into_inner().stream;
    if !stopping {
        linger(stream).await;
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

/// A stream whose writes fail when the other end takes nothing for [`WRITE_STALL`].
struct Impatient {
    stream: TcpStream,
    stalled: Option<Pin<Box<Sleep>>>,
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
        let progress = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.judge(cx, progress)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
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
