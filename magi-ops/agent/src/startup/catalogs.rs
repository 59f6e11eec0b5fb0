//! The catalogs of the providers that the settings know: which there are, and what their models are. Asks no server.

use std::sync::Arc;
use std::time::SystemTime;

use catalog::{Catalog, is_shown};
use provider::{Api, ModelLimits, ProviderConfig, ThinkingLevel, thinking_levels};
use store::settings::{BUILT_IN, Settings};
use store::{Home, Redactor};

use super::described::{api, config, limits, source};

/// What is read to know a provider's models.
#[derive(Clone)]
pub(crate) struct Catalogs {
    pub(crate) home: Arc<dyn Home>,
    pub(crate) redactor: Redactor,
    pub(crate) now: fn() -> SystemTime,
}

#[allow(
    dead_code,
    reason = "the operations of catalogs and configuration come next"
)]
impl Catalogs {
    /// The ids of all providers, sorted, each once; those that may not be shown are left out.
    pub(crate) fn providers(&self, settings: &Settings) -> Vec<String> {
        let own = settings.providers.keys().map(String::as_str);
        let mut all: Vec<_> = BUILT_IN.into_iter().chain(own).collect();
        all.retain(|id| is_shown(id, &self.redactor));
        all.sort_unstable();
        all.dedup();
        all.into_iter().map(str::to_owned).collect()
    }

    /// The models of a provider; `None` if it is not among [`Self::providers`]. Blocks.
    pub(crate) fn catalog(&self, settings: &Settings, provider: &str) -> Option<Catalog> {
        let is_known = BUILT_IN.contains(&provider) || settings.providers.contains_key(provider);
        (is_known && is_shown(provider, &self.redactor)).then(|| self.of(settings, provider))
    }

    fn of(&self, settings: &Settings, provider: &str) -> Catalog {
        match source(settings, provider) {
            Some(source) => {
                Catalog::read(self.home.catalogs(), &source, &self.redactor, (self.now)())
            }
            None => Catalog::unavailable(config(settings, provider, Api::OpenaiChat)),
        }
    }

    /// The thinking levels of a model, as a turn, the configuration and a catalog resolve them: the default first. For any
    /// names whatever. Blocks.
    pub(crate) fn levels(
        &self,
        settings: &Settings,
        provider: &str,
        model: &str,
    ) -> Vec<ThinkingLevel> {
        let limits = self.limits(settings, provider, model);
        let api = api(settings, provider).unwrap_or(Api::OpenaiChat);
        let config = ProviderConfig {
            models: limits,
            ..config(settings, provider, api)
        };
        thinking_levels(&config, model)
    }

    /// What is known of one model beside its name: by the settings, and by its server as far as that holds. Blocks.
    pub(crate) fn limits(&self, settings: &Settings, provider: &str, model: &str) -> ModelLimits {
        let own = settings.providers.get(provider);
        let mut limits = own.map_or_else(ModelLimits::default, limits);
        limits.discovered = self
            .of(settings, provider)
            .discovered(model)
            .into_iter()
            .collect();
        limits
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use catalog::State;
    use provider::{Discovered, DiscoveredModel};
    use store::LocalHome;
    use store::settings::{Overrides, ThinkingLevel};

    use super::super::described::source;
    use super::*;

    #[test]
    fn a_model_s_levels_and_limits_are_those_of_its_catalog_as_long_as_that_holds() {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
        let written = r#"{"providers":{
            "mine":{"api":"openai-chat","base_url":"http://127.0.0.1:9/v1"},
            "none":{},
            "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789":{"api":"ollama"}}}"#;
        std::fs::write(dir.path().join("home/settings.json"), written).unwrap();
        let settings =
            store::settings::SettingsStore::load(&home, dir.path(), Overrides::default(), &[]);
        let settings = settings.unwrap();
        let home: Arc<dyn Home> = Arc::new(home);
        let mut catalogs = Catalogs {
            home: Arc::clone(&home),
            redactor: Redactor::default(),
            now: || SystemTime::UNIX_EPOCH,
        };
        let all = ["anthropic", "fixture", "mine", "none", "openai-codex"];
        assert_eq!(catalogs.providers(&settings), all);
        let models = vec![DiscoveredModel {
            id: "m".to_owned(),
            context_window: Some(7),
            thinking_levels: Some(vec![ThinkingLevel::Max]),
            ..DiscoveredModel::default()
        }];
        let said = Discovered::Models { models, etag: None };
        let mine = source(&settings, "mine").unwrap();
        let now = SystemTime::UNIX_EPOCH;
        catalog::keep(home.catalogs(), &mine, &catalogs.redactor, now, said).unwrap();

        let state = |catalogs: &Catalogs, id| catalogs.catalog(&settings, id).map(|it| it.state());
        assert_eq!(state(&catalogs, "mine"), Some(State::Fresh));
        assert_eq!(state(&catalogs, "none"), Some(State::Unavailable));
        assert_eq!(state(&catalogs, "other"), None);
        let levels = |catalogs: &Catalogs| catalogs.levels(&settings, "mine", "m");
        assert_eq!(
            levels(&catalogs),
            [ThinkingLevel::Default, ThinkingLevel::Max]
        );
        assert_eq!(
            catalogs.limits(&settings, "mine", "m").context_window("m"),
            Some(7)
        );
        catalogs.now = SystemTime::now;
        assert_eq!(state(&catalogs, "mine"), Some(State::Stale));
        assert_eq!(levels(&catalogs).len(), 4, "as any model of that wire");
        assert_eq!(
            catalogs.limits(&settings, "mine", "m").context_window("m"),
            None
        );
        assert_eq!(catalogs.levels(&settings, "other", "m").len(), 4);
        assert_eq!(
            catalogs.levels(&settings, "fixture", "fixture-model").len(),
            6
        );
    }
}
