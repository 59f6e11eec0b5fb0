//! What the system must give a process before it can serve. Asks only.

/// Descriptors that serving takes before the first request, with a few for what that does.
const DESCRIPTORS: usize = 24;

/// What the system refuses a process that is to serve: the launch is not valid.
#[derive(Debug, thiserror::Error)]
pub enum Insufficient {
    #[error("serving needs {DESCRIPTORS} free file descriptors (see `ulimit -n`): {0}")]
    Descriptors(#[source] rustix::io::Errno),
    #[error("serving needs threads (see `ulimit -u` and `ulimit -v`): {0}")]
    Threads(#[source] std::io::Error),
}

/// Whether the system will give this process what serving needs: some descriptors and a thread. To be asked
/// before a runtime is built, for building one without them panics.
///
/// # Errors
/// What the system refuses, and the limit that it is.
pub fn check() -> Result<(), Insufficient> {
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
    held.map_err(Insufficient::Descriptors)?;
    let thread = std::thread::Builder::new().spawn(|| {});
    let thread = thread.map_err(Insufficient::Threads)?;
    // It does nothing, so it cannot panic.
    let _ = thread.join();
    Ok(())
}
