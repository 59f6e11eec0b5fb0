//! What of a project's own settings file counts: little until the person trusts the project, never what would run a
//! command or name a key (decisions: "Trust"). Permissions have a file of their own.

use super::layer::Layer;
use super::{BUILT_IN, BUILT_IN_KEYS, Settings};

/// What to do about something that an untrusted project may not say.
pub(super) const TRUST: &str =
    "run `magi-code trust` in the project if you know everything that it configures";

/// What to do about something that no project may say.
const TO_GLOBAL: &str = "say it in the global settings, or take it out";

/// What to do about the trust in a project's server.
const TRUSTS_NONE: &str = "allow its tools by `permissions.mcp__<server>__<tool>` of the global settings, or define the server there";

/// A member of the project's file that does not count: the names that lead to it, why, and what to do.
pub(super) struct Ignored {
    pub(super) path: Vec<String>,
    pub(super) why: String,
    pub(super) help: &'static str,
}

impl Ignored {
    pub(super) fn new(path: &[&str], why: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|&name| name.to_owned()).collect(),
            why: why.into(),
            help: TO_GLOBAL,
        }
    }

    pub(super) fn untrusted(path: &[&str], why: impl Into<String>) -> Self {
        Self {
            help: TRUST,
            ..Self::new(path, why)
        }
    }
}

/// Takes out of the project's layer what does not count over `global`, the person's own settings.
pub(super) fn admit(layer: &mut Layer, global: &Settings) -> Vec<Ignored> {
    const PERSON: &str = "only the global settings say this";
    let mut ignored = Vec::new();
    if layer.fast.take().is_some() {
        ignored.push(Ignored::new(&["fast"], PERSON));
    }
    if !std::mem::take(&mut layer.hooks).is_empty() {
        let why = "hooks of a project never run; only the global settings name some";
        ignored.push(Ignored::new(&["hooks"], why));
    }
    if !std::mem::take(&mut layer.projects).is_empty() {
        let why = "no project says which projects are trusted; only the global settings do";
        ignored.push(Ignored::new(&["projects"], why));
    }
    if layer.tools.environment.take().is_some() {
        ignored.push(Ignored::new(&["tools"], PERSON));
    }
    for (name, server) in &layer.mcp_servers {
        if server.approved.is_some() {
            ignored.push(Ignored::new(&["mcp_servers", name, "approved"], PERSON));
        }
        if server.trust.is_some() {
            ignored.push(Ignored {
                help: TRUSTS_NONE,
                ..Ignored::new(
                    &["mcp_servers", name, "trust"],
                    "no project trusts its servers",
                )
            });
        }
    }
    if !global.trusted {
        let own = std::mem::take(&mut layer.providers);
        ignored.extend(own.keys().map(|id| {
            let why = "a project that is not trusted configures no providers";
            Ignored::untrusted(&["providers", id], why)
        }));
        selection(layer, global, &mut ignored);
    }
    for (id, provider) in &mut layer.providers {
        if provider.api_key_env.take().is_some() {
            let path = ["providers", id, "api_key_env"];
            ignored.push(Ignored::new(&path, "only the global settings name keys"));
        }
        if provider.issuer_url.take().is_some() {
            ignored.push(Ignored::new(&["providers", id, "issuer_url"], PERSON));
        }
        let known = global.providers.get(id);
        let has_key = known.is_some_and(|known| known.api_key_env.is_some())
            || BUILT_IN_KEYS.iter().any(|(built_in, _)| built_in == id);
        if has_key && (provider.api.is_some() || provider.base_url.is_some()) {
            let why = "the project says where this provider is, so it gets no key";
            ignored.push(Ignored::new(&["providers", id], why));
        }
    }
    ignored
}

/// An untrusted project chooses among what the person's settings and the built-in providers offer.
fn selection(layer: &mut Layer, global: &Settings, ignored: &mut Vec<Ignored>) {
    if let Some(provider) = &layer.provider
        && !BUILT_IN.contains(&provider.as_str())
        && !global.providers.contains_key(provider)
        && !provider.is_empty()
        && *provider != global.provider
    {
        let why = "a project that is not trusted chooses among the providers of the global settings and the built-in ones";
        ignored.push(Ignored::untrusted(&["provider"], why));
        layer.provider = None;
        // The model is that provider's.
        if layer.model.take().is_some() {
            let why = "the provider that this model belongs to does not count";
            ignored.push(Ignored::untrusted(&["model"], why));
        }
    }
    if let Some(model) = &layer.model {
        let provider = layer.provider.as_deref().filter(|id| !id.is_empty());
        if !global.offers(provider.unwrap_or(&global.provider), model) {
            let why = "a project that is not trusted chooses among the models that the global settings offer";
            ignored.push(Ignored::untrusted(&["model"], why));
            layer.model = None;
        }
    }
}
