//! Tests of selection: which provider, model and key a configuration comes to, and which are refused.
//! Nothing here asks a server.
#![allow(clippy::unwrap_used)]

use provider::Secret;
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

/// Without a provider that was built, and with what `stored` says of logins.
fn providers(stored: &str) -> (tempfile::TempDir, ProviderCache) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("auth.json"), stored).unwrap();
    let home = store::LocalHome::prepare(dir.path()).unwrap();
    let cache = ProviderCache::new(store::Redactor::default(), Arc::new(home), None);
    (dir, cache)
}

/// The key that a provider gets, as far as it gets one.
fn credential(
    settings: &Settings,
    environment: &Environment,
    provider: &str,
) -> Result<Option<String>, StartupError> {
    let (_dir, providers) = providers("{}");
    known(settings, provider)?;
    sendable_login(settings, environment, &providers, provider).map(|login| match login {
        Login::Key { key, .. } => Some(key.expose().to_owned()),
        _ => None,
    })
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
        let expected = expected.map(|key: Option<&str>| key.map(str::to_owned));
        assert_eq!(found, expected, "{provider} {vars:?}");
        // Selecting agrees, as far as the build has the wire.
        let (_dir, providers) = providers("{}");
        let selected = select(&settings, &environment, &providers);
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
        let (_dir, providers) = providers("{}");
        remote(&settings, &environment, &providers, &choice)
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
    let (_dir, cache) = providers("{}");
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

#[test]
fn a_login_counts_while_it_can_serve() {
    let stored = |oauth: &str| format!(r#"{{"providers":{{"openai-codex":{{"oauth":{oauth}}}}}}}"#);
    let ended = r#""access_token":"a","expires_at":"2020-01-01T00:00:00Z""#;
    for (stored, expected) in [
        ("{}".to_owned(), false),
        (
            stored(r#"{"access_token":"a","expires_at":"2100-01-01T00:00:00Z"}"#),
            true,
        ),
        (stored(&format!(r#"{{{ended}}}"#)), false),
        (stored(&format!(r#"{{{ended},"refresh_token":"r"}}"#)), true),
        (
            stored(&format!(
                r#"{{{ended},"refresh_token":"r","needs_login":true}}"#
            )),
            false,
        ),
        (
            r#"{"providers":{"openai-codex":{"api_key":"k"}}}"#.to_owned(),
            false,
        ),
        // What no header can carry.
        (stored(r#"{"access_token":"a\nb"}"#), false),
        (stored(r#"{"access_token":"t\u00f6k\u00e9n"}"#), false),
        (stored(r#"{"access_token":" "}"#), false),
        ("[".to_owned(), false),
    ] {
        let (_dir, providers) = providers(&stored);
        let mut settings = settings("openai-codex", Some(ProviderSettings::default()));
        let own = settings.providers.get_mut("openai-codex").unwrap();
        own.issuer_url = Some("http://127.0.0.1:9".into());
        let login = sendable_login(&settings, &environment(&[]), &providers, "openai-codex");
        match login {
            Ok(login) => {
                let issuer_url = Some("http://127.0.0.1:9".to_owned());
                assert_eq!(login, Login::StoredTokens { issuer_url }, "{stored}");
            }
            Err(error) => assert_eq!(error.kind, StartupErrorKind::ProviderUnavailable),
        }
        let selected = select(&settings, &environment(&[]), &providers);
        assert_eq!(
            selected.is_ok(),
            expected && cfg!(feature = "providers"),
            "{stored}"
        );
        let own = settings.providers.get_mut("openai-codex").unwrap();
        own.placed_by_project = true;
        assert!(select(&settings, &environment(&[]), &providers).is_err());
    }
}

#[test]
fn a_stored_key_serves_where_the_environment_has_none() {
    let (_dir, providers) =
        providers(r#"{"providers":{"anthropic":{"generation":1,"api_key":"k"}}}"#);
    let found = |own, vars: &[(&str, &str)]| {
        sendable_login(
            &settings("anthropic", own),
            &environment(vars),
            &providers,
            "anthropic",
        )
        .ok()
    };
    assert_eq!(found(None, &[]), Some(Login::StoredKey));
    let key = Login::Key {
        key: Secret::new("own"),
        variable: "ANTHROPIC_API_KEY".to_owned(),
    };
    assert_eq!(found(None, &[("ANTHROPIC_API_KEY", "own")]), Some(key));
    // A variable that the person names is meant.
    assert_eq!(found(own(None, Some("MINE")), &[]), None);
}
