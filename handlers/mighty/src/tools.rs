//! What the commands for people need of the toolchain, by the names they use. The root package knows this crate
//! only, so that a slim build links what it chose and nothing else.

#[cfg(feature = "check")]
pub use check::{Document, line};
#[cfg(feature = "check")]
pub use toolchain::{CUT, Checked, Envelope, Level, Reported, check_directory, check_file};
#[cfg(feature = "fix")]
pub use toolchain::{
    Candidate, Code, DEFAULT_THRESHOLD, Offer, Pick, Plan, Policy, project_root, write_source,
};
#[cfg(feature = "fmt")]
pub use toolchain::{FmtError, Formatted, Obstacle, files_below, format_file, format_text};
#[cfg(any(feature = "check", feature = "fix", feature = "fmt"))]
pub use toolchain::{MAX_SOURCE_BYTES, SourceError, read_source};
