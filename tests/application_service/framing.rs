//! Records and their ends: sizes, newlines, blank and broken ones (spec: "Launch and streams").
//! Envelopes and what stands in them belong to the other modules.

use serde_json::{Value, json};

use crate::client::{RECORD, Service, code, padded, record, request, version_1};

fn assert_uncorrelated(response: &Value, expected: &str) {
    assert_eq!(code(response), expected);
    for identity in ["request_id", "session_id", "method"] {
        assert_eq!(response[identity], Value::Null, "{response}");
    }
}

#[test]
fn record_of_the_limit_is_served() {
    let mut service = Service::ready();
    let response = service.raw(padded("full", RECORD, b"\n"));
    assert_eq!(
        (&response["request_id"], &response["error"]),
        (&json!("full"), &Value::Null)
    );
    service.assert_alive();
}

#[test]
fn one_byte_more_is_record_too_large_once_and_the_next_record_is_served() {
    let mut service = Service::ready();
    let mut bytes = padded("over", RECORD + 1, b"\n");
    bytes.extend(record("next", "status", &json!({})));
    let response = service.raw(bytes);
    assert_uncorrelated(&response, "record_too_large");
    let next = service.recv();
    assert_eq!(
        (&next["request_id"], &next["error"]),
        (&json!("next"), &Value::Null)
    );
    service.assert_alive();
}

#[test]
fn carriage_return_counts_toward_the_record() {
    let mut service = Service::ready();
    let response = service.raw(padded("full", RECORD, b"\r\n"));
    assert_eq!(response["request_id"], "full");
    let response = service.raw(padded("over", RECORD + 1, b"\r\n"));
    assert_uncorrelated(&response, "record_too_large");
    service.assert_alive();
}

#[test]
fn megabytes_long_record_is_discarded_through_its_newline() {
    let mut service = Service::ready();
    let before = service.server.rss_kib();
    // Blocks that would be requests of their own if discarding stopped before the newline.
    let block = serde_json::to_vec(&request("inner", "status", &json!({}))).unwrap();
    let mut bytes = block.repeat((24 << 20) / block.len());
    bytes.push(b'\n');
    let response = service.raw(bytes);
    assert_uncorrelated(&response, "record_too_large");
    service.assert_alive();
    if let (Some(before), Some(peak)) = (before, service.server.peak_rss_kib()) {
        assert!(
            peak < before + 3 * 1024,
            "discarding grew memory from {before} to {peak} KiB"
        );
    }
}

#[test]
fn oversized_record_in_pieces_is_answered_once() {
    let mut service = Service::ready();
    service.server.send(vec![b'x'; RECORD]);
    service.server.send(vec![b'x'; RECORD]);
    service.server.send("\n");
    assert_uncorrelated(&service.recv(), "record_too_large");
    service.assert_alive();
}

#[test]
fn lf_and_crlf_records_are_served() {
    let mut service = Service::start();
    let mut bytes = record("lf", "initialize", &version_1());
    let crlf = serde_json::to_string(&request("crlf", "status", &json!({}))).unwrap();
    bytes.extend(format!("{crlf}\r\n").bytes());
    bytes.extend(record("again", "status", &json!({})));
    service.server.send(bytes);
    for id in ["lf", "crlf", "again"] {
        let response = service.recv();
        assert_eq!(
            (&response["request_id"], &response["error"]),
            (&json!(id), &Value::Null)
        );
    }
}

#[test]
fn blank_records_are_invalid_json() {
    let mut service = Service::start();
    for blank in ["\n", "\r\n", " \n", "\t \t\r\n"] {
        let response = service.raw(blank);
        assert_uncorrelated(&response, "invalid_json");
    }
    service.assert_alive();
}

#[test]
fn malformed_records_are_invalid_json_and_the_loop_goes_on() {
    let mut service = Service::start();
    let whole = serde_json::to_string(&request("id-1", "initialize", &version_1())).unwrap();
    let cut = &whole[..whole.len() - 1];
    let cases = [
        "{".to_owned(),
        "nonsense".to_owned(),
        "\u{feff}{}".to_owned(),
        "{'a':1}".to_owned(),
        "{\"a\":01}".to_owned(),
        "{\"a\":\"\t\"}".to_owned(),
        "{\"a\":\"\\ud800\"}".to_owned(),
        "{\"a\":NaN}".to_owned(),
        cut.to_owned(),
        format!("{cut},}}"),
        format!("{whole}{whole}"),
        format!("{whole} x"),
        format!("// c\t{whole}"),
    ];
    for case in cases {
        let response = service.raw(format!("{case}\n"));
        assert_uncorrelated(&response, "invalid_json");
    }
    service.assert_alive();
}

#[test]
fn invalid_utf8_is_invalid_json() {
    let mut service = Service::start();
    for bad in [
        &b"\xff"[..],
        b"\xc3",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf5\x80\x80\x80",
    ] {
        let mut line = b"{\"protocol_version\":1,\"kind\":\"request\",\"request_id\":\"".to_vec();
        line.extend_from_slice(bad);
        line.extend_from_slice(b"\",\"method\":\"status\",\"payload\":{}}\n");
        let response = service.raw(line);
        assert_uncorrelated(&response, "invalid_json");
    }
    service.assert_alive();
}

#[test]
fn unterminated_last_record_is_not_executed() {
    let mut service = Service::start();
    let mut bytes = record("whole", "initialize", &version_1());
    bytes.extend(serde_json::to_vec(&request("cut", "status", &json!({}))).unwrap());
    let first = service.raw(bytes);
    assert_eq!(first["request_id"], "whole");
    service.server.close_stdin();
    let answer = service.recv();
    assert_uncorrelated(&answer, "invalid_json");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn unterminated_oversized_record_is_answered_once() {
    let mut service = Service::start();
    service.server.send(vec![b'['; 3 * RECORD]);
    service.server.close_stdin();
    assert_uncorrelated(&service.recv(), "record_too_large");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn slow_writer_is_served_byte_by_byte() {
    let mut service = Service::start();
    for byte in record("slow", "initialize", &version_1()) {
        service.server.send([byte]);
    }
    let response = service.recv();
    assert_eq!(
        (&response["request_id"], &response["error"]),
        (&json!("slow"), &Value::Null)
    );
}

#[test]
fn hostile_records_never_stop_the_loop() {
    let mut service = Service::start();
    let mut cases: Vec<Vec<u8>> = vec![
        b"null".to_vec(),
        b"[]".to_vec(),
        b"\"text\"".to_vec(),
        b"1e999999".to_vec(),
        b"{}".to_vec(),
        b"{\"\":{}}".to_vec(),
        b"\0\0\0".to_vec(),
        b"{\"request_id\":{\"a\":[]},\"method\":null}".to_vec(),
        vec![b'['; RECORD - 1],
        b"[".iter()
            .chain(b"{\"a\":[")
            .cycle()
            .take(RECORD - 1)
            .copied()
            .collect(),
        [b"\"".as_slice(), &b"\\u0000".repeat(10_000), b"\""].concat(),
    ];
    // Every prefix of a good request, and the request with each byte damaged.
    let good = serde_json::to_vec(&request("g", "status", &json!({}))).unwrap();
    for end in 1..good.len() {
        cases.push(good[..end].to_vec());
        let mut damaged = good.clone();
        damaged[end] = 0x80;
        cases.push(damaged);
    }
    for case in &cases {
        let mut line = case.clone();
        line.push(b'\n');
        let response = service.raw(line);
        assert!(
            response["error"].is_object(),
            "{}: {response}",
            String::from_utf8_lossy(case)
        );
    }
    service.assert_alive();
    assert_eq!(service.finish().code, Some(0));
}
