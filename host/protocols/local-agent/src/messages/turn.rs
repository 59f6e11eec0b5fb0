//! `turn.start`, `turn.cancel` and `approval.answer` (spec: "Turns, approvals and events").

use host::read::yes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartParams {
    pub session_id: String,
    /// 1 to 16,384 UTF-8 bytes, not only whitespace.
    pub prompt: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    #[serde(deserialize_with = "run")]
    pub run_id: String,
    /// Admission only: neither persisted nor executed yet.
    #[serde(deserialize_with = "yes")]
    pub accepted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelParams {
    pub session_id: String,
    pub run_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancellationRequested {
    #[serde(deserialize_with = "yes")]
    pub cancellation_requested: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AnswerParams {
    pub session_id: String,
    pub run_id: String,
    pub approval_id: String,
    pub allow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Recorded {
    #[serde(deserialize_with = "yes")]
    pub recorded: bool,
}
