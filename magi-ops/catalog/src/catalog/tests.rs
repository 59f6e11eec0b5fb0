#![allow(clippy::unwrap_used)]

use std::fs;
use std::time::Duration;

use provider::{Discovered, ModelLimits};
use store::{Home, LocalHome};
use tempfile::TempDir;

use super::*;
use crate::document::Unusable;
use crate::keep::{etag, keep};

struct Kept {
    dir: TempDir,
    home: LocalHome,
    redactor: Redactor,
}

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn source(id: &str, api: Api) -> Source {
    Source {
        config: ProviderConfig {
            id: id.to_owned(),
            api,
            base_url: Some("http://127.0.0.1:9/v1".to_owned()),
            models: ModelLimits::default(),
        },
        key_variable: None,
    }
}

fn said(ids: &[&str]) -> Vec<DiscoveredModel> {
    let of = |id: &&str| DiscoveredModel {
        id: (*id).to_owned(),
        ..DiscoveredModel::default()
    };
    ids.iter().map(of).collect()
}

impl Kept {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self {
            home: LocalHome::prepare(&dir.path().join("home")).unwrap(),
            dir,
            redactor: Redactor::default(),
        }
    }

    fn keep(&self, source: &Source, models: Vec<DiscoveredModel>) {
        let etag = Some("\"1\"".to_owned());
        self.hear(source, now(), Discovered::Models { models, etag })
            .unwrap();
    }

    fn hear(&self, source: &Source, at: SystemTime, said: Discovered) -> Result<(), Unusable> {
        keep(self.home.catalogs(), source, &self.redactor, at, said)
    }

    fn read_at(&self, source: &Source, at: SystemTime) -> Catalog {
        Catalog::read(self.home.catalogs(), source, &self.redactor, at)
    }

    fn read(&self, source: &Source) -> Catalog {
        self.read_at(source, now())
    }

    fn path(&self) -> std::path::PathBuf {
        self.dir.path().join("home/catalog/mine.json")
    }
}

fn ids(catalog: &Catalog) -> Vec<String> {
    let all = catalog.models(0..catalog.len());
    all.into_iter().map(|model| model.id).collect()
}

#[test]
fn a_catalog_is_fresh_for_a_day_then_stale_and_never_of_the_future() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    assert_eq!(kept.read(&mine).state(), State::Unavailable);
    kept.keep(&mine, said(&["b", "a", "b"]));
    let fresh = kept.read_at(&mine, now() + DAY - Duration::from_secs(1));
    assert_eq!(fresh.state(), State::Fresh);
    assert_eq!(ids(&fresh), ["b", "a"], "in the server's order, each once");
    assert!(fresh.model("a").unwrap().available);
    let stale = kept.read_at(&mine, now() + DAY);
    assert_eq!((stale.state(), ids(&stale).len()), (State::Stale, 2));
    assert!(!stale.model("a").unwrap().available);
    let before = kept.read_at(&mine, now() - Duration::from_secs(3600));
    assert_eq!(before.state(), State::Stale);
}

#[test]
fn what_cannot_be_trusted_is_unavailable_and_empty() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    kept.keep(&mine, said(&["a"]));
    let whole = fs::read_to_string(kept.path()).unwrap();
    for (from, to) in [
        ("\"version\":1", "\"version\":2"),
        ("\"fetched_at\":\"2", "\"fetched_at\":\"x"),
        ("\"expires_at\":\"2", "\"expires_at\":\"x"),
        ("\"id\":\"a\"", "\"id\":\"a b\""),
        ("\"id\":\"a\"", "\"id\":7"),
        ("[{", "[[{"),
        ("}]}", "}]"),
        ("[{\"id\":\"a\"}]", "[]"),
    ] {
        let broken = whole.replacen(from, to, 1);
        assert_ne!(broken, whole, "{from}");
        fs::write(kept.path(), broken).unwrap();
        let catalog = kept.read(&mine);
        assert_eq!(
            (catalog.state(), catalog.len()),
            (State::Unavailable, 0),
            "{to}"
        );
    }
    fs::write(kept.path(), &whole).unwrap();
    assert_eq!(kept.read(&mine).state(), State::Fresh);
    let mut moved = mine.clone();
    moved.config.base_url = Some("http://127.0.0.1:10/v1".to_owned());
    assert_eq!(kept.read(&moved).state(), State::Unavailable);
    let other_key = Source {
        key_variable: Some("OTHER_KEY".to_owned()),
        ..mine.clone()
    };
    assert_eq!(kept.read(&other_key).state(), State::Unavailable);
    fs::remove_file(kept.path()).unwrap();
    fs::create_dir(kept.path()).unwrap();
    assert_eq!(kept.read(&mine).state(), State::Unavailable);
}

#[test]
fn what_looks_like_a_secret_is_neither_kept_nor_shown() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    let key = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    let mut models = said(&["a", key, "b c", "c", "later-hunter2-secret"]);
    models[0].label = Some(format!("A {key}"));
    models[3].label = Some("C\u{1b}[31m\n three".to_owned());
    kept.keep(&mine, models);
    assert!(!fs::read_to_string(kept.path()).unwrap().contains(key));
    let catalog = kept.read(&mine);
    assert_eq!(ids(&catalog), ["a", "c", "later-hunter2-secret"]);
    assert_eq!(catalog.model("a").unwrap().label, "a");
    assert_eq!(catalog.model("c").unwrap().label, "C three");
    // A secret that is known only by now; its place in the list stays.
    kept.redactor.learn(["later-hunter2-secret"]);
    assert_eq!((ids(&catalog).len(), catalog.len()), (2, 3));
    assert_eq!(catalog.model("later-hunter2-secret"), None);
}

#[test]
fn disabled_models_are_shown_and_can_not_be_selected() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    let mut models = said(&["a", "b"]);
    models[1].disabled = true;
    kept.keep(&mine, models);
    let available = |id: &str| kept.read(&mine).model(id).unwrap().available;
    assert_eq!((available("a"), available("b")), (true, false));
}

#[test]
fn what_a_server_said_comes_behind_the_settings_and_before_the_names() {
    let kept = Kept::new();
    let mut mine = source("anthropic", Api::Anthropic);
    let mut models = said(&["claude-sonnet-4-5", "claude-opus-4-1", "claude-next"]);
    models[0].context_window = Some(1_000_000);
    models[0].thinking_levels = Some(vec![ThinkingLevel::High]);
    models[1].context_window = Some(0);
    kept.keep(&mine, models);
    mine.config.models.models = vec![ModelSettings {
        max_output_tokens: Some(5),
        ..ModelSettings::from("claude-sonnet-4-5")
    }];
    let of = |id: &str, at| {
        let model = kept.read_at(&mine, at).model(id).unwrap();
        (
            model.context_window,
            model.max_output_tokens,
            model.thinking_levels.len(),
        )
    };
    assert_eq!(
        of("claude-sonnet-4-5", now()),
        (Some(1_000_000), Some(5), 2)
    );
    assert_eq!(
        of("claude-opus-4-1", now()),
        (Some(200_000), Some(32_000), 6)
    );
    assert_eq!(of("claude-next", now()), (None, Some(64_000), 6));
    let discovered = kept.read(&mine).discovered("claude-sonnet-4-5").unwrap();
    assert_eq!(discovered.context_window, Some(1_000_000));
    // Stale metadata is no reason to ask for a level.
    mine.config.models.models.clear();
    let stale = kept.read_at(&mine, now() + DAY);
    let model = stale.model("claude-sonnet-4-5").unwrap();
    assert_eq!(
        (model.context_window, model.thinking_levels.len()),
        (Some(1_000_000), 6)
    );
    assert_eq!(stale.discovered("claude-sonnet-4-5"), None);
}

#[test]
fn listed_models_are_offered_without_discovery() {
    let kept = Kept::new();
    let listed = |ids: &[&str]| ids.iter().map(|&id| id.into()).collect();
    let mut mine = source("mine", Api::OpenaiChat);
    mine.config.models.models = listed(&["x", "a", "x", "bad id"]);
    let catalog = kept.read(&mine);
    assert_eq!(
        (catalog.state(), ids(&catalog)),
        (State::Fresh, vec!["x".to_owned(), "a".to_owned()])
    );
    // The list is the whole of a provider of one's own; a server adds what it knows of them.
    let mut models = said(&["a", "z"]);
    models[0].context_window = Some(7);
    models[0].disabled = true;
    kept.keep(&mine, models.clone());
    let catalog = kept.read(&mine);
    assert_eq!(ids(&catalog), ["x", "a"]);
    let model = catalog.model("a").unwrap();
    assert_eq!((model.context_window, model.available), (Some(7), true));
    let stale = kept.read_at(&mine, now() + DAY);
    assert_eq!(
        (stale.state(), stale.model("a").unwrap().context_window),
        (State::Fresh, None)
    );
    // Those of a built-in provider are beside all others.
    let mut own = source("anthropic", Api::Anthropic);
    kept.keep(&own, models);
    own.config.models.models = listed(&["x"]);
    assert_eq!(ids(&kept.read(&own)), ["x", "a", "z"]);
}

#[test]
fn the_offline_provider_is_always_fresh() {
    let kept = Kept::new();
    let mut fixture = source("fixture", Api::Fixture);
    fixture.config.models.models = vec!["second".into()];
    let catalog = kept.read(&fixture);
    assert_eq!((catalog.state(), ids(&catalog).len()), (State::Fresh, 2));
    let model = catalog.model("fixture-model").unwrap();
    assert_eq!((model.available, model.context_window), (true, None));
    assert_eq!(model.thinking_levels.len(), 6);
    assert_eq!(
        kept.read(&source("other", Api::Fixture)).state(),
        State::Unavailable
    );
}

#[test]
fn a_range_beyond_the_end_is_empty() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    kept.keep(&mine, said(&["a", "b", "c"]));
    let catalog = kept.read(&mine);
    for (range, count) in [(0..2, 2), (2..34, 1), (3..35, 0), (100_000..100_032, 0)] {
        assert_eq!(catalog.models(range.clone()).len(), count, "{range:?}");
    }
}

#[test]
fn an_unchanged_list_holds_for_longer_and_a_useless_one_leaves_the_old() {
    let kept = Kept::new();
    let mine = source("mine", Api::OpenaiChat);
    let gone = kept.hear(&mine, now(), Discovered::Unchanged);
    assert!(matches!(gone, Err(Unusable::Gone)));
    kept.keep(&mine, said(&["a"]));
    let later = now() + 2 * DAY;
    assert_eq!(kept.read_at(&mine, later).state(), State::Stale);
    assert_eq!(etag(kept.home.catalogs(), &mine, later).unwrap(), "\"1\"");
    for useless in [said(&[]), said(&["b c"])] {
        let models = Discovered::Models {
            models: useless,
            etag: None,
        };
        assert!(matches!(
            kept.hear(&mine, later, models),
            Err(Unusable::Empty)
        ));
        assert_eq!(kept.read_at(&mine, later).state(), State::Stale);
    }
    kept.hear(&mine, later, Discovered::Unchanged).unwrap();
    assert_eq!(kept.read_at(&mine, later).state(), State::Fresh);
    assert_eq!(ids(&kept.read_at(&mine, later)), ["a"]);
    // Another server's tag says nothing.
    let mut moved = mine.clone();
    moved.config.base_url = None;
    assert_eq!(etag(kept.home.catalogs(), &moved, later), None);
}
