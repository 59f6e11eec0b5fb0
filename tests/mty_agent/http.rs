//! HTTP routes, bodies and connection rules (spec: "HTTP"; toolchain digest, section 15).
//! Authorization stands in `auth`, pressure in `http_load`.

use std::io::{BufReader, Read, Write};
use std::net::{Shutdown, TcpListener};

use crate::client::{Request, Response, connect, free_address, read_head, read_response};
use crate::server::HttpServer;
use crate::support::{Place, wait_for};
use crate::wire::*;

#[path = "http_bodies.rs"]
mod bodies;

const AGENT: &str = "/v1/agent";
const BATCH: &str = "/v1/agent/batch";
const VERSION: &str = "/v1/agent/version";
const MIB_8: usize = 8 * 1024 * 1024;

fn post(http: &HttpServer, path: &str, body: &str) -> Response {
    let response = Request::post(path, body.as_bytes()).send(http.address);
    assert!(response.closed, "the connection stays open");
    response
}

fn ndjson(http: &HttpServer, path: &str, body: &str) -> Vec<Exchange> {
    let response = post(http, path, body);
    assert_eq!(response.status, 200, "{}", response.text());
    assert_eq!(
        response.header("content-type"),
        Some("application/x-ndjson")
    );
    Exchange::all(response.text())
}

/// The answer to a body over the bound: a whole exchange, as on the other transports.
fn assert_too_large(response: &Response) {
    assert_eq!(response.status, 413);
    assert_eq!(
        response.header("content-type"),
        Some("application/x-ndjson")
    );
    Exchange::one(response.text()).protocol_error();
    assert!(response.closed, "the connection stays open");
}

/// The error shape of everything that is refused above the op level.
pub(crate) fn assert_error_shape(response: &Response) {
    let body = response.text();
    let line = body.strip_suffix('\n').unwrap_or(body);
    assert!(line.starts_with(r#"{"kind":"error","message":""#), "{body}");
    check_line(line);
    assert!(response.closed, "the connection stays open");
}

#[test]
fn agent_route_answers_ndjson() {
    let http = HttpServer::start(&[]);
    for body in [
        EXPLAIN.to_owned(),
        format!("{EXPLAIN}\n"),
        format!("\n {EXPLAIN} \r\n"),
    ] {
        let exchanges = ndjson(&http, AGENT, &body);
        assert_eq!(exchanges.len(), 1);
        assert_eq!(exchanges[0].result().unwrap()["code"], "MT4099");
    }
}

#[test]
fn answers_are_those_of_stdio() {
    let http = HttpServer::start(&[]);
    for request in [
        EXPLAIN,
        UNKNOWN_CODE,
        UNKNOWN_OP,
        HALT,
        "{",
        "[]",
        r#"{"op":"find","query":"x"}"#,
    ] {
        let (stdio, _) = run(launch(&[]), format!("{request}\n"));
        let response = post(&http, AGENT, request);
        assert_eq!(response.text(), stdio, "{request}");
    }
}

#[test]
fn agent_body_may_span_lines_and_later_objects_are_errors() {
    let http = HttpServer::start(&[]);
    let exchange = &ndjson(
        &http,
        AGENT,
        "{\n\"op\":\n\"explain\",\"code\":\"MT4099\"}\n",
    )[0];
    assert_eq!(exchange.exit_code(), 0);
    let exchanges = ndjson(&http, AGENT, &format!("{EXPLAIN}\n{HALT}\n"));
    assert_eq!(exchanges.len(), 1, "one request a body");
    assert_eq!(exchanges[0].errors().len(), 1, "{exchanges:?}");
}

#[test]
fn empty_body_is_an_error_line() {
    let http = HttpServer::start(&[]);
    assert_eq!(ndjson(&http, AGENT, "")[0].exit_code(), 2);
    // A batch of nothing has nothing to answer.
    assert!(ndjson(&http, BATCH, "").is_empty());
    assert!(ndjson(&http, BATCH, "\n\n").is_empty());
}

#[test]
fn batch_answers_in_request_order() {
    let http = HttpServer::start(&[]);
    let body: String = (0..200)
        .map(|i| format!("{{\"op\":\"op-{i}\"}}\n\n"))
        .collect();
    let exchanges = ndjson(&http, BATCH, &(body + EXPLAIN));
    assert_eq!(exchanges.len(), 201);
    for (i, exchange) in exchanges[..200].iter().enumerate() {
        assert_eq!(exchange.protocol_error(), format!("unknown op: op-{i}"));
    }
    assert_eq!(exchanges[200].result().unwrap()["op"], "explain");
}

#[test]
fn batch_goes_on_after_bad_lines() {
    let http = HttpServer::start(&[]);
    let exchanges = ndjson(&http, BATCH, &format!("{{\n[]\n{EXPLAIN}\r\n"));
    let codes: Vec<_> = exchanges.iter().map(Exchange::exit_code).collect();
    assert_eq!(codes, [2, 2, 0]);
}

#[test]
fn halt_in_a_batch_ends_only_that_batch() {
    let http = HttpServer::start(&[]);
    let exchanges = ndjson(
        &http,
        BATCH,
        &format!("{EXPLAIN}\n{HALT}\n{EXPLAIN}\n{UNKNOWN_OP}\n"),
    );
    assert_eq!(exchanges.len(), 2, "{exchanges:?}");
    assert_eq!(exchanges[1].lines, [HALTED, DONE_0]);
    assert_eq!(ndjson(&http, AGENT, HALT)[0].lines, [HALTED, DONE_0]);
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1, "the server goes on");
}

#[test]
fn version_route_has_the_documented_body() {
    let http = HttpServer::start(&[]);
    let response = Request::new("GET", VERSION).send(http.address);
    assert_eq!(
        (response.status, response.header("content-type")),
        (200, Some("application/json"))
    );
    let expected = format!(
        r#"{{"mty_version":"{}","agent_protocol":"1.0"}}"#,
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(response.text().trim_end(), expected);
    assert!(response.closed);
}

#[test]
fn version_equals_the_command_line_s() {
    let (out, exit) = run(crate::support::Launch::new(BIN, &["-V"]), "");
    assert_eq!(exit.code, Some(0));
    let http = HttpServer::start(&[]);
    let response = Request::new("GET", VERSION).send(http.address);
    let version = json(response.text())["mty_version"]
        .as_str()
        .unwrap()
        .to_owned();
    assert_eq!(out.split_whitespace().last(), Some(version.as_str()));
}

#[test]
fn failed_operations_keep_status_200() {
    let http = HttpServer::start(&[]);
    for (request, code) in [
        (UNKNOWN_CODE, 1),
        (UNKNOWN_OP, 2),
        ("{", 2),
        ("\u{feff}", 2),
    ] {
        assert_eq!(
            ndjson(&http, AGENT, request)[0].exit_code(),
            code,
            "{request}"
        );
    }
}

#[test]
fn unknown_path_is_404_in_the_error_shape() {
    let http = HttpServer::start(&[]);
    for path in [
        "/",
        "/v1",
        "/v1/agent/",
        "/v1/agents",
        "/v1/agent/batch/x",
        "/V1/agent",
        "/v2/agent",
        "/v1/agent/../agent",
        "/%761/agent",
    ] {
        for request in [
            Request::post(path, EXPLAIN.as_bytes()),
            Request::new("GET", path),
        ] {
            let response = request.send(http.address);
            assert_eq!(response.status, 404, "{path}");
            assert_error_shape(&response);
        }
    }
}

#[test]
fn query_strings_do_not_change_the_route() {
    let http = HttpServer::start(&[]);
    let response = Request::new("GET", "/v1/agent/version?x=1").send(http.address);
    assert_eq!(response.status, 200);
}

#[test]
fn wrong_method_is_405_in_the_error_shape() {
    let http = HttpServer::start(&[]);
    for (method, path) in [
        ("GET", AGENT),
        ("PUT", AGENT),
        ("DELETE", BATCH),
        ("GET", BATCH),
        ("POST", VERSION),
        ("OPTIONS", AGENT),
        ("PATCH", VERSION),
    ] {
        let response = Request::new(method, path).send(http.address);
        assert_eq!(response.status, 405, "{method} {path}");
        assert_error_shape(&response);
    }
}

#[test]
fn refusals_are_json() {
    let http = HttpServer::start(&[]);
    let response = Request::new("GET", "/nothing").send(http.address);
    assert_eq!(response.header("content-type"), Some("application/json"));
}

#[test]
fn connection_closes_after_one_response() {
    let http = HttpServer::start(&[]);
    // Two requests on one connection, `keep-alive` asked for: one response, then the end.
    let mut stream = connect(http.address);
    let head = Request::new("GET", VERSION)
        .header("Connection", "keep-alive")
        .head(http.address);
    stream.write_all(head.repeat(2).as_bytes()).unwrap();
    let response = read_response(stream);
    assert_eq!(response.status, 200);
    assert!(response.closed, "a second response");
    assert_eq!(
        response
            .header("connection")
            .map(str::to_ascii_lowercase)
            .as_deref(),
        Some("close")
    );
}

#[test]
fn concurrent_connections_do_not_share_state() {
    let http = HttpServer::start(&[]);
    let mut streams = Vec::new();
    for i in 0..10 {
        let request = format!(r#"{{"op":"op-{i}"}}"#);
        let mut stream = connect(http.address);
        stream
            .write_all(
                Request::post(AGENT, request.as_bytes())
                    .head(http.address)
                    .as_bytes(),
            )
            .unwrap();
        streams.push((stream, request));
    }
    // The bodies arrive in the opposite order of the heads.
    for (stream, request) in streams.iter_mut().rev() {
        stream.write_all(request.as_bytes()).unwrap();
    }
    for (i, (stream, _)) in streams.into_iter().enumerate() {
        let response = read_response(stream);
        assert_eq!(
            Exchange::one(response.text()).protocol_error(),
            format!("unknown op: op-{i}")
        );
    }
}

#[test]
fn port_is_short_for_a_loopback_listen() {
    let address = free_address();
    let port = address.port().to_string();
    let http = HttpServer::wait(launch(&["--transport", "http", "--port", &port]), address)
        .expect("it listens");
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
}

#[test]
fn listen_wins_over_port() {
    let (address, other) = (free_address(), free_address());
    let (listen, port) = (address.to_string(), other.port().to_string());
    let launch = launch(&["--transport", "http", "--port", &port, "--listen", &listen]);
    let http = HttpServer::wait(launch, address).expect("it listens");
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
    // Nobody holds the other port.
    TcpListener::bind(other).expect("the port of --port is free");
}

#[test]
fn bind_failure_is_an_error_line_and_exit_2() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (out, exit) = run(launch(&["--transport", "http", "--listen", &address]), "");
    assert_eq!(exit.code, Some(2), "{}", exit.stderr);
    let line = out.strip_suffix('\n').expect("one line");
    assert!(
        line.starts_with(r#"{"kind":"error","message":""#) && !line.contains('\n'),
        "{out}"
    );
    check_line(line);
}

#[test]
fn version_answers_head_like_get() {
    let http = HttpServer::start(&[]);
    let got = Request::new("GET", VERSION).send(http.address);
    let mut stream = connect(http.address);
    let head = Request::new("HEAD", VERSION).head(http.address);
    stream.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let length = format!("content-length: {}\r\n", got.body.len());
    assert!(answer.contains(&length), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "a body: {answer}");
    let refused = Request::post(VERSION, b"").send(http.address);
    assert_eq!(refused.header("allow"), Some("GET, HEAD"));
}

#[test]
fn garbage_instead_of_http_ends_the_connection_only() {
    let http = HttpServer::start(&[]);
    let long_path = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    let many_headers = format!(
        "GET {VERSION} HTTP/1.1\r\n{}\r\n",
        "a: b\r\n".repeat(50_000)
    );
    let cases = [
        "\r\n\r\nnonsense\r\n\r\n",
        "GET\r\n\r\n",
        "\0\0\0\0\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "{\"op\":\"halt\"}\n\n",
        &long_path,
        &many_headers,
    ];
    for case in cases {
        let mut stream = connect(http.address);
        let _ = stream.write_all(case.as_bytes());
        let _ = stream.shutdown(Shutdown::Write);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 4"),
            "{answer}"
        );
    }
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
}

#[test]
fn http2_preface_is_refused() {
    let http = HttpServer::start(&[]);
    let mut stream = connect(http.address);
    let _ = stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    assert!(
        answer.is_empty() || answer.starts_with(b"HTTP/1.1 4"),
        "{}",
        String::from_utf8_lossy(&answer)
    );
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
}

/// Sends bytes as they are and reads the response.
fn raw(http: &HttpServer, bytes: &[u8]) -> Response {
    let mut stream = connect(http.address);
    stream.write_all(bytes).unwrap();
    read_response(stream)
}

#[test]
fn a_request_without_one_host_is_400() {
    let http = HttpServer::start(&[]);
    let with_token = HttpServer::start(&["--auth-token", "s3cret"]);
    let length = EXPLAIN.len();
    for http in [&http, &with_token] {
        let address = http.address;
        for head in [
            format!("POST {AGENT} HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{EXPLAIN}"),
            format!("GET {VERSION} HTTP/1.1\r\n\r\n"),
            format!("GET {VERSION} HTTP/1.1\r\nHost: {address}\r\nHost: {address}\r\n\r\n"),
            format!("GET {VERSION} HTTP/1.1\r\nHost: {address}\r\nHost: example.org\r\n\r\n"),
        ] {
            let response = raw(http, head.as_bytes());
            assert_eq!(response.status, 400, "{head}");
            assert_error_shape(&response);
        }
    }
    let mut stream = connect(http.address);
    let old = format!("GET {VERSION} HTTP/1.0\r\n\r\n");
    stream.write_all(old.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.0 200 "), "{answer}");
}

#[test]
fn what_is_no_request_gets_the_error_shape() {
    let http = HttpServer::start(&[]);
    let long_header = format!(
        "GET / HTTP/1.1\r\nHost: x\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(200));
    for (bytes, status) in [
        (&b"hello\r\n\r\n"[..], 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
            400,
        ),
        (
            b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
        ),
        (b"GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/3.7\r\nHost: x\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (long_header.as_bytes(), 431),
        (many.as_bytes(), 431),
    ] {
        let mut stream = connect(http.address);
        // A server that refuses early may close before it has read everything.
        let _ = stream.write_all(bytes);
        let response = read_response(stream);
        let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(60)]).into_owned();
        assert_eq!(response.status, status, "{shown:?}");
        assert_eq!(response.header("content-type"), Some("application/json"));
        assert!(response.header("content-length").is_some(), "{shown:?}");
        assert_error_shape(&response);
    }
    assert_eq!(
        post(&http, AGENT, EXPLAIN).status,
        200,
        "the server goes on"
    );
}
