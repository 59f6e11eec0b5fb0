//! Files and directories that others may have put there, below both engines: opened carefully, read and
//! replaced whole, walked as git sees them. No format, no policy and no words for people.

#[cfg(feature = "walk")]
mod gitignore;
mod open;
mod read;
mod replace;
#[cfg(feature = "walk")]
mod walk;

/// For opening a directory.
pub const DIRECTORY: rustix::fs::OFlags = rustix::fs::OFlags::DIRECTORY;

pub use open::{CAREFULLY, open_at, open_resolved};
pub use read::SmallFiles;
pub use replace::{NewFile, Staging, sweep_left};
#[cfg(feature = "walk")]
pub use walk::{Entry, Gaps, Options, Visitor, walk};
