//! Requests of mty-agent: each method, each refusal of the decoder, each bound from both sides.
//! Bytes by hand; nothing of the product is called.

use super::{Seeds, lines, nested, padded};

pub fn seeds() -> Seeds {
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
