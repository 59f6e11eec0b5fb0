//! The keys of a request: unknown, missing, doubled, of the wrong type (spec: "Requests").
//! Lines and ends are the parent's.

use super::*;

#[test]
fn unknown_keys_are_ignored() {
    let mut agent = Agent::start();
    let plain = agent.ask(EXPLAIN);
    let surplus = agent.ask(
        r#"{"zz":[{"op":"halt"}],"op":"explain","code":"MT4099","query":5,"path":null,"":{}}"#,
    );
    assert_eq!(plain.lines, surplus.lines);
    assert_eq!(
        agent.ask(r#"{"later":1,"op":"halt","code":5}"#).lines,
        [HALTED, DONE_0]
    );
}

#[test]
fn wrong_type_of_a_known_key_names_the_key() {
    let mut agent = Agent::start();
    for (request, key) in [
        (r#"{"op":"explain","code":5}"#, "code"),
        (r#"{"op":"explain","code":null}"#, "code"),
        (r#"{"op":"explain","code":["MT4099"]}"#, "code"),
        (r#"{"op":"find","query":{}}"#, "query"),
        (r#"{"op":"find","query":"x","top":"5"}"#, "top"),
        (r#"{"op":"find","query":"x","root":7}"#, "root"),
    ] {
        let message = agent.ask(request).protocol_error();
        assert!(
            message.contains(&format!("`{key}`")) || message.contains(&format!("\"{key}\"")),
            "{request}: {message}"
        );
    }
    agent.assert_alive();
}

#[test]
fn wrong_types_are_told_in_the_words_of_json() {
    let mut agent = Agent::start();
    let find = r#"{"op":"find","query":"x","#;
    for (request, said) in [
        (
            format!(r#"{find}"top":"5"}}"#),
            "`top`: expected a non-negative integer, got a string",
        ),
        (
            format!(r#"{find}"top":-1}}"#),
            "`top`: expected a non-negative integer, got -1",
        ),
        (
            format!(r#"{find}"top":1.5}}"#),
            "`top`: expected a non-negative integer, got 1.5",
        ),
        (
            format!(r#"{find}"top":null}}"#),
            "`top`: expected a non-negative integer, got null",
        ),
        (
            format!(r#"{find}"root":null}}"#),
            "`root`: expected a string, got null",
        ),
        (
            r#"{"op":"explain","code":{}}"#.to_owned(),
            "`code`: expected a string, got an object",
        ),
        (
            r#"{"op":"explain","code":[1]}"#.to_owned(),
            "`code`: expected a string, got an array",
        ),
        (r#"{"op":"explain"}"#.to_owned(), "missing key `code`"),
    ] {
        assert_eq!(
            agent.ask(&request).protocol_error(),
            format!("malformed request: {said}"),
            "{request}"
        );
    }
    let long = format!(r#"{find}"top":"{}"}}"#, "y, expected usize".repeat(1_000));
    assert_eq!(
        agent.ask(long).protocol_error(),
        "malformed request: `top`: expected a non-negative integer, got a string"
    );
}

#[test]
fn key_given_twice_is_named() {
    let mut agent = Agent::start();
    for (request, key) in [
        (r#"{"op":"halt","op":"halt"}"#, "op"),
        (r#"{"op":"explain","code":"1","zz":1,"z\u007a":2}"#, "zz"),
        (r#"{"op":"halt","v":[{"deep":{"k":1,"k":1}}]}"#, "k"),
    ] {
        let message = agent.ask(request).protocol_error();
        assert!(message.contains(&format!("`{key}`")), "{message}");
    }
    let long = "k".repeat(10_000);
    let message = agent
        .ask(format!(r#"{{"op":"halt","{long}":1,"{long}":2}}"#))
        .protocol_error();
    assert!(
        message.chars().count() <= 200 && message.ends_with("given twice"),
        "{message}"
    );
    agent.assert_alive();
}

#[test]
fn missing_required_key_names_the_key() {
    let mut agent = Agent::start();
    for (request, key) in [
        (r#"{"op":"explain"}"#, "code"),
        (r#"{"op":"find"}"#, "query"),
        (r#"{"op":"find","top":3}"#, "query"),
    ] {
        let message = agent.ask(request).protocol_error();
        assert!(message.contains(key), "{request}: {message}");
    }
}

#[test]
fn missing_op_names_op() {
    let mut agent = Agent::start();
    for request in ["{}", r#"{"code":"MT4099"}"#, r#"{"Op":"halt"}"#] {
        let message = agent.ask(request).protocol_error();
        assert!(message.contains("op"), "{message}");
    }
    agent.assert_alive();
}

#[test]
fn op_of_the_wrong_type_names_op() {
    let mut agent = Agent::start();
    for request in [
        r#"{"op":5}"#,
        r#"{"op":null}"#,
        r#"{"op":["halt"]}"#,
        r#"{"op":{"op":"halt"}}"#,
    ] {
        let message = agent.ask(request).protocol_error();
        assert!(message.contains("op"), "{message}");
    }
    agent.assert_alive();
}

#[test]
fn unknown_op_is_named_and_bounded() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.ask(UNKNOWN_OP).protocol_error(),
        "unknown op: no-such-op"
    );
    assert_eq!(agent.ask(r#"{"op":""}"#).protocol_error(), "unknown op: ");
    assert!(
        agent
            .ask(r#"{"op":"HALT"}"#)
            .protocol_error()
            .contains("HALT")
    );
    for long in [
        "x".repeat(100_000),
        "é".repeat(5_000),
        "\\n\\u0000".repeat(500),
    ] {
        let message = agent.ask(format!(r#"{{"op":"{long}"}}"#)).protocol_error();
        assert!(message.starts_with("unknown op: "), "{message}");
        assert!(
            message.chars().count() <= 200 + "unknown op: ".len(),
            "{} characters",
            message.chars().count()
        );
    }
}
