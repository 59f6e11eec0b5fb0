//! Single-shot mode: one body, one answer, one exit code (spec: "Single-shot mode").

use crate::wire::*;

fn single(stdin: impl Into<Vec<u8>>) -> (Exchange, Option<i32>) {
    let (out, exit) = run(launch(&["--single-shot"]), stdin);
    assert_eq!(exit.stderr, "");
    (Exchange::one(&out), exit.code)
}

#[test]
fn one_request_is_answered_and_its_exit_code_is_the_process_s() {
    let (exchange, code) = single(EXPLAIN);
    assert_eq!((exchange.exit_code(), code), (0, Some(0)));
    assert_eq!(exchange.result().unwrap()["code"], "MT4099");
    let (exchange, code) = single(format!("{HALT}\n"));
    assert_eq!(exchange.lines, [HALTED, DONE_0]);
    assert_eq!(code, Some(0));
}

#[test]
fn answer_is_that_of_the_interactive_loop() {
    for request in [EXPLAIN, UNKNOWN_CODE, UNKNOWN_OP, HALT] {
        let (single, _) = single(request);
        let (loop_out, _) = run(launch(&[]), format!("{request}\n"));
        assert_eq!(single.lines, Exchange::one(&loop_out).lines);
    }
}

#[test]
fn object_may_span_lines() {
    let (exchange, code) =
        single("\r\n\n{\n  \"op\":\r\n\t\"explain\",\n\n  \"code\": \"MT4099\"\n}\n\n");
    assert_eq!(
        (exchange.exit_code(), code),
        (0, Some(0)),
        "{:?}",
        exchange.lines
    );
}

#[test]
fn failing_op_gives_its_exit_code() {
    let (exchange, code) = single(UNKNOWN_CODE);
    assert_eq!((exchange.exit_code(), code), (1, Some(1)));
}

#[test]
fn protocol_error_is_exit_2() {
    for request in [
        UNKNOWN_OP,
        "{",
        "[]",
        "nonsense",
        "{\n\"op\"\n\"x\"}",
        "\u{feff}{}",
    ] {
        let (exchange, code) = single(request);
        exchange.protocol_error();
        assert_eq!(code, Some(2), "{request}");
    }
}

#[test]
fn later_objects_are_errors_before_done_and_not_run() {
    let mty = "fn main() { needle }\n";
    for (separator, later) in [("\n", 1), ("", 2), (" \n\n ", 3)] {
        let place = crate::support::Place::new();
        place.write_file("a.mty", mty);
        let mut body = EXPLAIN.to_owned();
        for _ in 0..later {
            body.push_str(separator);
            body.push_str(r#"{"op":"find","query":"needle"}"#);
        }
        let (out, exit) = run(launch(&["--single-shot"]).place(&place), body);
        let exchange = Exchange::one(&out);
        assert_eq!(exchange.errors().len(), later, "{:?}", exchange.lines);
        assert!(!out.contains("a.mty"), "a later object was run: {out}");
        assert_eq!(exchange.result().unwrap()["op"], "explain");
        assert_eq!(
            (exchange.exit_code(), exit.code),
            (0, Some(0)),
            "the first op's code counts"
        );
    }
}

#[test]
fn first_op_s_failure_is_the_exit_code_whatever_follows() {
    let (exchange, code) = single(format!("{UNKNOWN_CODE}\n{EXPLAIN}\n"));
    assert_eq!((exchange.exit_code(), code), (1, Some(1)));
    assert_eq!(exchange.errors().len(), 2, "{:?}", exchange.lines);
}

#[test]
fn garbage_behind_the_object_is_an_error_line() {
    let (exchange, _) = single(format!("{EXPLAIN}\nnonsense"));
    assert_eq!(exchange.errors().len(), 1, "{:?}", exchange.lines);
    assert!(
        exchange
            .lines
            .last()
            .unwrap()
            .starts_with(r#"{"kind":"done""#)
    );
}

#[test]
fn empty_stdin_is_an_error() {
    for empty in ["", "\n", " \r\n\t"] {
        let (exchange, code) = single(empty);
        exchange.protocol_error();
        assert_eq!(code, Some(2));
    }
}

#[test]
fn oversized_body_is_refused() {
    let mut body = br#"{"op":"explain","code":"MT4099","pad":""#.to_vec();
    body.resize(9 << 20, b'x');
    body.extend_from_slice(b"\"}");
    let (exchange, code) = single(body);
    exchange.protocol_error();
    assert_eq!(code, Some(2));
}

#[test]
fn body_of_8_mib_is_served_whatever_surrounds_it() {
    let (head, tail) = (r#"{"op":"sized","pad":""#, r#""}"#);
    let sized = |total: usize| {
        let pad = "x".repeat(total - head.len() - tail.len());
        format!("{head}{pad}{tail}")
    };
    for (before, after) in [("", ""), ("", "\n"), ("\r\n", "\r\n"), ("\n ", " \n\n")] {
        let (exchange, code) = single(format!("{before}{}{after}", sized(8 << 20)));
        assert_eq!(exchange.protocol_error(), "unknown op: sized");
        assert_eq!(code, Some(2));
        let (exchange, _) = single(format!("{before}{}{after}", sized((8 << 20) + 1)));
        let message = exchange.protocol_error();
        assert!(message.contains("too large"), "{message}");
    }
}

#[test]
fn bytes_that_are_no_utf8_behind_the_object_do_not_spoil_it() {
    for (behind, errors) in [
        (&b"\n{\"op\":\"\xff\"}"[..], 1),
        (b"\n\xff\xfe", 1),
        (b"\n{\"op\":\"halt\"}\n{\"\xc3\":1}\n", 2),
    ] {
        let (exchange, code) = single([EXPLAIN.as_bytes(), behind].concat());
        assert_eq!(exchange.errors().len(), errors, "{:?}", exchange.lines);
        assert_eq!(exchange.result().unwrap()["op"], "explain");
        assert_eq!((exchange.exit_code(), code), (0, Some(0)));
    }
    // In the first object they do.
    let (exchange, code) = single(b"{\"op\":\"\xff\"}\n{\"op\":\"halt\"}".to_vec());
    assert!(exchange.protocol_error().contains("invalid UTF-8"));
    assert_eq!(code, Some(2));
}
