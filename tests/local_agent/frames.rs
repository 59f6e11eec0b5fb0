//! Framing: LF-terminated bounded lines of UTF-8 JSON (spec: "Frames, correlation and compatibility",
//! "Bounds and failure policy"). Envelopes are tested in envelope.rs.

use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, request, request_line};
use crate::support::wait_for;

const LIMIT: usize = 65_536;

/// A `status` request of exactly `bytes` bytes, padded with JSON whitespace, without a line end.
fn padded(id: &str, bytes: usize) -> Vec<u8> {
    let mut frame = request(id, "status", &json!({})).to_string().into_bytes();
    assert!(frame.len() <= bytes);
    frame.resize(bytes, b' ');
    frame
}

fn null(code: &str) -> (Value, String) {
    (Value::Null, code.to_owned())
}

fn id(id: &str, code: &str) -> (Value, String) {
    (json!(id), code.to_owned())
}

/// The connection still works: an unknown method gets its refusal.
fn assert_usable(agent: &mut Agent) {
    assert_eq!(agent.err("no.such.method", json!({})), "unsupported_method");
}

#[test]
fn frame_of_65536_bytes_is_accepted() {
    let mut agent = Agent::start();
    let mut frame = padded("big", LIMIT);
    frame.push(b'\n');
    assert_eq!(agent.refusal(frame), id("big", "not_initialized"));
    assert_usable(&mut agent);
    agent.end();
}

#[test]
fn frame_of_65537_bytes_is_too_large_and_closes() {
    let mut agent = Agent::start();
    let mut frame = padded("big", LIMIT + 1);
    frame.push(b'\n');
    assert_eq!(agent.refusal(frame), null("frame_too_large"));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn oversize_is_detected_at_byte_65537_without_lf() {
    let mut agent = Agent::start();
    agent.server.send(padded("big", LIMIT));
    assert_usable_without_frames(&mut agent);
    // The very next byte decides, and stdin stays open.
    assert_eq!(agent.refusal("x"), null("frame_too_large"));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

/// All that was sent has been read and nothing was answered.
fn assert_usable_without_frames(agent: &mut Agent) {
    #[cfg(target_os = "linux")]
    wait_for("the child to read its input and sleep", || {
        is_asleep(agent.server.pid())
    });
    assert!(agent.server.ready_line().is_none());
    assert!(agent.server.is_running());
}

/// Every thread of the process sleeps: it has taken what there was and waits for more.
#[cfg(target_os = "linux")]
fn is_asleep(pid: u32) -> bool {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return false;
    };
    tasks.flatten().all(|task| {
        std::fs::read_to_string(task.path().join("stat")).is_ok_and(|stat| {
            stat.rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('S'))
        })
    })
}

#[test]
fn oversize_closes_without_draining_the_input() {
    let mut agent = Agent::start();
    // Far more than the pipe holds: the child must stop reading and leave.
    let sent = agent.server.try_send(vec![b'x'; 64 << 20]);
    assert!(sent.is_err(), "64 MiB of one frame were read");
    assert_eq!(agent.next_refusal(), null("frame_too_large"));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn frames_before_an_oversize_one_are_answered_first() {
    let mut agent = Agent::start();
    let mut bytes = request_line("a", "status", &json!({})).into_bytes();
    bytes.extend(request_line("b", "status", &json!({})).into_bytes());
    bytes.extend(vec![b'['; LIMIT + 1]);
    assert_eq!(agent.refusal(bytes), id("a", "not_initialized"));
    assert_eq!(agent.next_refusal(), id("b", "not_initialized"));
    assert_eq!(agent.next_refusal(), null("frame_too_large"));
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn carriage_return_before_lf_counts_toward_the_limit() {
    let mut agent = Agent::start();
    let mut frame = padded("fits", LIMIT - 1);
    frame.extend(b"\r\n");
    assert_eq!(agent.refusal(frame), id("fits", "not_initialized"));
    let mut frame = padded("over", LIMIT);
    frame.extend(b"\r\n");
    assert_eq!(agent.refusal(frame), null("frame_too_large"));
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn carriage_return_before_lf_is_whitespace() {
    let mut agent = Agent::start();
    let line = request("crlf", "status", &json!({})).to_string() + "\r\n";
    assert_eq!(agent.refusal(line), id("crlf", "not_initialized"));
    agent.end();
}

#[test]
fn empty_line_is_invalid_frame() {
    let mut agent = Agent::start();
    assert_eq!(agent.refusal("\n"), null("invalid_frame"));
    assert_eq!(agent.refusal("\n\n"), null("invalid_frame"));
    assert_eq!(agent.next_refusal(), null("invalid_frame"));
    assert_usable(&mut agent);
    agent.end();
}

#[test]
fn blank_line_is_refused() {
    let mut agent = Agent::start();
    for line in ["\r\n", " \n", " \t \n"] {
        let (id, code) = agent.refusal(line);
        assert_eq!(id, Value::Null);
        assert!(
            code == "invalid_frame" || code == "invalid_request",
            "{line:?}: {code}"
        );
    }
    agent.end();
}

#[test]
fn invalid_utf8_is_invalid_request() {
    let mut agent = Agent::start();
    let bad: [&[u8]; 6] = [
        b"\xff",
        b"\xc3(",
        b"\xc0\xaf",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x82",
    ];
    for bytes in bad {
        let mut line = br#"{"protocol":"magi-code.local-agent","version":1,"id":"u","method":"status","params":{"x":""#.to_vec();
        line.extend(bytes);
        line.extend(b"\"}}\n");
        assert_eq!(agent.refusal(line), null("invalid_request"), "{bytes:?}");
        let mut line = bytes.to_vec();
        line.push(b'\n');
        assert_eq!(
            agent.refusal(line),
            null("invalid_request"),
            "{bytes:?} alone"
        );
    }
    assert_usable(&mut agent);
    agent.end();
}

#[test]
fn byte_order_mark_is_invalid_request() {
    let mut agent = Agent::start();
    let line = format!("\u{feff}{}", request_line("bom", "status", &json!({})));
    assert_eq!(agent.refusal(line), null("invalid_request"));
    // The id was never read, so it is free.
    assert_eq!(
        agent.refusal(request_line("bom", "status", &json!({}))),
        id("bom", "not_initialized")
    );
    agent.end();
}

#[test]
fn two_objects_on_a_line_are_invalid_request() {
    let mut agent = Agent::start();
    let one = request("one", "status", &json!({}));
    let two = request("two", "status", &json!({}));
    for line in [
        format!("{one}{two}\n"),
        format!("{one} {two}\n"),
        format!("{one},\n"),
        format!("{one}x\n"),
    ] {
        assert_eq!(agent.refusal(line), null("invalid_request"));
    }
    assert_usable(&mut agent);
    agent.end();
}

#[test]
fn values_that_are_not_objects_are_invalid_request() {
    let mut agent = Agent::start();
    for text in ["[]", "[{}]", "1", "-0.5e3", "\"x\"", "null", "true"] {
        assert_eq!(
            agent.refusal(format!("{text}\n")),
            null("invalid_request"),
            "{text}"
        );
    }
    agent.end();
}

#[test]
fn broken_json_is_invalid_request() {
    let mut agent = Agent::start();
    let broken = [
        "{",
        "}",
        "{\"a\":}",
        "{\"a\" 1}",
        "{\"a\":1,}",
        "{,}",
        "{'a':1}",
        "{a:1}",
        "{\"a\":NaN}",
        "{\"a\":01}",
        "{\"a\":1.}",
        "{\"a\":+1}",
        "{\"a\":.5}",
        "{\"a\":1e}",
        "{\"a\":tru}",
        "{\"a\":\"\t\"}",
        "{\"a\":\"\u{1}\"}",
        "{\"a\":\"\\x41\"}",
        "{\"a\":\"\\u12\"}",
        "{\"a\":\"",
        "{\"a\":[1,]}",
        "{\"a\":[1 2]}",
        "// {}",
        "{}/**/",
        "hello",
        "\u{0}",
        "{\"a\":1}}",
    ];
    for text in broken {
        assert_eq!(
            agent.refusal(format!("{text}\n")),
            null("invalid_request"),
            "{text:?}"
        );
    }
    assert_usable(&mut agent);
    agent.end();
}

/// A `status` request with `containers` open at the deepest point.
fn nested(id: &str, containers: usize, open: &str, inner: &str, close: &str) -> String {
    // The envelope and its params are two.
    let depth = containers - 2;
    let value = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
    format!(
        "{{\"protocol\":\"magi-code.local-agent\",\"version\":1,\"id\":\"{id}\",\"method\":\"status\",\"params\":{{\"x\":{value}}}}}\n"
    )
}

#[test]
fn depth_of_32_containers_is_accepted() {
    let mut agent = Agent::start();
    // Accepted as a frame: the params are then refused under the request's own id.
    assert_eq!(
        agent.refusal(nested("a", 32, "[", "1", "]")),
        id("a", "invalid_params")
    );
    assert_eq!(
        agent.refusal(nested("o", 32, "{\"k\":", "1", "}")),
        id("o", "invalid_params")
    );
    agent.end();
}

#[test]
fn depth_of_33_containers_is_invalid_frame() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.refusal(nested("a", 33, "[", "1", "]")),
        null("invalid_frame")
    );
    assert_eq!(
        agent.refusal(nested("a", 33, "{\"k\":", "1", "}")),
        null("invalid_frame")
    );
    assert_eq!(
        agent.refusal(nested("a", 33, "[", "", "]")),
        null("invalid_frame")
    );
    assert_eq!(
        agent.refusal(nested("a", 5_000, "[", "", "]")),
        null("invalid_frame")
    );
    // Not retained: the id was not admitted.
    assert_eq!(
        agent.refusal(request_line("a", "status", &json!({}))),
        id("a", "not_initialized")
    );
    agent.end();
}

#[test]
fn brackets_inside_strings_do_not_nest() {
    let mut agent = Agent::start();
    let params = json!({"x": "[{\"\\".repeat(100)});
    assert_eq!(
        agent.refusal(request_line("s", "status", &params)),
        id("s", "invalid_params")
    );
    agent.end();
}

#[test]
fn a_frame_full_of_brackets_is_refused_and_survived() {
    let mut agent = Agent::start();
    for byte in ["[", "{\"a\":", "]", "\"", "\\", "{"] {
        let (id, code) = agent.refusal(byte.repeat(LIMIT / byte.len()) + "\n");
        assert_eq!(id, Value::Null);
        assert!(
            code == "invalid_frame" || code == "invalid_request",
            "{byte:?}: {code}"
        );
    }
    assert_usable(&mut agent);
    agent.end();
}

#[test]
fn many_frames_in_one_write_are_answered_each() {
    let mut agent = Agent::start();
    let ids: Vec<String> = (0..12).map(|n| format!("m{n}")).collect();
    let bytes: String = ids
        .iter()
        .map(|id| request_line(id, "status", &json!({})))
        .collect();
    agent.server.send(bytes);
    for expected in &ids {
        assert_eq!(agent.next_refusal(), id(expected, "not_initialized"));
    }
    agent.end();
}

#[test]
fn frames_written_byte_by_byte_are_answered() {
    let mut agent = Agent::start();
    for byte in request_line("slow", "status", &json!({})).into_bytes() {
        agent.server.send([byte]);
    }
    assert_eq!(agent.next_refusal(), id("slow", "not_initialized"));
    agent.end();
}

#[test]
fn eof_inside_a_frame_is_incomplete_frame_and_nothing_runs() {
    let mut agent = Agent::start();
    let whole = request("late", "initialize", &json!({"required_capabilities": []})).to_string();
    agent.server.send(whole);
    agent.server.close_stdin();
    assert_eq!(agent.next_refusal(), null("incomplete_frame"));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
    assert!(
        !agent.server.place.mc_home().exists(),
        "the partial request was executed"
    );
}

#[test]
fn complete_frames_before_a_partial_one_are_answered() {
    let mut agent = Agent::start();
    agent
        .server
        .send(request_line("whole", "status", &json!({})) + "{\"protocol\"");
    agent.server.close_stdin();
    assert_eq!(agent.next_refusal(), id("whole", "not_initialized"));
    assert_eq!(agent.next_refusal(), null("incomplete_frame"));
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn eof_between_frames_ends_silently_with_0() {
    let mut agent = Agent::start();
    agent.server.close_stdin();
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn nothing_is_written_before_the_first_request() {
    let mut agent = Agent::start();
    assert_usable_without_frames(&mut agent);
    agent.end();
}
