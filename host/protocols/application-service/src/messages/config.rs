//! `config.get` and `config.set` (spec: "Read effective settings", "Persist a scoped change").

use std::borrow::Cow;

use host::read;
use host::vocabulary::Word;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::lifecycle::some;
use super::selection;
use crate::words::{Layer, Scope, Thinking};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    #[serde(deserialize_with = "selection")]
    pub model_id: String,
}

/// The effective settings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Effective {
    pub selection: Selection,
    /// What `configured_thinking_level` comes to for the model.
    pub thinking_level: Thinking,
    pub configured_thinking_level: Thinking,
    #[serde(deserialize_with = "read::list::<6, _, _>")]
    pub available_thinking_levels: Vec<Thinking>,
    pub fast: bool,
    /// The layers of settings, the strongest first.
    #[serde(deserialize_with = "read::list::<3, _, _>")]
    pub precedence: Vec<Layer>,
    #[serde(deserialize_with = "read::list::<2, _, _>")]
    pub writable_scopes: Vec<Scope>,
    /// Members that only the global scope takes.
    #[serde(deserialize_with = "names")]
    pub global_only: Vec<Cow<'static, str>>,
}

fn names<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Cow<'static, str>>, D::Error> {
    read::names(source, 256, |name| !name.is_empty())
}

/// What is to be selected. Ids that no provider or model can have are no malformed payload: they select nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelectionPayload {
    pub provider_id: String,
    pub model_id: String,
}

/// A change: what is left out stays as it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigPayload {
    /// Another word is `invalid_scope`, no malformed payload.
    #[serde(deserialize_with = "scope")]
    #[schemars(with = "Scope")]
    pub scope: Option<Scope>,
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "SelectionPayload")]
    pub selection: Option<SelectionPayload>,
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Thinking")]
    pub thinking_level: Option<Thinking>,
    /// Global scope only.
    #[serde(
        default,
        deserialize_with = "some",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "bool")]
    pub fast: Option<bool>,
}

fn scope<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Scope>, D::Error> {
    let word = Cow::<str>::deserialize(source)?;
    Ok(Scope::from_word(&word))
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigStored {
    #[serde(deserialize_with = "read::yes")]
    pub persisted: bool,
    pub scope: Scope,
    pub effective: Effective,
}
