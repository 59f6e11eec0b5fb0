//! `check`: envelopes, their places in text that is not ASCII, packages, and files that cannot be checked
//! (spec: "check", "envelope"; toolchain digest, sections 3 to 5).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::Place;
use crate::wire::*;

const MANIFEST: &str = "[package]\nname = \"geo\"\nversion = \"0.1.0\"\nedition = \"2026\"\n";

fn place(files: &[(&str, &str)]) -> Arc<Place> {
    let place = Place::new();
    for (path, text) in files {
        place.write_file(path, text);
    }
    place
}

fn check(place: &Arc<Place>, request: &Value) -> Exchange {
    Agent::spawn(launch(&[]).place(place)).ask(request.to_string())
}

fn of(place: &Arc<Place>, path: &str) -> Exchange {
    check(place, &json!({"op": "check", "path": path}))
}

/// Code, file, line and column of each envelope.
fn places(exchange: &Exchange) -> Vec<String> {
    let envelopes = exchange.of_kind("envelope");
    let place = |e: &Value| {
        let (code, span) = (e["code"].as_str().unwrap(), &e["span"]);
        format!(
            "{code} {}:{}:{}",
            span["file"].as_str().unwrap(),
            span["line"],
            span["col"]
        )
    };
    envelopes.iter().map(place).collect()
}

fn keys(value: &Value, line: &str) -> Vec<String> {
    let mut keys: Vec<(usize, String)> = value
        .as_object()
        .unwrap()
        .keys()
        .map(|k| (line.find(&format!("\"{k}\":")).unwrap(), k.clone()))
        .collect();
    keys.sort();
    keys.into_iter().map(|(_, k)| k).collect()
}

#[test]
fn a_clean_file_has_a_result_and_nothing_else() {
    let place = place(&[("a.mty", "fn main() {\n  log(\"hi\")\n}\n")]);
    let expected =
        r#"{"kind":"result","op":"check","ok":true,"diagnostics_count":0,"fix_count":0}"#;
    assert_eq!(of(&place, "a.mty").lines, [expected, DONE_0]);
}

#[test]
fn an_envelope_is_byte_exact() {
    let place = place(&[("src/é.mty", "// é\nfn f() {\n  let é = 10_\n}\n")]);
    let request = json!({"op": "check", "path": "src/é.mty", "include_source": true});
    let exchange = check(&place, &request);
    assert_eq!(exchange.exit_code(), 1);
    assert_eq!(exchange.lines.len(), 3);
    let envelope = json(&exchange.lines[0]);
    let prose = serde_json::to_string(&envelope["prose"]).unwrap();
    let title = serde_json::to_string(&envelope["title"]).unwrap();
    let fix = &envelope["fix"]["alternatives"][0];
    let (label, rationale) = (&fix["label"], &fix["rationale"]);
    let page = r#""docs/mighty/diagnostics/syntax.md""#;
    let diff = r"--- a/src/é.mty\n+++ b/src/é.mty\n@@ -1,4 +1,4 @@\n // é\n fn f() {\n-  let é = 10_\n+  let é = 10\n }\n";
    let expected = format!(
        concat!(
            r#"{{"kind":"envelope","schema_version":"1.0","code":"MT0006","severity":"error","#,
            r#""span":{{"file":"src/é.mty","line":3,"col":11,"len":3,"byte_start":26,"byte_end":29}},"#,
            r#""title":{},"prose":{},"#,
            r#""fix":{{"kind":"other","confidence":0.9,"alternatives":[{{"label":{},"diff":"{}","rationale":{},"confidence":0.9}}]}},"#,
            r#""see_also":[{}],"source":{{"start_line":2,"lines":["fn f() {{","  let é = 10_","}}"]}}}}"#,
        ),
        title, prose, label, diff, rationale, page
    );
    assert_eq!(exchange.lines[0], expected);
    let text = exchange.result().unwrap();
    assert_eq!(
        (&text["ok"], &text["fix_count"]),
        (&json!(false), &json!(1))
    );
    let told = Agent::start()
        .ask(r#"{"op":"explain","code":"MT0006"}"#)
        .result()
        .unwrap();
    let prose = envelope["prose"].as_str().unwrap();
    assert!(prose.starts_with(told["text"].as_str().unwrap()));
}

#[test]
fn keys_stand_in_the_order_of_the_schema() {
    let place = place(&[("a.mty", "fn f() -> I32 { 6 * }\nfn g() { let n = = 4 }\n")]);
    let exchange = of(&place, "a.mty");
    let lines = exchange
        .lines
        .iter()
        .filter(|l| l.contains(r#""kind":"envelope""#));
    let all = [
        "kind",
        "schema_version",
        "code",
        "severity",
        "span",
        "title",
        "prose",
        "fix",
        "see_also",
    ];
    for line in lines {
        let envelope = json(line);
        let expected: Vec<&str> = all
            .into_iter()
            .filter(|k| *k != "fix" || !envelope["fix"].is_null())
            .collect();
        assert_eq!(keys(&envelope, line), expected);
    }
    let with_fix: Vec<bool> = exchange
        .of_kind("envelope")
        .iter()
        .map(|e| e.get("fix").is_some())
        .collect();
    assert_eq!(with_fix, [false, true]);
}

#[test]
fn offsets_are_those_of_the_file_with_its_crlf() {
    let lf = "// é\nfn f() {\n  let é = 10_\n}\n";
    let place = place(&[("lf.mty", lf), ("crlf.mty", &lf.replace('\n', "\r\n"))]);
    let span = |path: &str| of(&place, path).of_kind("envelope")[0]["span"].clone();
    let (lf, crlf) = (span("lf.mty"), span("crlf.mty"));
    assert_eq!((&lf["line"], &lf["col"]), (&crlf["line"], &crlf["col"]));
    assert_eq!(lf["byte_start"], 26);
    assert_eq!(crlf["byte_start"], 28);
    assert_eq!(crlf["len"], 3);
}

#[test]
fn warnings_alone_are_a_success() {
    let place = place(&[("a.mty", "fn f() { }\nfn f() { log(greetng) }\n")]);
    let exchange = of(&place, "a.mty");
    assert_eq!(places(&exchange), ["MT1090 a.mty:2:4", "MT2021 a.mty:2:14"]);
    assert_eq!(exchange.exit_code(), 0);
    let result = exchange.result().unwrap();
    assert_eq!(
        (&result["ok"], &result["diagnostics_count"]),
        (&json!(true), &json!(2))
    );
    assert!(
        exchange
            .of_kind("envelope")
            .iter()
            .all(|e| e["severity"] == "warning")
    );
}

#[test]
fn a_package_is_checked_as_a_whole() {
    let place = place(&[
        ("pkg/mighty.toml", MANIFEST),
        (
            "pkg/src/main.mty",
            "use geo.shapes.area\nfn main() { log(area(2)) }\n",
        ),
        (
            "pkg/src/shapes.mty",
            "pub fn area(w: I32) -> I32 { let n = w\n  n * 10_ }\n",
        ),
    ]);
    assert_eq!(
        places(&of(&place, "pkg/src/main.mty")),
        ["MT0006 pkg/src/shapes.mty:2:7"]
    );
    place.write_file(
        "pkg/src/shapes.mty",
        "pub fn area(w: I32) -> I32 { w * 10 }\n",
    );
    assert_eq!(of(&place, "pkg/src/main.mty").exit_code(), 0);
    place.write_file("pkg/src/main.mty", "use geo.shapes.aria\nfn main() { }\n");
    let exchange = of(&place, "pkg/src/main.mty");
    assert_eq!(places(&exchange), ["MT2030 pkg/src/main.mty:1:16"]);
}

#[test]
fn what_cannot_be_checked_says_why_and_exits_1() {
    let place = place(&[
        ("dir/x.txt", ""),
        ("bad/mighty.toml", "[package]\nname = 5\n"),
        ("bad/src/main.mty", "fn main() { }\n"),
    ]);
    let work = place.work();
    std::fs::write(work.join("bytes.mty"), b"fn f() { \xff }").unwrap();
    std::os::unix::fs::symlink("loop.mty", work.join("loop.mty")).unwrap();
    let huge = std::fs::File::create(work.join("huge.mty")).unwrap();
    huge.set_len(64 << 20).unwrap();
    let mut agent = Agent::spawn(launch(&[]).place(&place));
    for (path, why) in [
        ("none.mty", "path not found: none.mty"),
        ("dir", "is a directory: dir"),
        ("bytes.mty", "not UTF-8 at byte 9: bytes.mty"),
        ("huge.mty", "file too large, 64 MiB or more: huge.mty"),
        ("loop.mty", "cannot read loop.mty: "),
        ("bad/src/main.mty", "bad/mighty.toml: line 2: "),
        ("", "is a directory: "),
        ("nul\u{0}.mty", "cannot read nul"),
    ] {
        let exchange = agent.ask(json!({"op": "check", "path": path}).to_string());
        assert_eq!(exchange.lines.len(), 2, "{path}: {:?}", exchange.lines);
        assert_eq!(exchange.exit_code(), 1);
        let message = exchange.errors().remove(0);
        assert!(message.starts_with(why), "{path}: {message}");
    }
    let exchange = agent.ask(r#"{"op":"check"}"#);
    assert!(exchange.protocol_error().contains("path"));
    let exchange = agent.ask(r#"{"op":"check","path":"none.mty","include_source":1}"#);
    assert!(exchange.protocol_error().contains("include_source"));
    agent.assert_alive();
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let place = place(&[]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        place.work().join("pipe.mty"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let exchange = of(&place, "pipe.mty");
    assert_eq!(exchange.errors(), ["not a regular file: pipe.mty"]);
}

#[test]
fn single_shot_gives_the_exit_code_of_the_check() {
    let place = place(&[("a.mty", "fn f() { let n = = 4 }\n")]);
    let request = json!({"op": "check", "path": "a.mty"}).to_string();
    let (out, exit) = run(launch(&["--single-shot"]).place(&place), request);
    assert_eq!(exit.code, Some(1));
    assert_eq!(places(&Exchange::one(&out)), ["MT0001 a.mty:1:18"]);
}

#[test]
fn answers_are_the_same_every_time() {
    let place = place(&[(
        "a.mty",
        "fn f() -> I32 { \"x\" }\nfn g(o: Option[I32, Str]) { }\n",
    )]);
    let first = of(&place, "a.mty");
    assert!(first.lines.len() > 3);
    assert_eq!(of(&place, "a.mty").lines, first.lines);
}

/// Bytes of the `envelope` lines, their count, and the last `log` line.
fn amount(exchange: &Exchange) -> (usize, usize, Option<String>) {
    let lines = exchange.lines.iter();
    let envelopes: Vec<_> = lines
        .filter(|l| l.starts_with(r#"{"kind":"envelope""#))
        .collect();
    let last = exchange.of_kind("log").pop();
    let last = last.map(|log| log["text"].as_str().unwrap().to_owned());
    (
        envelopes.iter().map(|l| l.len()).sum(),
        envelopes.len(),
        last,
    )
}

#[test]
fn an_answer_holds_a_mebibyte_of_diagnostics_and_counts_the_rest() {
    let escapes = format!("fn f() {{\n  let s = \"{}\"\n}}\n", "\\q".repeat(6_000));
    let names = format!(
        "fn f() {{\n{}}}\n",
        (0..4_000)
            .map(|at| format!("  log(nobody_{at})\n"))
            .collect::<String>()
    );
    for (text, least) in [
        (escapes, 6_000),
        ("]".repeat(3_000), 1),
        ("}\n".repeat(3_000), 1),
        (names, 4_000),
    ] {
        let place = place(&[("a.mty", &text)]);
        let exchange = of(&place, "a.mty");
        let (bytes, sent, last) = amount(&exchange);
        assert!(bytes <= 1024 * 1024 + sent * 32, "{bytes} bytes of {sent}");
        let count = exchange.result().unwrap()["diagnostics_count"]
            .as_u64()
            .unwrap() as usize;
        assert!(count >= least, "{count}: {:?}", exchange.lines.first());
        let expected = (sent < count).then(|| {
            format!(
                "{} of {count} diagnostics are left out: an answer holds 1 MiB of them",
                count - sent
            )
        });
        assert_eq!(last, expected);
    }
}

#[test]
fn a_diff_repeats_no_long_line() {
    let long = format!("  let n = 10_ // {}\n", "x".repeat(3_000));
    let text = format!("fn f() {{\n{long}}}\n\n\n\n\nfn g() {{ let n = 10_ }}\n");
    let place = place(&[("a.mty", &text)]);
    let envelopes = of(&place, "a.mty").of_kind("envelope");
    let fixed: Vec<bool> = envelopes.iter().map(|e| e["fix"].is_object()).collect();
    assert_eq!(fixed, [false, true]);
}

#[test]
fn a_check_without_memory_for_its_stack_is_an_error() {
    let deep = format!(
        "fn f() {{\n{}let n: I32 = \"x\"\n{}}}\n",
        "{ ".repeat(120),
        " }".repeat(120)
    );
    let place = place(&[("deep.mty", &deep)]);
    assert_eq!(places(&of(&place, "deep.mty")).len(), 1, "it has an error");
    let run = |command: &str| {
        let output = std::process::Command::new("sh")
            .args([
                "-c",
                &format!("ulimit -v 200000; exec \"$0\" {command}"),
                BIN,
            ])
            .current_dir(place.work())
            .env("MC_HOME", place.root().join("home"))
            .output()
            .unwrap();
        let text = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        (output.status.code(), text)
    };
    let why = "the check could not be finished: no memory for the stack of a deeply nested program";
    for command in ["check deep.mty", "check --json deep.mty", "check ."] {
        let (code, text) = run(command);
        assert_eq!(code, Some(1), "{text}");
        assert!(text.contains(why) && !text.contains("ok: "), "{text}");
    }
    let request = r#"{"op":"check","path":"deep.mty"}"#;
    place.write_file("request", request);
    let (code, text) = run("agent --single-shot < request");
    let exchange = Exchange::one(&text);
    assert_eq!(
        (code, exchange.errors()),
        (Some(1), vec![format!("{why}: deep.mty")])
    );
}
