//! `initialize`, `status` and `capabilities` (spec: "Initialization and negotiation", "Operations").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::words::ServiceState;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InitializePayload {
    /// 1 to 8 versions, one of them `1`.
    pub supported_protocol_versions: Vec<u16>,
    /// At most 8 operation names that must be served.
    #[serde(default)]
    pub requested_capabilities: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Initialized {
    pub protocol_version: u16,
    #[serde(deserialize_with = "host::read::text::<256, _, _>")]
    pub server_name: Cow<'static, str>,
    #[serde(deserialize_with = "host::read::text::<256, _, _>")]
    pub server_version: Cow<'static, str>,
    pub limits: Map<String, Value>,
    pub capabilities: Capabilities,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Capabilities {
    #[serde(deserialize_with = "host::read::list::<NAMES, _, _>")]
    pub protocol_versions: Vec<u64>,
    /// Every linked operation; not filtered by the request.
    #[serde(deserialize_with = "names")]
    pub operations: Vec<Cow<'static, str>>,
    /// Every event that may be sent.
    #[serde(deserialize_with = "names")]
    pub events: Vec<Cow<'static, str>>,
    #[serde(deserialize_with = "names")]
    pub transports: Vec<Cow<'static, str>>,
    pub limits: Map<String, Value>,
    /// A server without structured activity has none.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "ActivityFlags")]
    pub activity: Option<ActivityFlags>,
}

/// Feature flags of structured activity; true ones need turns in this build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActivityFlags {
    pub events: bool,
    pub approvals: bool,
    pub steering: bool,
    pub mcp_server_lifecycle: bool,
    pub mcp_tool_activity: bool,
    pub subagents: bool,
    pub raw_tool_output: bool,
    pub activity_replay: bool,
    /// UTF-8 bytes of one reasoning summary.
    pub max_summary_bytes: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceStatus {
    pub service: ServiceState,
    /// Whether the configured provider can prepare authentication.
    pub provider_auth_ready: bool,
}

/// Names in one advertised set.
const NAMES: usize = 256;

fn names<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Cow<'static, str>>, D::Error> {
    host::read::names(source, NAMES, super::is_id)
}

/// What may be left out, but is not `null`.
pub(super) fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(source).map(Some)
}
