//! Tests of the settings layers: precedence, merging, bounds, refusals, and the schema's truth.
//! Nothing here reaches beyond a temporary directory.
#![allow(clippy::unwrap_used)]

use std::fs;

use super::*;

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
        Settings::load(&at("home"), &at("cwd"), env)
    }
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
        .global(
            r#"{"permissions":{"read":"deny","grep":"ask"},
                "providers":{"fixture":{"script":"a.json","models":["m"]},
                             "x":{"api":"openai-chat","base_url":"http://127.0.0.1:1"}}}"#,
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
        Some(place.dir.path().join("cwd/b.json").as_path())
    );
    assert_eq!(fixture.models, ["m".into()]);
    let x = &settings.providers["x"];
    assert_eq!(x.api, Some(Api::OpenaiChat));
    assert_eq!(x.base_url.as_deref(), Some("http://127.0.0.1:1"));
    assert_eq!(x.models, ["y".into()]);
    assert!(!x.placed_by_project);
}

#[test]
fn a_project_neither_names_keys_nor_gets_any() {
    let place = Place::new()
        .global(
            r#"{"providers":{"x":{"api":"openai-chat","base_url":"http://127.0.0.1:1","api_key_env":"X_KEY"}}}"#,
        )
        .project(
            r#"{"providers":{"x":{"api_key_env":"OTHER"},"anthropic":{"base_url":"http://127.0.0.1:2"},
                "y":{"api":"openai-chat","base_url":"http://127.0.0.1:3","api_key_env":"Y_KEY"}}}"#,
        );
    let settings = place.load().unwrap();
    let x = &settings.providers["x"];
    assert_eq!(x.api_key_env.as_deref(), Some("X_KEY"));
    assert!(!x.placed_by_project);
    assert!(settings.providers["anthropic"].placed_by_project);
    let y = &settings.providers["y"];
    assert_eq!(y.api_key_env, None);
    assert!(y.placed_by_project);
}

#[test]
fn the_nearest_entry_of_projects_counts() {
    let place = Place::new();
    let cwd = place.dir.path().join("cwd");
    let above = place.dir.path().display().to_string();
    let here = cwd.display().to_string();
    let beside = format!("{here}side");
    let load = |json: String| {
        fs::write(place.dir.path().join("home/settings.json"), json).unwrap();
        place.load().unwrap()
    };
    let words = r#"{"permissions":{"bash":{"allow":["ls"]},"write":"ask"}}"#;
    let found = load(format!(
        r#"{{"projects":{{"{above}":{{"trusted":true}},"{beside}":{words}}}}}"#
    ));
    assert!(found.trusted && found.permissions.is_empty());
    let found = load(format!(
        r#"{{"projects":{{"{above}/":{{"trusted":true}},"{here}/":{words}}}}}"#
    ));
    assert!(!found.trusted, "the nearest entry says nothing of trust");
    assert_eq!(found.bash.allow, ["ls"]);
    assert_eq!(found.permissions["write"], Permission::Ask);
    assert!(
        !load(r#"{"projects":{"":{"trusted":true},"cwd":{"trusted":true}}}"#.to_owned()).trusted
    );
    let project = place.project(format!(r#"{{"projects":{{"{here}":{{"trusted":true}}}}}}"#));
    fs::remove_file(project.dir.path().join("home/settings.json")).unwrap();
    assert!(!project.load().unwrap().trusted, "no project trusts itself");
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
}

#[test]
fn instructions_of_both_files_hold_and_start_at_their_own_base() {
    let place = Place::new()
        .global(r#"{"instructions":["a.md","/etc/b.md"]}"#)
        .project(r#"{"instructions":["../c.md"],"compaction":{"threshold":0.5,"later":[]}}"#);
    let settings = place.load().unwrap();
    let at = |name: &str| place.dir.path().join(name);
    assert_eq!(
        settings.instructions,
        [at("home/a.md"), "/etc/b.md".into(), at("cwd/../c.md")]
    );
    assert_eq!(settings.compaction_threshold, 0.5);
    assert_eq!(Place::new().load().unwrap().compaction_threshold, 0.8);
}

#[test]
fn values_out_of_their_bounds_are_refused() {
    let refused = |json: String| match Place::new().project(json).load() {
        Ok(_) => None,
        Err(SettingsError::Value { key, .. }) => Some(key),
        Err(other) => panic!("{other}"),
    };
    let threshold = |value: &str| refused(format!(r#"{{"compaction":{{"threshold":{value}}}}}"#));
    for value in ["0", "-0.5", "1.0001", "5"] {
        assert_eq!(threshold(value), Some("compaction.threshold"), "{value}");
    }
    for value in ["0.0001", "0.8", "1", "1.0"] {
        assert_eq!(threshold(value), None, "{value}");
    }
    let hooks = |commands: Vec<String>| {
        let commands = serde_json::to_string(&commands).unwrap();
        refused(format!(r#"{{"hooks":{{"turn_start":{commands}}}}}"#))
    };
    let long = |bytes| vec!["x".repeat(bytes)];
    assert_eq!(hooks(long(MAX_HOOK_BYTES)), None);
    assert_eq!(hooks(long(MAX_HOOK_BYTES + 1)), Some("hooks"));
    assert_eq!(hooks(vec![" \n".to_owned()]), Some("hooks"));
    assert_eq!(hooks(vec!["a\0b".to_owned()]), Some("hooks"));
    assert_eq!(hooks(vec!["true".to_owned(); MAX_HOOKS]), None);
    assert_eq!(hooks(vec!["true".to_owned(); MAX_HOOKS + 1]), Some("hooks"));
    let paths = |count| refused(format!(r#"{{"instructions":{:?}}}"#, vec!["a.md"; count]));
    assert_eq!(paths(MAX_INSTRUCTIONS), None);
    assert_eq!(paths(MAX_INSTRUCTIONS + 1), Some("instructions"));
    assert_eq!(
        refused(r#"{"instructions":[""]}"#.to_owned()),
        Some("instructions")
    );
}

#[test]
fn unknown_keys_and_a_byte_order_mark_are_tolerated() {
    let place = Place::new().global("\u{feff}{\"theme\":[1,{\"a\":null}],\"model\":null}");
    assert!(place.load().is_ok());
}

#[test]
fn malformed_files_and_wrong_types_are_refused_without_their_content() {
    for json in [
        "",
        "{",
        "[]",
        "null",
        "1",
        "{} {}",
        r#"{"provider":7}"#,
        r#"{"thinking_level":"enormous"}"#,
        r#"{"permissions":{"read":"maybe"}}"#,
        r#"{"permissions":[]}"#,
        r#"{"providers":{"fixture":{"script":5}}}"#,
        r#"{"providers":{"fixture":[]}}"#,
        r#"{"retention_days":-1}"#,
        r#"{"fast":1}"#,
        r#"{"mcp_servers":[]}"#,
        r#"{"mcp_servers":{"one":"maybe"}}"#,
        r#"{"hooks":{"pre_tool":"maybe"}}"#,
        r#"{"hooks":{"pre_tool":[1]}}"#,
        r#"{"hooks":{"pre_tools":[]}}"#,
        r#"{"compaction":[0.5]}"#,
        r#"{"compaction":{"threshold":"maybe"}}"#,
        r#"{"instructions":"maybe"}"#,
        r#"{"provider":"canary-value" "#,
    ] {
        let error = Place::new().project(json).load().unwrap_err();
        assert!(matches!(error, SettingsError::Invalid { .. }), "{json}");
        let shown = format!("{error}");
        for leaked in ["canary", "enormous", "maybe"] {
            assert!(!shown.contains(leaked), "{shown}");
        }
    }
    let invalid_utf8 = Place::new().global(b"{\"provider\":\"\xff\"}");
    assert!(matches!(
        invalid_utf8.load(),
        Err(SettingsError::Invalid { .. })
    ));
}

#[test]
fn reads_are_bounded_and_never_wait_for_a_pipe() {
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BYTES as usize - 8));
    assert_eq!(fits.len() as u64, MAX_BYTES);
    assert!(Place::new().global(&fits).load().is_ok());
    assert!(matches!(
        Place::new().global(format!("{fits} ")).load(),
        Err(SettingsError::TooLong { .. })
    ));
    let place = Place::new();
    let pipe = place.dir.path().join("home/settings.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        0o600.into(),
        0,
    )
    .unwrap();
    assert!(matches!(place.load(), Err(SettingsError::Io { .. })));
}

#[test]
fn names_are_bounded() {
    let name = |bytes: usize| "n".repeat(bytes);
    let load = |provider: &str, model: &str| {
        let place = Place::new();
        place
            .load_with(Overrides {
                provider: Some(provider),
                model: Some(model),
            })
            .is_ok()
    };
    assert!(load(&name(256), &name(256)));
    assert!(!load(&name(257), "m"));
    assert!(!load("p", &name(257)));
}

#[test]
fn a_model_is_an_id_or_an_object_with_more() {
    let own = |settings: &str| -> Result<ProviderSettings, SettingsError> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join(FILE_NAME), settings).unwrap();
        let empty = tempfile::tempdir().unwrap();
        Settings::load(dir.path(), empty.path(), Overrides::default())
            .map(|settings| settings.providers["p"].clone())
    };
    let own_of = |inner: &str| own(&format!("{{\"providers\":{{\"p\":{{{inner}}}}}}}"));
    let found = own_of(
        r#""max_output_tokens":4096,"context_window":65536,"reasoning":"echo","models":["a",
           {"id":"b","max_output_tokens":1,"context_window":2,"reasoning":"signed","more":[],
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
        assert!(
            matches!(own_of(wrong), Err(SettingsError::Invalid { .. })),
            "{wrong}"
        );
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
