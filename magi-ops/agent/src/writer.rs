//! The one writer of an attached session, shared by whoever works on it: runs, pages, a later opening.
//! What is written is theirs to say, how the store's.

use std::sync::{Arc, Mutex, PoisonError};

use store::sessions::SessionWriter;

/// The one writer of the attached session; locked on threads that may block.
#[derive(Clone, Debug)]
pub(crate) struct SharedWriter(Arc<Mutex<Box<dyn SessionWriter>>>);

impl SharedWriter {
    pub(crate) fn new(writer: Box<dyn SessionWriter>) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut dyn SessionWriter) -> T) -> T {
        f(&mut **self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
