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

/// One entry of `providers.<id>.models`: a model's id, or an object with more of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelSettings {
    /// As the server names it.
    pub id: String,
    /// Most tokens of one response, thinking included.
    pub max_output_tokens: Option<u64>,
    /// Tokens that a conversation may have.
    pub context_window: Option<u64>,
    /// The levels that the model has; `default` is always one. `None` leaves it to the wire.
    pub thinking_levels: Option<Vec<ThinkingLevel>>,
    /// What the server wants back of the model's reasoning.
    pub reasoning: Option<Reasoning>,
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

/// A model with more than its id.
#[derive(Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct ModelObject {
    /// As the server names it.
    id: String,
    /// Most tokens of one response, thinking included.
    #[serde(default)]
    max_output_tokens: Option<NonZeroU64>,
    /// Tokens that a conversation may have.
    #[serde(default)]
    context_window: Option<NonZeroU64>,
    /// The thinking levels that the model has.
    #[serde(default)]
    thinking_levels: Option<Vec<ThinkingLevel>>,
    /// What the server wants back of its reasoning.
    #[serde(default)]
    reasoning: Option<Reasoning>,
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
                let members = ModelObject::deserialize(MapAccessDeserializer::new(members))?;
                Ok(ModelSettings {
                    id: members.id,
                    max_output_tokens: members.max_output_tokens.map(NonZeroU64::get),
                    context_window: members.context_window.map(NonZeroU64::get),
                    thinking_levels: members.thinking_levels,
                    reasoning: members.reasoning,
                })
            }
        }
        source.deserialize_any(Either)
    }
}

#[cfg(test)]
impl schemars::JsonSchema for ModelSettings {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Model".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "anyOf": [{ "type": "string" }, generator.subschema_for::<ModelObject>()],
        })
    }
}
