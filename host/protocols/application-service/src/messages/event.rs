//! The four events of a turn (spec: "Turn completion and ordering"). Their order is not judged here.

use std::sync::Arc;

use host::{read, wire_event};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::activity::Activity;
use super::id;
use super::lifecycle::some;
use crate::words::{StartStatus, TurnStatus};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnStarted {
    #[serde(deserialize_with = "id")]
    pub turn_id: Arc<str>,
    #[serde(deserialize_with = "id")]
    pub session_id: Arc<str>,
    pub status: StartStatus,
    /// 0.
    #[serde(deserialize_with = "read::count")]
    pub sequence: u64,
}
wire_event!(TurnStarted, "turn.started", MustArrive);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AssistantDelta {
    #[serde(deserialize_with = "id")]
    pub turn_id: Arc<str>,
    /// Counts deltas and activities of the turn together; a missing number is a dropped activity.
    #[serde(deserialize_with = "read::count")]
    pub sequence: u64,
    pub text: String,
}
wire_event!(AssistantDelta, "turn.assistant_delta", MustArrive);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnActivity {
    #[serde(deserialize_with = "id")]
    pub turn_id: Arc<str>,
    #[serde(deserialize_with = "read::count")]
    pub sequence: u64,
    pub activity: Activity,
}
wire_event!(TurnActivity, "turn.activity", MayDrop);

/// How a turn ended: `assistant_text` is the final text, whatever was streamed. A server without activity leaves out what
/// is said of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TurnTerminal {
    #[serde(deserialize_with = "id")]
    pub turn_id: Arc<str>,
    #[serde(deserialize_with = "id")]
    pub session_id: Arc<str>,
    /// `failed` also when the outcome could not be recorded, so that nobody takes for durable what is not.
    pub status: TurnStatus,
    /// The authoritative text, at most 16,384 UTF-8 bytes; partial when the turn was stopped.
    pub assistant_text: String,
    #[serde(deserialize_with = "read::count")]
    pub sequence: u64,
    /// Activities that were left out.
    #[serde(default, deserialize_with = "dropped")]
    #[schemars(with = "u64")]
    pub activity_dropped: Option<u64>,
    /// Always false: what was left out cannot be had again.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "bool")]
    pub activity_replay_available: Option<bool>,
    /// Read the session again with `session.replay`.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "bool")]
    pub replay_required: Option<bool>,
}
wire_event!(TurnTerminal, "turn.terminal", MustArrive);

fn dropped<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u64>, D::Error> {
    read::count(source).map(Some)
}
