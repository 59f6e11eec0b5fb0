//! Bodies over HTTP, both ways: sizes, codings, lengths (spec: "HTTP"; toolchain digest, section 15).
//! Routes and connections are the parent's.

use super::*;

#[test]
fn body_of_8_mib_is_served() {
    let http = HttpServer::start(&[]);
    let (head, tail) = (r#"{"op":"sized","pad":""#, r#""}"#);
    let body = format!(
        "{head}{}{tail}",
        "x".repeat(MIB_8 - head.len() - tail.len())
    );
    assert_eq!(
        ndjson(&http, AGENT, &body)[0].protocol_error(),
        "unknown op: sized"
    );
}

#[test]
fn body_over_8_mib_is_413_in_the_error_shape() {
    let http = HttpServer::start(&[]);
    for path in [AGENT, BATCH] {
        // The length alone decides; the body need not be sent.
        let mut stream = connect(http.address);
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n",
            http.address,
            MIB_8 + 1
        );
        stream.write_all(head.as_bytes()).unwrap();
        let response = read_response(stream);
        assert_too_large(&response);
    }
    let before = http.server.rss_kib();
    let body = vec![b'x'; MIB_8 + 1];
    let response = Request::post(AGENT, &body).send(http.address);
    // A client that sends it all reads the refusal too.
    assert_too_large(&response);
    if let (Some(before), Some(peak)) = (before, http.server.peak_rss_kib()) {
        assert!(peak < before + 12 * 1024, "{before} KiB grew to {peak} KiB");
    }
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
}

#[test]
fn chunked_body_over_8_mib_is_413() {
    let http = HttpServer::start(&[]);
    let mut stream = connect(http.address);
    let head = format!(
        "POST {AGENT} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n",
        http.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    let chunk = format!("10000\r\n{}\r\n", "x".repeat(65_536));
    for _ in 0..(MIB_8 / 65_536) + 1 {
        if stream.write_all(chunk.as_bytes()).is_err() {
            break; // refused already
        }
    }
    let response = read_response(stream);
    assert_too_large(&response);
}

#[test]
fn transfer_coding_that_is_not_undone_is_refused() {
    let http = HttpServer::start(&[]);
    for coding in [
        "gzip, chunked",
        "gzip,chunked",
        "identity, chunked",
        "chunked, chunked",
    ] {
        let mut stream = connect(http.address);
        let request = format!(
            "POST {AGENT} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: {coding}\r\n\r\n{:x}\r\n{EXPLAIN}\r\n0\r\n\r\n",
            http.address,
            EXPLAIN.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let response = read_response(stream);
        assert_eq!(response.status, 501, "{coding}");
        assert_error_shape(&response);
    }
}

#[test]
fn answer_that_is_whole_has_its_length() {
    let http = HttpServer::start(&[]);
    for (path, body) in [
        (AGENT, EXPLAIN),
        (AGENT, UNKNOWN_OP),
        (AGENT, r#"{"op":"find","query":"x"}"#),
        (AGENT, ""),
        (BATCH, ""),
    ] {
        let response = post(&http, path, body);
        assert_eq!(response.status, 200);
        let length = response.body.len().to_string();
        assert_eq!(response.header("content-length"), Some(length.as_str()));
        assert_eq!(response.header("transfer-encoding"), None);
    }
}

#[test]
fn chunked_request_body_is_served() {
    let http = HttpServer::start(&[]);
    let mut stream = connect(http.address);
    let (a, b) = EXPLAIN.split_at(9);
    let request = format!(
        "POST {AGENT} HTTP/1.1\r\nHost: {}\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n",
        http.address,
        a.len(),
        b.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    assert_eq!(Exchange::one(read_response(stream).text()).exit_code(), 0);
}

#[test]
fn expect_100_continue_is_honoured() {
    let http = HttpServer::start(&[]);
    let mut stream = connect(http.address);
    let head = Request::post(AGENT, EXPLAIN.as_bytes())
        .header("Expect", "100-continue")
        .head(http.address);
    stream.write_all(head.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (status, _) = read_head(&mut reader).unwrap();
    assert_eq!(status, 100);
    stream.write_all(EXPLAIN.as_bytes()).unwrap();
    let (status, _) = read_head(&mut reader).unwrap();
    assert_eq!(status, 200);
}

#[test]
fn body_cut_short_runs_nothing() {
    let place = Place::new();
    let record = place.root().join("trace.ndjson");
    let http = HttpServer::start_in(&place, &["--record", record.to_str().unwrap()]);
    let mut stream = connect(http.address);
    let head = format!(
        "POST {AGENT} HTTP/1.1\r\nHost: {}\r\nContent-Length: 500\r\n\r\n{EXPLAIN}",
        http.address
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(!answer.contains("\"result\""), "{answer}");
    assert_eq!(ndjson(&http, AGENT, EXPLAIN).len(), 1);
    wait_for("the recorded pair", || {
        std::fs::read_to_string(&record).is_ok_and(|text| text.ends_with('\n'))
    });
    assert_eq!(std::fs::read_to_string(&record).unwrap().lines().count(), 1);
}

#[test]
fn content_coding_is_415() {
    let http = HttpServer::start(&[]);
    for path in [AGENT, BATCH] {
        for coding in ["gzip", "br", "deflate, gzip", "identity, gzip", "x"] {
            let response = Request::post(path, EXPLAIN.as_bytes())
                .header("Content-Encoding", coding)
                .send(http.address);
            assert_eq!(response.status, 415, "{coding}");
            assert_eq!(response.header("accept-encoding"), Some("identity"));
            assert_error_shape(&response);
        }
        let plain = Request::post(path, EXPLAIN.as_bytes())
            .header("Content-Encoding", "Identity")
            .send(http.address);
        assert_eq!(plain.status, 200);
    }
}

#[test]
fn answers_that_are_complete_soon_have_a_length() {
    let http = HttpServer::start(&[]);
    for (path, body) in [
        (AGENT, EXPLAIN.to_owned()),
        (BATCH, EXPLAIN.to_owned()),
        (
            BATCH,
            format!("{EXPLAIN}\n{UNKNOWN_OP}\n{HALT}\n{EXPLAIN}\n"),
        ),
        (BATCH, String::new()),
    ] {
        let response = post(&http, path, &body);
        let length = response.body.len().to_string();
        assert_eq!(response.header("content-length"), Some(&*length), "{body}");
        assert_eq!(response.header("transfer-encoding"), None);
    }
}
