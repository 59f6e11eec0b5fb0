//! The HTTP server under many and under slow clients (spec: limits of `mty`).

use std::io::{BufReader, Read, Write};
use std::time::{Duration, Instant};

use crate::client::{Request, connect, read_head, read_response, try_read_response};
use crate::server::HttpServer;
use crate::support::{Place, wait_for};
use crate::wire::*;

#[test]
fn a_thousand_concurrent_requests_are_all_answered() {
    const REQUESTS: usize = 1_000;
    let http = HttpServer::start(&[]);
    let address = http.address;
    // Every request is on its way before the first answer is read.
    let threads: Vec<_> = (0..8)
        .map(|thread| {
            std::thread::spawn(move || {
                let mut streams = Vec::new();
                for i in 0..REQUESTS / 8 {
                    let body = format!(r#"{{"op":"op-{thread}-{i}"}}"#);
                    let mut stream = connect(address);
                    let request = Request::post("/v1/agent", body.as_bytes()).head(address) + &body;
                    stream.write_all(request.as_bytes()).unwrap();
                    streams.push((i, stream));
                }
                for (i, stream) in streams {
                    let response = try_read_response(stream)
                        .unwrap_or_else(|error| panic!("request {thread}-{i}: {error}"));
                    assert_eq!(response.status, 200);
                    assert_eq!(
                        Exchange::one(response.text()).protocol_error(),
                        format!("unknown op: op-{thread}-{i}")
                    );
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let response = Request::post("/v1/agent", EXPLAIN.as_bytes()).send(address);
    assert_eq!(response.status, 200, "the server goes on");
    if let Some(peak) = http.server.peak_rss_kib() {
        assert!(peak < 64 * 1024, "{peak} KiB");
    }
}

#[test]
fn slow_header_client_is_cut_off_while_others_are_served() {
    let http = HttpServer::start(&[]);
    let started = Instant::now();
    let slow: Vec<_> = (0..20)
        .map(|i| {
            let mut stream = connect(http.address);
            let part = [
                "",
                "P",
                "POST /v1/agent HTTP/1.1\r\nHost: x\r\n",
                "POST /v1/agent HTTP/1.1\r\nX: ",
            ][i % 4];
            stream.write_all(part.as_bytes()).unwrap();
            stream
        })
        .collect();
    for _ in 0..20 {
        let response = Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address);
        assert_eq!(response.status, 200);
    }
    assert!(
        started.elapsed() < Duration::from_secs(9),
        "the others had to wait"
    );
    for mut stream in slow {
        let mut answer = Vec::new();
        // The read's own timeout is far longer: an error of another kind is the server's cut.
        match stream.read_to_end(&mut answer) {
            Ok(_) => {}
            Err(error) => assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}"),
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
    let took = started.elapsed();
    assert!(
        took > Duration::from_secs(5) && took < Duration::from_secs(25),
        "cut after {took:?}"
    );
}

#[test]
fn trickling_headers_do_not_extend_the_deadline() {
    let http = HttpServer::start(&[]);
    let mut stream = connect(http.address);
    stream
        .set_read_timeout(Some(Duration::from_millis(250)))
        .unwrap();
    let started = Instant::now();
    let mut byte = [0];
    stream
        .write_all(b"GET /v1/agent/version HTTP/1.1\r\nX: ")
        .unwrap();
    // One byte a quarter of a second, for ever if it were allowed.
    let cut = loop {
        assert!(
            started.elapsed() < Duration::from_secs(25),
            "the server waits for ever"
        );
        if stream.write_all(b"x").is_err() {
            break started.elapsed();
        }
        match stream.read(&mut byte) {
            Err(error)
                if matches!(
                    error.kind(),
                    std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
                ) => {}
            _ => break started.elapsed(),
        }
    };
    assert!(cut > Duration::from_secs(5), "cut after {cut:?}");
}

#[test]
fn full_house_of_idle_clients_is_cleared() {
    // More idle clients than the server takes at a time: the next one waits, but not for ever.
    let http = HttpServer::start(&[]);
    let idle: Vec<_> = (0..100).map(|_| connect(http.address)).collect();
    let mut stream = connect(http.address);
    let request = Request::post("/v1/agent", EXPLAIN.as_bytes()).head(http.address) + EXPLAIN;
    stream.write_all(request.as_bytes()).unwrap();
    let response = read_response(stream);
    assert_eq!(Exchange::one(response.text()).exit_code(), 0);
    drop(idle);
}

#[test]
fn response_is_streamed_not_buffered() {
    let http = HttpServer::start(&[]);
    let before = http.server.rss_kib();
    // About 60 MB of answer; the client reads its first line and then nothing for a while.
    let one = Exchange::one(
        Request::post("/v1/agent", EXPLAIN.as_bytes())
            .send(http.address)
            .text(),
    );
    let size: usize = one.lines.iter().map(|line| line.len() + 1).sum();
    let count = (60 << 20) / size;
    let body = format!("{EXPLAIN}\n").repeat(count);
    assert!(body.len() < 8 << 20, "the whole batch fits a body");
    let mut stream = connect(http.address);
    stream
        .write_all(
            Request::post("/v1/agent/batch", body.as_bytes())
                .head(http.address)
                .as_bytes(),
        )
        .unwrap();
    stream.write_all(body.as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let (status, _) = read_head(&mut reader).unwrap();
    assert_eq!(status, 200);
    let mut first = vec![0; 4096];
    reader.read_exact(&mut first).unwrap();
    let (mut last, mut quiet) = (0, 0);
    wait_for("the server to stand still", || {
        let now = http.server.peak_rss_kib().unwrap_or(0);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
        quiet > 200
    });
    if let (Some(before), Some(peak)) = (before, http.server.peak_rss_kib()) {
        // The request body itself may be held; sixty megabytes of answer may not.
        assert!(peak < before + 24 * 1024, "{before} KiB grew to {peak} KiB");
    }
    // Others are served meanwhile.
    let response = Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address);
    assert_eq!(response.status, 200);
}

/// A file whose check takes a while.
fn large_program(place: &Place) -> String {
    let body: String = (0..60_000)
        .map(|i| format!("fn f{i}(n: I32) -> I32 {{\n    let m = n + {i}\n    m * n\n}}\n"))
        .collect();
    place.write_file("large.mty", &body);
    let path = place.work().join("large.mty");
    serde_json::json!({"op": "check", "path": path}).to_string()
}

/// Threads of a process, where the system tells.
fn threads(server: &crate::support::Server) -> Option<usize> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.pid())).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("Threads:"))?;
    line.trim().parse().ok()
}

#[test]
fn requests_that_were_abandoned_stop_their_work() {
    let place = Place::new();
    let http = HttpServer::start_in(&place, &[]);
    let check = large_program(&place);
    let idle = threads(&http.server);
    for _ in 0..100 {
        let mut stream = connect(http.address);
        let request = Request::post("/v1/agent", check.as_bytes()).head(http.address) + &check;
        stream.write_all(request.as_bytes()).unwrap();
        // Long enough for most to begin.
        std::thread::sleep(Duration::from_millis(2));
        drop(stream);
        if let Some(now) = threads(&http.server) {
            // Sixteen at most for what blocks, and a deep program's own beside each.
            assert!(now <= 40, "{now} threads");
        }
    }
    let response = Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address);
    assert_eq!(response.status, 200, "others are served");
    wait_for("the work of the abandoned requests to end", || {
        threads(&http.server) <= idle
    });
    if let Some(peak) = http.server.peak_rss_kib() {
        assert!(peak < 1024 * 1024, "{peak} KiB");
    }
}

#[test]
fn slow_headers_and_bodies_take_no_place_from_others() {
    let http = HttpServer::start(&[]);
    let head = Request::post("/v1/agent", EXPLAIN.as_bytes()).head(http.address);
    let slow: Vec<_> = (0..300)
        .map(|i| {
            let mut stream = connect(http.address);
            let part = ["POST /v1/agent HTTP/1.1\r\nHo", &*head][i % 2];
            stream.write_all(part.as_bytes()).unwrap();
            stream
        })
        .collect();
    // Far sooner than the first of them is cut off, which takes ten seconds.
    let started = Instant::now();
    for _ in 0..20 {
        let response = Request::post("/v1/agent", EXPLAIN.as_bytes()).send(http.address);
        assert_eq!(response.status, 200);
    }
    assert!(
        started.elapsed() < Duration::from_secs(8),
        "{:?}",
        started.elapsed()
    );
    drop(slow);
}
