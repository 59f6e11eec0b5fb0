//! The signals that end a server, and one that must not. Decides nothing.

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

/// From now on a write past the file size limit of this process fails instead of ending it: what cannot
/// be stored is told, and recording must not end what it records. To be called inside a runtime; holds for
/// the life of the process and, being a handler, not for its children.
pub fn outlive_file_limit() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    signal(kind).map(drop)
}
