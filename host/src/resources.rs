//! What the system must give a process before it can serve. Asks only.

/// Descriptors that serving takes before the first request, with a few for what that does.
const DESCRIPTORS: usize = 24;

/// Whether the system will give this process what serving needs: some descriptors and a thread. To be asked
/// before a runtime is built, for building one without them panics.
///
/// # Errors
/// What the system refuses, and the limit that it is.
pub fn check() -> std::io::Result<()> {
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
