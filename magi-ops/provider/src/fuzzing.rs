//! What reads bytes from outside, for the fuzz targets and for the tests that replay their seeds.
//! In no product: the feature `fuzzing` is in no default and in nobody else's dependencies.

use crate::fixture::Fixture;
use crate::script::{Script, ScriptError};

#[cfg(feature = "wires")]
pub use crate::wires::fuzzing::{
    MAX_EVENT_BYTES, PROVIDER, Spoken, events, listed, pieces, request_body,
};

/// The offline provider that plays the script `bytes`.
///
/// # Errors
/// For what is no valid script.
pub fn fixture(bytes: &[u8]) -> Result<Fixture, ScriptError> {
    Script::parse(bytes).map(Fixture::playing)
}
