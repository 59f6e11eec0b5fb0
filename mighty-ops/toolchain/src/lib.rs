//! What the mty operations call: find, explain and the session they share.
//! Knows no wire: answers are plain values, and failures are enums that a handler words.

#[cfg(feature = "find")]
mod find;
#[cfg(feature = "find")]
mod literal;
mod session;
#[cfg(feature = "find")]
mod walk;

#[cfg(feature = "explain")]
pub use analysis::{Code, ExplainError, Explanation, NotACode, explain};
#[cfg(feature = "find")]
pub use find::{FindError, FindRequest, Found, Hit, MAX_TEXT_BYTES, find};
pub use session::Session;
