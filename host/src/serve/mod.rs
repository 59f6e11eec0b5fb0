//! The loops: read, decode, admit, dispatch, drain, close. One for dialects with concurrent requests,
//! one for the dialect that serves strictly one request after another.

#[cfg(any(feature = "local-agent", feature = "application-service"))]
pub mod duplex;
#[cfg(feature = "mty-agent")]
pub mod sequential;

use std::future::Future;

/// Resolves at the first SIGTERM, SIGINT or SIGHUP. Errs only when handlers cannot be installed.
pub fn terminated() -> std::io::Result<impl Future<Output = ()> + use<>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut term = signal(SignalKind::terminate())?;
    let mut int = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    Ok(async move {
        tokio::select! {
            _ = term.recv() => {}
            _ = int.recv() => {}
            _ = hangup.recv() => {}
        }
    })
}
