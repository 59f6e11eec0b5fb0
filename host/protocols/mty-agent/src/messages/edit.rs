//! `fmt` and `fix`, and the `patch` line.

use host::wire_event;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FmtParams {
    /// A `*.mty` file.
    pub path: String,
    /// Only say whether the file would change.
    #[serde(default)]
    pub check: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FmtAnswer {
    /// With `check` whether the file would change, else whether it was changed.
    pub would_reformat: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixParams {
    /// A source file; the one of the last `check` where left out.
    pub path: Option<String>,
    /// The code to look for; the first diagnostic with it and with a fix is meant.
    pub code: String,
    /// Which alternative, from 0; the first where left out.
    #[serde(default)]
    pub alternative: usize,
    /// Persist it. False where left out.
    #[serde(default)]
    pub write: bool,
    /// Give the new text without persisting it, whatever `write` says. False where left out.
    #[serde(default)]
    pub dry_run: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FixAnswer {
    /// Whether the file was written.
    pub applied: bool,
    /// Bytes of the diff.
    pub diff_len: usize,
}

/// The alternative that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Patch {
    /// Whether the file was written.
    pub applied: bool,
    /// Unified, LF only.
    pub diff: String,
    /// The whole new text, with `write` and `dry_run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_content: Option<String>,
}
wire_event!(Patch, "patch", MustArrive);
