//! `--record` on every transport: pairs, bytes, append, failures (spec: "Recorded sessions").

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::support::{Place, wait_for};
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
fn pair_is_on_disk_when_the_answer_is_followed_by_another() {
    let place = Place::new();
    let path = trace(&place);
    let mut agent = Agent::spawn(launch(&["--record", path.to_str().unwrap()]).place(&place));
    agent.ask(EXPLAIN);
    agent.ask(EXPLAIN);
    wait_for("the first pair", || {
        std::fs::read_to_string(&path).is_ok_and(|text| text.contains('\n'))
    });
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
