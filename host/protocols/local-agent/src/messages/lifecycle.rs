//! `initialize`, `status` and `shutdown` (spec: "Implemented operations").

use std::borrow::Cow;

use host::read;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{names, nullable_run, nullable_session};
use crate::words::{NAME_BYTES, Readiness, ShutdownState, State};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializeParams {
    /// At most 16 capability names that the client cannot do without.
    pub required_capabilities: Vec<Cow<'static, str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initialized {
    /// Every method that this server has linked.
    #[serde(deserialize_with = "names::<256, _>")]
    pub capabilities: Vec<Cow<'static, str>>,
    /// The concrete bounds of this protocol version.
    pub limits: Limits,
    pub status: ServerStatus,
}

/// What a server holds to. Bytes are UTF-8 bytes, time is milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    pub frame_bytes: usize,
    pub json_depth: usize,
    pub id_bytes: usize,
    pub prompt_bytes: usize,
    pub history_page_bytes: usize,
    pub history_page_entries: usize,
    pub content_chunk_bytes: usize,
    pub pending_responses: usize,
    pub requests_per_child: usize,
    pub output_deadline_ms: usize,
}

impl Limits {
    /// Those of version 1.
    pub const VERSION_1: Self = Self {
        frame_bytes: 65_536,
        json_depth: 32,
        id_bytes: NAME_BYTES,
        prompt_bytes: 16_384,
        history_page_bytes: 32_768,
        history_page_entries: 100,
        content_chunk_bytes: 16_384,
        pending_responses: 32,
        requests_per_child: 4096,
        output_deadline_ms: 2000,
    };
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServerStatus {
    pub state: State,
    /// Beyond the first two, a startup error code.
    pub readiness: Readiness,
    #[serde(deserialize_with = "read::nullable_text::<256, _, _>")]
    pub provider: Option<String>,
    #[serde(deserialize_with = "read::nullable_text::<256, _, _>")]
    pub model: Option<String>,
    /// 64 lower-case hex digits; equal for equal working directory and storage roots.
    #[serde(deserialize_with = "digest")]
    pub context_id: Option<String>,
    // Only a ready server owes the two identities; before that there is nothing they could name.
    #[serde(default, deserialize_with = "nullable_session")]
    pub session_id: Option<String>,
    #[serde(default, deserialize_with = "nullable_run")]
    pub run_id: Option<String>,
}

/// The spec leaves the digest's form open.
fn digest<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    read::nullable_matching(source, |text| {
        (1..=128).contains(&text.len()) && text.is_ascii()
    })
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopping {
    pub state: ShutdownState,
}
