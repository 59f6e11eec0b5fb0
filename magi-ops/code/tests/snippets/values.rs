//! What is printed, returned and thrown.

use super::*;

#[tokio::test]
async fn what_is_returned_is_json_and_a_string_as_it_is() {
    all_said(&[
        ("return 1 + 1", "2"),
        ("return 'a\\nb'", "a\nb"),
        (
            "return {a: [1, null, 'x'], b: undefined}",
            r#"{"a":[1,null,"x"]}"#,
        ),
        ("return new Map([['a', new Set([1])]])", r#"[["a",[1]]]"#),
        ("return [10n, new Error('x')]", r#"["10n","Error: x"]"#),
        ("return null", "null"),
        ("return Symbol('s')", "Symbol(s)"),
        ("return await Promise.resolve('later')", "later"),
        ("return {then(done) { done('thenable') }}", "thenable"),
        ("return {toJSON() { return 'its own' }}", "\"its own\""),
        ("return '\\ud800x'", "\u{fffd}x"),
        ("", "invalid input: source must not be empty"),
        ("1", "[no output]\n"),
        ("return", "[no output]\n"),
        ("return new Date(0)", "\"1970-01-01T00:00:00.000Z\""),
        ("return typeof this", "undefined"),
        (
            "return atob(btoa('a')) + typeof performance.now()",
            "anumber",
        ),
    ])
    .await;
}

#[tokio::test]
async fn what_is_printed_comes_first() {
    all_said(&[
        (
            "console.log('a', 1, {b: [2]}); console.warn('c')",
            "a 1 {\"b\":[2]}\nc\n",
        ),
        (
            "console.info(undefined, null, () => 1); console.error(); return 3",
            "undefined null () => 1\n\n3",
        ),
        ("console.debug(new TypeError('t'))", "TypeError: t\n"),
        (
            "const a = []; a.push(a); console.log(a)",
            "[can't be shown: TypeError: circular reference]\n",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_error_tells_its_message_and_line_and_keeps_what_was_printed() {
    let said =
        failure("console.log('before');\n\nfunction inner() {\n  null.x;\n}\ninner();").await;
    assert!(said.starts_with("before\nTypeError: cannot read property 'x' of null\n    at line 4 in inner\n    at line 6"), "{said}");
    let said = failure("await null;\nthrow new RangeError('far')").await;
    assert!(said.starts_with("RangeError: far\n    at line 2"), "{said}");
    let said = failure("const x = 1;\nconst y = ;").await;
    assert!(
        said.starts_with("SyntaxError: ") && said.contains("line 2"),
        "{said}"
    );
    let any =
        "await Promise.any([Promise.reject(new Error('why1')), Promise.reject(new Error('why2'))])";
    let said = failure(any).await;
    assert!(
        said.starts_with("AggregateError") && said.contains("\n    Error: why1\n    Error: why2"),
        "{said}"
    );
    let said =
        failure("throw new Error('outer', {cause: new Error('middle', {cause: {code: 'inner'}})})")
            .await;
    assert!(
        said.starts_with(
            "Error: outer\n    caused by Error: middle\n    caused by {\"code\":\"inner\"}\n    at line 1"
        ),
        "{said}"
    );
    let round = "const e = new Error('round'); e.cause = e; console.log(e); return 1";
    let content = super::said(round).await;
    assert!(
        content.starts_with("Error: round\n    caused by Error: round") && content.ends_with('1'),
        "{content}"
    );
    let many = "throw new AggregateError(Array.from({length: 1e5}, () => new Error('one')))";
    let said = failure(many).await;
    assert!(said.contains("99990 more"), "{said}");
    assert_eq!(failure("throw 'a word'").await, "a word");
    assert_eq!(failure("throw {a: 1}").await, "{\"a\":1}");
    let said = failure("x = 1").await;
    assert!(said.starts_with("ReferenceError: "), "{said}");
}

#[tokio::test]
async fn a_source_is_one_function_s_body() {
    for source in [
        "}); (async () => {",
        "}, async () => {",
        "}]; [async () => {",
        "}, ...[async () => {}], async () => {",
        "`",
        "/*",
    ] {
        let said = failure(source).await;
        assert!(said.starts_with("SyntaxError: "), "{source}: {said}");
    }
    all_said(&[("return 1 // the end", "1"), ("/* */ return 2", "2")]).await;
}

#[tokio::test]
async fn each_snippet_starts_anew() {
    said("globalThis.left = 1; Array.prototype.map = null").await;
    assert_eq!(
        said("return [typeof left, typeof [].map]").await,
        r#"["undefined","function"]"#
    );
}

#[tokio::test]
async fn inputs_that_are_none_start_nothing() {
    let set = tools();
    for (input, why) in [
        (json!({}), "missing field `source`"),
        (json!({"source": 1}), "source: "),
        (json!({"source": "a\0"}), "NUL"),
        (
            json!({"source": " ".repeat(300_000) + "1"}),
            "longer than 262144 bytes",
        ),
    ] {
        let access = set.access("code", &input).await;
        let caller: Arc<dyn Caller> = Arc::new(Player::default());
        let outcome = set
            .run_admitted(
                "code",
                &input,
                &access,
                Some(caller),
                CancellationToken::new(),
            )
            .await;
        assert!(
            outcome.is_error && outcome.content.contains(why),
            "{}",
            outcome.content
        );
    }
}
