//! The composition root: links the chosen families, supplies their engines and starts what serves them.
//! Knows no method and no envelope.

// A family that is only named in Cargo.toml registers nothing: the linker would drop it unseen. Each is
// therefore used by name, and a test compares the registry with the feature set.
#[cfg(feature = "approval")]
use approval as _;
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
#[cfg(feature = "history")]
use history as _;
#[cfg(feature = "lifecycle")]
use lifecycle as _;
#[cfg(feature = "session")]
use session as _;
#[cfg(feature = "turn")]
use turn as _;

#[cfg(feature = "magi")]
pub mod configuration;
#[cfg(feature = "magi")]
pub mod magi;
#[cfg(feature = "mty-agent")]
pub mod mighty;
pub mod schema;
#[cfg(feature = "mty-agent")]
pub mod tools;

use std::sync::Arc;

use host::Registry;

/// The version that every public face of this build tells.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Collects what is linked; two registrations of one name must not start.
pub fn registry() -> anyhow::Result<Arc<Registry>> {
    Ok(Arc::new(Registry::collect()?))
}

/// A runtime on the calling thread: the wire needs no second one, and a start costs less. A file that may
/// not grow is an error for whoever writes it from here on, no end of the process.
fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    host::resources::check()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()?;
    runtime.block_on(async { host::signals::outlive_file_limit() })?;
    Ok(runtime)
}
