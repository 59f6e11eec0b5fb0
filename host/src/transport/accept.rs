//! The accept loop that the listening transports share: bounded connections, a token that stops them, a
//! grace at the end. What a connection speaks is its caller's, and so is how many are served at once.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// Connections that may be open at once, most of which wait or send slowly.
const CONNECTIONS: usize = 1024;
/// Descriptors that are left to what the process does besides: files, mostly.
const SPARE_DESCRIPTORS: u64 = 64;

/// How many connections of `descriptors` each this process may hold open.
fn open_at_once(descriptors: u64) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let places = limit.map_or(u64::MAX, |limit| {
        limit.saturating_sub(SPARE_DESCRIPTORS) / descriptors
    });
    usize::try_from(places)
        .unwrap_or(CONNECTIONS)
        .clamp(1, CONNECTIONS)
}

/// From shutdown to the end of running exchanges.
const GRACE: Duration = Duration::from_secs(2);

/// Accepts until `shutdown` resolves, then stops accepting, cancels the token that each connection was
/// given and waits for them, a bounded time. A connection takes as many `descriptors`.
pub async fn accept_until<S, C>(
    descriptors: u64,
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<S>>,
    shutdown: impl Future<Output = ()>,
    mut connect: impl FnMut(S, CancellationToken) -> C,
) where
    C: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(open_at_once(descriptors)));
    let mut shutdown = std::pin::pin!(shutdown);
    let mut connections = JoinSet::new();
    let stop = CancellationToken::new();
    loop {
        let accepted = async {
            let place = Arc::clone(&places)
                .acquire_owned()
                .await
                .map_err(io::Error::other)?;
            Ok::<_, io::Error>((place, poll_fn(&mut accept).await?))
        };
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = accepted => {
                let (place, stream) = match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        // Out of descriptors, most likely: let a connection end first.
                        tracing::warn!(%error, "a connection could not be accepted");
                        tokio::time::sleep(Duration::from_millis(50)).await;
                        continue;
                    }
                };
                let connection = connect(stream, stop.clone());
                let served = async move {
                    let _place = place;
                    connection.await;
                };
                connections.spawn(served.instrument(tracing::info_span!("connection")));
            }
        }
    }
    // Nobody new is let into the queue of a server that ends.
    drop(accept);
    stop.cancel();
    let _ = tokio::time::timeout(GRACE, async {
        while connections.join_next().await.is_some() {}
    })
    .await;
}
