//! `--record` on every transport: pairs, bytes, append, failures (spec: "Recorded sessions").

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::support::{Launch, Place, wait_for};
use crate::wire::*;

const ALL: [&str; 6] = [
    EXPLAIN,
    UNKNOWN_CODE,
    UNKNOWN_OP,
    "{",
    r#"{"op":"find","query":"né\"edle"}"#,
    HALT,
];

fn trace(place: &Arc<Place>) -> PathBuf {
    place.root().join("trace.ndjson")
}

/// Request and response of every recorded line, whose own shape is checked byte for byte.
fn pairs(place: &Arc<Place>) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(trace(place)).unwrap();
    assert!(text.is_empty() || text.ends_with('\n'), "a torn last line");
    text.lines()
        .map(|line| {
            let value: Value = serde_json::from_str(line).unwrap();
            let field = |name: &str| value[name].as_str().unwrap().to_owned();
            let (request, response) = (field("request"), field("response"));
            assert!(line.starts_with(r#"{"request":""#), "{line}");
            assert_eq!(value.as_object().unwrap().len(), 2, "{line}");
            Exchange::one(&response);
            (request, response)
        })
        .collect()
}

fn recorded(place: &Arc<Place>, args: &[&str], stdin: impl Into<Vec<u8>>) -> String {
    let path = trace(place);
    let all = [args, &["--record", path.to_str().unwrap()]].concat();
    let (out, exit) = run(launch(&all).place(place), stdin);
    assert_eq!(exit.stderr, "");
    out
}

#[test]
fn stdio_pairs_are_byte_exact() {
    let place = Place::new();
    let out = recorded(&place, &[], ALL.join("\n") + "\n");
    let pairs = pairs(&place);
    assert_eq!(pairs.len(), ALL.len());
    let requests: Vec<_> = pairs.iter().map(|(request, _)| request.as_str()).collect();
    assert_eq!(requests, ALL);
    let responses: String = pairs
        .iter()
        .map(|(_, response)| response.as_str())
        .collect();
    assert_eq!(responses, out, "every byte of stdout, in order");
}

#[test]
fn recording_does_not_change_the_answers() {
    let place = Place::new();
    let out = recorded(&place, &[], ALL.join("\n") + "\n");
    let (plain, _) = run(launch(&[]).place(&place), ALL.join("\n") + "\n");
    assert_eq!(out, plain);
}

#[test]
fn request_is_recorded_trimmed_and_otherwise_verbatim() {
    let place = Place::new();
    let odd = "{ \"op\" :\t\"explain\", \"zz\":1.0e0, \"code\":\"\\u004dT4099\" }";
    recorded(&place, &[], format!("\n  {odd} \t\r\n\r\n{odd}"));
    let pairs = pairs(&place);
    assert_eq!(
        pairs
            .iter()
            .map(|(request, _)| request.as_str())
            .collect::<Vec<_>>(),
        [odd, odd]
    );
}

#[test]
fn errors_are_recorded_too() {
    let place = Place::new();
    recorded(&place, &[], "nonsense\n[]\n{\"op\":5}\n");
    let pairs = pairs(&place);
    assert_eq!(pairs.len(), 3);
    for (_, response) in &pairs {
        Exchange::one(response).protocol_error();
    }
}

#[test]
fn single_shot_pair_is_byte_exact() {
    let place = Place::new();
    let out = recorded(&place, &["--single-shot"], format!("\n{EXPLAIN}\n"));
    assert_eq!(pairs(&place), [(EXPLAIN.to_owned(), out)]);
}

#[test]
fn recording_appends() {
    let place = Place::new();
    std::fs::write(trace(&place), "").unwrap();
    recorded(&place, &[], format!("{EXPLAIN}\n"));
    let first = std::fs::read(trace(&place)).unwrap();
    recorded(&place, &["--single-shot"], UNKNOWN_CODE);
    let both = std::fs::read(trace(&place)).unwrap();
    assert!(both.starts_with(&first) && both.len() > first.len());
    assert_eq!(pairs(&place).len(), 2);
}

#[test]
fn pair_is_on_file_before_its_done_is_sent() {
    let place = Place::new();
    let path = trace(&place);
    let mut agent = Agent::spawn(launch(&["--record", path.to_str().unwrap()]).place(&place));
    for n in 1..=300 {
        agent.ask(HALT.replace("halt", "no-such-op"));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), n);
    }
}

#[test]
fn pair_behind_an_unterminated_line_begins_afresh() {
    let place = Place::new();
    recorded(&place, &[], format!("{EXPLAIN}\n"));
    let whole = std::fs::read_to_string(trace(&place)).unwrap();
    std::fs::write(trace(&place), whole.trim_end()).unwrap();
    recorded(&place, &[], format!("{UNKNOWN_CODE}\n{EXPLAIN}\n"));
    let pairs = pairs(&place);
    let requests: Vec<_> = pairs.iter().map(|(request, _)| request.as_str()).collect();
    assert_eq!(requests, [EXPLAIN, UNKNOWN_CODE, EXPLAIN]);
    // What was torn stays what it was, on a line of its own.
    std::fs::write(trace(&place), "{\"request\":\"torn").unwrap();
    recorded(&place, &[], format!("{EXPLAIN}\n"));
    let text = std::fs::read_to_string(trace(&place)).unwrap();
    assert_eq!(text, format!("{{\"request\":\"torn\n{whole}"));
}

#[test]
fn file_size_limit_does_not_end_the_session() {
    let place = Place::new();
    let script = "ulimit -f 1; exec \"$0\" \"$@\"";
    let args = ["-c", script, BIN, "agent", "--record", "../trace.ndjson"];
    let launch = Launch::new("/bin/sh", &args).place(&place);
    let (out, exit) = run(launch, format!("{UNKNOWN_OP}\n").repeat(40));
    assert_eq!(exit.code, Some(2), "{:?}", exit.status);
    assert_eq!(Exchange::all(&out).len(), 40, "the session goes on");
    assert!(exit.stderr.contains("recording failed"), "{}", exit.stderr);
    let kept = pairs(&place).len();
    assert!(kept > 0 && kept < 40, "{kept} pairs, and no torn one");
}

#[test]
fn request_over_the_bound_is_no_pair() {
    let place = Place::new();
    let long = "x".repeat((8 << 20) + 1);
    recorded(&place, &[], format!("{long}\n{EXPLAIN}\n"));
    let pairs = pairs(&place);
    assert_eq!(pairs.len(), 1);
    assert_eq!(pairs[0].0, EXPLAIN);
}

#[test]
fn write_failure_only_warns() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let (out, exit) = run(
        launch(&["--record", "/dev/full"]),
        format!("{EXPLAIN}\n{EXPLAIN}\n"),
    );
    assert_eq!(Exchange::all(&out).len(), 2, "the session goes on");
    assert_eq!(exit.code, Some(0));
    assert!(!exit.stderr.trim().is_empty(), "no warning");
}

#[test]
fn unopenable_record_file_only_warns() {
    let place = Place::new();
    let folder = place.work();
    let missing = place.root().join("no/such/folder/trace.ndjson");
    for path in [folder, missing] {
        let (out, exit) = run(
            launch(&["--record", path.to_str().unwrap()]).place(&place),
            format!("{EXPLAIN}\n{EXPLAIN}\n"),
        );
        assert_eq!(Exchange::all(&out).len(), 2, "the session goes on");
        assert_eq!(exit.code, Some(0));
        assert!(!exit.stderr.trim().is_empty(), "no warning");
    }
}

#[cfg(feature = "http")]
mod http {
    use std::io::{Read, Write};

    use super::*;
    use crate::client::Request;
    use crate::server::HttpServer;

    fn start(place: &Arc<Place>) -> HttpServer {
        HttpServer::start_in(place, &["--record", trace(place).to_str().unwrap()])
    }

    fn wait_for_pairs(place: &Arc<Place>, count: usize) -> Vec<(String, String)> {
        wait_for("the recorded pairs", || {
            std::fs::read_to_string(trace(place))
                .is_ok_and(|text| text.ends_with('\n') && text.lines().count() >= count)
        });
        pairs(place)
    }

    #[test]
    fn http_pairs_are_byte_exact() {
        let place = Place::new();
        let http = start(&place);
        let mut expected = Vec::new();
        for request in [
            EXPLAIN,
            UNKNOWN_CODE,
            UNKNOWN_OP,
            "{\n\"op\":\"explain\",\n\"code\":\"1\"}",
        ] {
            let response = Request::post("/v1/agent", request.as_bytes()).send(http.address);
            expected.push((request.to_owned(), response.text().to_owned()));
            wait_for_pairs(&place, expected.len());
        }
        assert_eq!(wait_for_pairs(&place, 4), expected);
    }

    #[test]
    fn http_pair_is_on_file_before_its_done_is_sent() {
        let place = Place::new();
        let http = start(&place);
        let request = Request::post("/v1/agent", UNKNOWN_OP.as_bytes());
        let request = request.head(http.address) + UNKNOWN_OP;
        for n in 1..=200 {
            let mut stream = crate::client::connect(http.address);
            stream.write_all(request.as_bytes()).unwrap();
            let (mut answer, mut chunk) = (Vec::new(), [0; 4096]);
            // Not to the end of the connection: only until `done` is there.
            while !String::from_utf8_lossy(&answer).contains(DONE_2) {
                let read = stream.read(&mut chunk).unwrap();
                assert!(read > 0, "{answer:?}");
                answer.extend_from_slice(&chunk[..read]);
            }
            assert_eq!(pairs(&place).len(), n);
        }
    }

    #[test]
    fn batch_lines_are_separate_pairs() {
        let place = Place::new();
        let http = start(&place);
        let body = format!("{EXPLAIN}\r\n\n{UNKNOWN_OP}\n{HALT}\n{EXPLAIN}\n");
        let response = Request::post("/v1/agent/batch", body.as_bytes()).send(http.address);
        let pairs = wait_for_pairs(&place, 3);
        let requests: Vec<_> = pairs.iter().map(|(request, _)| request.as_str()).collect();
        assert_eq!(requests, [EXPLAIN, UNKNOWN_OP, HALT]);
        let responses: String = pairs
            .iter()
            .map(|(_, response)| response.as_str())
            .collect();
        assert_eq!(responses, response.text());
    }

    #[test]
    fn concurrent_connections_record_whole_lines() {
        let place = Place::new();
        let http = start(&place);
        let address = http.address;
        let threads: Vec<_> = (0..8)
            .map(|_| {
                std::thread::spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(
                            Request::post("/v1/agent", EXPLAIN.as_bytes())
                                .send(address)
                                .status,
                            200
                        );
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let pairs = wait_for_pairs(&place, 160);
        assert_eq!(pairs.len(), 160);
        assert!(pairs.iter().all(|pair| *pair == pairs[0]));
    }
}

#[cfg(feature = "unix")]
#[test]
fn unix_pairs_are_byte_exact() {
    use std::io::{Read, Write};
    let place = Place::new();
    let path = trace(&place);
    let server = crate::server::UnixServer::start_in(&place, &["--record", path.to_str().unwrap()]);
    let mut stream = std::os::unix::net::UnixStream::connect(&server.path).unwrap();
    stream
        .set_read_timeout(Some(crate::support::PATIENCE))
        .unwrap();
    stream
        .write_all((ALL.join("\n") + "\n").as_bytes())
        .unwrap();
    let mut out = String::new();
    stream.read_to_string(&mut out).unwrap();
    wait_for("the recorded pairs", || {
        std::fs::read_to_string(&path)
            .is_ok_and(|text| text.lines().count() == ALL.len() && text.ends_with('\n'))
    });
    let pairs = pairs(&place);
    assert_eq!(
        pairs
            .iter()
            .map(|(request, _)| request.as_str())
            .collect::<Vec<_>>(),
        ALL
    );
    assert_eq!(
        pairs
            .iter()
            .map(|(_, response)| response.as_str())
            .collect::<String>(),
        out
    );
}

#[cfg(feature = "unix")]
#[test]
fn unix_pair_is_on_file_before_its_done_is_sent() {
    use std::io::{BufRead, BufReader, Write};
    let place = Place::new();
    let path = trace(&place);
    let server = crate::server::UnixServer::start_in(&place, &["--record", path.to_str().unwrap()]);
    let mut stream = std::os::unix::net::UnixStream::connect(&server.path).unwrap();
    stream
        .set_read_timeout(Some(crate::support::PATIENCE))
        .unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    for n in 1..=300 {
        stream
            .write_all(format!("{UNKNOWN_OP}\n").as_bytes())
            .unwrap();
        while lines.next().unwrap().unwrap() != DONE_2 {}
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), n);
    }
}
