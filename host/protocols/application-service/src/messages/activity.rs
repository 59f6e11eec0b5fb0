//! The six kinds of `turn.activity` (spec: "Structured activity"). Best-effort and turn-local: an activity's identity is
//! not unique, and nothing here settles anything.

use std::borrow::Cow;

use host::read;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::lifecycle::some;
use super::{id, nullable_id};
use crate::words::{
    Category, CompactionStatus, ContextSource, LifecycleStatus, Transport, UsageSource,
};

/// One activity. Counts are tokens unless named otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// `activity-` and 64 hex digits; scoped to the turn, and not unique among its events.
    #[serde(deserialize_with = "id")]
    pub activity_id: String,
    /// Of what stands beneath another activity, on its start; else left out.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "String")]
    pub parent_activity_id: Option<String>,
    #[serde(flatten)]
    pub kind: Kind,
}

// Inline in the schema, where `$ref` would leave no place for `kind`.
macro_rules! kinds {
    ($($word:literal => $kind:ident),+ $(,)?) => {
        /// What an activity is about.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum Kind { $(#[serde(rename = $word)] $kind($kind)),+ }

        impl Kind {
            /// Reads what an activity of this kind says; `None` for a word that is none of the six.
            pub fn read<'de, D: Deserializer<'de>>(kind: &str, activity: D) -> Option<Result<Self, D::Error>> {
                match kind {
                    $($word => Some($kind::deserialize(activity).map(Self::$kind)),)+
                    _ => None,
                }
            }
        }
    };
}
kinds! {
    "lifecycle" => Lifecycle,
    "tool" => Tool,
    "reasoning_summary" => ReasoningSummary,
    "context" => Context,
    "usage" => Usage,
    "compaction" => Compaction,
}

/// Something begins, goes on or ends. Its first event says in `category` what it is; the last one has the category
/// `activity`, and is known by its `activity_id`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Lifecycle {
    /// `activity` on finish.
    pub category: Category,
    pub status: LifecycleStatus,
    #[serde(deserialize_with = "read::yes")]
    pub details_omitted: bool,
}

/// A call of a tool. A tool of an MCP server has no `tool_name`: its `tool_id` and `server_id` are digests, which tell which
/// calls are of one tool or server and name none. `timed_out` is null until a call has ended, and where nobody can say.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Tool {
    /// `tool-` and 64 hex digits.
    #[serde(deserialize_with = "id")]
    pub tool_id: String,
    /// The name of a tool that is linked into the program.
    #[serde(deserialize_with = "nullable_id")]
    pub tool_name: Option<Cow<'static, str>>,
    #[serde(deserialize_with = "nullable_id")]
    pub server_id: Option<String>,
    pub transport: Transport,
    /// `running`, then `completed` or `failed`.
    pub status: LifecycleStatus,
    /// Null where nobody can say; that is not "no".
    #[serde(deserialize_with = "read::nullable")]
    pub timed_out: Option<bool>,
    #[serde(deserialize_with = "read::yes")]
    pub details_omitted: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct ReasoningSummary {
    /// At most 2,048 UTF-8 bytes; empty when there was too much.
    pub text: String,
    pub redacted: bool,
    pub truncated: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Context {
    #[serde(deserialize_with = "read::count")]
    pub current_tokens: u64,
    #[serde(deserialize_with = "read::count")]
    pub max_tokens: u64,
    #[serde(deserialize_with = "read::nullable_count")]
    pub reasoning_tokens: Option<u64>,
    /// Counts provider requests of the turn.
    #[serde(deserialize_with = "read::count")]
    pub request_sequence: u64,
    pub source: ContextSource,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Usage {
    #[serde(deserialize_with = "read::count")]
    pub effective_input: u64,
    #[serde(deserialize_with = "read::count")]
    pub output: u64,
    #[serde(deserialize_with = "read::count")]
    pub cache_read: u64,
    pub cache_known: bool,
    /// Counts provider requests of the turn.
    #[serde(deserialize_with = "read::count")]
    pub request_sequence: u64,
    pub final_usage: bool,
    pub source: UsageSource,
}

/// The conversation is made shorter for its model. Counts are there when it is triggered and when it is completed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct Compaction {
    pub status: CompactionStatus,
    #[serde(deserialize_with = "read::nullable_count")]
    pub current_tokens: Option<u64>,
    #[serde(deserialize_with = "read::nullable_count")]
    pub max_tokens: Option<u64>,
    pub replay_required: bool,
}
