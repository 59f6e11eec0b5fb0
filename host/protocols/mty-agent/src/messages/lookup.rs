//! `explain`, `find` and `halt`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainParams {
    /// A diagnostic code: `MT4099`, `mt4099`, `SD4099`, `4099` are the same.
    pub code: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Explained {
    /// The code in its one spelling, `MTnnnn`.
    pub code: String,
    /// Plain text, lines of at most 76 columns.
    pub text: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindParams {
    /// The substring to search for; case counts.
    pub query: String,
    /// Largest number of hits; 10 where left out.
    #[serde(default = "ten")]
    pub top: usize,
    /// Where to search; the working directory by default.
    #[serde(default = "here")]
    pub root: String,
}

const fn ten() -> usize {
    10
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// In order of path, then line.
    pub hits: Vec<Hit>,
    /// Only when true: hits that were asked for may be missing, because the answer reached the limit
    /// `answer_bytes`, or because a file has a line of over 4 MiB, behind which it is not searched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// A line that holds the query.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hit {
    /// Relative to `root`, with `/`.
    pub file: String,
    /// From 1.
    pub line: u64,
    /// The line; of one over 4 KiB the stretch around the first match, with `…` where it was cut.
    pub text: String,
}

/// Keys beside `op`; unknown ones are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HaltParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Halted {}
