//! `initialize`, `status` and `shutdown` (spec: "Implemented operations").

use std::borrow::Cow;

use host::read;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{names, nullable_run, nullable_session};
use crate::limits::Limits;
use crate::words::{Readiness, ShutdownState, State};

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
