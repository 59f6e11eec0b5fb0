//! `explain`: spellings, refusals, exact lines (spec: "explain"; toolchain digest, section 8).
//! That every code has a text is proven beside the catalogue.

use crate::wire::*;

fn request(code: &str) -> String {
    serde_json::json!({"op": "explain", "code": code}).to_string()
}

#[test]
fn result_line_is_byte_exact() {
    let mut agent = Agent::start();
    let exchange = agent.ask(EXPLAIN);
    assert_eq!(exchange.lines.len(), 2);
    let text = exchange.result().unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let expected = format!(
        r#"{{"kind":"result","op":"explain","ok":true,"code":"MT4099","text":{}}}"#,
        serde_json::to_string(&text).unwrap()
    );
    assert_eq!(exchange.lines, [expected.as_str(), DONE_0]);
    assert_eq!(
        agent.ask(EXPLAIN).lines,
        exchange.lines,
        "the same in every answer"
    );
}

#[test]
fn text_is_prose() {
    let mut agent = Agent::start();
    let mut texts = Vec::new();
    for code in [
        "MT0001", "MT1001", "MT2021", "MT3014", "MT4099", "MT5001", "MT6001",
    ] {
        let exchange = agent.ask(request(code));
        assert_eq!(exchange.exit_code(), 0, "{code}");
        let text = exchange.result().unwrap()["text"]
            .as_str()
            .unwrap()
            .to_owned();
        assert!(text.len() > 80 && text.contains(' '), "{code}: {text}");
        texts.push(text);
    }
    texts.sort();
    texts.dedup();
    assert_eq!(texts.len(), 7, "two codes share a text");
}

#[test]
fn all_spellings_give_the_same_answer() {
    let mut agent = Agent::start();
    let expected = agent.ask(request("MT0001"));
    assert_eq!(expected.result().unwrap()["code"], "MT0001");
    for spelling in [
        "mt0001", "SD0001", "sd0001", "0001", "1", "Mt0001", "sD0001",
    ] {
        assert_eq!(
            agent.ask(request(spelling)).lines,
            expected.lines,
            "{spelling}"
        );
    }
    let expected = agent.ask(EXPLAIN);
    for spelling in ["mt4099", "SD4099", "sd4099", "4099"] {
        assert_eq!(
            agent.ask(request(spelling)).lines,
            expected.lines,
            "{spelling}"
        );
    }
}

#[test]
fn unknown_code_is_exit_1() {
    let mut agent = Agent::start();
    for spelling in ["MT9999", "mt9999", "SD9999", "9999"] {
        let exchange = agent.ask(request(spelling));
        assert_eq!(exchange.exit_code(), 1, "{spelling}");
        assert_eq!(exchange.errors(), ["unknown diagnostic code MT9999"]);
        let result = exchange.result().unwrap();
        assert_eq!(
            (&result["op"], &result["ok"]),
            (&"explain".into(), &false.into())
        );
        let kinds: Vec<_> = exchange
            .lines
            .iter()
            .map(|line| json(line)["kind"].clone())
            .collect();
        assert_eq!(kinds, ["error", "result", "done"]);
    }
}

#[test]
fn malformed_code_is_exit_2() {
    let mut agent = Agent::start();
    for spelling in [
        "",
        " ",
        "hello",
        "MT",
        "MT12x4",
        "MT-001",
        "M0001",
        "0x1",
        "MT12345",
        "99999999999",
        "+1",
        "١",
        "MT 0001",
        "-1",
        "1.0",
    ] {
        let exchange = agent.ask(request(spelling));
        assert_eq!(
            exchange.exit_code(),
            2,
            "{spelling:?}: {:?}",
            exchange.lines
        );
        assert_eq!(exchange.errors().len(), 1);
        assert_eq!(exchange.result().unwrap()["ok"], false);
        assert!(
            exchange.lines[0].starts_with(r#"{"kind":"error""#),
            "{:?}",
            exchange.lines
        );
    }
    agent.assert_alive();
}

#[test]
fn long_malformed_code_is_bounded() {
    let mut agent = Agent::start();
    for code in ["x".repeat(1 << 20), "é".repeat(5_000), "1".repeat(100_000)] {
        let exchange = agent.ask(request(&code));
        assert_eq!(exchange.exit_code(), 2);
        assert!(exchange.errors()[0].chars().count() <= 240);
        let whole: usize = exchange.lines.iter().map(String::len).sum();
        assert!(whole < 4_000, "{whole} bytes of answer");
    }
}

#[test]
fn code_is_required() {
    let message = Agent::start().ask(r#"{"op":"explain"}"#).protocol_error();
    assert!(message.contains("code"), "{message}");
}

#[test]
fn command_line_gives_the_same_text_and_exit_code() {
    let text = Agent::start().ask(EXPLAIN).result().unwrap()["text"]
        .as_str()
        .unwrap()
        .to_owned();
    let of = |code: &str| run(crate::support::Launch::new(BIN, &["explain", code]), "");
    let (out, exit) = of("mt4099");
    assert_eq!((out.trim_end(), exit.code), (text.trim_end(), Some(0)));
    let (out, exit) = of("MT9999");
    assert_eq!((out.as_str(), exit.code), ("", Some(1)));
    assert_eq!(
        exit.stderr.trim_end(),
        "error: unknown diagnostic code MT9999"
    );
    let (out, exit) = of("nonsense");
    assert_eq!((out.as_str(), exit.code), ("", Some(2)));
}
