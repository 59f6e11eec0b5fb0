//! Writes the committed seeds anew: `cargo run --example seeds` in this directory.
//! Bytes by hand, so that no encoder of the product can hide a fault of its decoder.

use std::path::Path;
use std::{fs, io};

use checks::input::RUNS;

mod server;

/// Seeds by name.
pub type Seeds = Vec<(String, Vec<u8>)>;

fn main() -> io::Result<()> {
    for (target, seeds) in [
        ("local_agent", local_agent()),
        ("application_service", application_service()),
        ("mty_agent", mty_agent()),
        ("consumer_frames", server::seeds()),
    ] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("seeds")
            .join(target);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(&folder)?;
        assert!(seeds.len() < 60, "a small corpus: {target}");
        for (name, mut bytes) in seeds {
            if bytes.contains(&0) {
                bytes.insert(0, RUNS);
            }
            assert!(bytes.len() < 4096, "a small seed: {target}/{name}");
            fs::write(folder.join(name), bytes)?;
        }
    }
    Ok(())
}

/// `text` with its `@` made so long that the line has `total` bytes, written as runs (`checks::input`).
pub fn padded(text: &str, total: usize) -> Vec<u8> {
    padded_with(b'x', text, total)
}

fn padded_with(byte: u8, text: &str, total: usize) -> Vec<u8> {
    let (before, after) = text.split_once('@').expect("a place for the padding");
    let pad = total - before.len() - after.len();
    let mut out = before.as_bytes().to_vec();
    // At least one byte must stand before a run.
    let mut runs = (pad - 1) / 257;
    out.extend(std::iter::repeat_n(byte, pad - runs * 257));
    while runs > 0 {
        out.extend([0, runs.min(255) as u8]);
        runs -= runs.min(255);
    }
    out.extend_from_slice(after.as_bytes());
    out
}

fn nested(depth: usize) -> String {
    "[".repeat(depth) + &"]".repeat(depth)
}

fn lines(named: &[(&str, String)]) -> Seeds {
    named
        .iter()
        .map(|(name, text)| ((*name).to_owned(), format!("{text}\n").into_bytes()))
        .collect()
}

fn local_agent() -> Seeds {
    let with = |id: &str, method: &str, params: &str| {
        format!(
            r#"{{"protocol":"magi-code.local-agent","version":1,"id":{id},"method":{method},"params":{params}}}"#
        )
    };
    let run = "0e7a0e0c-54b5-4a53-8f3c-3c8d2a1b9a10";
    let named = |method: &str, params: &str| with("\"r1\"", &format!("\"{method}\""), params);
    let ok = named("status", "{}");
    let mut seeds = lines(&[
        (
            "initialize",
            named(
                "initialize",
                r#"{"required_capabilities":["status","shutdown"]}"#,
            ),
        ),
        ("status", ok.clone()),
        ("shutdown", named("shutdown", "{}")),
        ("session-create", named("session.create", "{}")),
        (
            "session-open",
            named("session.open", r#"{"session_id":"s-1"}"#),
        ),
        (
            "history-page",
            named(
                "history.page",
                r#"{"session_id":"s-1","revision":"v1","cursor":null}"#,
            ),
        ),
        (
            "turn-start",
            named(
                "turn.start",
                r#"{"session_id":"s-1","prompt":"h\u00e9llo \ud83d\ude00\n"}"#,
            ),
        ),
        (
            "turn-cancel",
            named(
                "turn.cancel",
                &format!(r#"{{"session_id":"s-1","run_id":"{run}"}}"#),
            ),
        ),
        (
            "approval-answer",
            named(
                "approval.answer",
                &format!(
                    r#"{{"session_id":"s-1","run_id":"{run}","approval_id":"{run}","allow":true}}"#
                ),
            ),
        ),
        ("unknown-method", named("no.such.method", "{}")),
        (
            "pipelined",
            format!("{ok}\n{}\n{}", ok.replace("r1", "r2"), ok),
        ),
        ("crlf-and-space", format!(" {ok}\t\r\n\r\n\n{ok}\r")),
        ("protocol-mismatch", ok.replace("local-agent", "other")),
        ("version-mismatch", ok.replace(":1,", ":2,") + "\n" + &ok),
        (
            "version-kinds",
            ["1.0", "1e0", "-0", "\"1\"", "99999999999999999999", "null"]
                .map(|v| ok.replace(":1,", &format!(":{v},")))
                .join("\n"),
        ),
        (
            "id-kinds",
            [
                "null",
                "7",
                "\"\"",
                "\"a b\"",
                "\"\\u0061\"",
                "\"a\\u0000\"",
                "[\"a\"]",
            ]
            .map(|id| with(id, "\"status\"", "{}"))
            .join("\n"),
        ),
        (
            "id-bounds",
            [64, 65]
                .map(|n| with(&format!("\"{}\"", "i".repeat(n)), "\"status\"", "{}"))
                .join("\n"),
        ),
        (
            "method-kinds",
            ["null", "\"\"", "\"a b\"", "\"\u{e9}\"", "[]"]
                .map(|m| with("\"r1\"", m, "{}"))
                .join("\n"),
        ),
        (
            "method-bounds",
            [64, 65].map(|n| named(&"m".repeat(n), "{}")).join("\n"),
        ),
        (
            "params-kinds",
            [
                "null",
                "[]",
                "\"{}\"",
                "0",
                "{\"a\":1,\"a\":2}",
                "{\"a\":[{\"b\":0,\"\\u0062\":1}]}",
            ]
            .map(|p| named("status", p))
            .join("\n"),
        ),
        ("unknown-field", ok.replace("{}", "{},\"extra\":0")),
        ("missing-field", ok.replace("\"version\":1,", "")),
        (
            "duplicate-id",
            ok.replace("\"method\"", "\"id\":\"r2\",\"method\""),
        ),
        (
            "duplicate-through-escape",
            ok.replace("\"method\"", "\"\\u0069d\":\"r2\",\"method\""),
        ),
        (
            "escaped-keys",
            ok.replace("\"id\"", "\"\\u0069\\u0064\"")
                .replace("\"params\"", "\"p\\u0061rams\""),
        ),
        (
            "depth-bounds",
            [31, 32]
                .map(|d| named("status", &format!("{{\"a\":{}}}", nested(d - 1))))
                .join("\n"),
        ),
        (
            "depth-before-fault",
            "[".repeat(33) + "x\n" + &"[".repeat(32) + "x",
        ),
        (
            "not-objects",
            "[]\nnull\n1\n\"x\"\n{\n{}}\n{} {}\nnul\n\u{feff}{}".to_owned(),
        ),
        (
            "numbers",
            ["-0.0", "1E+2", "1e400", "01", "1.", "-", "0x1"]
                .map(|n| named("status", &format!("{{\"n\":{n}}}")))
                .join("\n"),
        ),
        (
            "strings",
            [
                "\\u0000",
                "\\ud800",
                "\\ud800\\u0041",
                "\\udc00",
                "\\ud83d\\ude00",
                "\\x",
                "\\/",
                "\t",
                "\u{7f}",
            ]
            .map(|s| named("status", &format!("{{\"s\":\"{s}\"}}")))
            .join("\n"),
        ),
        (
            "many-keys",
            named(
                "status",
                &format!(
                    "{{{}}}",
                    (0..40)
                        .map(|n| format!("\"k{}\":{n}", n % 39))
                        .collect::<Vec<_>>()
                        .join(",")
                ),
            ),
        ),
        (
            "reserved-key",
            named(
                "status",
                r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#,
            ),
        ),
    ]);
    seeds.push((
        "invalid-utf8".into(),
        b"{\"id\":\"\xff\"}\n\xc3\x28\n".to_vec(),
    ));
    seeds.push(("incomplete".into(), ok.clone().into_bytes()));
    seeds.push((
        "incomplete-after-frame".into(),
        format!("{ok}\n{{\"pro").into_bytes(),
    ));
    let prompt = named("turn.start", r#"{"session_id":"s-1","prompt":"@"}"#);
    for (name, total) in [("frame-at-bound", 65_536), ("frame-beyond-bound", 65_537)] {
        seeds.push((
            name.into(),
            [padded(&prompt, total), b"\n{}\n".to_vec()].concat(),
        ));
    }
    seeds.push(("endless".into(), padded("@", 70_000)));
    seeds.push(("bottomless".into(), b"[\0\xf0x\n".to_vec()));
    seeds.push((
        "two-large".into(),
        [
            padded(&prompt, 40_000),
            b"\n".to_vec(),
            padded(&prompt, 40_000),
            b"\n".to_vec(),
        ]
        .concat(),
    ));
    seeds
}

fn application_service() -> Seeds {
    let with = |id: &str, session: &str, method: &str, payload: &str| {
        format!(
            r#"{{"protocol_version":1,"kind":"request","request_id":{id}{session},"method":{method},"payload":{payload}}}"#
        )
    };
    let named = |method: &str, payload: &str| with("\"q1\"", "", &format!("\"{method}\""), payload);
    let attached = |method: &str, payload: &str| {
        with(
            "\"q1\"",
            ",\"session_id\":\"s1\"",
            &format!("\"{method}\""),
            payload,
        )
    };
    let ok = named("status", "{}");
    let page = r#"{"after":null,"limit":32}"#;
    let mut seeds = lines(&[
        (
            "initialize",
            named(
                "initialize",
                r#"{"supported_protocol_versions":[1],"requested_capabilities":[]}"#,
            ),
        ),
        (
            "status-and-capabilities",
            format!("{ok}\n{}", named("capabilities", "{}")),
        ),
        (
            "session-list-create",
            format!(
                "{}\n{}",
                named("session.list", page),
                named("session.create", "{}")
            ),
        ),
        ("session-open", attached("session.open", "{}")),
        ("session-replay", attached("session.replay", page)),
        ("session-close", attached("session.close", "{}")),
        (
            "turn-start",
            attached("turn.start", r#"{"prompt":"h\u00e9llo","options":{}}"#),
        ),
        ("turn-cancel", named("turn.cancel", r#"{"turn_id":"t1"}"#)),
        ("auth-status", named("auth.status", "{}")),
        (
            "auth-login",
            format!(
                "{}\n{}\n{}",
                named("auth.login.start", r#"{"provider_id":"openai-codex"}"#),
                named("auth.login.callback", r#"{"login_id":"l1","input":"code"}"#),
                named("auth.login.cancel", r#"{"login_id":"l1"}"#)
            ),
        ),
        (
            "auth-logout",
            named(
                "auth.logout",
                r#"{"provider_id":"anthropic","confirmed":true}"#,
            ),
        ),
        (
            "catalog",
            format!(
                "{}\n{}\n{}",
                named("catalog.providers", r#"{"offset":0,"limit":32}"#),
                named(
                    "catalog.models",
                    r#"{"provider_id":"anthropic","offset":0,"limit":32}"#
                ),
                named("catalog.refresh", r#"{"provider_id":"anthropic"}"#)
            ),
        ),
        (
            "config",
            format!(
                "{}\n{}",
                named("config.get", "{}"),
                named(
                    "config.set",
                    r#"{"scope":"global","selection":{"provider_id":"anthropic","model_id":"m"},"thinking_level":"x_high","fast":true}"#
                )
            ),
        ),
        ("unknown-operation", named("no.such", "{}")),
        ("crlf-and-blank", format!("{ok}\r\n\r\n\n  \n{ok}\r")),
        (
            "unsupported-version",
            ["0", "2", "18446744073709551615"]
                .map(|v| ok.replace(":1,", &format!(":{v},")))
                .join("\n"),
        ),
        (
            "version-kinds",
            ["1.0", "-1", "\"1\"", "null", "99999999999999999999"]
                .map(|v| ok.replace(":1,", &format!(":{v},")))
                .join("\n"),
        ),
        (
            "kinds",
            ["response", "event", "\\u0072equest"]
                .map(|k| ok.replace("\"request\"", &format!("\"{k}\"")))
                .join("\n"),
        ),
        (
            "id-kinds",
            [
                "null",
                "7",
                "\"\"",
                "\"a b\"",
                "\"\\u0001\"",
                "\"\\u0085\"",
                "\"\u{2028}\"",
                "[]",
            ]
            .map(|id| with(id, "", "\"status\"", "{}"))
            .join("\n"),
        ),
        (
            "id-bounds",
            [128, 129]
                .map(|n| with(&format!("\"{}\"", "i".repeat(n)), "", "\"status\"", "{}"))
                .join("\n"),
        ),
        (
            "id-bounds-escaped",
            [64, 65]
                .map(|n| {
                    with(
                        &format!("\"{}\"", "\\u00e9".repeat(n)),
                        "",
                        "\"status\"",
                        "{}",
                    )
                })
                .join("\n"),
        ),
        (
            "session-id-kinds",
            ["null", "7", "\"\"", "\"\\u001b\"", "\"s1\"", "\"../x\""]
                .map(|s| {
                    with(
                        "\"q1\"",
                        &format!(",\"session_id\":{s}"),
                        "\"status\"",
                        "{}",
                    )
                })
                .join("\n"),
        ),
        (
            "method-kinds",
            ["null", "\"\"", "\"a b\"", "[]"]
                .map(|m| with("\"q1\"", "", m, "{}"))
                .join("\n"),
        ),
        (
            "method-bounds",
            [64, 65].map(|n| named(&"m".repeat(n), "{}")).join("\n"),
        ),
        (
            "payload-kinds",
            [
                "null",
                "[]",
                "\"{}\"",
                "0",
                "{\"a\":1,\"a\":2}",
                "{\"a\":{\"b\":0,\"\\u0062\":1}}",
            ]
            .map(|p| named("status", p))
            .join("\n"),
        ),
        ("unknown-field", ok.replace("{}", "{},\"extra\":0")),
        (
            "missing-fields",
            format!(
                "{}\n{}\n{{}}",
                ok.replace(",\"payload\":{}", ""),
                ok.replace("\"kind\":\"request\",", "")
            ),
        ),
        (
            "duplicate-fields",
            format!(
                "{}\n{}",
                ok.replace("\"method\"", "\"request_id\":\"q2\",\"method\""),
                ok.replace("\"method\"", "\"m\\u0065thod\":\"x\",\"method\"")
            ),
        ),
        (
            "depth-bounds",
            [32, 33]
                .map(|d| named("status", &format!("{{\"a\":{}}}", nested(d - 2))))
                .join("\n"),
        ),
        (
            "array-bounds",
            [64, 65]
                .map(|n| named("status", &format!("{{\"a\":[{}]}}", vec!["0"; n].join(","))))
                .join("\n"),
        ),
        (
            "object-bounds",
            [64, 65]
                .map(|n| {
                    named(
                        "status",
                        &format!(
                            "{{{}}}",
                            (0..n)
                                .map(|n| format!("\"{n}\":0"))
                                .collect::<Vec<_>>()
                                .join(",")
                        ),
                    )
                })
                .join("\n"),
        ),
        (
            "not-objects",
            "[]\nnull\n1\n\"x\"\n{\n{}}\n{} {}\nnul\n\u{feff}{}".to_owned(),
        ),
        (
            "reserved-key",
            named(
                "status",
                r#"{"$serde_json::private::RawValue":"{\"a\":1}"}"#,
            ),
        ),
    ]);
    seeds.push((
        "invalid-utf8".into(),
        b"{\"request_id\":\"\xff\"}\n\xc3\x28\n".to_vec(),
    ));
    seeds.push(("incomplete".into(), ok.clone().into_bytes()));
    let prompt = attached("turn.start", r#"{"prompt":"@","options":{}}"#);
    let extra = prompt.len() - 1;
    for (name, total) in [
        ("string-at-bound", extra + 16_384),
        ("string-beyond-bound", extra + 16_385),
    ] {
        seeds.push((
            name.into(),
            [padded(&prompt, total), b"\n".to_vec()].concat(),
        ));
    }
    // Three strings fill a payload that no single one could.
    let payload = |last: usize| {
        let record = named("status", "{\"a\":\"#\",\"b\":\"#\",\"c\":\"@\"}");
        let full = String::from_utf8(padded("@", 12_000)).expect("ASCII and a small count");
        let record = record.replace('#', &full);
        padded(&record, record.len() - 1 + last)
    };
    let rest = 32_768 - 24_000 - r#"{"a":"","b":"","c":""}"#.len();
    for (name, last) in [
        ("payload-at-bound", rest),
        ("payload-beyond-bound", rest + 1),
    ] {
        seeds.push((name.into(), [payload(last), b"\n".to_vec()].concat()));
    }
    // Whitespace counts for the record and not for the payload.
    for (name, total) in [("record-at-bound", 65_535), ("record-beyond-bound", 65_536)] {
        let line = padded_with(b' ', &ok.replace("{}", "{@}"), total);
        seeds.push((
            name.into(),
            [&line, &b"\n"[..], ok.as_bytes(), b"\n"].concat(),
        ));
    }
    seeds.push(("oversize-at-end".into(), padded("@", 70_000)));
    seeds
}

fn mty_agent() -> Seeds {
    let deep = |depth: usize| format!(r#"{{"op":"halt","x":{}}}"#, nested(depth - 1));
    let mut seeds = lines(&[
        ("check", r#"{"op": "check",  "path": "src/main.mty", "include_source": true}"#.into()),
        ("run", r#"{"op":"run","path":"src/main.mty","args":["--","alpha"]}"#.into()),
        ("test", r#"{"op":"test","eval":true,"replay_only":true,"manifest_dir":"tests/"}"#.into()),
        ("inspect", r#"{"op":"inspect","view":"cost","since":"24h","format":"json"}"#.into()),
        ("find", r#"{"op":"find","query":"write files","top":5}"#.into()),
        ("explain", r#"{"op":"explain","code":"MT4099"}"#.into()),
        ("fmt", r#"{"op":"fmt","path":"src/main.mty","check":false}"#.into()),
        ("fix", r#"{"op":"fix","path":"src/main.mty","code":"MT4099","alternative":0,"write":false}"#.into()),
        ("halt", r#"{"op":"halt"}"#.into()),
        ("unknown-keys", r#"{"future":{"a":[1,2]},"op":"halt","hint":null}"#.into()),
        ("unknown-op", r#"{"op":"foo"}"#.into()),
        ("op-kinds", ["null", "5", "\"\"", "[\"halt\"]", "\"h\\u0061lt\"", "\"\\ud800\"", "\"\u{1f600}\\n\""].map(|op| format!("{{\"op\":{op}}}")).join("\n")),
        ("op-through-escape", r#"{"\u006fp":"halt"}"#.into()),
        ("op-twice", r#"{"op":"halt","\u006fp":"check"}"#.into()),
        ("key-twice-in-depth", r#"{"op":"halt","a":[{"b":1,"b":2}]}"#.into()),
        ("missing-op", "{}\n{\"Op\":\"halt\"}".into()),
        ("not-objects", "[]\nnull\n1 2\n\"op\"\ntrue".into()),
        ("malformed", "{\"op\" \"check\"}\n{\"op\":\n{op:1}\n{\"op\":\"x\",}\n{'op':1}\nhalt\n{\"a\":01,\"op\":\"x\"}\n{\"a\":1.,\"op\":\"\"}".into()),
        ("blank-lines", "\n \n\t\r\n{\"op\":\"halt\"}\r\n".into()),
        ("two-on-a-line", r#"{"op":"find","query":"a"} {"op":"halt"}"#.into()),
        ("rest-is-not-json", r#"{"op":"halt"} tail"#.into()),
        ("single-shot", "\n{\n  \"op\": \"explain\",\n  \"code\": \"MT0001\"\n}\n{\"op\":\"halt\"}\n[1]\n".into()),
        ("depth-bounds", [127, 128, 129].map(deep).join("\n")),
        ("depth-before-fault", "[".repeat(200) + "x"),
        ("reserved-key", r#"{"op":"halt","x":{"$serde_json::private::RawValue":"[]"}}"#.into()),
        ("numbers", r#"{"op":"find","top":1e400,"n":-0,"m":99999999999999999999}"#.into()),
        ("byte-order-mark", "\u{feff}{\"op\":\"halt\"}".into()),
    ]);
    seeds.push(("no-line-feed".into(), br#"{"op":"halt"}"#.to_vec()));
    seeds.push((
        "invalid-utf8".into(),
        b"{\"op\":\"\xff\"}\n\xed\xa0\x80\n".to_vec(),
    ));
    seeds.push((
        "long-query".into(),
        [
            padded(r#"{"op":"find","query":"@"}"#, 60_000),
            b"\n".to_vec(),
        ]
        .concat(),
    ));
    seeds.push((
        "bottomless".into(),
        b"{\"op\":\"halt\",\"a\":[\0\xf0\n".to_vec(),
    ));
    seeds.push((
        "long-space".into(),
        b" \0\x20{\"op\":\"halt\"} \0\x20{\"op\":\"halt\"}\n".to_vec(),
    ));
    seeds
}
