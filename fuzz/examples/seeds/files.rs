//! What stands on a disk: session files, skills and profiles, settings.
//! Each is whole, at a bound, or has one broken rule.

use checks::session_file::SESSION;
use serde_json::{Value, json};

use super::{Seeds, padded};

fn record(n: u64, body: &Value) -> String {
    json!({"v": 1, "n": n, "session": SESSION, "at": 7, "turn": "t", "body": body}).to_string()
        + "\n"
}

pub fn session() -> Seeds {
    let first = json!({"type": "session", "created_at": 7, "cwd": "/", "provider": "fixture", "model": "fixture-model"});
    let input = |text: &str| json!({"type": "user_input", "message_id": "m", "text": text});
    let bodies = [
        first.clone(),
        json!({"type": "session", "created_at": 0}),
        json!({"type": "selection", "provider": "p", "model": "m", "thinking": "x_high"}),
        json!({"type": "selection", "provider": "p", "model": "m", "thinking": "unknown"}),
        input("Grüße\n😀\u{2028}"),
        json!({"type": "assistant_text", "message_id": "a", "response": 0, "text": "he"}),
        json!({"type": "assistant_message", "message_id": "a", "response": 0, "partial": true}),
        json!({"type": "reasoning", "item_id": "i", "text": "so", "provider_summary": true}),
        json!({"type": "thought", "response": 0, "text": "so", "signature": "s0/0:c2ln"}),
        json!({"type": "tool_started", "activity_id": "x", "call_id": "c", "response": 1, "name": "read",
            "input": {"a": [1, -0.0, 1e300, 0.1, 5.934855591787917e-66, 7.385902215645216e84, 18_446_744_073_709_551_615_u64, null]}}),
        json!({"type": "tool_finished", "activity_id": "x", "call_id": "c", "name": "read", "is_error": false,
            "summary": "s", "content": "c"}),
        json!({"type": "diagnostic", "code": "c", "summary": "s"}),
        json!({"type": "turn_finished", "outcome": "failed", "error_code": "e"}),
    ];
    let whole: String = (1..)
        .zip(&bodies)
        .map(|(n, body)| record(n, body))
        .collect();
    let two = record(1, &first) + &record(2, &input("hi"));
    let with = |from: &str, to: &str| two.replacen(from, to, 1);
    let mut seeds: Seeds = [
        ("empty", String::new()),
        ("whole", whole),
        ("torn", two.clone() + "{\"v\":1,"),
        (
            "torn-whole-record",
            two.clone() + record(3, &input("x")).trim_end(),
        ),
        ("torn-first", record(1, &first).trim_end().to_owned()),
        ("blank-line", two.replacen('\n', "\n\n", 1)),
        ("nonsense", two.clone() + "nonsense\n"),
        ("hole", record(1, &first) + &record(3, &input("x"))),
        ("second-first", record(2, &input("x"))),
        (
            "last-number",
            record(u64::MAX, &input("x")) + &record(0, &input("y")),
        ),
        ("twice", record(1, &first) + &record(1, &first)),
        (
            "foreign",
            with("\"session\":\"s\"", "\"session\":\"other\""),
        ),
        ("other-version", with("\"v\":1", "\"v\":2")),
        ("unknown-type", with("user_input", "user_output")),
        (
            "unknown-member",
            with("\"v\":1", "\"v\":1,\"later\":{\"a\":[1]}"),
        ),
        ("duplicate-member", with("\"v\":1", "\"v\":1,\"v\":1")),
        ("missing-member", with("\"at\":7,", "")),
        ("wrong-kind", with("\"at\":7", "\"at\":-7")),
        ("crlf", two.replace('\n', "\r\n")),
        ("spaces", two.replace(",\"", " , \"")),
        ("bom", format!("\u{feff}{two}")),
        (
            "by-position",
            format!("[1,1,\"{SESSION}\",7,\"t\",[\"user_input\",\"m\",\"x\"]]\n"),
        ),
        (
            "body-by-position",
            record(1, &json!(["user_input", "m", "x"])),
        ),
        (
            "cwd-bytes",
            record(
                1,
                &json!({"type": "session", "created_at": 0, "cwd": "bytes:2f746d70ff"}),
            ),
        ),
        (
            "cwd-no-bytes",
            record(
                1,
                &json!({"type": "session", "created_at": 0, "cwd": "bytes:2é+0"}),
            ),
        ),
        (
            "cwd-nul",
            record(
                1,
                &json!({"type": "session", "created_at": 0, "cwd": "/\u{0}"}),
            ),
        ),
        (
            "steering-title",
            record(1, &input(" \n\u{1b}[2J\u{202e}\u{7}x\u{2028}y\n")),
        ),
        ("blank-title", record(1, &input(" \n \t "))),
        ("long-title", record(1, &input(&"日本".repeat(60)))),
        (
            "deep",
            record(
                1,
                &json!({"type": "tool_started", "activity_id": "x", "call_id": "c", "response": 1,
            "name": "n", "input": 0}),
            )
            .replace(
                "\"input\":0",
                &format!("\"input\":{}{}", "[".repeat(120), "]".repeat(120)),
            ),
        ),
        ("too-deep", "[".repeat(200) + "\n"),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .into();
    let wide = record(1, &input("@"));
    for (name, total) in [
        ("first-line-in-head", 65_536),
        ("first-line-beyond-head", 65_537),
    ] {
        let line = padded(wide.trim_end(), total - 1);
        seeds.push((name.to_owned(), [line, b"\n".to_vec()].concat()));
    }
    seeds.push((
        "invalid-utf8".to_owned(),
        [two.as_bytes(), b"\xff\n"].concat(),
    ));
    seeds
}

pub fn front_matter() -> Seeds {
    let document = |header: &str| format!("---\n{header}\n---\n\n# Body\n\n---\nmore\n");
    let named = |rest: &str| document(&format!("name: a-b\ndescription: d\n{rest}"));
    let mut seeds: Seeds = [
        ("empty", String::new()),
        ("no-header", "# Title\n".to_owned()),
        ("unclosed", "---\nname: a-b\n".to_owned()),
        (
            "both",
            named("disabled: false\ntools: [read, 'grep', \"bash\"]\nmodel: m"),
        ),
        (
            "bom-crlf",
            format!("\u{feff}{}", named("").replace('\n', "\r\n")),
        ),
        ("disabled", named("disabled: true")),
        ("disabled-text", named("disabled: \"true\"")),
        (
            "nulls",
            document("name:\ndescription: ~\ntools: null\nmodel:\ndisabled:"),
        ),
        (
            "folded",
            document("name: >-\n  a-b\ndescription: |+\n  one\n   two\n\n  three\n"),
        ),
        (
            "quoted",
            document("name: 'a-b'\ndescription: \"it\\u0027s\\n \\x41 \\\n  on\""),
        ),
        ("block-list", named("tools:\n- read\n- >\n  grep\n- \"\"")),
        (
            "deep",
            named("metadata:\n  a: [{b: [c]}, *x, !t d]\n  ? [k]\n  : v"),
        ),
        ("deep-list", named("tools: [[a], {b: c}]")),
        (
            "anchors",
            document("name: &n a-b\ndescription: *n\n&k model: m"),
        ),
        (
            "alias-list",
            document("name: a-b\ndescription: &d d\ntools: [*d]"),
        ),
        (
            "tags",
            document("name: !!str a-b\ndescription: !x d\ndisabled: !!bool true"),
        ),
        (
            "directive",
            document("%YAML 1.2\n--- \nname: a-b\ndescription: d"),
        ),
        (
            "two-documents",
            document("name: a-b\n...\n--- {description: d}"),
        ),
        (
            "flow",
            document("{name: a-b, description: d, tools: [read]}"),
        ),
        ("comment", document("# c\nname: a-b # n\ndescription: d#e")),
        ("list", document("- a")),
        ("scalar", document("words")),
        ("twice", document("name: a-b\nname: a-b")),
        ("key-list", document("[a]: b")),
        ("no-yaml", document("name: [")),
        ("tab", document("name:\ta-b\n\tdescription: d")),
        ("other-name", named("").replace("a-b", "other")),
        ("bad-name", named("").replace("a-b", "A b")),
        ("no-description", document("name: a-b")),
        ("blank-description", document("name: a-b\ndescription: ' '")),
        ("list-description", document("name: a-b\ndescription: [d]")),
        ("text-tools", named("tools: read")),
        ("no-body", "---\nname: a-b\ndescription: d\n---".to_owned()),
        ("merge", named("<<: {tools: [a]}")),
        (
            "controls",
            document("name: a-b\ndescription: \"\\e\\u2028\\uFEFF\\U0001F600\u{85}\u{2029}\""),
        ),
    ]
    .map(|(name, text)| (name.to_owned(), text.into_bytes()))
    .into();
    let text = |header: &str| format!("---\nname: a-b\n{header}\n---\nx");
    for (name, shape, total) in [
        ("header-at-bound", text("description: d\n#@"), 16 * 1024 + 9),
        (
            "header-beyond-bound",
            text("description: d\n#@"),
            16 * 1024 + 10,
        ),
        ("description-at-bound", text("description: @"), 1024 + 33),
        (
            "description-beyond-bound",
            text("description: @"),
            1025 + 33,
        ),
        ("model-at-bound", text("description: d\nmodel: @"), 256 + 42),
        (
            "model-beyond-bound",
            text("description: d\nmodel: @"),
            257 + 42,
        ),
        ("profile-at-bound", text("description: d") + "@", 64 * 1024),
        (
            "profile-beyond-bound",
            text("description: d") + "@",
            64 * 1024 + 1,
        ),
        ("skill-at-bound", text("description: d") + "@", 256 * 1024),
        (
            "skill-beyond-bound",
            text("description: d") + "@",
            256 * 1024 + 1,
        ),
    ] {
        seeds.push((name.to_owned(), padded(&shape, total)));
    }
    let tools = |count: usize| named(&format!("tools: [{}]", vec!["a"; count].join(",")));
    seeds.push(("tools-at-bound".to_owned(), tools(256).into_bytes()));
    seeds.push(("tools-beyond-bound".to_owned(), tools(257).into_bytes()));
    seeds.push((
        "invalid-utf8".to_owned(),
        b"---\nname: \xff\n---\n".to_vec(),
    ));
    seeds
}

pub fn settings() -> Seeds {
    let whole = json!({
        "provider": "p", "model": "m", "thinking_level": "x_high", "fast": true,
        "providers": {"p": {"api": "openai-chat", "base_url": "http://127.0.0.1", "api_key_env": "KEY", "models": ["m"]},
            "q": {"api_key_env": "KEY"}, "fixture": {"script": "a.json", "later": [1]}},
        "mcp_servers": {"x": {"command": "c", "approved": "sha256:0"}},
        "permissions": {"bash": "ask", "read": "deny"},
        "hooks": {"pre_tool": ["a", "b"], "turn_end": []},
        "compaction": {"threshold": 0.5}, "instructions": ["a.md", "/b.md"], "retention_days": 0, "later": {"a": [null]},
    });
    let text = |text: &str| text.as_bytes().to_vec();
    let of = |value: Value| value.to_string().into_bytes();
    let mut seeds: Seeds = vec![
        ("whole".into(), of(whole)),
        ("empty-object".into(), text("{}")),
        ("later-form".into(), text("{\"version\":2}")),
        ("bom".into(), text("\u{feff}{\"fast\":false}\r\n")),
        ("empty".into(), text("")),
        ("array".into(), text("[]")),
        ("by-position".into(), text("[\"p\",\"m\"]")),
        (
            "providers-by-position".into(),
            of(json!({"providers": {"p": ["anthropic"]}})),
        ),
        ("providers-array".into(), of(json!({"providers": []}))),
        ("compaction-array".into(), of(json!({"compaction": [0.5]}))),
        ("server-text".into(), of(json!({"mcp_servers": {"x": "y"}}))),
        ("two".into(), text("{}{}")),
        ("comment".into(), text("{}\n// c")),
        ("twice".into(), text("{\"model\":\"a\",\n\"model\":\"b\"}")),
        ("twice-later".into(), text("{\"later\":1,\"later\":2}")),
        (
            "nulls".into(),
            of(json!({"provider": null, "model": null, "fast": null, "retention_days": null})),
        ),
        ("fixture".into(), of(json!({"provider": "fixture"}))),
        ("no-model".into(), of(json!({"provider": "p"}))),
        ("empty-model".into(), of(json!({"model": ""}))),
        ("empty-provider".into(), of(json!({"provider": ""}))),
        (
            "unknown-level".into(),
            of(json!({"thinking_level": "most"})),
        ),
        ("unknown-event".into(), of(json!({"hooks": {"lunch": []}}))),
        (
            "blank-hook".into(),
            of(json!({"hooks": {"pre_tool": [" "]}})),
        ),
        (
            "nul-hook".into(),
            of(json!({"hooks": {"pre_tool": ["a\u{0}b"]}})),
        ),
        (
            "hooks-at-bound".into(),
            of(json!({"hooks": {"pre_tool": vec!["a"; 32]}})),
        ),
        (
            "hooks-beyond-bound".into(),
            of(json!({"hooks": {"pre_tool": vec!["a"; 33]}})),
        ),
        (
            "no-threshold".into(),
            of(json!({"compaction": {"threshold": 0}})),
        ),
        (
            "whole-threshold".into(),
            of(json!({"compaction": {"threshold": 1}})),
        ),
        (
            "beyond-threshold".into(),
            of(json!({"compaction": {"threshold": 1.001}})),
        ),
        (
            "empty-instruction".into(),
            of(json!({"instructions": [""]})),
        ),
        (
            "instructions-at-bound".into(),
            of(json!({"instructions": vec!["a"; 32]})),
        ),
        (
            "instructions-beyond-bound".into(),
            of(json!({"instructions": vec!["a"; 33]})),
        ),
        (
            "days-beyond-bound".into(),
            of(json!({"retention_days": 4_294_967_296_u64})),
        ),
        ("days-fraction".into(), of(json!({"retention_days": 1.5}))),
        (
            "too-deep".into(),
            text(&format!("{{\"later\":{}", "[".repeat(200))),
        ),
        ("invalid-utf8".into(), b"{\"later\":\"\xff\"}".to_vec()),
    ];
    for (name, shape, total) in [
        ("provider-at-bound", r#"{"provider":"@"}"#, 256 + 15),
        ("provider-beyond-bound", r#"{"provider":"@"}"#, 257 + 15),
        ("model-beyond-bound", r#"{"model":"@"}"#, 257 + 12),
        (
            "hook-at-bound",
            r#"{"hooks":{"pre_tool":["@"]}}"#,
            8192 + 27,
        ),
        (
            "hook-beyond-bound",
            r#"{"hooks":{"pre_tool":["@"]}}"#,
            8193 + 27,
        ),
        ("file-at-bound", r#"{"later":"@"}"#, 1024 * 1024),
        ("file-beyond-bound", r#"{"later":"@"}"#, 1024 * 1024 + 1),
    ] {
        seeds.push((name.into(), padded(shape, total)));
    }
    seeds
}
