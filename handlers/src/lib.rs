//! The composition root of `magi-code`: links the chosen families, supplies their engine and starts what serves them.
//! Knows no method and no envelope. That of `mty` is `handlers/mighty`: what a binary does not serve it does not link.

// A family that is only named in Cargo.toml registers nothing: the linker would drop it unseen. Each is
// therefore used by name, and a test compares the registry with the feature set.
#[cfg(feature = "approval")]
use approval as _;
#[cfg(feature = "auth")]
use auth as _;
#[cfg(feature = "catalog")]
use catalogs as _;
#[cfg(feature = "config")]
use config as _;
#[cfg(feature = "history")]
use history as _;
#[cfg(feature = "lifecycle")]
use lifecycle as _;
#[cfg(feature = "session")]
use session as _;
#[cfg(feature = "turn")]
use turn as _;

pub mod configuration;
pub mod magi;
#[cfg(feature = "catalog")]
pub mod models;
#[cfg(feature = "sessions")]
pub mod sessions;
