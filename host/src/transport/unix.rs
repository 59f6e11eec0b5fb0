//! mty-agent over a Unix socket: every accepted connection is a session of its own. Only a socket is ever
//! unlinked, and at the end only our own.

use std::future::Future;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::{Factory, Input, MAX_CONNECTIONS, Output};
use crate::record::Recorder;
use crate::serve::sequential::serve_lines;

/// A bound socket file; unlinked when dropped, if it is still ours.
pub struct Socket {
    listener: UnixListener,
    path: PathBuf,
    identity: (u64, u64),
}

impl Socket {
    /// Binds `path` with mode 0600. Replaces a socket that nobody serves; refuses anything else.
    pub fn bind(path: &Path) -> io::Result<Self> {
        match path.symlink_metadata() {
            Ok(found) if !found.file_type().is_socket() => {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the path exists and is not a socket"));
            }
            Ok(_) => {
                // A server that answers is not stale.
                if std::os::unix::net::UnixStream::connect(path).is_ok() {
                    return Err(io::Error::new(io::ErrorKind::AddrInUse, "another server listens on this socket"));
                }
                std::fs::remove_file(path)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        // The mask holds from the first moment on: the file never exists with wider access.
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o177));
        let bound = UnixListener::bind(path);
        rustix::process::umask(before);
        let listener = bound?;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let made = path.symlink_metadata()?;
        Ok(Self { listener, path: path.to_owned(), identity: (made.dev(), made.ino()) })
    }

    /// Accepts until `shutdown` resolves; running connections end with the process.
    pub async fn serve(
        &self,
        factory: &Factory,
        recorder: Option<Arc<Recorder>>,
        shutdown: impl Future<Output = ()>,
    ) -> io::Result<()> {
        let places = Arc::new(Semaphore::new(MAX_CONNECTIONS));
        let mut shutdown = std::pin::pin!(shutdown);
        let mut connections = JoinSet::new();
        loop {
            let accepted = async {
                let place = Arc::clone(&places).acquire_owned().await.map_err(io::Error::other)?;
                let (stream, _) = self.listener.accept().await?;
                Ok::<_, io::Error>((place, stream))
            };
            tokio::select! {
                () = &mut shutdown => return Ok(()),
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = accepted => {
                    let Ok((place, stream)) = accepted else {
                        // Out of descriptors, most likely: let a connection end first.
                        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                        continue;
                    };
                    let connection = factory();
                    let recorder = recorder.clone();
                    connections.spawn(async move {
                        let _place = place;
                        let Ok((mut input, mut output)) = halves(stream) else { return };
                        let _ = serve_lines(&connection, &mut input, &mut output, recorder.as_deref()).await;
                        connection.cancel.cancel();
                    });
                }
            }
        }
    }
}

fn halves(stream: tokio::net::UnixStream) -> io::Result<(Input, Output)> {
    let reading = OwnedFd::from(stream.into_std()?);
    let writing = reading.try_clone()?;
    Ok((Input::new(reading)?, Output::new(writing)?))
}

impl Drop for Socket {
    fn drop(&mut self) {
        let still_ours =
            self.path.symlink_metadata().is_ok_and(|found| (found.dev(), found.ino()) == self.identity);
        if still_ours {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
