//! Tests of selection: which provider, model and key a configuration comes to, and which are refused.
//! Nothing here asks a server.
#![allow(clippy::unwrap_used)]

use store::Home as _;
use store::settings::Overrides;

use super::super::StartupErrorKind;
use super::*;

fn settings(provider: &str, own: Option<ProviderSettings>) -> Settings {
    let empty = tempfile::tempdir().unwrap();
    let overrides = Overrides {
        provider: Some(provider),
        model: Some("m"),
    };
    let home = store::LocalHome::prepare(empty.path()).unwrap();
    let loaded = home.settings().load(empty.path(), overrides, &[]);
    let mut settings = loaded.unwrap();
    settings
        .providers
        .extend(own.map(|own| (provider.to_owned(), own)));
    settings
}

fn environment(vars: &[(&str, &str)]) -> Environment {
    let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
    Environment {
        vars: vars.iter().map(own).collect(),
        ..Environment::default()
    }
}

fn own(api: Option<Api>, key: Option<&str>) -> Option<ProviderSettings> {
    Some(ProviderSettings {
        api,
        base_url: Some("http://127.0.0.1:9".into()),
        api_key_env: key.map(str::to_owned),
        ..ProviderSettings::default()
    })
}

#[test]
fn a_provider_is_ready_exactly_if_its_key_is_there_or_not_needed() {
    let chat = Some(Api::OpenaiChat);
    for (provider, own, vars, expected) in [
        ("fixture", None, vec![], Some(None)),
        ("anthropic", None, vec![], None),
        ("anthropic", None, vec![("ANTHROPIC_API_KEY", " ")], None),
        (
            "anthropic",
            None,
            vec![("ANTHROPIC_API_KEY", "k")],
            Some(Some("k")),
        ),
        (
            "anthropic",
            own(None, Some("MINE")),
            vec![("ANTHROPIC_API_KEY", "k")],
            None,
        ),
        (
            "anthropic",
            own(None, Some("MINE")),
            vec![("MINE", "k")],
            Some(Some("k")),
        ),
        ("mine", None, vec![("ANTHROPIC_API_KEY", "k")], None),
        ("mine", own(None, Some("MINE")), vec![("MINE", "k")], None),
        ("mine", own(chat, None), vec![], Some(None)),
        ("mine", own(chat, Some("MINE")), vec![], None),
        (
            "mine",
            own(chat, Some("MINE")),
            vec![("MINE", "k")],
            Some(Some("k")),
        ),
    ] {
        let environment = environment(&vars);
        let settings = settings(provider, own);
        let found = credential(&settings, &environment, provider).ok();
        assert_eq!(found, expected, "{provider} {vars:?}");
        // Selecting agrees, as far as the build has the wire.
        let selected = select(&settings, &environment, &ProviderCache::default());
        if cfg!(feature = "providers") && provider != FIXTURE_ID {
            assert_eq!(selected.is_ok(), found.is_some(), "{provider} {vars:?}");
        } else {
            assert!(selected.is_err(), "{provider}");
        }
    }
}

#[test]
fn no_key_goes_where_a_project_says() {
    let environment = environment(&[("ANTHROPIC_API_KEY", "k"), ("MINE", "k")]);
    for (provider, key, expected) in [
        ("anthropic", None, None),
        ("mine", Some("MINE"), None),
        ("mine", None, Some(None)),
    ] {
        let mut own = own(Some(Api::OpenaiChat), key).unwrap();
        own.placed_by_project = true;
        let settings = settings(provider, Some(own));
        let found = credential(&settings, &environment, provider).ok();
        assert_eq!(found, expected, "{provider}");
    }
}

#[test]
fn a_list_of_models_is_the_whole_of_a_custom_provider() {
    let models = |provider: &str, models: &[&str]| {
        let mut own = own(Some(Api::Anthropic), None).unwrap();
        own.models = models.iter().map(|&model| model.into()).collect();
        let settings = settings(provider, Some(own));
        let environment = environment(&[("ANTHROPIC_API_KEY", "k")]);
        let choice = Choice::of(provider, "m", ThinkingLevel::Default);
        remote(&settings, &environment, &choice)
            .map(|remote| remote.config.id)
            .map_err(|error| error.kind)
    };
    assert_eq!(models("mine", &[]), Ok("mine".to_owned()));
    assert_eq!(models("mine", &["x", "m"]), Ok("mine".to_owned()));
    assert_eq!(
        models("mine", &["x"]),
        Err(StartupErrorKind::ProviderUnavailable)
    );
    assert_eq!(models("anthropic", &["x"]), Ok("anthropic".to_owned()));
}

#[cfg(feature = "providers")]
#[test]
fn the_same_configuration_is_built_once() {
    let cache = ProviderCache::default();
    let build = |model: &str, key: &str| {
        let settings = settings("mine", own(Some(Api::OpenaiChat), Some("MINE")));
        let environment = environment(&[("MINE", key)]);
        let choice = Choice::of("mine", model, ThinkingLevel::Default);
        select_choice(&settings, &environment, &cache, choice)
            .unwrap()
            .provider
    };
    let first = build("m", "k");
    assert!(Arc::ptr_eq(&first, &build("other model", "k")));
    assert!(!Arc::ptr_eq(&first, &build("m", "another key")));
    assert!(Arc::ptr_eq(&first, &build("m", "k")));
    for at in 0..10 {
        build("m", &at.to_string());
    }
    let most = super::super::cache::MAX_CACHED;
    assert_eq!(cache.providers.lock().unwrap().len(), most);
}
