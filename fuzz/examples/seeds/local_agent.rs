//! Requests of local-agent: each method, each refusal of the decoder, each bound from both sides.
//! Bytes by hand; nothing of the product is called.

use super::{Seeds, lines, nested, padded};

pub fn seeds() -> Seeds {
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
            "every-escape",
            named("status", &format!("{{\"s\":\"{}\"}}", escapes())),
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

/// Control characters, and both sides of every length of UTF-8, all as `\u` escapes.
fn escapes() -> String {
    let edges = [
        0x22, 0x2F, 0x5C, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF,
    ];
    let single: String = (0..0x20)
        .chain(edges)
        .map(|code| format!("\\u{code:04x}"))
        .collect();
    single + "\\uD800\\uDC00\\uDBFF\\uDFFF" + "\\b\\f\\n\\r\\t\\/"
}
