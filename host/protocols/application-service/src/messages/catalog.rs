//! The catalog operations (spec: "Provider and model catalogs"). Pages are no snapshot.

use host::read;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{selection, whole_page};
use crate::words::{CatalogState, Refresh, Thinking};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProvidersPayload {
    /// At most 100,000.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    pub offset: u64,
    /// 1 to 32 items.
    #[serde(default = "whole_page")]
    #[schemars(range(min = 1, max = 32))]
    pub limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelsPayload {
    pub provider_id: String,
    /// At most 100,000.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    pub offset: u64,
    /// 1 to 32 items.
    #[serde(default = "whole_page")]
    #[schemars(range(min = 1, max = 32))]
    pub limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderPage {
    /// Sorted by id.
    pub entries: Vec<ProviderEntry>,
    #[serde(deserialize_with = "read::nullable_count")]
    pub next_offset: Option<u64>,
    pub refresh: Refresh,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProviderEntry {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    #[serde(deserialize_with = "read::text::<256, _, _>")]
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelPage {
    pub entries: Vec<ModelEntry>,
    #[serde(deserialize_with = "read::nullable_count")]
    pub next_offset: Option<u64>,
    pub state: CatalogState,
    pub refresh: Refresh,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelEntry {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    #[serde(deserialize_with = "selection")]
    pub model_id: String,
    #[serde(deserialize_with = "read::text::<256, _, _>")]
    pub label: String,
    pub available: bool,
    /// Tokens; null is unknown.
    #[serde(deserialize_with = "read::nullable_count")]
    pub context_window: Option<u64>,
    #[serde(deserialize_with = "read::nullable_count")]
    pub max_output_tokens: Option<u64>,
    #[serde(deserialize_with = "read::list::<6, _, _>")]
    pub available_thinking_levels: Vec<Thinking>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CatalogRefreshed {
    #[serde(deserialize_with = "selection")]
    pub provider_id: String,
    pub state: CatalogState,
}
