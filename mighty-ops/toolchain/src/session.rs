//! The state that the operations of one connection share, and nothing that outlives it.
//! Dropped at end of input or `halt` (toolchain, section 3.2); never written anywhere.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One per connection. Shared by reference between the handlers that run on it.
#[derive(Debug)]
pub struct Session {
    cwd: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    last_path: Option<String>,
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
            state: Mutex::default(),
        }
    }

    /// The directory that stands in for a missing `root` and anchors relative paths.
    #[must_use]
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// `path` as seen from [`Session::cwd`]; an absolute path stays as it is.
    #[must_use]
    pub fn resolve(&self, path: &str) -> PathBuf {
        self.cwd.join(path)
    }

    /// The path of the last operation that named a source file, as the client spelled it.
    #[must_use]
    pub fn last_path(&self) -> Option<String> {
        self.state().last_path.clone()
    }

    /// Remembers the path of an operation for later ones that leave theirs out.
    pub fn set_last_path(&self, path: impl Into<String>) {
        self.state().last_path = Some(path.into());
    }

    /// No lock holder can leave the state half written, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
    use std::sync::Arc;

    #[test]
    fn remembers_the_last_path_only() {
        let session = Session::new();
        assert_eq!(session.last_path(), None);
        session.set_last_path("a.mty");
        session.set_last_path(String::from("./b.mty"));
        assert_eq!(session.last_path().as_deref(), Some("./b.mty"));
        assert_eq!(Session::default().last_path(), None);
    }

    #[test]
    fn resolves_against_its_own_directory() {
        let session = Session::in_dir(PathBuf::from("/srv/pkg"));
        assert_eq!(
            session.resolve("src/main.mty"),
            Path::new("/srv/pkg/src/main.mty")
        );
        assert_eq!(session.resolve("/etc/x"), Path::new("/etc/x"));
        assert_eq!(Session::new().cwd(), std::env::current_dir().unwrap());
    }

    #[test]
    fn is_shared_between_threads_and_survives_a_panicking_holder() {
        let session = Arc::new(Session::new());
        let other = Arc::clone(&session);
        let outcome = std::thread::spawn(move || {
            let _held = other.state.lock().unwrap();
            panic!("while holding the lock");
        })
        .join();
        assert!(outcome.is_err());
        session.set_last_path("after.mty");
        assert_eq!(session.last_path().as_deref(), Some("after.mty"));
    }
}
