//! Tests of what a project's settings count for, and of who trusts it.
//! On a real disk, within a temporary directory.

use super::*;

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
        match index < 3 {
            true => assert_eq!(level(&trusted), (true, 0), "{index}"),
            // What it denied must not vanish with the place that a link leads to.
            false => assert!(trusted.load().is_err()),
        }
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
        let home = LocalHome::prepare(&place.dir.path().join("home")).unwrap();
        assert!(home.set_trusted(&place.cwd(), false).unwrap(), "{end}");
        assert!(!place.load().unwrap().trusted, "{end}");
        let text = fs::read_to_string(home.root().join(FILE_NAME)).unwrap();
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
    let home = LocalHome::prepare(&place.dir.path().join("home")).unwrap();
    assert!(home.set_trusted(&place.cwd(), true).unwrap());
    assert!(place.load().unwrap().trusted);
    assert!(home.set_trusted(&place.cwd(), false).unwrap());
    assert!(!place.load().unwrap().trusted);
}
