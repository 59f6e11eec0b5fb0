//! `turn.start` and `turn.cancel` (spec: "`turn.start`", "`turn.cancel`").

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::id;
use crate::words::{AdmissionStatus, CancellationStatus};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartPayload {
    /// 1 to 16,384 UTF-8 bytes, not only whitespace.
    pub prompt: String,
    /// Empty: there are no options yet.
    #[serde(default)]
    #[schemars(extend("maxProperties" = 0))]
    pub options: Map<String, Value>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Accepted {
    #[serde(deserialize_with = "id")]
    pub turn_id: String,
    /// The envelope's, or that of the new session.
    #[serde(deserialize_with = "id")]
    pub session_id: String,
    /// Neither recorded nor executed yet.
    pub status: AdmissionStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelPayload {
    /// At most 128 bytes.
    pub turn_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CancellationRequested {
    /// The end comes as the terminal event.
    pub status: CancellationStatus,
}
