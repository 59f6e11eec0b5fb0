//! Tests of the settings layers: precedence, merging, bounds, refusals, and the schema's truth.
//! Nothing here reaches beyond a temporary directory.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;

use super::*;
use crate::Home;

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
fn a_project_neither_names_keys_nor_gets_any() {
    let place = Place::new()
        .trusted(
            r#","providers":{"x":{"api":"openai-chat","base_url":"http://127.0.0.1:1","api_key_env":"X_KEY"}}"#,
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
    assert_eq!(
        keys(&settings.notices),
        [
            "providers.anthropic",
            "providers.x.api_key_env",
            "providers.y.api_key_env"
        ]
    );
}

#[test]
fn an_untrusted_project_configures_no_providers_and_chooses_among_the_persons() {
    let global = r#"{"provider":"x","model":"m1","providers":
        {"x":{"api":"openai-chat","models":["m1","m2"]},"z":{"api":"ollama"}}}"#;
    let chosen = |project: &str| {
        let settings = Place::new().global(global).project(project).load().unwrap();
        assert_eq!(settings.providers.len(), 2);
        let notices = keys(&settings.notices).join(" ");
        (
            settings.provider,
            settings.model.unwrap_or_default(),
            notices,
        )
    };
    let is = |provider: &str, model: &str, notices: &str| {
        (provider.to_owned(), model.to_owned(), notices.to_owned())
    };
    assert_eq!(chosen(r#"{"model":"m2"}"#), is("x", "m2", ""));
    assert_eq!(chosen(r#"{"model":"m3"}"#), is("x", "m1", "model"));
    assert_eq!(
        chosen(r#"{"provider":"z","model":"any"}"#),
        is("z", "any", "")
    );
    assert_eq!(
        chosen(r#"{"provider":"fixture","model":"fixture-model"}"#),
        is("fixture", "fixture-model", "")
    );
    assert_eq!(
        chosen(
            r#"{"provider":"y","model":"m","providers":{"y":{"api":"ollama"},"x":{"base_url":"http://h"},"fixture":{"script":"s"}}}"#
        ),
        is(
            "x",
            "m1",
            "providers.fixture providers.x providers.y provider model"
        )
    );
}

#[test]
fn what_a_project_never_says_is_ignored_and_told_trusted_or_not() {
    let json = r#"{
  "fast": true,
  "hooks": {"pre_tool": ["x"]},
  "projects": {"/": {"trusted": true}},
  "tools": {"environment": "all"},
  "mcp_servers": {"s": {"command": "x"}},
  "retention_days": 3,
  "later": {}
}"#;
    for trusted in [false, true] {
        let place = Place::new().project(json);
        let place = if trusted { place.trusted("") } else { place };
        let settings = place.load().unwrap();
        assert_eq!(settings.retention_days, 3);
        assert!(!settings.fast && settings.hooks.is_empty());
        assert_eq!(
            settings.command_environment,
            CommandEnvironment::WithoutKeys
        );
        assert_eq!(settings.trusted, trusted);
        let told: Vec<_> = settings
            .notices
            .iter()
            .map(|n| (n.key.as_deref(), n.line, n.column))
            .collect();
        let at = |key, line| (Some(key), Some(line), Some(3));
        assert_eq!(
            told,
            [
                at("later", 8),
                at("fast", 2),
                at("hooks", 3),
                at("projects", 4),
                at("tools", 5),
                (Some("mcp_servers.s"), Some(6), Some(19)),
            ]
        );
    }
}

#[test]
fn an_untrusted_projects_file_lies_in_the_project() {
    let outside = |trusted: bool| {
        let place = Place::new();
        let place = if trusted { place.trusted("") } else { place };
        fs::write(
            place.dir.path().join("other.json"),
            r#"{"thinking_level":"low"}"#,
        )
        .unwrap();
        place
    };
    let level = |place: &Place| {
        let settings = place.load().unwrap();
        (
            settings.thinking_level == ThinkingLevel::Low,
            settings.notices.len(),
        )
    };
    type Arrange = fn(&Path);
    let ways: [Arrange; 4] = [
        |root| {
            symlink(
                root.join("other.json"),
                root.join("cwd/.magi-code/settings.json"),
            )
            .unwrap()
        },
        |root| {
            fs::hard_link(
                root.join("other.json"),
                root.join("cwd/.magi-code/settings.json"),
            )
            .unwrap()
        },
        |root| {
            fs::remove_dir(root.join("cwd/.magi-code")).unwrap();
            fs::create_dir(root.join("elsewhere")).unwrap();
            fs::rename(
                root.join("other.json"),
                root.join("elsewhere/settings.json"),
            )
            .unwrap();
            symlink(root.join("elsewhere"), root.join("cwd/.magi-code")).unwrap();
        },
        |root| {
            symlink(
                root.join("nowhere"),
                root.join("cwd/.magi-code/settings.json"),
            )
            .unwrap()
        },
    ];
    for (index, way) in ways.into_iter().enumerate() {
        let stranger = outside(false);
        way(stranger.dir.path());
        assert_eq!(level(&stranger), (false, 1), "{index}");
        let trusted = outside(true);
        way(trusted.dir.path());
        assert_eq!(level(&trusted), (index < 3, 0), "{index}");
    }
    // A link inside the project is its own.
    let place = Place::new();
    fs::write(
        place.dir.path().join("cwd/own.json"),
        r#"{"thinking_level":"low"}"#,
    )
    .unwrap();
    symlink(
        "../own.json",
        place.dir.path().join("cwd/.magi-code/settings.json"),
    )
    .unwrap();
    assert_eq!(level(&place), (true, 0));
}

#[test]
fn the_home_is_no_project_of_its_own() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join(".magi-code");
    fs::create_dir(&home).unwrap();
    fs::write(
        home.join(FILE_NAME),
        r#"{"fast":true,"instructions":["a.md"]}"#,
    )
    .unwrap();
    let settings = Settings::load(&home, dir.path(), Overrides::default(), &TOOLS).unwrap();
    assert!(settings.fast && settings.notices.is_empty());
    assert_eq!(settings.instructions.len(), 1);
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
fn an_entry_of_projects_counts_however_its_path_is_spelled() {
    let here = |place: &Place| place.cwd().display().to_string();
    for end in ["/", "//", "/.", "/./", "/../cwd"] {
        let place = Place::new();
        let here = here(&place);
        let place = place.global(format!(
            r#"{{"projects":{{"{here}{end}":{{"trusted":true}}}}}}"#
        ));
        let settings = place.load().unwrap();
        assert!(settings.trusted && settings.notices.is_empty(), "{end}");
        let home = Home::prepare(&place.dir.path().join("home")).unwrap();
        assert!(set_trusted(&home, &place.cwd(), false).unwrap(), "{end}");
        assert!(!place.load().unwrap().trusted, "{end}");
        let text = fs::read_to_string(home.settings()).unwrap();
        let expected = format!(r#"{{"projects":{{"{here}{end}":{{"trusted":false}}}}}}"#);
        assert_eq!(text, expected);
    }
    let place = Place::new();
    let here = here(&place);
    let place = place.global(format!(
        r#"{{"permissions":{{"bash":"allow"}},"projects":{{"{here}":{{"trusted":true,"permissions":{{"write":"allow"}}}},
        "{here}/":{{"trusted":false,"permissions":{{"bash":"ask"}}}}}}}}"#
    ));
    let settings = place.load().unwrap();
    assert!(!settings.trusted, "the stricter entry counts");
    assert_eq!(settings.bash.default, Permission::Ask);
    assert!(!settings.permissions.contains_key("write"));
    assert_eq!(settings.notices.len(), 1);
    let told = &settings.notices[0].reason;
    assert!(told.contains("the same directory"), "{told}");
    let home = Home::prepare(&place.dir.path().join("home")).unwrap();
    assert!(set_trusted(&home, &place.cwd(), true).unwrap());
    assert!(place.load().unwrap().trusted);
    assert!(set_trusted(&home, &place.cwd(), false).unwrap());
    assert!(!place.load().unwrap().trusted);
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
fn values_out_of_their_bounds_are_refused() {
    let refused = |json: String| {
        let place = Place::new().project(json);
        match place.load() {
            Ok(_) => None,
            Err(_) => Some(problems(&place).remove(0).0),
        }
    };
    let threshold = |value: &str| refused(format!(r#"{{"compaction":{{"threshold":{value}}}}}"#));
    for value in ["0", "-0.5", "1.0001", "5"] {
        assert_eq!(
            threshold(value).as_deref(),
            Some("compaction.threshold"),
            "{value}"
        );
    }
    for value in ["0.0001", "0.8", "1", "1.0"] {
        assert_eq!(threshold(value), None, "{value}");
    }
    let hooks = |commands: Vec<String>| {
        let commands = serde_json::to_string(&commands).unwrap();
        refused(format!(r#"{{"hooks":{{"turn_start":{commands}}}}}"#))
    };
    let long = |bytes| vec!["x".repeat(bytes)];
    let first = Some("hooks.turn_start.0".to_owned());
    assert_eq!(hooks(long(MAX_HOOK_BYTES)), None);
    assert_eq!(hooks(long(MAX_HOOK_BYTES + 1)), first);
    assert_eq!(hooks(vec![" \n".to_owned()]), first);
    assert_eq!(hooks(vec!["a\0b".to_owned()]), first);
    assert_eq!(hooks(vec!["true".to_owned(); MAX_HOOKS]), None);
    let all = Some("hooks.turn_start".to_owned());
    assert_eq!(hooks(vec!["true".to_owned(); MAX_HOOKS + 1]), all);
    let paths = |count| refused(format!(r#"{{"instructions":{:?}}}"#, vec!["a.md"; count]));
    assert_eq!(paths(MAX_INSTRUCTIONS), None);
    assert_eq!(paths(MAX_INSTRUCTIONS + 1).as_deref(), Some("instructions"));
    let empty = refused(r#"{"instructions":["a",""]}"#.to_owned());
    assert_eq!(empty.as_deref(), Some("instructions.1"));
    for (rules, key) in [
        (
            r#"{"allow":["ls"," "]}"#.to_owned(),
            "permissions.bash.allow.1",
        ),
        (
            format!(r#"{{"deny":["{}"]}}"#, "x".repeat(MAX_RULE_BYTES + 1)),
            "permissions.bash.deny.0",
        ),
        (
            format!(r#"{{"deny":{:?}}}"#, vec!["x"; MAX_RULES + 1]),
            "permissions.bash.deny",
        ),
    ] {
        let json = format!(r#"{{"permissions":{{"bash":{rules}}}}}"#);
        assert_eq!(refused(json).as_deref(), Some(key));
    }
}

#[test]
fn every_problem_is_told_at_once_at_its_place() {
    let global = r#"{
  "permisions": {},
  "thinking_level": "hgih",
  "retention_days": "7",
  "permissions": {"Bash": "allow", "write": "alow", "bash": {"defualt": "deny", "odd": 1}},
  "hooks": {"pre_tol": []},
  "providers": {"x": {"api": "openai", "models": [{"id": "a"}, {"name": "b"}, 7]}},
  "model": 1, "model": "m",
  "theme": "dark"
}"#;
    let place = Place::new().global(global).project("{\n \"fast\": 1\n}");
    let at = |key: &str, line, column| (key.to_owned(), line, column);
    assert_eq!(
        problems(&place),
        [
            at("permisions", 2, 3),
            at("thinking_level", 3, 21),
            at("retention_days", 4, 21),
            at("permissions.write", 5, 45),
            at("permissions.bash.defualt", 5, 62),
            at("hooks.pre_tol", 6, 13),
            at("providers.x.api", 7, 30),
            at("providers.x.models.1", 7, 64),
            at("providers.x.models.2", 7, 79),
            at("model", 8, 12),
            at("model", 8, 15),
            at("permissions.Bash", 5, 19),
            at("fast", 2, 10),
        ]
    );
    let texts = place.load().unwrap_err().into_reasons();
    let texts: Vec<_> = texts.iter().map(ToString::to_string).collect();
    let file = place
        .dir
        .path()
        .join("home/settings.json")
        .display()
        .to_string();
    assert_eq!(
        texts[0],
        format!(
            "{file}:2:3: unknown member `permisions`; did you mean `permissions`?; rename it to `permissions`"
        )
    );
    assert!(
        texts[1].contains("`hgih`") && texts[1].contains("`high`"),
        "{}",
        texts[1]
    );
    assert!(
        texts[11].contains("`Bash`") && texts[11].contains("`bash`"),
        "{}",
        texts[11]
    );
    assert!(
        texts[4].contains("`defualt`") && texts[4].contains("`default`"),
        "{}",
        texts[4]
    );
}

#[test]
fn unknown_keys_and_a_byte_order_mark_are_tolerated() {
    let json = "\u{feff}{\"theme\":[1,{\"a\":null}],\"model\":null,\"$schema\":\"x\",\"permissions\":{\"mcp__a__b\":\"deny\"}}";
    let settings = Place::new().global(json).load().unwrap();
    assert_eq!(keys(&settings.notices), ["theme"]);
    assert_eq!(settings.permissions["mcp__a__b"], Permission::Deny);
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
        let shown = format!("{:?}", error.into_reasons());
        for leaked in ["canary", "enormous", "maybe"] {
            assert!(!shown.contains(leaked), "{shown}");
        }
    }
    let invalid_utf8 = Place::new().global(b"{\n\"provider\":\"\xff\"}");
    assert_eq!(problems(&invalid_utf8), [(String::new(), 2, 13)]);
}

#[test]
fn reads_are_bounded_and_never_wait_for_a_pipe() {
    let fits = format!("{{\"a\":\"{}\"}}", "x".repeat(MAX_BYTES as usize - 8));
    assert_eq!(fits.len() as u64, MAX_BYTES);
    assert!(Place::new().global(&fits).load().is_ok());
    let error = Place::new().global(format!("{fits} ")).load().unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("this is longer than 1048576 bytes")
    );
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
    let error = place.load().unwrap_err().to_string();
    assert!(error.contains("this is no regular file"), "{error}");
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
        Settings::load(dir.path(), empty.path(), Overrides::default(), &TOOLS)
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
