//! thirdparty_echo over mty-agent: found by name, its own lines first, bounded by its own rules.
//! Every exchange goes over real pipes; other dialects have their own modules.

use super::*;

const OP: &str = "thirdparty_echo";

/// The lines of one request, `done` included.
fn ask(server: &mut Server, request: &Value) -> Vec<Value> {
    server.send_json(request);
    server.recv_until(|line| line["kind"] == "done")
}

fn finish(mut server: Server, code: i32) {
    server.close_stdin();
    assert!(server.rest().is_empty());
    assert_eq!(server.wait_exit().code, Some(code));
}

#[test]
fn the_op_is_found_by_name_and_others_are_not() {
    assert!(registry().methods(MTY_AGENT).contains(&OP));
    let mut server = extended(MTY_AGENT);
    let lines = ask(&mut server, &json!({"op": "thirdparty_other", "text": "x"}));
    let unknown = json!({"kind": "error", "message": "unknown op: thirdparty_other"});
    assert_eq!(lines, [unknown, json!({"kind": "done", "exit_code": 2})]);
    finish(server, 2);
}

#[test]
fn its_lines_precede_the_result_and_done_is_last() {
    let mut server = extended(MTY_AGENT);
    let (request, answer) = example(MTY_AGENT, OP);
    let mut result = json!({"kind": "result", "op": OP, "ok": true});
    result
        .as_object_mut()
        .unwrap()
        .extend(answer.as_object().unwrap().clone());
    let expected = [
        json!({"kind": "thirdparty_log", "message": "taken"}),
        json!({"kind": "thirdparty_log", "message": "echoed"}),
        result,
        json!({"kind": "done", "exit_code": 0}),
    ];
    for _ in 0..3 {
        assert_eq!(ask(&mut server, &request), expected);
    }
    finish(server, 0);
}

#[test]
fn requests_out_of_type_range_or_size_are_refused() {
    let mut server = extended(MTY_AGENT);
    let oversize = "x".repeat(8 * 1024 * 1024);
    for (request, message) in [
        (json!({"op": OP}), "malformed request: missing key `text`"),
        (json!({"op": OP, "text": 5}), "malformed request: `text`: "),
        (
            json!({"op": OP, "text": "x", "repeat": 0}),
            "`repeat` is not from 1 to 16",
        ),
        (
            json!({"op": OP, "text": "x".repeat(TEXT_BYTES + 1)}),
            "`text` is longer than 8192 bytes",
        ),
        (json!({"op": OP, "text": oversize}), "request too large"),
    ] {
        let lines = ask(&mut server, &request);
        let [error, done] = lines.as_slice() else {
            panic!("two lines: {lines:?}")
        };
        let told = error["message"].as_str().expect("an error line");
        assert!(told.starts_with(message), "{told}");
        assert_eq!(done, &json!({"kind": "done", "exit_code": 2}));
    }
    // The largest echo that the op's own bounds allow passes whole: lines have no bound of their own.
    let lines = ask(
        &mut server,
        &json!({"op": OP, "text": "x".repeat(TEXT_BYTES), "repeat": REPEATS}),
    );
    let echoed = lines[2]["text"].as_str().map(str::len);
    assert_eq!(echoed, Some(TEXT_BYTES * usize::from(REPEATS)));
    finish(server, 2);
}
