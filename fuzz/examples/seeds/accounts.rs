//! Files of accounts: whole ones, what nobody knows in them, and what is none.

use crate::Seeds;

pub fn seeds() -> Seeds {
    let mut seeds: Seeds = [
        ("empty", ""),
        ("empty-object", "{}"),
        ("array", "[]"),
        ("text", "\"canary-text-01\""),
        ("cut-off", r#"{"version":1,"providers":{"openai-codex":{"oauth":{"access_token":"canary-access-1"#),
        ("no-providers", r#"{"version":1,"mine":{"of":["canary-mine-01"]}}"#),
        ("other-version", r#"{"version":2,"providers":{"openai-codex":{"api_key":"canary-key-001"}}}"#),
        ("version-text", r#"{"version":"1"}"#),
        ("providers-array", r#"{"providers":["canary-provider"]}"#),
        ("providers-null", r#"{"providers":null}"#),
        ("record-text", r#"{"providers":{"openai-codex":"canary-record-1"}}"#),
        ("record-array", r#"{"providers":{"openai-codex":[1,"canary-key-001",null]}}"#),
        ("other-record-text", r#"{"providers":{"else":"canary-record-1","openai-codex":{"generation":4}}}"#),
        ("generation-text", r#"{"providers":{"openai-codex":{"generation":"4"}}}"#),
        ("generation-negative", r#"{"providers":{"openai-codex":{"generation":-1}}}"#),
        ("generation-last", r#"{"providers":{"openai-codex":{"generation":18446744073709551615}}}"#),
        ("generation-beyond", r#"{"providers":{"openai-codex":{"generation":18446744073709551616}}}"#),
        ("key", r#"{"providers":{"anthropic":{"generation":1,"api_key":"canary-key-001"}}}"#),
        ("key-blank", r#"{"providers":{"openai-codex":{"api_key":"  "}}}"#),
        ("key-number", r#"{"providers":{"openai-codex":{"api_key":12345678901}}}"#),
        ("key-beside", r#"{"providers":{"openai-codex":{"api_key":"canary-key-001","oauth":{"access_token":"canary-access-1"}}}}"#),
        (
            "whole",
            r#"{"version":1,"providers":{"openai-codex":{"generation":3,"oauth":{"access_token":"canary-access-1","refresh_token":"canary-refresh-1","id_token":"canary-id-0001","account_id":"canary-account","expires_at":"2027-01-15T08:00:00Z","needs_login":true,"own":[1]},"more":{}},"unknown":{"a":[1,{"b":null}]}},"mcp_servers":{"m":{"token":"canary-token-1"}}}"#,
        ),
        ("oauth-array", r#"{"providers":{"openai-codex":{"oauth":["canary-access-1"]}}}"#),
        ("oauth-null", r#"{"providers":{"openai-codex":{"oauth":null}}}"#),
        ("no-access", r#"{"providers":{"openai-codex":{"oauth":{"refresh_token":"canary-refresh-1"}}}}"#),
        ("moment-text", r#"{"providers":{"openai-codex":{"oauth":{"access_token":"a","expires_at":"canary-moment"}}}}"#),
        ("moment-offset", r#"{"providers":{"openai-codex":{"oauth":{"access_token":"a","expires_at":"2027-01-15T09:30:00.5+01:30"}}}}"#),
        ("moment-early", r#"{"providers":{"openai-codex":{"oauth":{"access_token":"a","expires_at":"0001-01-01T00:00:00-99:99"}}}}"#),
        ("twice", r#"{"providers":{"openai-codex":{"generation":1}},"providers":{"openai-codex":{"generation":2}}}"#),
        ("fraction", r#"{"mine":1.10,"providers":{"else":{"n":1e-7}}}"#),
        ("escapes", "{\"providers\":{\"openai\\u002dcodex\":{\"api_key\":\"canary\\ud83d\\ude00key\"}}}"),
        ("bom", "\u{feff}{}"),
    ]
    .map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()))
    .into();
    seeds.push(("invalid-utf8".into(), b"{\"a\":\"\xff\"}".to_vec()));
    // As long as the bound lets a file be, and beyond it.
    let mut long = b"{\"a\":\"a".to_vec();
    long.extend([0, 255].repeat(17));
    long.extend(b"\"}");
    seeds.push(("beyond-bound".into(), long));
    let mut deep = b"{\"a\":[".to_vec();
    deep.extend([0, 1]);
    seeds.push(("too-deep".into(), deep));
    seeds
}
