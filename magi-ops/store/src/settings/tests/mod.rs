//! Tests of the settings layers: precedence, merging, bounds, refusals, and the schema's truth.
//! Nothing here reaches beyond a temporary directory.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::local::LocalHome;
use std::fs;
use std::os::unix::fs::symlink;

mod projects;
mod writing;
mod wrong;

const TOOLS: [&str; 6] = ["read", "write", "edit", "grep", "bash", "code"];

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("cwd/.magi-code")).unwrap();
        fs::create_dir(dir.path().join("home")).unwrap();
        Self { dir }
    }

    fn global(self, json: impl AsRef<[u8]>) -> Self {
        fs::write(self.dir.path().join("home/settings.json"), json).unwrap();
        self
    }

    fn project(self, json: impl AsRef<[u8]>) -> Self {
        let path = self.dir.path().join("cwd/.magi-code/settings.json");
        fs::write(path, json).unwrap();
        self
    }

    fn load(&self) -> Result<Settings, SettingsError> {
        self.load_with(Overrides::default())
    }

    fn load_with(&self, env: Overrides<'_>) -> Result<Settings, SettingsError> {
        let at = |name| self.dir.path().join(name);
        Settings::load(&at("home"), &at("cwd"), env, &TOOLS)
    }

    fn cwd(&self) -> PathBuf {
        self.dir.path().join("cwd").canonicalize().unwrap()
    }

    /// Global settings that trust the working directory, with more members.
    fn trusted(self, more: &str) -> Self {
        let cwd = self.cwd().display().to_string();
        self.global(format!(
            r#"{{"projects":{{"{cwd}":{{"trusted":true}}}}{more}}}"#
        ))
    }
}

/// The keys, lines and columns of what is wrong.
fn problems(place: &Place) -> Vec<(String, usize, usize)> {
    let reasons = place.load().unwrap_err().into_reasons();
    let place = |reason: Reason| {
        let key = reason.key.unwrap_or_default();
        (key, reason.line.unwrap_or(0), reason.column.unwrap_or(0))
    };
    reasons.into_iter().map(place).collect()
}

fn keys(reasons: &[Reason]) -> Vec<&str> {
    let key =
        |reason: &'_ Reason| -> &'static str { reason.key.clone().unwrap_or_default().leak() };
    reasons.iter().map(key).collect()
}

fn selection(settings: &Settings) -> (&str, Option<&str>) {
    (&settings.provider, settings.model.as_deref())
}

#[test]
fn nothing_configured_selects_the_offline_provider() {
    let settings = Place::new().load().unwrap();
    assert_eq!(selection(&settings), ("fixture", Some("fixture-model")));
    assert_eq!(settings.retention_days, 30);
    assert_eq!(settings.thinking_level, ThinkingLevel::Default);
}

#[test]
fn project_beats_global_and_the_environment_beats_both() {
    let place = Place::new()
        .global(r#"{"provider":"one","model":"m1","thinking_level":"low","retention_days":7}"#)
        .project(r#"{"model":"m2","thinking_level":"x_high"}"#);
    let settings = place.load().unwrap();
    assert_eq!(selection(&settings), ("one", Some("m2")));
    assert_eq!(settings.thinking_level, ThinkingLevel::XHigh);
    assert_eq!(settings.retention_days, 7);
    let env = |provider, model| place.load_with(Overrides { provider, model }).unwrap();
    assert_eq!(selection(&env(None, Some("m3"))), ("one", Some("m3")));
    assert_eq!(selection(&env(Some(""), Some(""))), ("one", Some("m2")));
    // Another provider doesn't inherit the model of the one below it.
    assert_eq!(selection(&env(Some("two"), None)), ("two", None));
    assert_eq!(
        selection(&env(Some("fixture"), None)),
        ("fixture", Some("fixture-model"))
    );
}

#[test]
fn maps_merge_by_field_and_scripts_start_at_their_own_layer() {
    let place = Place::new()
        .trusted(
            r#","permissions":{"read":"deny","grep":"ask"},
                "providers":{"fixture":{"script":"a.json","models":["m"]},
                             "x":{"api":"openai-chat","base_url":"http://127.0.0.1:1"}}"#,
        )
        .project(
            r#"{"permissions":{"read":"ask","grep":"deny"},
                "providers":{"fixture":{"script":"b.json"},"x":{"models":["y"]}}}"#,
        );
    let settings = place.load().unwrap();
    assert_eq!(settings.permissions["read"], Permission::Deny);
    assert_eq!(settings.permissions["grep"], Permission::Deny);
    let fixture = &settings.providers["fixture"];
    assert_eq!(
        fixture.script.as_deref(),
        Some(place.cwd().join("b.json").as_path())
    );
    assert_eq!(fixture.models, ["m".into()]);
    let x = &settings.providers["x"];
    assert_eq!(x.api, Some(Api::OpenaiChat));
    assert_eq!(x.base_url.as_deref(), Some("http://127.0.0.1:1"));
    assert_eq!(x.models, ["y".into()]);
    assert!(!x.placed_by_project);
    assert_eq!(keys(&settings.notices), ["permissions.read"]);
}

#[test]
fn the_environment_of_commands_and_the_variables_of_keys_are_the_global_files() {
    let global = r#"{"tools":{"environment":"all"},
        "providers":{"x":{"api_key_env":"X_KEY"},"y":{"api_key_env":"ANTHROPIC_API_KEY"}}}"#;
    let settings = Place::new().global(global).load().unwrap();
    assert_eq!(settings.command_environment, CommandEnvironment::All);
    assert_eq!(settings.key_variables(), ["ANTHROPIC_API_KEY", "X_KEY"]);
    let settings = Place::new().project(global).load().unwrap();
    assert_eq!(
        settings.command_environment,
        CommandEnvironment::WithoutKeys
    );
    assert_eq!(settings.key_variables(), ["ANTHROPIC_API_KEY"]);
}

#[test]
fn a_model_alone_is_the_default_provider_s() {
    let place = Place::new().global(r#"{"model":"m1"}"#);
    let env = Overrides {
        provider: Some("fixture"),
        model: None,
    };
    let settings = place.load_with(env).unwrap();
    assert_eq!(settings.model.as_deref(), Some("m1"));
}

#[test]
fn fast_and_hooks_are_the_global_files_alone() {
    let json = r#"{"fast":true,"hooks":{"pre_tool":["a","b"],"turn_end":["c"]}}"#;
    let global = Place::new().global(json).project(r#"{"fast":false}"#);
    let settings = global.load().unwrap();
    assert!(settings.fast);
    let expected = [
        (HookEvent::PreTool, vec!["a".to_owned(), "b".to_owned()]),
        (HookEvent::TurnEnd, vec!["c".to_owned()]),
    ];
    assert_eq!(settings.hooks, Hooks::from(expected));

    let project = Place::new().project(json).load().unwrap();
    assert!(!project.fast);
    assert_eq!(project.hooks, Hooks::new());
    assert_eq!(keys(&project.notices), ["fast", "hooks"]);
}

#[test]
fn instructions_of_both_files_hold_and_start_at_their_own_base() {
    let place = Place::new()
        .global(r#"{"instructions":["a.md","/etc/b.md"]}"#)
        .project(r#"{"instructions":["../c.md"],"compaction":{"threshold":0.5,"later":[]}}"#);
    let settings = place.load().unwrap();
    let at = |name: &str| (place.dir.path().join(name), false);
    let found: Vec<_> = settings
        .instructions
        .iter()
        .map(|file| (file.path.clone(), file.of_project))
        .collect();
    assert_eq!(
        found,
        [
            at("home/a.md"),
            ("/etc/b.md".into(), false),
            (place.cwd().join("../c.md"), true)
        ]
    );
    assert_eq!(settings.compaction_threshold, 0.5);
    assert_eq!(Place::new().load().unwrap().compaction_threshold, 0.8);
}

#[test]
fn a_model_is_an_id_or_an_object_with_more() {
    let own = |settings: &str| -> Result<ProviderSettings, SettingsError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), settings).unwrap();
        let empty = tempfile::tempdir().unwrap();
        Settings::load(dir.path(), empty.path(), Overrides::default(), &TOOLS)
            .map(|settings| settings.providers["p"].clone())
    };
    let own_of = |inner: &str| own(&format!("{{\"providers\":{{\"p\":{{{inner}}}}}}}"));
    let found = own_of(
        r#""max_output_tokens":4096,"context_window":65536,"reasoning":"echo","models":["a",
           {"id":"b","max_output_tokens":1,"context_window":2,"reasoning":"signed","more":[],"images":true,
            "thinking_levels":["low","x_high"]},{"id":"c"}]"#,
    )
    .unwrap();
    assert_eq!(found.max_output_tokens, Some(4096));
    assert_eq!(found.context_window, Some(65536));
    assert_eq!(found.reasoning, Some(Reasoning::Echo));
    let model = found.model("b").unwrap();
    assert_eq!(
        (model.max_output_tokens, model.context_window),
        (Some(1), Some(2))
    );
    assert_eq!(
        model.thinking_levels,
        Some(vec![ThinkingLevel::Low, ThinkingLevel::XHigh])
    );
    assert_eq!(model.reasoning, Some(Reasoning::Signed));
    assert_eq!(model.images, Some(true));
    assert_eq!(found.model("c"), Some(&"c".into()));
    assert_eq!(found.model("d"), None);
    for wrong in [
        r#""max_output_tokens":0"#,
        r#""max_output_tokens":"8""#,
        r#""context_window":-1"#,
        r#""reasoning":"all""#,
        r#""models":[{"context_window":1}]"#,
        r#""models":[["a"]]"#,
        r#""models":[7]"#,
    ] {
        assert!(own_of(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn the_schema_file_is_what_the_types_say() {
    let schema = schemars::schema_for!(layer::Layer).to_value();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/settings/schema.json");
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        fs::write(path, text).unwrap();
    }
    let kept: serde_json::Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(kept, schema, "run the tests once with UPDATE_SCHEMA=1");
}
