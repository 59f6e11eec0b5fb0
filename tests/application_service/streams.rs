//! The streams as a whole: order, completeness, ends, memory (spec: "Launch and streams").
//! Nothing here looks at what a method answers beyond its identity.

use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::client::{RECORD, Service, assert_response_shape, launch, record, version_1};
use crate::support::{Server, wait_for};

/// Memory that a pile of answers or requests may cost, in KiB.
const SLACK_KIB: u64 = 3 * 1024;

#[test]
fn responses_are_flushed_before_the_next_request() {
    let mut service = Service::start();
    // `call` waits for each answer while stdin stays open and silent.
    service.initialize();
    for _ in 0..20 {
        service.ok("status", &json!({}));
    }
}

#[test]
fn answers_come_in_request_order() {
    let mut service = Service::start();
    let mut bytes = record("r0", "initialize", &version_1());
    bytes.extend(record("r1", "status", &json!({})));
    bytes.extend(b"broken\n");
    bytes.extend(record("r3", "no.such", &json!({})));
    bytes.extend(vec![b'x'; RECORD + 10]);
    bytes.push(b'\n');
    bytes.extend(record("r5", "capabilities", &json!({})));
    service.server.send(bytes);
    for expected in [
        json!("r0"),
        json!("r1"),
        Value::Null,
        json!("r3"),
        Value::Null,
        json!("r5"),
    ] {
        assert_eq!(service.recv()["request_id"], expected);
    }
}

#[test]
fn three_thousand_pipelined_requests_are_all_answered() {
    let mut service = Service::ready();
    let bytes: Vec<u8> = (0..3_000)
        .flat_map(|i| record(&format!("p{i}"), "status", &json!({})))
        .collect();
    service.server.send(bytes);
    for i in 0..3_000 {
        let response = service.recv();
        assert_eq!(
            (&response["request_id"], &response["error"]),
            (&json!(format!("p{i}")), &Value::Null)
        );
    }
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn many_requests_keep_memory_flat() {
    let mut service = Service::ready();
    let mut warm = None;
    for round in 0..25 {
        let bytes: Vec<u8> = (0..400)
            .flat_map(|i| record(&format!("m{round}-{i}"), "status", &json!({})))
            .collect();
        service.server.send(bytes);
        for _ in 0..400 {
            service.recv();
        }
        if round == 2 {
            warm = service.server.rss_kib();
        }
    }
    if let (Some(warm), Some(now)) = (warm, service.server.rss_kib()) {
        assert!(now < warm + SLACK_KIB, "{warm} KiB grew to {now} KiB");
    }
}

#[test]
#[ignore = "some seconds of a busy machine; run it with --ignored"]
fn hundred_thousand_requests_keep_memory_flat() {
    let mut service = Service::ready();
    let mut warm = None;
    for round in 0..100 {
        let bytes: Vec<u8> = (0..1_000)
            .flat_map(|i| record(&format!("m{round}-{i}"), "status", &json!({})))
            .collect();
        service.server.send(bytes);
        for _ in 0..1_000 {
            service.recv();
        }
        if round == 2 {
            warm = service.server.rss_kib();
        }
    }
    if let (Some(warm), Some(now)) = (warm, service.server.rss_kib()) {
        assert!(now < warm + SLACK_KIB, "{warm} KiB grew to {now} KiB");
    }
}

#[test]
fn stdout_is_protocol_jsonl_only() {
    let mut service = Service::start();
    let mut bytes = record("a", "initialize", &version_1());
    bytes.extend(b"\n{\n");
    bytes.extend(record("b", "status", &json!({})));
    service.server.send(bytes);
    service.server.close_stdin();
    let lines = service.server.rest();
    assert_eq!(lines.len(), 4);
    for line in lines {
        assert!(line.terminated && line.bytes.len() < RECORD);
        assert_response_shape(&line.json());
    }
}

#[test]
fn stderr_is_empty_in_normal_running() {
    let mut service = Service::ready();
    service.ok("status", &json!({}));
    service.raw("broken\n");
    let exit = service.finish();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn eof_answers_what_is_pending_and_exits_0() {
    let mut service = Service::start();
    let mut bytes = record("i", "initialize", &version_1());
    for i in 0..200 {
        bytes.extend(record(&format!("e{i}"), "capabilities", &json!({})));
    }
    service.server.send(bytes);
    service.server.close_stdin();
    assert_eq!(service.server.rest().len(), 201);
    let exit = service.server.wait_exit();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn eof_before_any_request_exits_0() {
    let exit = Service::start().finish();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn stalled_reader_does_not_grow_memory() {
    const OFFERED: usize = 4 << 20;
    let (child_in, mut to_child) = io::pipe().unwrap();
    let (mut from_child, child_out) = io::pipe().unwrap();
    let launch = launch();
    let mut server = Server::spawn_on(&launch, child_in.into(), child_out.into());
    to_child
        .write_all(&record("i", "initialize", &version_1()))
        .unwrap();
    wait_for("the first answer", || {
        rustix::io::ioctl_fionread(&from_child).unwrap() > 0
    });
    let before = server.rss_kib();

    // Offered in the background: a service that keeps reading would swallow all of it.
    let block: Vec<u8> = (0..500)
        .flat_map(|i| record(&format!("s{i}"), "capabilities", &json!({})))
        .collect();
    let blocks = OFFERED / block.len();
    let taken = Arc::new(AtomicUsize::new(0));
    let writer = std::thread::spawn({
        let taken = Arc::clone(&taken);
        move || {
            for chunk in std::iter::repeat_n(&block, blocks).flat_map(|block| block.chunks(4096)) {
                if to_child.write_all(chunk).is_err() {
                    return;
                }
                taken.fetch_add(chunk.len(), Ordering::Relaxed);
            }
        }
    });
    let (mut last, mut quiet) = (0, 0);
    wait_for("the pipes to fill", || {
        let now = taken.load(Ordering::Relaxed);
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
        quiet > 200 || writer.is_finished()
    });
    assert!(
        last < OFFERED / 2,
        "the service read {last} bytes for a reader that takes none"
    );
    if let (Some(before), Some(peak)) = (before, server.peak_rss_kib()) {
        assert!(peak < before + SLACK_KIB, "{before} KiB grew to {peak} KiB");
    }
    assert!(server.is_running());

    // Once somebody reads, every accepted record is answered.
    let mut newlines = 0;
    let mut chunk = vec![0; 65_536];
    while newlines < 1 + blocks * 500 {
        let n = from_child.read(&mut chunk).unwrap();
        assert!(n > 0, "stdout ended after {newlines} answers");
        newlines += chunk[..n].iter().filter(|byte| **byte == b'\n').count();
    }
    writer.join().unwrap();
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn closed_stdout_ends_the_process_with_exit_1() {
    let mut service = Service::spawn(launch().stalled());
    drop(service.server.take_stdout());
    let _ = service
        .server
        .try_send(record("i", "initialize", &version_1()));
    let exit = service.server.wait_exit();
    assert_eq!(exit.code, Some(1), "stderr: {}", exit.stderr);
}

#[test]
fn stdout_closed_in_the_middle_ends_the_process_with_exit_1() {
    let mut service = Service::spawn(launch().stalled());
    service.server.send(record("i", "initialize", &version_1()));
    wait_for("the first answer", || service.server.unread() > 0);
    drop(service.server.take_stdout());
    let flood: Vec<u8> = (0..50)
        .flat_map(|i| record(&format!("c{i}"), "status", &json!({})))
        .collect();
    let _ = service.server.try_send(flood);
    assert_eq!(service.server.wait_exit().code, Some(1));
}

#[test]
fn idle_socket_whose_peer_is_gone_ends_the_process_with_exit_1() {
    // Standard input stays open and silent: only the output tells.
    let (child_in, mut to_child) = io::pipe().unwrap();
    let (mut ours, child_out) = std::os::unix::net::UnixStream::pair().unwrap();
    let child_out = std::os::fd::OwnedFd::from(child_out);
    let mut server = Server::spawn_on(&launch(), child_in.into(), child_out.into());
    to_child
        .write_all(&record("i", "initialize", &version_1()))
        .unwrap();
    let mut first = [0; 16];
    ours.read_exact(&mut first).unwrap();
    drop(ours);
    assert_eq!(server.wait_exit().code, Some(1));
    drop(to_child);
}

#[test]
fn one_socket_may_be_both_streams() {
    let (ours, child) = std::os::unix::net::UnixStream::pair().unwrap();
    let child = std::os::fd::OwnedFd::from(child);
    let child_in = child.try_clone().unwrap();
    let mut server = Server::spawn_on(&launch(), child_in.into(), child.into());
    let mut requests = record("i", "initialize", &version_1());
    for i in 0..500 {
        requests.extend(record(&format!("s{i}"), "status", &json!({})));
    }
    (&ours).write_all(&requests).unwrap();
    // The end of requests is not a hang-up: all answers come.
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answers = String::new();
    (&ours).read_to_string(&mut answers).unwrap();
    assert_eq!(answers.lines().count(), 501);
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn stderr_may_lead_nowhere() {
    // A client that gives no stderr at all still gets its answers.
    let place = crate::support::Place::new();
    let mut child = std::process::Command::new(crate::client::BIN)
        .args(["--app", "service"])
        .env("MC_HOME", place.mc_home())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(&record("i", "initialize", &version_1()))
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_response_shape(&serde_json::from_slice(&output.stdout).unwrap());
}
