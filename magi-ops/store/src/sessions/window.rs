//! The recent end of a session, as values. What the records mean is decided above.

use super::Record;

/// Most bytes of a session that a window shows (spec: application-service, "Advertised limits").
pub const MAX_WINDOW_BYTES: u64 = 2 * 1024 * 1024;

/// What stands at the end of a session.
#[derive(Debug)]
pub struct Window {
    /// Oldest first; at most [`super::MAX_READ_LINES`].
    pub records: Vec<Record>,
    /// The part that they are of, from 1: only the last one is shown.
    pub part: u32,
    /// Records can't be read within the window. What a crash tore is none of them, it was never acknowledged.
    pub damaged: bool,
    /// Records of the part stand before the window.
    pub cut: bool,
    pub version: Version,
}

/// Names the content that a window shows, in the words of its store; `None` proves nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Version(pub Option<String>);

impl Version {
    /// Whether both name one content.
    #[must_use]
    pub fn proves(&self, other: &Self) -> bool {
        self.0.is_some() && self == other
    }
}
