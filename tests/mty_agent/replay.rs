//! `--replay`: equal, drifted and unusable recordings (spec: "Replay").

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};

use crate::support::{Exit, Place};
use crate::wire::*;

fn record(place: &Arc<Place>, args: &[&str], stdin: impl Into<Vec<u8>>) -> PathBuf {
    let path = place.root().join("trace.ndjson");
    run(
        launch(&[args, &["--record", path.to_str().unwrap()]].concat()).place(place),
        stdin,
    );
    path
}

fn replay(place: &Arc<Place>, path: &Path) -> Exit {
    let (_, exit) = run(
        launch(&["--replay", path.to_str().unwrap()]).place(place),
        "",
    );
    exit
}

fn write(place: &Arc<Place>, content: &str) -> PathBuf {
    let path = place.root().join("trace.ndjson");
    std::fs::write(&path, content).unwrap();
    path
}

#[test]
fn recorded_session_replays_with_exit_0() {
    let place = Place::new();
    place.write_file("a.mty", "needle\n");
    let requests = [
        EXPLAIN,
        UNKNOWN_CODE,
        UNKNOWN_OP,
        "{",
        "[]",
        r#"{"op":"find","query":"needle"}"#,
        r#"{"op":"explain"}"#,
        HALT,
    ];
    let path = record(&place, &[], requests.join("\n") + "\n");
    let before = std::fs::read(&path).unwrap();
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    assert_eq!(std::fs::read(&path).unwrap(), before, "a replay only reads");
}

#[test]
fn broken_lines_replay() {
    let place = Place::new();
    let path = place.root().join("trace.ndjson");
    let mut stdin = Vec::new();
    for line in [
        format!("{EXPLAIN}{HALT}").as_bytes(),
        b"{\"op\":\"caf\xc3\"}",
        b"\xff\xfe",
        "{\"op\":\"\u{fffd}\"}".as_bytes(),
        b"  {\"op\" 5} \t\r",
        b"{\"op\":\"tab\there\"}",
        b"nonsense",
    ] {
        stdin.extend_from_slice(line);
        stdin.push(b'\n');
    }
    run(
        launch(&["--record", path.to_str().unwrap()]).place(&place),
        stdin,
    );
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 7);
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

#[test]
fn appended_sessions_replay_past_a_halt() {
    let place = Place::new();
    record(&place, &[], format!("{EXPLAIN}\n{HALT}\n"));
    let path = record(&place, &[], format!("{UNKNOWN_CODE}\n{HALT}\n"));
    assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    // The pairs behind the first halt are compared too.
    let text = std::fs::read_to_string(&path).unwrap();
    let drifted = text.replace("unknown diagnostic code", "known diagnostic code");
    assert_ne!(text, drifted);
    assert_eq!(replay(&place, &write(&place, &drifted)).code, Some(1));
}

#[test]
fn single_shot_recording_replays() {
    let place = Place::new();
    for body in [
        EXPLAIN.to_owned(),
        "{\n\"op\":\"explain\",\"code\":\"1\"}".to_owned(),
        format!("{EXPLAIN}\n{HALT}"),
        String::new(),
        // Not UTF-8 behind the request, inside an object and outside of one.
        format!("{EXPLAIN} {{\"op\":\"!\"}}"),
        format!("{EXPLAIN} ! {HALT}"),
    ] {
        let bytes: Vec<_> = body
            .bytes()
            .map(|b| if b == b'!' { 0xff } else { b })
            .collect();
        let path = record(&place, &["--single-shot"], bytes);
        let exit = replay(&place, &path);
        assert_eq!(exit.code, Some(0), "{body:?}: {}", exit.stderr);
        std::fs::remove_file(path).unwrap();
    }
}

#[cfg(feature = "http")]
#[test]
fn http_recording_replays() {
    use crate::client::Request;
    let place = Place::new();
    let path = place.root().join("trace.ndjson");
    let http = crate::server::HttpServer::start_in(&place, &["--record", path.to_str().unwrap()]);
    Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address);
    Request::post(
        "/v1/agent",
        "{\n\"op\":\"explain\",\"code\":\"1\"}\n".as_bytes(),
    )
    .send(http.address);
    Request::post(
        "/v1/agent/batch",
        format!("{UNKNOWN_OP}\n{HALT}\n").as_bytes(),
    )
    .send(http.address);
    crate::support::wait_for("the recorded pairs", || {
        std::fs::read_to_string(&path)
            .is_ok_and(|text| text.lines().count() == 4 && text.ends_with('\n'))
    });
    drop(http);
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

/// Which connection a pair belongs to is not recorded: each request of these finds its own session again.
#[cfg(all(feature = "http", feature = "unix", feature = "fix"))]
#[test]
fn recordings_of_several_connections_replay() {
    use crate::client::Request;
    use std::io::{BufRead, BufReader, Write};
    const FIX: &str = r#"{"op":"fix","code":"MT0006","dry_run":true}"#;
    let check = |name: &str| format!(r#"{{"op":"check","path":"{name}.mty"}}"#);
    let place = Place::new();
    place.write_file("a.mty", "fn main() {\n  let n = 10_\n  log(n)\n}\n");
    place.write_file("b.mty", "fn main() {\n  let n = 20_\n  log(n)\n}\n");
    let path = place.root().join("trace.ndjson");
    let args = ["--record", path.to_str().unwrap()];

    let http = crate::server::HttpServer::start_in(&place, &args);
    for body in [check("a").as_str(), FIX] {
        Request::post("/v1/agent", body.as_bytes()).send(http.address);
    }
    let batch = format!("{}\n{FIX}\n", check("b"));
    Request::post("/v1/agent/batch", batch.as_bytes()).send(http.address);
    Request::post("/v1/agent", FIX.as_bytes()).send(http.address);
    drop(http);

    let unix = crate::server::UnixServer::start_in(&place, &args);
    let open = || {
        let stream = std::os::unix::net::UnixStream::connect(&unix.path).unwrap();
        let patience = Some(crate::support::PATIENCE);
        stream.set_read_timeout(patience).unwrap();
        BufReader::new(stream)
    };
    let ask = |connection: &mut BufReader<std::os::unix::net::UnixStream>, line: &str| {
        writeln!(connection.get_mut(), "{line}").unwrap();
        let mut answer = String::new();
        while !answer.contains(r#"{"kind":"done""#) {
            connection.read_line(&mut answer).unwrap();
        }
        answer
    };
    let (mut first, mut second) = (open(), open());
    ask(&mut first, &check("a"));
    ask(&mut second, &check("b"));
    let fixed = [ask(&mut first, FIX), ask(&mut second, FIX)];
    assert!(fixed[0].contains("let n = 10\\n") && fixed[1].contains("let n = 20\\n"));
    drop(unix);

    let text = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text.lines().count(), 9, "{text}");
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    // What no session gives is a drift all the same.
    let drifted = text.replace("let n = 20\\\\n", "let n = 21\\\\n");
    assert_ne!(text, drifted);
    assert_eq!(replay(&place, &write(&place, &drifted)).code, Some(1));
}

#[test]
fn drift_is_exit_1_with_a_summary_on_stderr() {
    let place = Place::new();
    let path = record(
        &place,
        &[],
        format!("{EXPLAIN}\n{UNKNOWN_CODE}\n{UNKNOWN_OP}\n"),
    );
    let text = std::fs::read_to_string(&path).unwrap();
    let mut lines: Vec<Value> = text.lines().map(json).collect();
    // One byte of the second response.
    let response = lines[1]["response"]
        .as_str()
        .unwrap()
        .replacen("MT9999", "MT9998", 1);
    lines[1]["response"] = json!(response);
    let drifted: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let (out, exit) = run(
        launch(&["--replay", write(&place, &drifted).to_str().unwrap()]).place(&place),
        "",
    );
    assert_eq!(exit.code, Some(1));
    assert!(
        exit.stderr.contains('2') && exit.stderr.contains('1'),
        "which pair, how many: {}",
        exit.stderr
    );
    assert!(exit.stderr.len() < 20_000, "a summary");
    assert!(
        !out.contains("\"kind\":\"result\""),
        "the live answers are not the output: {out}"
    );
}

#[test]
fn drift_is_found_in_every_kind_of_difference() {
    let place = Place::new();
    let path = record(&place, &[], format!("{EXPLAIN}\n"));
    let pair = json(std::fs::read_to_string(&path).unwrap().trim_end());
    let response = pair["response"].as_str().unwrap();
    let changed = [
        String::new(),
        response.trim_end().to_owned(),
        format!("{response}\n"),
        response.replace(r#""ok":true"#, r#""ok": true"#),
        response.replace(r#""exit_code":0"#, r#""exit_code":1"#),
        response.lines().last().unwrap().to_owned() + "\n",
    ];
    for response in changed {
        let line = json!({"request": EXPLAIN, "response": response}).to_string() + "\n";
        assert_eq!(
            replay(&place, &write(&place, &line)).code,
            Some(1),
            "{response}"
        );
    }
}

#[test]
fn huge_drift_keeps_the_summary_small() {
    let place = Place::new();
    let line = json!({"request": EXPLAIN, "response": "x".repeat(100_000)}).to_string() + "\n";
    let exit = replay(&place, &write(&place, &line.repeat(40)));
    assert_eq!(exit.code, Some(1));
    assert!(exit.stderr.len() < 100_000, "{} bytes", exit.stderr.len());
}

#[test]
fn missing_file_is_exit_2() {
    let place = Place::new();
    for path in [place.root().join("nothing.ndjson"), place.work()] {
        let exit = replay(&place, &path);
        assert_eq!(exit.code, Some(2));
        assert!(!exit.stderr.is_empty());
    }
}

#[test]
fn bad_line_is_exit_2() {
    let place = Place::new();
    let good = record(&place, &[], format!("{EXPLAIN}\n"));
    let good = std::fs::read_to_string(good).unwrap();
    let drift = json!({"request": EXPLAIN, "response": "drift"}).to_string();
    for bad in [
        "nonsense",
        "[]",
        "{}",
        r#"{"request":"{}"}"#,
        r#"{"response":""}"#,
        r#"{"request":5,"response":""}"#,
        r#"{"request":{"op":"halt"},"response":""}"#,
        r#"{"request":"","response":null}"#,
        r#"{"request":"{}","response":"#,
        "\u{feff}{}",
    ] {
        // Also behind good pairs and behind a drift, which 2 outranks.
        for before in ["", good.as_str(), &format!("{drift}\n")] {
            let exit = replay(&place, &write(&place, &format!("{before}{bad}\n")));
            assert_eq!(
                exit.code,
                Some(2),
                "{bad} after {before:?}: {}",
                exit.stderr
            );
            assert!(!exit.stderr.is_empty());
        }
    }
    std::fs::write(
        place.root().join("trace.ndjson"),
        b"{\"request\":\"\xff\",\"response\":\"\"}\n",
    )
    .unwrap();
    assert_eq!(
        replay(&place, &place.root().join("trace.ndjson")).code,
        Some(2)
    );
}

#[test]
fn empty_file_has_no_drift_and_says_so() {
    let place = Place::new();
    let exit = replay(&place, &write(&place, ""));
    assert_eq!(exit.code, Some(0));
    assert!(exit.stderr.contains("empty"), "{}", exit.stderr);
}

#[test]
fn last_line_sums_up_the_replay() {
    let place = Place::new();
    let path = record(&place, &[], format!("{EXPLAIN}\n{UNKNOWN_OP}\n"));
    let exit = replay(&place, &path);
    assert_eq!(exit.stderr, "0 of 2 responses drifted\n");
    let text = std::fs::read_to_string(&path).unwrap();
    let exit = replay(&place, &write(&place, &text.replace("unknown op", "op")));
    assert_eq!(exit.stderr.lines().last(), Some("1 of 2 responses drifted"));
    assert_eq!(exit.code, Some(1));
}

#[test]
fn replay_does_not_read_stdin() {
    let place = Place::new();
    let path = record(&place, &[], format!("{EXPLAIN}\n"));
    // Stdin stays open: the replay must end by itself.
    let mut server =
        crate::support::Server::spawn(launch(&["--replay", path.to_str().unwrap()]).place(&place));
    assert_eq!(server.wait_exit().code, Some(0));
}

#[cfg(all(feature = "fix", feature = "fmt"))]
#[test]
fn a_replay_writes_only_when_told_to() {
    const BAD: &str = "fn  main() {\n  let n = 10_\n  log(n)\n}\n";
    let place = Place::new();
    place.write_file("a.mty", BAD);
    place.write_file("b.mty", "fn  main() { }\n");
    let requests = [
        r#"{"op":"fix","path":"a.mty","code":"MT0006","write":true}"#,
        r#"{"op":"fmt","path":"b.mty"}"#,
    ];
    let path = record(&place, &[], requests.join("\n") + "\n");
    let file = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    let written = (file("a.mty"), file("b.mty"));
    assert!(!written.0.contains("10_"));
    place.write_file("a.mty", BAD);
    place.write_file("b.mty", "fn  main() { }\n");
    let exit = replay(&place, &path);
    assert_eq!(exit.code, Some(1), "{}", exit.stderr);
    assert!(
        exit.stderr
            .contains("a replay writes nothing without --allow-writes"),
        "{}",
        exit.stderr
    );
    assert_eq!(
        (file("a.mty").as_str(), file("b.mty").as_str()),
        (BAD, "fn  main() { }\n")
    );
    let (_, exit) = run(
        launch(&["--replay", path.to_str().unwrap(), "--allow-writes"]).place(&place),
        "",
    );
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
    assert_eq!((file("a.mty"), file("b.mty")), written);
}
