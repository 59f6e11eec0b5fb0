//! The standard descriptors: taken away at the first line of main, then read and written without blocking.
//! Regular files and terminals, which cannot be polled, are read by a thread of their own.

use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{FileType, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::mpsc;

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

/// Registers a pollable descriptor, or gives it back when it must be used with blocking calls: a
/// terminal's non-blocking flag would be shared with the shell that lent it.
fn pollable(fd: OwnedFd, interest: Interest) -> io::Result<Result<AsyncFd<OwnedFd>, OwnedFd>> {
    if !matches!(endpoint(fd.as_fd()), Endpoint::Pipe | Endpoint::Socket) {
        return Ok(Err(fd));
    }
    let flags = fcntl_getfl(&fd)?;
    fcntl_setfl(&fd, flags | OFlags::NONBLOCK)?;
    // SAFETY: the AsyncFd owns the descriptor, so it stays open and the same until it is dropped; an
    // OwnedFd always gives the same raw descriptor. (The safe constructor is deprecated.)
    #[allow(unsafe_code)]
    let registered = unsafe { AsyncFd::register_with_interest(fd, interest) };
    Ok(Ok(registered.map_err(io::Error::from)?))
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
        match pollable(fd, Interest::READABLE)? {
            Ok(polled) => Ok(Self::Polled(polled)),
            Err(fd) => {
                let (sender, chunks) = mpsc::channel(1);
                std::thread::Builder::new()
                    .name("stdin".into())
                    .spawn(move || read_all(File::from(fd), &sender))?;
                Ok(Self::Thread {
                    chunks,
                    rest: Vec::new(),
                })
            }
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
pub enum Output {
    Polled(AsyncFd<OwnedFd>),
    Blocking(OwnedFd),
}

impl Output {
    /// Writes everything to a descriptor with blocking calls, for commands that serve nobody.
    pub fn print(fd: OwnedFd, text: &[u8]) -> io::Result<()> {
        File::from(fd).write_all(text)
    }

    /// Takes a descriptor as output. Needs a running runtime.
    pub fn new(fd: OwnedFd) -> io::Result<Self> {
        Ok(match pollable(fd, Interest::WRITABLE | Interest::ERROR)? {
            Ok(polled) => Self::Polled(polled),
            Err(fd) => Self::Blocking(fd),
        })
    }

    /// Writes what fits now; `WouldBlock` when nothing does.
    pub fn try_write(&self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        let fd = match self {
            Self::Polled(fd) => fd.get_ref(),
            Self::Blocking(fd) => fd,
        };
        Ok(rustix::io::writev(fd, slices)?)
    }

    /// Waits until a write may make progress. To be called after `WouldBlock`.
    pub async fn writable(&self) -> io::Result<()> {
        if let Self::Polled(fd) = self {
            loop {
                let mut guard = fd.writable().await?;
                // Readiness is only a hint: ask the descriptor, and clear a stale one.
                let mut probe = [rustix::event::PollFd::new(
                    fd.get_ref(),
                    rustix::event::PollFlags::OUT,
                )];
                let now = rustix::event::Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                if rustix::event::poll(&mut probe, Some(&now))? > 0 {
                    return Ok(());
                }
                guard.clear_ready();
            }
        }
        Ok(())
    }

    /// Waits until the other end is gone; for ever when that cannot be told.
    pub async fn closed(&self) {
        if let Self::Polled(fd) = self {
            loop {
                let Ok(mut guard) = fd.ready(Interest::ERROR).await else {
                    return;
                };
                let mut probe = [rustix::event::PollFd::new(
                    fd.get_ref(),
                    rustix::event::PollFlags::empty(),
                )];
                let now = rustix::event::Timespec {
                    tv_sec: 0,
                    tv_nsec: 0,
                };
                let gone = rustix::event::PollFlags::ERR | rustix::event::PollFlags::HUP;
                match rustix::event::poll(&mut probe, Some(&now)) {
                    Ok(n) if n > 0 && probe[0].revents().intersects(gone) => return,
                    Err(_) => return,
                    Ok(_) => guard.clear_ready(),
                }
            }
        }
        std::future::pending::<()>().await;
    }

    /// Writes everything, waiting as long as it takes.
    pub async fn write_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.try_write(&[IoSlice::new(bytes)]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => bytes = bytes.get(n..).unwrap_or_default(),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable().await?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
