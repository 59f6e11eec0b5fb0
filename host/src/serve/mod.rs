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

/// Descriptors that serving takes before the first request, with a few for what that does.
const DESCRIPTORS: usize = 24;

/// Whether the system will give this process what serving needs: some descriptors and a thread. To be asked
/// before a runtime is built, for building one without them panics.
///
/// # Errors
/// What the system refuses, and the limit that it is.
pub fn check_resources() -> std::io::Result<()> {
    let refused = |what: &str, cause: std::io::Error| {
        std::io::Error::new(cause.kind(), format!("{what}: {cause}"))
    };
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    let held = null.and_then(|null| {
        (1..DESCRIPTORS)
            .map(|_| rustix::io::fcntl_dupfd_cloexec(&null, 3))
            .collect::<Result<Vec<_>, _>>()
    });
    held.map_err(|cause| {
        let what = format!("serving needs {DESCRIPTORS} free file descriptors (see `ulimit -n`)");
        refused(&what, cause.into())
    })?;
    let thread = std::thread::Builder::new().spawn(|| {});
    let thread = thread.map_err(|cause| {
        refused(
            "serving needs threads (see `ulimit -u` and `ulimit -v`)",
            cause,
        )
    })?;
    // It does nothing, so it cannot panic.
    let _ = thread.join();
    Ok(())
}

/// From now on a write past the file size limit of this process fails instead of ending it: what cannot
/// be stored is told, and recording must not end what it records. To be called inside a runtime; holds for
/// the life of the process and, being a handler, not for its children.
pub fn outlive_file_limit() -> std::io::Result<()> {
    use tokio::signal::unix::{SignalKind, signal};
    let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    signal(kind).map(drop)
}
