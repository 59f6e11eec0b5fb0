//! mty-agent over a Unix socket: every accepted connection is a session of its own (spec: mty-agent, "Unix
//! socket"). The socket and its file are the transport's.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use host::Connection;
use host::serve::sequential::serve_lines;
use host::transport::unix::Socket;
use host::transport::{Input, Output};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use crate::Factory;
use crate::codec::MtyAgent;
use crate::record::Recorder;
use crate::rules::WRITE_STALL;

/// Of one connection: reading, writing, shutting down, and waiting to write.
const DESCRIPTORS: u64 = 4;

/// Serves until `shutdown` resolves. Then connections read no more and have two seconds to end.
pub async fn serve(
    socket: &Socket,
    factory: &Factory,
    recorder: Option<Arc<Recorder>>,
    shutdown: impl Future<Output = ()>,
) {
    let connect = |stream, stop| {
        let connection = factory();
        let recorder = recorder.clone();
        async move {
            // Also when the task is dropped at the end of the grace.
            let _cancel = connection.cancel.clone().drop_guard();
            // A descriptor that cannot be had ends this connection, not the server.
            if let Err(error) = converse(stream, &connection, recorder.as_deref(), stop).await {
                tracing::debug!(%error, "a connection ended early");
            }
        }
    };
    socket.accept_until(DESCRIPTORS, shutdown, connect).await;
}

/// One connection from its first line to its last.
async fn converse(
    stream: UnixStream,
    connection: &Arc<Connection>,
    recorder: Option<&Recorder>,
    stop: CancellationToken,
) -> io::Result<()> {
    let reading = OwnedFd::from(stream.into_std()?);
    let control = reading.try_clone()?;
    let mut output = Output::new(reading.try_clone()?)?.with_patience(WRITE_STALL);
    let mut input = Input::new(reading)?;
    let served = serve_lines::<MtyAgent, _, _>(connection, &mut input, &mut output, recorder);
    let mut served = std::pin::pin!(served);
    tokio::select! {
        served = &mut served => served.map(drop).map_err(io::Error::other),
        () = stop.cancelled() => {
            // The loop sees the end of its input, and ends after the exchange it is in.
            rustix::net::shutdown(&control, rustix::net::Shutdown::Read)?;
            served.await.map(drop).map_err(io::Error::other)
        }
    }
}
