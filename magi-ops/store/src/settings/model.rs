//! What settings say of one model: its id, its bounds, and what its server wants back.
//! Where these stand in a file is the layer's; what they do to a request is the provider's.

use std::num::NonZeroU64;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};

/// How much a model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ThinkingLevel {
    #[default]
    Default,
    Low,
    Medium,
    High,
    XHigh,
    Max,
}

/// One entry of `providers.<id>.models`: a model's id, or an object with more of it. What it leaves out is left to the
/// provider and the wire; the level `default` is always one.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "ModelObject"))]
#[cfg_attr(test, schemars(description = "A model with more than its id."))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct ModelSettings {
    /// As the server names it.
    pub id: String,
    /// Most tokens of one response, thinking included.
    #[serde(default, deserialize_with = "above_zero")]
    #[cfg_attr(test, schemars(with = "Option<std::num::NonZeroU64>"))]
    pub max_output_tokens: Option<u64>,
    /// Tokens that a conversation may have.
    #[serde(default, deserialize_with = "above_zero")]
    #[cfg_attr(test, schemars(with = "Option<std::num::NonZeroU64>"))]
    pub context_window: Option<u64>,
    /// The thinking levels that the model has.
    #[serde(default)]
    pub thinking_levels: Option<Vec<ThinkingLevel>>,
    /// Whether the model takes images.
    #[serde(default)]
    pub images: Option<bool>,
    /// What the server wants back of its reasoning.
    #[serde(default)]
    pub reasoning: Option<Reasoning>,
}

/// A whole number above 0, or none.
pub(super) fn above_zero<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<NonZeroU64>::deserialize(source)?.map(NonZeroU64::get))
}

/// What a server wants back of a model's reasoning when a conversation goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Reasoning {
    /// Nothing.
    None,
    /// The text of its `reasoning_content`, in every later request.
    Echo,
    /// What it signed, in every later request.
    Signed,
}

impl From<&str> for ModelSettings {
    fn from(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            ..Self::default()
        }
    }
}

// By hand, because an untagged enum forgets where in the file it went wrong.
impl<'de> Deserialize<'de> for ModelSettings {
    fn deserialize<D: Deserializer<'de>>(source: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = ModelSettings;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a model's id or an object with one")
            }

            fn visit_str<E>(self, id: &str) -> Result<ModelSettings, E> {
                Ok(id.into())
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<ModelSettings, A::Error> {
                // The derived one, which takes an object.
                ModelSettings::deserialize(MapAccessDeserializer::new(members))
            }
        }
        source.deserialize_any(Either)
    }
}

/// Either form, for the schema.
#[cfg(test)]
pub(super) struct Model;

#[cfg(test)]
impl schemars::JsonSchema for Model {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Model".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "string" }, generator.subschema_for::<ModelSettings>()],
        })
    }
}
