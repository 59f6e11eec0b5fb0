//! Requests of application-service: each method, each refusal of the decoder, each bound from both sides.
//! Bytes by hand; nothing of the product is called.

use super::{Seeds, lines, nested, padded, padded_with};

pub fn seeds() -> Seeds {
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
