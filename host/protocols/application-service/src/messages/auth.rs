//! The auth operations and the two events of a login (spec: "Authentication"). No secret is shown here: what a person
//! pastes and where a person logs in show themselves only when asked.

use std::fmt;

use host::{read, wire_event};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lifecycle::some;
use super::{id, selection};
use crate::words::{
    AuthMethod, AuthReadiness, AuthSource, CallbackStatus, LoginEnd, LoginState, LoginStatus,
    LogoutStatus,
};

/// A text that must not reach logs or disk.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Transient(String);

impl Transient {
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text, for the person at the screen or for the wire.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Transient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Transient")
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AuthStatus {
    #[serde(deserialize_with = "read::list::<256, _, _>")]
    pub providers: Vec<ProviderAuth>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderAuth {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    pub auth_method: AuthMethod,
    pub source: AuthSource,
    pub readiness: AuthReadiness,
    /// Whether `readiness` is `ready`.
    pub ready: bool,
}

/// Of operations that are about one provider and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProviderPayload {
    pub provider_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginStarted {
    #[serde(deserialize_with = "id")]
    pub login_id: String,
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    pub status: LoginStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallbackPayload {
    pub login_id: String,
    /// The final redirect URL or the code: 1 to 4,096 bytes, accepted once.
    pub input: Transient,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallbackSubmitted {
    /// It says nothing about whether the callback is valid.
    pub status: CallbackStatus,
}

/// Of operations that are about one login and nothing else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoginPayload {
    pub login_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LogoutPayload {
    pub provider_id: String,
    /// A person was asked. Without it nothing happens.
    #[serde(default)]
    pub confirmed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoggedOut {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    pub status: LogoutStatus,
    /// Whether there was a record.
    pub removed: bool,
    #[serde(deserialize_with = "read::yes")]
    pub environment_unchanged: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginProgress {
    #[serde(deserialize_with = "id")]
    pub login_id: String,
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    pub state: LoginState,
    /// With `authorization_url` only, and always then.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Transient")]
    pub url: Option<Transient>,
    /// As `url`.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "bool")]
    pub open_browser: Option<bool>,
}
wire_event!(LoginProgress, "auth.login.progress", MustArrive);

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LoginTerminal {
    #[serde(deserialize_with = "id")]
    pub login_id: String,
    pub state: LoginEnd,
    #[serde(deserialize_with = "read::yes")]
    pub cleanup_complete: bool,
}
wire_event!(LoginTerminal, "auth.login.terminal", MustArrive);
