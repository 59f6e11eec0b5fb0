//! The state that the operations of one connection share, and nothing that outlives it.
//! Dropped at end of input or `halt` (toolchain, section 3.2); never written anywhere.

use std::path::PathBuf;
#[cfg(feature = "check")]
use std::sync::{Arc, Mutex, PoisonError};

/// One per connection. Shared by reference between the handlers that run on it.
#[derive(Debug)]
pub struct Session {
    cwd: PathBuf,
    /// Whether operations may change files.
    #[cfg(any(feature = "fix", feature = "fmt"))]
    writes: bool,
    /// `last_path`, `last_envelopes` and `last_source` in one: they change together or not at all.
    #[cfg(feature = "check")]
    last: Mutex<Option<Arc<crate::checked::Checked>>>,
}

impl Session {
    /// Captures the process's current directory, so that one connection sees one directory
    /// throughout. Where the process has none (it was removed), paths stay relative.
    #[must_use]
    pub fn new() -> Self {
        Self::in_dir(std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")))
    }

    /// A session that resolves relative paths against `cwd`.
    #[must_use]
    pub fn in_dir(cwd: PathBuf) -> Self {
        Session {
            cwd,
            #[cfg(any(feature = "fix", feature = "fmt"))]
            writes: true,
            #[cfg(feature = "check")]
            last: Mutex::default(),
        }
    }

    /// The same session, whose operations change no file: each that would is refused.
    #[must_use]
    #[cfg_attr(
        not(any(feature = "fix", feature = "fmt")),
        expect(unused_mut, reason = "nothing here writes")
    )]
    pub fn without_writes(mut self) -> Self {
        #[cfg(any(feature = "fix", feature = "fmt"))]
        {
            self.writes = false;
        }
        self
    }

    /// Replaces a file's text, if this session may.
    #[cfg(any(feature = "fix", feature = "fmt"))]
    pub(crate) fn write(&self, path: &std::path::Path, text: &str) -> std::io::Result<()> {
        if self.writes {
            crate::write::replace(path, text)
        } else {
            Err(std::io::Error::new(
                std::io::ErrorKind::PermissionDenied,
                "a replay writes nothing without --allow-writes",
            ))
        }
    }

    /// `path` as seen from the session's directory; an absolute path stays as it is.
    #[must_use]
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// The outcome of the last check.
    #[cfg(feature = "check")]
    #[must_use]
    pub fn remembered(&self) -> Option<Arc<crate::checked::Checked>> {
        // No lock holder can leave the state half written, so a poisoned lock is as good as any.
        self.last
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    #[cfg(feature = "check")]
    pub(crate) fn remember(&self, checked: &Arc<crate::checked::Checked>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(checked));
    }
}

impl Default for Session {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::path::Path;

    #[test]
    fn resolves_against_its_own_directory() {
        let session = Session::in_dir(PathBuf::from("/srv/pkg"));
        assert_eq!(
            session.resolve("src/main.mty"),
            Path::new("/srv/pkg/src/main.mty")
        );
        assert_eq!(session.resolve("/etc/x"), Path::new("/etc/x"));
        let here = std::env::current_dir().unwrap();
        assert_eq!(Session::new().resolve("x"), here.join("x"));
    }
}
