//! Tests of settings that are wrong: each is refused at its place, without its content.
//! On a real disk, within a temporary directory.

use super::*;

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
            at("permissions.bash.odd", 5, 81),
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
        texts[12].contains("`Bash`") && texts[12].contains("`bash`"),
        "{}",
        texts[12]
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
    // A server that is defined nowhere may be so elsewhere.
    assert_eq!(keys(&settings.notices), ["theme", "permissions.mcp__a__b"]);
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
        r#"{"thinking_level":"sk-ant-api03-canary-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}"#,
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
        for leaked in ["canary", "maybe"] {
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
            .ends_with("this is longer than 1048576 bytes; shorten it")
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
fn another_form_is_refused_whoever_says_so() {
    for known in ["{}", r#"{"version":null}"#, r#"{"version":1}"#] {
        assert!(Place::new().global(known).load().is_ok(), "{known}");
        assert!(Place::new().project(known).load().is_ok(), "{known}");
    }
    for other in [
        "0",
        "2",
        "4294967295",
        "4294967296",
        "-1",
        "1.5",
        "\"1\"",
        "[1]",
    ] {
        let json = format!("{{\n \"version\": {other}}}");
        for place in [Place::new().global(&json), Place::new().project(&json)] {
            let [(key, line, _)] = &problems(&place)[..] else {
                panic!("{other}: {:?}", problems(&place));
            };
            assert_eq!((key.as_str(), *line), ("version", 2), "{other}");
        }
    }
    let later = Place::new().global(r#"{"version":7}"#).load().unwrap_err();
    let reason = later.into_reasons().remove(0);
    assert!(reason.reason.contains("form 7"), "{reason:?}");
    assert!(reason.help.is_some());
}
