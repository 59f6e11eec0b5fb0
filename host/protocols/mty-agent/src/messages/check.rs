//! `check`, its diagnostics (schema 1.0, toolchain digest, section 5, in its key order), and the `log` line of every op.

use std::borrow::Cow;

use host::{wire_event, words};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckParams {
    /// A source file. Inside a package all of its `src` is checked.
    pub path: String,
    /// Embed the line of each diagnostic and one on either side.
    #[serde(default)]
    pub include_source: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckSummary {
    /// All diagnostics, warnings too, sent or not.
    pub diagnostics_count: usize,
    /// Those with a fix.
    pub fix_count: usize,
}

words! { pub enum Severity { Error = "error", Warning = "warning" } }

/// One diagnostic. Key order is the schema's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Envelope {
    /// `1.0`; a minor step adds, a major one changes.
    pub schema_version: Cow<'static, str>,
    /// `MTnnnn`
    pub code: String,
    pub severity: Severity,
    pub span: Span,
    /// One line: what was found and what was expected.
    pub title: String,
    /// The explain text of the code and what is particular to this site.
    pub prose: String,
    /// What can be done about it; left out where nothing is at least 0.5 sure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<Fix>,
    /// Codes, then paths of pages of this project.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub see_also: Vec<String>,
    /// Only when asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}
wire_event!(Envelope, "envelope", MustArrive);

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Span {
    /// The path as it was given.
    pub file: String,
    /// From 1.
    pub line: usize,
    /// From 1, in Unicode scalars.
    pub col: usize,
    /// In bytes.
    pub len: usize,
    /// First byte in the file as it is on disk.
    pub byte_start: usize,
    /// One past the last byte.
    pub byte_end: usize,
}

/// Ways to repair it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fix {
    /// What it does: `untaint`, `missing_import`, `add_effect`, `add_capability`, `rename_to_match_decl`, `wrap_in_some`,
    /// `type_conversion`, `declare_protocol_message`, `add_clone`, `take_reference`, `add_mutability`, `balance_delimiters`,
    /// `add_match_arm`, `remove_unreachable`, `correct_macro_attr`, `add_return_type`, `add_type_annotation`,
    /// `add_struct_field`, `unpack_question`, `initialize_binding` or `other`.
    pub kind: Cow<'static, str>,
    /// The best alternative's, 0.5 to 1.
    pub confidence: f64,
    /// At least one, most confident first.
    pub alternatives: Vec<Alternative>,
}

/// One way to repair it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Alternative {
    pub label: String,
    /// Unified, LF only.
    pub diff: String,
    /// Why this helps.
    pub rationale: String,
    /// 0.5 to 1.
    pub confidence: f64,
}

/// The line of the place and one on either side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// From 1.
    pub start_line: usize,
    /// Without line ends; at most 1000 characters of each.
    pub lines: Vec<String>,
}

words! {
    /// Which stream a line belongs to.
    pub enum Stream { Stdout = "stdout", Stderr = "stderr" }
}

/// One line of what a command would print.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Log {
    pub stream: Stream,
    /// One line, without its line feed.
    pub text: String,
}
wire_event!(Log, "log", MustArrive);
