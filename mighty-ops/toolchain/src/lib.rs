//! What the mty operations call: check, fmt, fix, find, explain and the session they share.
//! Knows no wire: answers are plain values, and failures are enums that a handler words.

#[cfg(feature = "check")]
mod assemble;
#[cfg(feature = "check")]
mod check;
#[cfg(feature = "check")]
mod checked;
#[cfg(feature = "find")]
mod find;
#[cfg(feature = "fix")]
mod fix;
#[cfg(feature = "fmt")]
mod fmt;
#[cfg(feature = "find")]
mod literal;
#[cfg(feature = "check")]
mod manifest;
#[cfg(feature = "fix")]
mod plan;
mod session;
#[cfg(any(feature = "check", feature = "fmt"))]
mod source;
#[cfg(any(feature = "check", feature = "fmt"))]
mod tree;
#[cfg(any(feature = "fix", feature = "fmt"))]
mod write;

#[cfg(any(feature = "check", feature = "explain"))]
pub use analysis::{Code, NotACode};
#[cfg(feature = "explain")]
pub use analysis::{ExplainError, Explanation, explain};
#[cfg(feature = "check")]
pub use analysis::{
    Level,
    envelope::{self, Envelope},
    fix::{Alternative, Fix},
};
#[cfg(feature = "fix")]
pub use assemble::project_root;
#[cfg(feature = "check")]
pub use assemble::{Loaded, LoadedFile, load_directory, load_file};
#[cfg(feature = "check")]
pub use check::{Reported, check_directory, check_file};
#[cfg(feature = "check")]
pub use checked::{CUT, Checked};
#[cfg(feature = "find")]
pub use find::{FindError, FindRequest, Found, Hit, MAX_TEXT_BYTES, find};
#[cfg(feature = "fix")]
pub use fix::{FixError, FixRequest, Fixed};
#[cfg(feature = "fmt")]
pub use fmt::{FmtError, Formatted, Obstacle, files_below, format_file, format_text};
#[cfg(feature = "fix")]
pub use plan::{Candidate, DEFAULT_THRESHOLD, Offer, Pick, Plan, Policy, write_source};
pub use session::Session;
#[cfg(any(feature = "check", feature = "fmt"))]
pub use source::{MAX_SOURCE_BYTES, SourceError, read_source};
#[cfg(any(feature = "check", feature = "fmt"))]
#[cfg(any(feature = "check", feature = "fmt"))]
pub use tree::Tree;
