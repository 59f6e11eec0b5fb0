//! A Unix socket that is listened on. Only a socket is ever unlinked, and at the end only our own.
//! What its connections speak is the caller's.

use std::fs::File;
use std::future::Future;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use tokio::net::{UnixListener, UnixSocket, UnixStream};
use tokio_util::sync::CancellationToken;

use super::accept::accept_until;

/// How long a start waits for others in the same directory, each of which takes a moment only.
const LOCK_WAIT: Duration = Duration::from_secs(2);
const LOCK_RETRY: Duration = Duration::from_millis(5);
/// Connections that may wait to be accepted.
const BACKLOG: u32 = 1024;

/// A bound socket file; unlinked when dropped, if it is still ours.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: (u64, u64),
}

impl Socket {
    /// Binds `path` with mode 0600. Replaces a socket that nobody serves; refuses anything else. Servers
    /// that start together on one path look, replace and bind one after another: may block for
    /// `LOCK_WAIT`.
    pub fn bind(path: &Path) -> io::Result<Self> {
        let _lock = lock_directory(path)?;
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "the path exists and is not a socket",
                ));
            }
            Ok(_) => {
                if is_served(path)? {
                    return Err(io::Error::new(
                        io::ErrorKind::AddrInUse,
                        "another server listens on this socket",
                    ));
                }
                std::fs::remove_file(path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let socket = UnixSocket::new_stream()?;
        // Linux takes the file's mode from the socket's own. (A umask would be the whole process's.)
        #[cfg(target_os = "linux")]
        rustix::fs::fchmod(&socket, rustix::fs::Mode::from_raw_mode(0o600))?;
        socket.bind(path)?;
        // Elsewhere the file may be wider for a moment, but nobody connects before `listen`.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let made = path.symlink_metadata()?;
        let listener = socket.listen(BACKLOG)?;
        Ok(Self {
            listener,
            path: path.to_owned(),
            identity: (made.dev(), made.ino()),
        })
    }

    /// Accepts until `shutdown` resolves; `connect` serves one connection until its token is cancelled. A
    /// connection takes as many `descriptors`.
    pub async fn accept_until<C>(
        &self,
        descriptors: u64,
        shutdown: impl Future<Output = ()>,
        connect: impl FnMut(UnixStream, CancellationToken) -> C,
    ) where
        C: Future<Output = ()> + Send + 'static,
    {
        let accept = |cx: &mut std::task::Context<'_>| {
            self.listener.poll_accept(cx).map_ok(|(stream, _)| stream)
        };
        accept_until(descriptors, accept, shutdown, connect).await;
    }
}

/// Keeps other starting servers off the directory's sockets while it is held; the system lets go of it
/// when this process ends. The directory itself is locked, so that no lock file is left lying about.
fn lock_directory(path: &Path) -> io::Result<Option<File>> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let directory = match File::open(directory) {
        Ok(directory) => directory,
        // One may hold sockets and still not be readable: then there is nothing to lock.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    let deadline = Instant::now() + LOCK_WAIT;
    loop {
        match flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Some(directory)),
            Err(Errno::WOULDBLOCK) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_RETRY);
            }
            Err(Errno::WOULDBLOCK) => {
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    "another program holds a lock on the socket's directory",
                ));
            }
            Err(Errno::INTR) => {}
            // Not every file system can.
            Err(_) => return Ok(None),
        }
    }
}

/// Whether somebody listens on a socket file. One left behind refuses; a full queue is not a refusal.
fn is_served(path: &Path) -> io::Result<bool> {
    let probe = UnixSocket::new_stream()?;
    let address = rustix::net::SocketAddrUnix::new(path)?;
    match rustix::net::connect(&probe, &address) {
        // A socket of another type answers with a complaint about ours.
        Ok(()) | Err(Errno::AGAIN | Errno::INPROGRESS | Errno::PROTOTYPE) => Ok(true),
        Err(Errno::CONNREFUSED | Errno::NOENT) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let still_ours = self
            .path
            .symlink_metadata()
            .is_ok_and(|found| (found.dev(), found.ino()) == self.identity);
        if still_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
