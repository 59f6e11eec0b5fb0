//! The line loop over stdio: requests, refusals, ends, order (spec: "Wire format", "Exit codes").
//! What each op answers stands in its own module.

use std::io::{self, Write};

use crate::support::{Server, wait_for};
use crate::wire::*;

#[path = "stdio_keys.rs"]
mod keys;

const MIB_8: usize = 8 * 1024 * 1024;

/// A `halt`-shaped unknown op line of exactly `total` bytes without its LF.
fn line_of(total: usize) -> Vec<u8> {
    let (head, tail) = (r#"{"op":"sized","pad":""#, r#""}"#);
    let mut line = head.as_bytes().to_vec();
    line.resize(total - tail.len(), b'x');
    line.extend_from_slice(tail.as_bytes());
    line
}

#[test]
fn halt_answers_result_then_done_and_stops_reading() {
    let (out, exit) = run(launch(&[]), format!("{HALT}\n{UNKNOWN_OP}\n{HALT}\n"));
    assert_eq!(out, format!("{HALTED}\n{DONE_0}\n"));
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn halt_ends_the_process_while_stdin_stays_open() {
    let mut agent = Agent::start();
    assert_eq!(agent.ask(HALT).lines, [HALTED, DONE_0]);
    assert_eq!(agent.server.wait_exit().code, Some(0));
}

#[test]
fn every_request_gets_exactly_one_done_and_it_is_last() {
    let requests = [
        EXPLAIN,
        UNKNOWN_CODE,
        UNKNOWN_OP,
        "{",
        "[]",
        r#"{"op":5}"#,
        r#"{"op":"find"}"#,
        r#"{"op":"find","query":"x"}"#,
        HALT,
    ];
    let (out, _) = run(launch(&[]), requests.join("\n") + "\n");
    assert_eq!(Exchange::all(&out).len(), requests.len(), "{out}");
    for exchange in Exchange::all(&out) {
        let dones = exchange
            .lines
            .iter()
            .filter(|line| line.contains(r#""kind":"done""#))
            .count();
        assert_eq!(dones, 1, "{:?}", exchange.lines);
    }
}

#[test]
fn lines_have_the_documented_key_order() {
    // `Exchange` checks every kind; here the two fixed lines byte for byte.
    let mut agent = Agent::start();
    let exchange = agent.ask(r#"{"op":"foo"}"#);
    assert_eq!(
        exchange.lines,
        [r#"{"kind":"error","message":"unknown op: foo"}"#, DONE_2]
    );
    assert_eq!(agent.ask(HALT).lines, [HALTED, DONE_0]);
}

#[test]
fn ok_agrees_with_the_exit_code() {
    let mut agent = Agent::start();
    for request in [
        EXPLAIN,
        UNKNOWN_CODE,
        r#"{"op":"explain","code":"?"}"#,
        r#"{"op":"find","query":"none"}"#,
    ] {
        let exchange = agent.ask(request);
        let ok = exchange
            .result()
            .map(|result| result["ok"].as_bool().unwrap());
        assert_eq!(ok, Some(exchange.exit_code() == 0), "{:?}", exchange.lines);
    }
}

#[test]
fn answers_are_flushed_before_the_next_request() {
    let mut agent = Agent::start();
    for _ in 0..20 {
        assert_eq!(agent.ask(EXPLAIN).exit_code(), 0);
    }
}

#[test]
fn three_thousand_pipelined_requests_are_all_answered_in_order() {
    let mut agent = Agent::start();
    let requests: String = (0..3_000)
        .map(|i| format!("{{\"op\":\"op-{i}\"}}\n"))
        .collect();
    agent.server.send(requests);
    for i in 0..3_000 {
        assert_eq!(agent.recv().protocol_error(), format!("unknown op: op-{i}"));
    }
    assert_eq!(agent.finish().code, Some(2));
}

#[test]
fn slow_and_quick_requests_keep_their_order() {
    let mut agent = Agent::start();
    let requests = [r#"{"op":"find","query":"x"}"#, EXPLAIN, UNKNOWN_OP].join("\n") + "\n";
    agent.server.send(requests.repeat(30));
    for _ in 0..30 {
        assert_eq!(agent.recv().result().unwrap()["op"], "find");
        assert_eq!(agent.recv().result().unwrap()["op"], "explain");
        assert!(agent.recv().protocol_error().contains("no-such-op"));
    }
}

#[test]
fn malformed_json_tells_the_position() {
    let mut agent = Agent::start();
    for (line, column) in [
        (r#"{"op" "check"}"#, "7"),
        (r#"{"op":"check","path" "x"}"#, "22"),
        (r#"{"op":"halt""#, "13"),
        ("nonsense", "1"),
        (r#"{"op":"halt"} x"#, "15"),
    ] {
        let message = agent.ask(line).protocol_error();
        assert!(message.starts_with("malformed JSON: "), "{line}: {message}");
        assert!(
            message.contains(&format!("column {column}")),
            "{line}: {message}"
        );
    }
    agent.assert_alive();
}

#[test]
fn two_objects_on_one_line_are_malformed() {
    let mut agent = Agent::start();
    let message = agent.ask(format!("{EXPLAIN}{HALT}")).protocol_error();
    assert!(message.starts_with("malformed JSON: "), "{message}");
    agent.assert_alive();
}

#[test]
fn top_level_value_that_is_not_an_object_is_an_error() {
    let mut agent = Agent::start();
    for line in ["[]", r#"[{"op":"halt"}]"#, "null", "5", r#""halt""#, "true"] {
        agent.ask(line).protocol_error();
    }
    agent.assert_alive();
}

#[test]
fn blank_lines_are_skipped() {
    let (out, exit) = run(launch(&[]), format!("\n  \n\t\n\r\n{EXPLAIN}\n\n\n \r\n"));
    assert_eq!(Exchange::all(&out).len(), 1, "{out}");
    assert_eq!(exit.code, Some(0));
}

#[test]
fn crlf_lines_are_accepted() {
    let mut agent = Agent::start();
    let lf = agent.ask(EXPLAIN);
    let crlf = agent.ask(format!("{EXPLAIN}\r"));
    assert_eq!(lf.lines, crlf.lines);
}

#[test]
fn line_of_8_mib_is_served() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.ask(line_of(MIB_8)).protocol_error(),
        "unknown op: sized"
    );
    agent.assert_alive();
}

#[test]
fn what_surrounds_a_request_is_not_counted() {
    let mut agent = Agent::start();
    for (before, after) in [
        ("", "\r"),
        ("  \t", ""),
        (" ", " \r"),
        ("", &" ".repeat(60_000)),
    ] {
        let line = [before.as_bytes(), &line_of(MIB_8), after.as_bytes()].concat();
        assert_eq!(agent.ask(line).protocol_error(), "unknown op: sized");
        let line = [before.as_bytes(), &line_of(MIB_8 + 1), after.as_bytes()].concat();
        let message = agent.ask(line).protocol_error();
        assert!(message.contains("too large"), "{message}");
    }
    agent.assert_alive();
}

#[test]
fn longer_line_is_one_error_and_the_next_line_is_served() {
    let mut agent = Agent::start();
    let message = agent.ask(line_of(MIB_8 + 1)).protocol_error();
    assert!(!message.contains("unknown op"), "{message}");
    agent.assert_alive();
    // Far longer, made of requests that must not be run.
    let inner = br#"{"op":"halt"}"#.repeat(3 * MIB_8 / 13);
    agent.ask(inner).protocol_error();
    agent.assert_alive();
    let peak = agent.server.peak_rss_kib();
    if let Some(peak) = peak {
        assert!(peak < 40 * 1024, "{peak} KiB for a line that is discarded");
    }
    assert_eq!(agent.finish().code, Some(2));
}

#[test]
fn depth_128_is_served_and_129_is_an_error() {
    let mut agent = Agent::start();
    // The request object is one container.
    let request = |depth: usize| {
        format!(
            r#"{{"op":"deep","v":{}{}}}"#,
            "[".repeat(depth - 1),
            "]".repeat(depth - 1)
        )
    };
    assert_eq!(agent.ask(request(128)).protocol_error(), "unknown op: deep");
    let message = agent.ask(request(129)).protocol_error();
    assert!(!message.contains("unknown op"), "{message}");
    agent.assert_alive();
}

#[test]
fn absurd_depth_is_an_error_not_a_crash() {
    let mut agent = Agent::start();
    for line in [
        "[".repeat(1_000_000),
        "{\"a\":".repeat(500_000),
        format!(
            r#"{{"op":"halt","v":{}{}}}"#,
            "[".repeat(300_000),
            "]".repeat(300_000)
        ),
    ] {
        agent.ask(line).protocol_error();
    }
    agent.assert_alive();
}

#[test]
fn invalid_utf8_is_malformed_json() {
    let mut agent = Agent::start();
    for bad in [&b"\xff"[..], b"\xc3", b"\xed\xa0\x80"] {
        let message = agent
            .ask([b"{\"op\":\"".as_slice(), bad, b"\"}"].concat())
            .protocol_error();
        assert!(message.starts_with("malformed JSON: "), "{message}");
    }
    agent.assert_alive();
}

#[test]
fn hostile_lines_never_stop_the_loop() {
    let mut agent = Agent::start();
    for end in 1..EXPLAIN.len() {
        agent.ask(&EXPLAIN[..end]).protocol_error();
        let mut damaged = EXPLAIN.as_bytes().to_vec();
        damaged[end] = 0;
        agent.ask(damaged);
    }
    for line in [
        "\0",
        r#"{"op":"\ud800"}"#,
        "{\"op\":\"a\tb\"}",
        r#"{"op":1e999}"#,
        r#"{"op":"find","query":"x","top":1e999}"#,
        r#"{"op":"find","query":"x","top":99999999999999999999999}"#,
    ] {
        agent.ask(line).protocol_error();
    }
    agent.assert_alive();
}

#[test]
fn unterminated_complete_last_line_is_executed() {
    let (out, exit) = run(launch(&[]), EXPLAIN);
    assert_eq!(Exchange::one(&out).result().unwrap()["ok"], true);
    assert_eq!(exit.code, Some(0));
}

#[test]
fn unterminated_incomplete_last_line_is_malformed() {
    let (out, exit) = run(launch(&[]), format!("{EXPLAIN}\n{{\"op\":\"ha"));
    let all = Exchange::all(&out);
    assert_eq!(all.len(), 2, "{out}");
    assert!(all[1].protocol_error().starts_with("malformed JSON: "));
    assert_eq!(exit.code, Some(2));
}

#[test]
fn eof_after_successes_exits_0() {
    let (out, exit) = run(launch(&[]), format!("{EXPLAIN}\n{EXPLAIN}\n"));
    assert_eq!(Exchange::all(&out).len(), 2);
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
    let (out, exit) = run(launch(&[]), "");
    assert_eq!((out.as_str(), exit.code), ("", Some(0)));
}

#[test]
fn failed_op_makes_the_process_exit_1() {
    let (_, exit) = run(launch(&[]), format!("{UNKNOWN_CODE}\n{EXPLAIN}\n"));
    assert_eq!(exit.code, Some(1));
    let (_, exit) = run(launch(&[]), format!("{UNKNOWN_CODE}\n{HALT}\n"));
    assert_eq!(exit.code, Some(1), "a halt does not wipe it out");
}

#[test]
fn protocol_error_makes_the_process_exit_2() {
    for request in [UNKNOWN_OP, "{", "[]"] {
        let (_, exit) = run(launch(&[]), format!("{request}\n{EXPLAIN}\n"));
        assert_eq!(exit.code, Some(2), "{request}");
    }
    let (_, exit) = run(launch(&[]), format!("{UNKNOWN_OP}\n{HALT}\n"));
    assert_eq!(exit.code, Some(2));
}

#[test]
fn exit_2_outranks_1_in_either_order() {
    for requests in [[UNKNOWN_CODE, UNKNOWN_OP], [UNKNOWN_OP, UNKNOWN_CODE]] {
        let (_, exit) = run(launch(&[]), requests.join("\n") + "\n");
        assert_eq!(exit.code, Some(2), "{requests:?}");
    }
}

#[test]
fn closed_stdout_ends_the_process() {
    let mut server = Server::spawn(launch(&[]).stalled());
    drop(server.take_stdout());
    let _ = server.try_send(format!("{EXPLAIN}\n").repeat(50));
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(2), "answers were lost");
    assert!(
        exit.stderr.contains("an answer was lost"),
        "{}",
        exit.stderr
    );
}

#[test]
fn stalled_reader_costs_bounded_memory() {
    let (child_in, mut to_child) = io::pipe().unwrap();
    let (from_child, child_out) = io::pipe().unwrap();
    let launch = launch(&[]);
    let server = Server::spawn_on(&launch, child_in.into(), child_out.into());
    to_child
        .write_all(format!("{EXPLAIN}\n").as_bytes())
        .unwrap();
    wait_for("the first answer", || {
        rustix::io::ioctl_fionread(&from_child).unwrap() > 0
    });
    let before = server.rss_kib();
    // The writer ends when the pipe does: the child is killed when `server` is dropped.
    let writer = std::thread::spawn(move || {
        let block = format!("{EXPLAIN}\n").repeat(1_000);
        while to_child.write_all(block.as_bytes()).is_ok() {}
    });
    let (mut last, mut quiet) = (0, 0);
    wait_for("the pipe to fill", || {
        let now = rustix::io::ioctl_fionread(&from_child).unwrap();
        quiet = if now == last { quiet + 1 } else { 0 };
        last = now;
        quiet > 200
    });
    if let (Some(before), Some(peak)) = (before, server.peak_rss_kib()) {
        assert!(peak < before + 3 * 1024, "{before} KiB grew to {peak} KiB");
    }
    drop(server);
    writer.join().unwrap();
}
