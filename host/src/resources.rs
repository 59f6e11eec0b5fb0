//! What the system must give a process before it can serve, and the runtime that it then serves on.

/// Descriptors that serving takes before the first request, with a few for what that does.
const DESCRIPTORS: usize = 24;

/// What the system refuses a process that is to serve: the launch is not valid.
#[derive(Debug, thiserror::Error)]
pub enum Insufficient {
    #[error("serving needs {DESCRIPTORS} free file descriptors (see `ulimit -n`)")]
    Descriptors(#[source] rustix::io::Errno),
    #[error("serving needs threads (see `ulimit -u` and `ulimit -v`)")]
    Threads(#[source] std::io::Error),
    #[error("serving needs a runtime")]
    Runtime(#[source] std::io::Error),
}

/// A runtime on the calling thread: the wire needs no second one, and a start costs less. A file that may
/// not grow is an error for whoever writes it from here on, no end of the process.
///
/// # Errors
/// What the system refuses, and the limit that it is.
pub fn runtime() -> Result<tokio::runtime::Runtime, Insufficient> {
    check()?;
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    let runtime = built.map_err(Insufficient::Runtime)?;
    let outlived = runtime.block_on(async { crate::signals::outlive_file_limit() });
    outlived.map_err(Insufficient::Runtime)?;
    Ok(runtime)
}

/// Whether the system will give this process some descriptors and a thread: building a runtime without them panics.
fn check() -> Result<(), Insufficient> {
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
