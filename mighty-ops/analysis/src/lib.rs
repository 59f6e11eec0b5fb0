//! The Mighty language's analysis: names, types and the other static rules, with the catalogue of
//! diagnostics and their explain texts. Nothing here reads files or knows a wire.
//!
//! [`check`] is the way in. Inside, a package goes through `expand` (macros), `hir` (items and bodies with
//! resolved names), `infer` (types) and the passes that read both.

mod agents;
mod attributes;
mod borrow;
mod capabilities;
mod catalogue;
mod check;
mod code;
mod consteval;
pub mod diagnostic;
mod effects;
pub mod envelope;
mod exhaust;
pub mod expand;
mod explain;
pub mod fix;
pub mod hir;
pub mod infer;
mod lower;
pub mod package;
mod resolve;
mod see_also;
mod taint;
mod traits;
pub mod ty;
mod unfinished;

pub use catalogue::{Diagnostic as CatalogueEntry, Severity, Status, catalogue, lookup};
pub use check::{Analysis, Program, check, check_until};
pub use code::{Code, NotACode};
pub use diagnostic::{Diagnostic, FixHint, Level, MAX_REPORTS, Sink};
pub use explain::{ExplainError, Explanation, explain};
pub use package::{FileId, Options, Package, Profile, SourceFile};
pub use unfinished::Unfinished;
