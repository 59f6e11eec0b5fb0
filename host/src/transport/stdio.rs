//! The standard descriptors: taken away at the first line of main, then read and written without blocking.
//! Regular files and terminals, which cannot be polled, are read by a thread of their own.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// What a descriptor is connected to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Endpoint {
    Pipe,
    Socket,
    Terminal,
    File,
    Other,
}

/// Private copies of descriptors 0 and 1. Since [`Stdio::claim`], 0 is `/dev/null` and 1 is stderr, so
/// that no child, library or stray print can eat a request or dirty a frame.
pub struct Stdio {
    pub input: OwnedFd,
    pub output: OwnedFd,
}

impl Stdio {
    /// Takes the standard descriptors. Must run before anything else in `main`.
    pub fn claim() -> io::Result<Self> {
        // Above 2, close-on-exec: children never inherit them.
        let input = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
        let output = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3)?;
        let null = rustix::fs::open(
            "/dev/null",
            OFlags::RDONLY | OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        )?;
        rustix::stdio::dup2_stdin(&null)?;
        rustix::stdio::dup2_stdout(rustix::stdio::stderr())?;
        Ok(Self { input, output })
    }

    #[must_use]
    pub fn input_endpoint(&self) -> Endpoint {
        endpoint(self.input.as_fd())
    }

    #[must_use]
    pub fn output_endpoint(&self) -> Endpoint {
        endpoint(self.output.as_fd())
    }

    /// Why nobody can be served over these descriptors: one was closed when the process began, or has only
    /// the other direction. `None` when they will do.
    #[must_use]
    pub fn unusable(&self) -> Option<&'static str> {
        match () {
            () if super::without_stdout() => {
                Some("answers would be lost: standard output is closed")
            }
            () if super::without_stdin() => Some("standard input is closed"),
            () if !self.have_directions() => {
                Some("standard input must be readable and standard output writable")
            }
            () => None,
        }
    }

    /// Whether input can be read and output written; a pipe has two ends.
    #[must_use]
    pub fn have_directions(&self) -> bool {
        let allows = |fd: &OwnedFd, closed| {
            fcntl_getfl(fd).is_ok_and(|flags| flags & OFlags::RWMODE != closed)
        };
        allows(&self.input, OFlags::WRONLY) && allows(&self.output, OFlags::RDONLY)
    }
}

fn endpoint(fd: BorrowedFd<'_>) -> Endpoint {
    if rustix::termios::isatty(fd) {
        return Endpoint::Terminal;
    }
    match fstat(fd).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Fifo) => Endpoint::Pipe,
        Ok(FileType::Socket) => Endpoint::Socket,
        Ok(FileType::RegularFile) => Endpoint::File,
        _ => Endpoint::Other,
    }
}

/// Whether a descriptor can be waited for. A terminal can, but its non-blocking flag would be shared with
/// the shell that lent it; a regular file can't.
fn is_pollable(fd: BorrowedFd<'_>) -> bool {
    matches!(endpoint(fd), Endpoint::Pipe | Endpoint::Socket)
}

/// Gives a pipe or socket that never blocks. The flag belongs to the open file, which whoever started us
/// may share with others: a pipe is opened once more where the system has a way to.
fn nonblocking(fd: OwnedFd, access: OFlags) -> io::Result<OwnedFd> {
    if cfg!(target_os = "linux") && endpoint(fd.as_fd()) == Endpoint::Pipe {
        let path = format!("/proc/self/fd/{}", fd.as_raw_fd());
        let flags = access | OFlags::NONBLOCK | OFlags::CLOEXEC;
        if let Ok(own) = rustix::fs::open(path, flags, rustix::fs::Mode::empty()) {
            return Ok(own);
        }
    }
    fcntl_setfl(&fd, fcntl_getfl(&fd)? | OFlags::NONBLOCK)?;
    Ok(fd)
}

fn register(fd: OwnedFd, interest: Interest) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: the AsyncFd owns the descriptor, so it stays open and the same until it is dropped; an
    // OwnedFd always gives the same raw descriptor. (The safe constructor is deprecated.)
    #[allow(unsafe_code)]
    let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
    registered.map_err(io::Error::from)
}

/// What holds of `asked` now, without waiting. Errors and hang-ups are always told.
fn poll_now(fd: BorrowedFd<'_>, asked: PollFlags) -> io::Result<PollFlags> {
    let mut probe = [PollFd::from_borrowed_fd(fd, asked)];
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    rustix::event::poll(&mut probe, Some(&now))?;
    Ok(probe[0].revents())
}

/// Where requests come from.
pub enum Input {
    Polled(AsyncFd<OwnedFd>),
    Thread {
        chunks: mpsc::Receiver<io::Result<Vec<u8>>>,
        rest: Vec<u8>,
    },
}

impl Input {
    /// Takes a descriptor as input. Needs a running runtime.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        if is_pollable(fd.as_fd()) {
            let fd = nonblocking(fd, OFlags::RDONLY)?;
            return Ok(Self::Polled(register(fd, Interest::READABLE)?));
        }
        let (sender, chunks) = mpsc::channel(1);
        std::thread::Builder::new()
            .name("stdin".into())
            .spawn(move || read_all(File::from(fd), &sender))?;
        Ok(Self::Thread {
            chunks,
            rest: Vec::new(),
        })
    }

    /// Waits until whoever writes is gone, whatever is still to be read; for ever where that cannot be told.
    pub async fn hung_up(&self) {
        if let Err(error) = self.hang_up().await {
            tracing::debug!(%error, "the end of input cannot be watched");
            std::future::pending().await
        }
    }

    async fn hang_up(&self) -> io::Result<()> {
        let Self::Polled(fd) = self else {
            return std::future::pending().await;
        };
        #[cfg(target_os = "linux")]
        const GONE: PollFlags = PollFlags::RDHUP;
        #[cfg(not(target_os = "linux"))]
        const GONE: PollFlags = PollFlags::empty();
        // A registration of its own: the one for reading must not lose what it knows.
        let watched = register(fd.get_ref().try_clone()?, Interest::READABLE)?;
        loop {
            let mut guard = watched.readable().await?;
            let now = poll_now(fd.get_ref().as_fd(), GONE)?;
            if now.intersects(GONE | PollFlags::HUP | PollFlags::ERR) {
                return Ok(());
            }
            guard.clear_ready();
        }
    }

    /// Reads what is there, at most `space`; 0 means end of input. Loses nothing when dropped midway.
    pub async fn read(&mut self, space: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Polled(fd) => loop {
                let mut guard = fd.readable().await?;
                match rustix::io::read(fd.get_ref(), &mut *space) {
                    Ok(n) => {
                        // A short read drained a pipe: polling again saves a call that would block.
                        if n > 0 && n < space.len() {
                            guard.clear_ready();
                        }
                        return Ok(n);
                    }
                    Err(rustix::io::Errno::AGAIN) => guard.clear_ready(),
                    Err(rustix::io::Errno::INTR) => {}
                    // The peer of a socket may reset instead of closing.
                    Err(rustix::io::Errno::CONNRESET) => return Ok(0),
                    Err(error) => return Err(error.into()),
                }
            },
            Self::Thread { chunks, rest } => {
                if rest.is_empty() {
                    match chunks.recv().await {
                        Some(chunk) => *rest = chunk?,
                        None => return Ok(0),
                    }
                }
                let n = rest.len().min(space.len());
                space[..n].copy_from_slice(&rest[..n]);
                rest.drain(..n);
                Ok(n)
            }
        }
    }
}

fn read_all(mut file: File, sender: &mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let chunk = match file.read(&mut buffer) {
            Ok(0) => return,
            Ok(n) => Ok(buffer[..n].to_vec()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => Err(error),
        };
        let failed = chunk.is_err();
        if sender.blocking_send(chunk).is_err() || failed {
            return;
        }
    }
}

/// Where answers go; also what a human command prints to.
pub struct Output {
    fd: OwnedFd,
    /// Tells when the other end is gone; absent for what must be written with blocking calls.
    watched: Option<AsyncFd<OwnedFd>>,
    /// A reader that takes nothing for so long has failed; for ever when absent.
    patience: Option<Duration>,
}

impl Output {
    /// Writes everything to a descriptor with blocking calls, for commands that serve nobody.
    pub fn print(fd: OwnedFd, text: &[u8]) -> io::Result<()> {
        File::from(fd).write_all(text)
    }

    /// Takes a descriptor as output. Needs a running runtime.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        let (fd, watched) = if is_pollable(fd.as_fd()) {
            let fd = nonblocking(fd, OFlags::WRONLY)?;
            // A pipe without a reader is an error: it needs no readiness for writing, which would wake us
            // each time the other end reads. A socket without a peer hangs up, which ends writing. (The end
            // of reading would not do: it is also there when the peer only stopped sending.)
            let end = match endpoint(fd.as_fd()) {
                Endpoint::Socket => Interest::WRITABLE,
                _ => Interest::ERROR,
            };
            let watched = register(fd.try_clone()?, end)?;
            (fd, Some(watched))
        } else {
            (fd, None)
        };
        Ok(Self {
            fd,
            watched,
            patience: None,
        })
    }

    /// Fails a write of [`Output::write_all`] when the other end takes nothing for `patience`.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// Writes what fits now; `WouldBlock` when nothing does.
    pub fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(&self.fd, slices)?)
    }

    /// Waits until a write may make progress. To be called after `WouldBlock`.
    pub async fn writable(&self) -> io::Result<()> {
        if self.watched.is_none() {
            return Ok(());
        }
        // Only for as long as the other end lags.
        let room = register(self.fd.try_clone()?, Interest::WRITABLE)?;
        loop {
            let mut guard = room.writable().await?;
            // Readiness is only a hint: ask the descriptor, and clear a stale one.
            if !poll_now(self.fd.as_fd(), PollFlags::OUT)?.is_empty() {
                return Ok(());
            }
            guard.clear_ready();
        }
    }

    /// Waits until the other end is gone; for ever when that cannot be told.
    pub async fn closed(&self) {
        let Some(watched) = &self.watched else {
            return std::future::pending().await;
        };
        while let Ok(mut guard) = watched.ready(Interest::WRITABLE | Interest::ERROR).await {
            match poll_now(self.fd.as_fd(), PollFlags::empty()) {
                Ok(now) if !now.intersects(PollFlags::ERR | PollFlags::HUP) => guard.clear_ready(),
                _ => return,
            }
        }
    }

    /// Writes everything, waiting as long as it takes, or as long as the patience of this output lasts.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_write(&[IoSlice::new(bytes)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => match self.patience {
                    None => self.writable().await?,
                    Some(patience) => timeout(patience, self.writable())
                        .await
                        .map_err(|stalled| io::Error::new(io::ErrorKind::TimedOut, stalled))??,
                },
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
