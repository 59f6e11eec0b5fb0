//! The accept loop that the listening transports share: bounded connections, a token that stops them, a
//! grace at the end. What a connection speaks is its caller's.

use std::future::{Future, poll_fn};
use std::io;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::dialect::mty_agent::CONNECTIONS;

/// From shutdown to the end of running exchanges.
const GRACE: Duration = Duration::from_secs(2);

/// Accepts until `shutdown` resolves, then stops accepting, cancels the token that each connection was
/// given and waits for them, a bounded time.
pub(crate) async fn accept_until<S, C>(
    mut accept: impl FnMut(&mut Context<'_>) -> Poll<io::Result<S>>,
    shutdown: impl Future<Output = ()>,
    mut connect: impl FnMut(S, CancellationToken) -> C,
) where
    C: Future<Output = ()> + Send + 'static,
{
    let places = Arc::new(Semaphore::new(CONNECTIONS));
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
                let Ok((place, stream)) = accepted else {
                    // Out of descriptors, most likely: let a connection end first.
                    tokio::time::sleep(Duration::from_millis(50)).await;
                    continue;
                };
                let connection = connect(stream, stop.clone());
                connections.spawn(async move {
                    let _place = place;
                    connection.await;
                });
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
