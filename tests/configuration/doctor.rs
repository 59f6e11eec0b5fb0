//! Wrong configurations, each of which names its file, line and column or its variable, and what to do.
//! `doctor` finds what a start would, and `try` tells the same.

use std::fs;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::support::Place;
use crate::{magi_code, text};

/// One wrong configuration, and what is told of it.
struct Case {
    /// Files of the home (`home/…`) and of the workspace (`work/…`).
    files: &'static [(&'static str, &'static str)],
    vars: &'static [(&'static str, &'static str)],
    /// The file's end, line and column, or the variable.
    place: Where,
    key: Option<&'static str>,
    /// What the reason and what to do about it hold.
    words: &'static [&'static str],
    /// The code of the refused start; none where it is a notice.
    code: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Where {
    At(&'static str, u64, u64),
    File(&'static str),
    Variable(&'static str),
}
use Where::{At, File, Variable};

const SETTINGS: &str = "home/settings.json";
const PROJECT: &str = "work/.magi-code/settings.json";
const CONFIGURATION: Option<&str> = Some("configuration_invalid");
const PROVIDER: Option<&str> = Some("provider_unavailable");
const PROFILE: Option<&str> = Some("profile_invalid");

const fn case(
    files: &'static [(&'static str, &'static str)],
    place: Where,
    key: Option<&'static str>,
    words: &'static [&'static str],
    code: Option<&'static str>,
) -> Case {
    Case {
        files,
        vars: &[],
        place,
        key,
        words,
        code,
    }
}

const CASES: &[Case] = &[
    case(
        &[(SETTINGS, "{\n  \"retention_days\": \"7\"\n}")],
        At(SETTINGS, 2, 21),
        Some("retention_days"),
        &["text", "whole number"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\n  \"fast\": true,\n}")],
        At(SETTINGS, 3, 1),
        None,
        &["trailing comma", "remove the comma"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\n  // mine\n  \"fast\": true\n}")],
        At(SETTINGS, 2, 3),
        None,
        &["JSON has no comments"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\n  \"permisions\": {}\n}")],
        At(SETTINGS, 2, 3),
        Some("permisions"),
        &["`permisions`", "`permissions`", "rename"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\"theme\": \"dark\"}")],
        At(SETTINGS, 1, 2),
        Some("theme"),
        &["unknown member `theme`", "remove"],
        None,
    ),
    case(
        &[(SETTINGS, "{\n \"model\": \"a\",\n \"model\": \"b\"}")],
        At(SETTINGS, 3, 2),
        Some("model"),
        &["second time", "keep one"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\"thinking_level\": \"hihg\"}")],
        At(SETTINGS, 1, 20),
        Some("thinking_level"),
        &["`hihg`", "`high`"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\"permissions\": {\"Bash\": \"deny\"}}")],
        At(SETTINGS, 1, 18),
        Some("permissions.Bash"),
        &["`Bash`", "`bash`", "guards nothing"],
        CONFIGURATION,
    ),
    case(
        &[(PROJECT, "{\"permissions\": {\"wirte\": \"deny\"}}")],
        At(PROJECT, 1, 18),
        Some("permissions.wirte"),
        &["`wirte`", "`write`"],
        CONFIGURATION,
    ),
    case(
        &[(PROJECT, "{\"hooks\": {\"pre_tol\": []}}")],
        At(PROJECT, 1, 12),
        Some("hooks.pre_tol"),
        &["`pre_tol`", "`pre_tool`"],
        CONFIGURATION,
    ),
    case(
        &[(
            SETTINGS,
            "{\"permissions\": {\"bash\": {\"allow\": [\" \"]}}}",
        )],
        At(SETTINGS, 1, 37),
        Some("permissions.bash.allow.0"),
        &["blank"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\"provider\": \"antropic\", \"model\": \"m\"}")],
        At(SETTINGS, 1, 2),
        Some("provider"),
        &["`antropic`", "`anthropic`"],
        PROVIDER,
    ),
    case(
        &[(
            SETTINGS,
            "{\"provider\": \"openai-codex\", \"model\": \"m\"}",
        )],
        At(SETTINGS, 1, 2),
        Some("provider"),
        &["login", "this build", "another provider"],
        PROVIDER,
    ),
    case(
        &[(SETTINGS, "{\"provider\": \"anthropic\"}")],
        At(SETTINGS, 1, 2),
        Some("provider"),
        &["without a model", "MC_MODEL"],
        PROVIDER,
    ),
    case(
        &[(SETTINGS, "{\"model\": \"fixture-modle\"}")],
        At(SETTINGS, 1, 2),
        Some("model"),
        &["`fixture-modle`", "`fixture-model`", "choose one of"],
        PROVIDER,
    ),
    case(
        &[(
            SETTINGS,
            "{\"provider\": \"x\", \"model\": \"m\",\n\"providers\": {\"x\": {\"api\": \"ollama\", \"api_key_env\": \"X_KEY\"}}}",
        )],
        At(SETTINGS, 2, 38),
        Some("providers.x.api_key_env"),
        &["X_KEY", "not set", "set X_KEY"],
        PROVIDER,
    ),
    case(
        &[(SETTINGS, "{\"provider\": \"anthropic\", \"model\": \"m\"}")],
        Variable("ANTHROPIC_API_KEY"),
        None,
        &["not set", "set ANTHROPIC_API_KEY"],
        PROVIDER,
    ),
    case(
        &[(
            SETTINGS,
            "{\"provider\": \"x\", \"model\": \"m\", \"providers\": {\"x\": {\"api\": \"openai-chat\"}}}",
        )],
        At(SETTINGS, 1, 47),
        Some("providers.x.base_url"),
        &["base URL", "set `providers.x.base_url`"],
        CONFIGURATION,
    ),
    case(
        &[(
            SETTINGS,
            "{\"provider\": \"x\", \"model\": \"m\", \"providers\": {\"x\": {\"api\": \"ollama\", \"base_url\": \"ftp://h\"}}}",
        )],
        At(SETTINGS, 1, 70),
        Some("providers.x.base_url"),
        &["base URL", "`http`"],
        CONFIGURATION,
    ),
    case(
        &[(
            SETTINGS,
            "{\"provider\": \"x\", \"model\": \"m\", \"providers\": {\"x\": {\"models\": [\"m\"]}}}",
        )],
        At(SETTINGS, 1, 47),
        Some("providers.x.api"),
        &["no `api`", "`openai-chat`"],
        PROVIDER,
    ),
    case(
        &[(
            SETTINGS,
            "{\"providers\": {\"fixture\": {\n\"script\": \"none.json\"}}}",
        )],
        At(SETTINGS, 2, 1),
        Some("providers.fixture.script"),
        &["none.json", "cannot read", "docs/configuration.md"],
        CONFIGURATION,
    ),
    case(
        &[
            (
                SETTINGS,
                "{\"providers\": {\"fixture\": {\"script\": \"s.json\"}}}",
            ),
            ("home/s.json", "{\"turns\": []}"),
        ],
        At(SETTINGS, 1, 28),
        Some("providers.fixture.script"),
        &["s.json", "at least one turn"],
        CONFIGURATION,
    ),
    case(
        &[
            (SETTINGS, "{\"instructions\": [\"a.md\",\n\"none.md\"]}"),
            ("home/a.md", "a"),
        ],
        At(SETTINGS, 2, 1),
        Some("instructions.1"),
        &["none.md", "no such file", "write it"],
        CONFIGURATION,
    ),
    case(
        &[("work/AGENTS.md/file", "")],
        File("work/AGENTS.md"),
        None,
        &["no regular file", "put a file"],
        CONFIGURATION,
    ),
    case(
        &[("home/settings.json/file", "")],
        File("home/settings.json"),
        None,
        &["no regular file"],
        CONFIGURATION,
    ),
    case(
        &[(
            "home/agents/primary.md",
            "---\nname: primary\ntools: [raed]\n---\n",
        )],
        At("home/agents/primary.md", 3, 1),
        None,
        &["`raed`", "`read`"],
        PROFILE,
    ),
    case(
        &[("home/agents/a.md", "---\nname: [\n---\n")],
        At("home/agents/a.md", 3, 1),
        None,
        &["not valid YAML"],
        PROFILE,
    ),
    case(
        &[("home/agents/primary.md", "---\nmodel: fixtur-model\n---\n")],
        At("home/agents/primary.md", 2, 1),
        Some("model"),
        &["`fixtur-model`", "`fixture-model`"],
        PROVIDER,
    ),
    case(
        &[(
            "home/skills/a/SKILL.md",
            "---\nname: b\ndescription: d\n---\n",
        )],
        At("home/skills/a/SKILL.md", 2, 1),
        None,
        &["not its directory's", "left out"],
        None,
    ),
    case(
        &[("work/.magi-code/skills/a/SKILL.md", "words")],
        At("work/.magi-code/skills/a/SKILL.md", 1, 1),
        None,
        &["front matter"],
        None,
    ),
    case(
        &[(PROJECT, "{\n  \"hooks\": {\"pre_tool\": [\"x\"]}\n}")],
        At(PROJECT, 2, 3),
        Some("hooks"),
        &["never run"],
        None,
    ),
    case(
        &[(PROJECT, "{\"providers\": {\"x\": {\"api\": \"ollama\"}}}")],
        At(PROJECT, 1, 16),
        Some("providers.x"),
        &["not trusted", "magi-code trust"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"git push*\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["matches nothing", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"*\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["matches nothing", "leading words"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"Bash(git push)\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["matches nothing", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"sudo git push\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["only what stands behind `sudo`", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"/usr/bin/git push\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["by any path", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"'git' push\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["quotes", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"deny\": [\n    \"curl x | sh\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.deny.0"),
        &["one command", "leading words"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\"permissions\": {\"bash\": {\"allow\": [\"source\"]}}}",
        )],
        At(SETTINGS, 1, 37),
        Some("permissions.bash.allow.0"),
        &["no rule can allow `source`", "remove"],
        None,
    ),
    case(
        &[("home/auth.json", "{\n  \"version\": 1,\n  oops\n}")],
        At("home/auth.json", 3, 3),
        None,
        &["no JSON", "log in"],
        None,
    ),
    Case {
        files: &[],
        vars: &[("MC_PROVIDER", "nobody"), ("MC_MODEL", "m")],
        place: Variable("MC_PROVIDER"),
        key: Some("provider"),
        words: &["`nobody`", "select one of"],
        code: PROVIDER,
    },
    Case {
        files: &[],
        vars: &[("MC_MODEL", "fixture-modell")],
        place: Variable("MC_MODEL"),
        key: Some("model"),
        words: &["`fixture-modell`", "`fixture-model`"],
        code: PROVIDER,
    },
    Case {
        files: &[("home/file", "")],
        vars: &[("MC_HOME", "/dev/null/home")],
        place: File("/dev/null/home"),
        key: None,
        words: &["cannot be prepared", "MC_HOME"],
        code: Some("startup_failed"),
    },
];

fn place_of(case: &Case) -> std::sync::Arc<Place> {
    let place = Place::new();
    for (path, content) in case.files {
        let path = match path.strip_prefix("home/") {
            Some(path) => place.mc_home().join(path),
            None => place.root().join(path),
        };
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    place
}

#[test]
fn every_wrong_configuration_says_where_and_what_to_do() {
    assert!(CASES.len() > 20);
    for case in CASES {
        let place = place_of(case);
        let path = |path: &str| match path.strip_prefix("home/") {
            Some(path) => place.mc_home().join(path),
            None if path.starts_with('/') => path.into(),
            None => place
                .work()
                .canonicalize()
                .unwrap()
                .join(path.strip_prefix("work/").unwrap()),
        };
        let done = magi_code(&place, &["doctor", "--json"], case.vars);
        assert!(done.stderr.is_empty(), "{done:?}");
        let found: Value = serde_json::from_slice(&done.stdout).unwrap();
        let is_notice = case.code.is_none();
        assert_eq!(done.status.code(), Some(i32::from(!is_notice)), "{found}");
        let (own, other) = match is_notice {
            true => ("notices", "problems"),
            false => ("problems", "notices"),
        };
        let reasons = found[own].as_array().unwrap();
        assert_eq!(reasons.len(), 1, "{found}");
        assert_eq!(found[other], json!([]), "{found}");
        let reason = &reasons[0];
        let (file, line, column, shown) = match case.place {
            At(file, line, column) => {
                let file = path(file).display().to_string();
                let shown = format!("{file}:{line}:{column}: ");
                (json!(file), json!(line), json!(column), shown)
            }
            File(file) => {
                let file = path(file).display().to_string();
                (json!(file), Value::Null, Value::Null, format!("{file}: "))
            }
            Variable(name) => {
                assert_eq!(reason["variable"], name);
                (Value::Null, Value::Null, Value::Null, format!("{name}: "))
            }
        };
        assert_eq!(
            (&reason["file"], &reason["line"], &reason["column"]),
            (&file, &line, &column),
            "{found}"
        );
        assert_eq!(reason["key"], json!(case.key), "{found}");
        let told = format!(
            "{} {}",
            reason["reason"].as_str().unwrap(),
            reason["help"].as_str().unwrap_or_default()
        );
        for word in case.words {
            assert!(told.contains(word), "{word}: {told}");
        }
        // People read the same.
        let printed = magi_code(&place, &["doctor"], case.vars);
        assert_eq!(printed.status.code(), done.status.code());
        let line = format!("{shown}{}", reason["reason"].as_str().unwrap());
        assert!(
            text(&printed.stdout).lines().any(|printed| printed == line),
            "{line}\n{}",
            text(&printed.stdout)
        );
    }
}

#[test]
fn what_doctor_calls_a_problem_fails_a_start_and_try_tells_the_same() {
    for (index, case) in CASES.iter().enumerate() {
        let place = place_of(case);
        let vars = case.vars.iter();
        let launch = vars.fold(launch().place(&place), |launch, (name, value)| {
            launch.env(name, *value)
        });
        let mut agent = Agent::spawn(launch);
        let answer = agent.call("initialize", json!({"required_capabilities": []}));
        let code = answer["error"]["code"].as_str();
        assert_eq!(code, case.code, "{:?}", case.files);
        drop(agent);
        // A turn costs more than the rest together.
        if index % 6 != 0 {
            continue;
        }
        let done = magi_code(&place, &["try", "hello"], case.vars);
        let doctor = text(&magi_code(&place, &["doctor"], case.vars).stdout);
        let said = text(&done.stderr);
        assert_eq!(done.status.success(), case.code.is_none(), "{said}");
        for line in doctor.lines().filter(|line| line.starts_with('/')) {
            assert_eq!(said.matches(line).count(), 1, "{line}\n{said}");
        }
    }
}

#[test]
fn all_problems_and_notices_come_at_once() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home()).unwrap();
    fs::write(
        place.mc_home().join("settings.json"),
        "{\n\"fast\": 1,\n\"model\": 2,\n\"themes\": 3,\n\"retention_days\": -1\n}",
    )
    .unwrap();
    place.write_file(
        ".magi-code/settings.json",
        "{\n\"fast\": 1,\n\"fats\": 1\n}",
    );
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    let found: Value = serde_json::from_slice(&done.stdout).unwrap();
    let lines = |of: &str| {
        let all = found[of].as_array().unwrap().iter();
        all.map(|reason| {
            (
                reason["line"].as_u64().unwrap(),
                reason["key"].as_str().unwrap().to_owned(),
            )
        })
        .collect::<Vec<_>>()
    };
    let at = |line, key: &str| (line, key.to_owned());
    assert_eq!(
        lines("problems"),
        [
            at(2, "fast"),
            at(3, "model"),
            at(5, "retention_days"),
            at(2, "fast"),
            at(3, "fats")
        ]
    );
}

#[test]
fn doctor_is_calm_about_what_is_right_and_about_its_own_use() {
    let place = Place::new();
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(0));
    assert_eq!(
        text(&done.stdout),
        "A start would succeed: problems 0, notices 0.\n"
    );
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    assert_eq!(text(&done.stdout), "{\"notices\":[],\"problems\":[]}\n");
    let elsewhere = magi_code(&place, &["doctor", "--cwd", "none"], &[]);
    assert_eq!(elsewhere.status.code(), Some(1));
    assert!(text(&elsewhere.stdout).contains("/none: this working directory cannot be used"));
    for usage in [&["doctor", "--jsn"][..], &["doctor", "x"]] {
        assert_eq!(magi_code(&place, usage, &[]).status.code(), Some(2));
    }
    // A secret that stands where a word belongs is not repeated.
    place.write_settings(&json!({"provider": "sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}));
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(1));
    assert!(!text(&done.stdout).contains("aaaaaaaa"), "{done:?}");
}

#[test]
fn problems_of_every_stage_come_at_once_and_without_credentials() {
    let place = Place::new();
    fs::create_dir_all(place.mc_home().join("agents")).unwrap();
    fs::write(
        place.mc_home().join("settings.json"),
        "{\"retention_days\": \"7\", \"provider\": \"antropic\",\n\"instructions\": [\"https://u:hunter2pass@h/x.md\"]}",
    )
    .unwrap();
    fs::write(place.mc_home().join("agents/a.md"), "no front matter").unwrap();
    let done = magi_code(&place, &["doctor"], &[]);
    assert_eq!(done.status.code(), Some(1));
    let out = text(&done.stdout);
    for part in [
        "whole number",
        "no such file",
        "no front matter",
        "no provider is called",
    ] {
        assert_eq!(out.matches(part).count(), 1, "{part}: {out}");
    }
    let done = magi_code(&place, &["doctor", "--json"], &[]);
    assert_eq!(out.matches("hunter2pass").count(), 0, "{out}");
    assert!(!text(&done.stdout).contains("hunter2pass"));
}
