//! The Mighty language's diagnostics: the catalogue of numbers and the text that explains each.
//! Nothing here reads files or knows a wire; finding faults in programs is not this crate's either.

mod catalogue;
mod code;
mod explain;

pub use catalogue::{Diagnostic, Severity, Status, catalogue, lookup};
pub use code::{Code, NotACode};
pub use explain::{ExplainError, Explanation, explain};
