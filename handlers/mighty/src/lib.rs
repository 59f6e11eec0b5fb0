//! The composition root of `mty`: links the chosen families, supplies their engine and starts what serves them.
//! Knows no method and no envelope. That of `magi-code` is `handlers`: what a binary does not serve it does not link.

// A family that is only named in Cargo.toml registers nothing: the linker would drop it unseen. Each is
// therefore used by name, and a test compares the registry with the feature set.
#[cfg(feature = "check")]
use check as _;
#[cfg(feature = "explain")]
use explain as _;
#[cfg(feature = "find")]
use find as _;
#[cfg(feature = "fix")]
use fix as _;
#[cfg(feature = "fmt")]
use fmt as _;
#[cfg(feature = "halt")]
use halt as _;

mod serve;
pub mod tools;

pub use serve::*;
