//! Wrong configurations as data: the form of a case, and settings and files that are wrong in one way each.
//! Names that mean nothing, blanks and servers stand in `names`, links and profiles in `beyond`.

/// One wrong configuration, and what is told of it.
pub(super) struct Case {
    /// Files of the home (`home/…`) and of the workspace (`work/…`).
    pub(super) files: &'static [(&'static str, &'static str)],
    pub(super) vars: &'static [(&'static str, &'static str)],
    /// The file's end, line and column, or the variable.
    pub(super) place: Where,
    pub(super) key: Option<&'static str>,
    /// What the reason and what to do about it hold.
    pub(super) words: &'static [&'static str],
    /// The code of the refused start; none where it is a notice.
    pub(super) code: Option<&'static str>,
}

#[derive(Clone, Copy)]
pub(super) enum Where {
    At(&'static str, u64, u64),
    File(&'static str),
    Variable(&'static str),
}
pub(super) use Where::{At, File, Variable};

pub(super) const SETTINGS: &str = "home/settings.json";
pub(super) const PROJECT: &str = "work/.magi-code/settings.json";
pub(super) const CONFIGURATION: Option<&str> = Some("configuration_invalid");
pub(super) const PROVIDER: Option<&str> = Some("provider_unavailable");
pub(super) const PROFILE: Option<&str> = Some("profile_invalid");

pub(super) const fn case(
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

pub(super) const CASES: &[Case] = &[
    case(
        &[(SETTINGS, "{\n  \"retention_days\": \"7\"\n}")],
        At(SETTINGS, 2, 21),
        Some("retention_days"),
        &["text", "whole number"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\n  \"fast\": true,,\n}")],
        At(SETTINGS, 2, 16),
        None,
        &["must be a string", "double quotes"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "{\n  /* mine\n  \"fast\": true\n}")],
        At(SETTINGS, 2, 3),
        None,
        &["unterminated comment", "close what was opened"],
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
        &["login", "none is stored", "another provider"],
        PROVIDER,
    ),
    Case {
        files: &[(SETTINGS, "{\"provider\": \"anthropic\"}")],
        vars: &[("ANTHROPIC_API_KEY", "k")],
        place: At(SETTINGS, 1, 2),
        key: Some("provider"),
        words: &["without a model", "MC_MODEL"],
        code: PROVIDER,
    },
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
        &["read as `git push`", "write `git push`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"permissions\": {\"bash\": {\"allow\": [\n    \"ls {a,b}\"\n  ]}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("permissions.bash.allow.0"),
        &["matches nothing", "leading words of each command"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"providers\": {\"x\": {\"api\": \"openai-chat\",\n    \"base_url\": \"ftp://x\"}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("providers.x.base_url"),
        &["`http` or `https`"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"providers\": {\"x\": {\"api\": \"openai-chat\",\n    \"base_url\": \"http://u:secretpw@x\"}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("providers.x.base_url"),
        &["no user name"],
        None,
    ),
    case(
        &[(
            SETTINGS,
            "{\n  \"providers\": {\"x\": {\"api\": \"anthropic\",\n    \"base_url\": \"http://x/v1/chat/completions\"}}\n}",
        )],
        At(SETTINGS, 3, 5),
        Some("providers.x.base_url"),
        &["openai-chat"],
        None,
    ),
    case(
        &[(SETTINGS, "null")],
        At(SETTINGS, 1, 1),
        None,
        &["write {}"],
        CONFIGURATION,
    ),
    case(
        &[(SETTINGS, "[]")],
        At(SETTINGS, 1, 1),
        None,
        &["write {}"],
        CONFIGURATION,
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
        &["read as `git push`", "write `git push`"],
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
