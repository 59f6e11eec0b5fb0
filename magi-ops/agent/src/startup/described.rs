//! What the settings say of one provider: its wire, the variable of its key, its models. Whether it can be used is decided
//! beside.

use catalog::Source;
use provider::{Api, FIXTURE_ID, ModelLimits, ProviderConfig};
use store::settings::{ProviderSettings, Settings};

/// The built-in provider with a wire of its own.
pub(super) const ANTHROPIC_ID: &str = "anthropic";
const ANTHROPIC_KEY: &str = store::settings::BUILT_IN_KEYS[0].1;
/// The built-in provider that a person logs in to.
pub(super) const CODEX_ID: &str = "openai-codex";

/// The wire of a built-in provider.
pub(super) fn built_in_api(id: &str) -> Option<Api> {
    match id {
        ANTHROPIC_ID => Some(Api::Anthropic),
        CODEX_ID => Some(Api::OpenaiResponses),
        _ => None,
    }
}

/// The wire of a provider; `None` where neither its name nor the settings say.
pub(super) fn api(settings: &Settings, id: &str) -> Option<Api> {
    let own = settings.providers.get(id).and_then(|own| own.api);
    let offline = (id == FIXTURE_ID).then_some(Api::Fixture);
    offline.or(built_in_api(id)).or(own)
}

/// What the settings of a provider say of its models.
pub(super) fn limits(own: &ProviderSettings) -> ModelLimits {
    ModelLimits {
        max_output_tokens: own.max_output_tokens,
        context_window: own.context_window,
        reasoning: own.reasoning,
        models: own.models.clone(),
        discovered: Vec::new(),
    }
}

/// The variable that holds the key of a provider, if it has one.
pub(super) fn key_variable<'a>(settings: &'a Settings, provider: &str) -> Option<&'a str> {
    let own = settings.providers.get(provider);
    let named = own.and_then(|own| own.api_key_env.as_deref());
    // A custom provider says where its key is, or that it needs none.
    named.or((provider == ANTHROPIC_ID).then_some(ANTHROPIC_KEY))
}

/// A provider's configuration without what it authenticates with; `None` if nothing says which wire it speaks.
pub(crate) fn source(settings: &Settings, provider: &str) -> Option<Source> {
    let api = api(settings, provider)?;
    Some(Source {
        config: config(settings, provider, api),
        key_variable: key_variable(settings, provider).map(str::to_owned),
    })
}

/// A provider of that wire as the settings describe it.
pub(super) fn config(settings: &Settings, provider: &str, api: Api) -> ProviderConfig {
    let own = settings.providers.get(provider);
    ProviderConfig {
        id: provider.to_owned(),
        api,
        base_url: own.and_then(|own| own.base_url.clone()),
        models: own.map_or_else(ModelLimits::default, limits),
    }
}
