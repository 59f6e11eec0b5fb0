//! Calls that snippets make.

use super::*;

#[tokio::test]
async fn a_call_resolves_to_the_result_s_text() {
    let player = Arc::new(Player::default());
    let source = "const a = await tools.echo({x: 1}); const b = await tools['mcp__a-b__c'](); return [a, b, Object.keys(tools)]";
    let outcome = played(source, Arc::clone(&player), CancellationToken::new()).await;
    assert_eq!(
        outcome.content,
        r#"["{\"x\":1}","{}",["echo","fail","hang","nap","mcp__a-b__c"]]"#
    );
    assert_eq!(outcome.summary, "2 calls");
    let asked = player.asked.lock().unwrap().clone();
    assert_eq!(
        asked,
        [
            ("echo".to_owned(), json!({"x": 1})),
            ("mcp__a-b__c".to_owned(), json!({}))
        ]
    );
}

#[tokio::test]
async fn a_call_that_fails_throws_where_it_was_made() {
    let said = failure("const a = 1;\nawait tools.fail({});").await;
    assert!(
        said.starts_with("Error: no such file: x\n    at line 2"),
        "{said}"
    );
    let said = said_of(
        "try { await tools.fail({}) } catch (e) { return [e instanceof Error, e.message] }",
    )
    .await;
    assert_eq!(said, r#"[true,"no such file: x"]"#);
    for input in ["'text'", "[1]", "null", "1"] {
        let said = failure(&format!("await tools.echo({input})")).await;
        assert!(
            said.starts_with("TypeError: tools.echo takes one object"),
            "{said}"
        );
    }
    let said = failure("const a = {}; a.a = a; await tools.echo(a)").await;
    assert!(said.starts_with("TypeError: circular"), "{said}");
    let said =
        failure("let a = {}; for (let i = 0; i < 500; i++) a = {a}; await tools.echo(a)").await;
    assert!(said.contains("no JSON that a tool takes"), "{said}");
    let said = failure("await tools.echo({a: 'x'.repeat(2e6)})").await;
    assert!(
        said.starts_with("RangeError: the input of a call"),
        "{said}"
    );
    let said = failure("await tools.code({})").await;
    assert!(said.starts_with("TypeError: not a function"), "{said}");
}

async fn said_of(source: &str) -> String {
    super::said(source).await
}

#[tokio::test]
async fn sixty_four_calls_run_at_once_and_the_others_wait() {
    let player = Arc::new(Player::default());
    let source = "const all = []; for (let i = 0; i < 300; i++) all.push(tools.nap({i})); \
                  const texts = await Promise.all(all); return texts.every((text, i) => JSON.parse(text).i === i) && texts.length";
    let outcome = played(source, Arc::clone(&player), CancellationToken::new()).await;
    assert_eq!(outcome.content, "300");
    assert_eq!(player.most.load(Ordering::SeqCst), 64);
    let said = failure("const all = []; for (let i = 0; i < 3000; i++) all.push(tools.hang({})); await Promise.all(all)").await;
    assert!(
        said.starts_with("RangeError: too many calls wait"),
        "{said}"
    );
}

#[tokio::test]
async fn calls_that_are_not_awaited_are_ended() {
    let player = Arc::new(Player::default());
    let source = "tools.hang({}); tools.hang({}); await tools.echo({}); return 'done'";
    let outcome = played(source, Arc::clone(&player), CancellationToken::new()).await;
    assert_eq!(
        outcome.content,
        "done\n[2 calls were not awaited: those that still ran were ended]\n"
    );
    assert_eq!(player.running.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn calls_that_were_not_awaited_are_counted_alike_however_far_they_came() {
    let source = "for (let i = 0; i < 80; i++) tools.fail({}); return 1";
    for _ in 0..8 {
        assert_eq!(
            said_of(source).await,
            "1\n[80 calls were not awaited: those that still ran were ended]\n"
        );
    }
    let one = "tools.hang({})";
    assert_eq!(
        said_of(one).await,
        "[1 call was not awaited: it was ended if it still ran]\n"
    );
}

#[tokio::test]
async fn a_rejection_that_nobody_handles_is_told() {
    all_said(&[
        (
            "Promise.reject(new Error('lost')); return 1",
            "1\n[1 rejection was not handled: Error: lost]\n",
        ),
        (
            "tools.fail({}); await tools.nap({}); return 1",
            "1\n[1 rejection was not handled: Error: no such file: x]\n",
        ),
        (
            "const late = tools.fail({}); await tools.nap({}); try { await late } catch { return 'caught' }",
            "caught",
        ),
        ("await Promise.allSettled([tools.fail({}), Promise.reject(1)]); return 1", "1"),
        (
            "queueMicrotask(() => { throw new Error('in a job') }); await null; return 1",
            "1\n[1 rejection was not handled: Error: in a job]\n",
        ),
        (
            "for (let i = 0; i < 5; i++) Promise.reject(i)",
            "[5 rejections were not handled: 0; 1; 2; …]\n",
        ),
        (
            "for (let i = 0; i < 5000; i++) Promise.reject('x'.repeat(1e4)); return 1",
            &format!(
                "1\n[256 or more rejections were not handled: {0}; {0}; {0}; …]\n",
                "x".repeat(160)
            ),
        ),
    ])
    .await;
    let said = failure("Promise.reject('beside'); throw new Error('own')").await;
    assert!(
        said.starts_with("Error: own\n    at line 1")
            && said.ends_with("[1 rejection was not handled: beside]\n"),
        "{said}"
    );
}

#[tokio::test]
async fn an_input_nests_so_deep_and_no_deeper() {
    for (levels, called) in [(100, true), (101, false), (127, false), (128, false)] {
        let source = format!(
            "let a = {{}}; for (let i = 1; i < {levels}; i++) a = {{a}}; \
             try {{ await tools.echo(a); return 'called' }} catch (e) {{ return e.message }}"
        );
        let said = said_of(&source).await;
        assert_eq!(said == "called", called, "{levels}: {said}");
        assert!(called || said.contains("the input of a call"), "{said}");
    }
}

#[tokio::test]
async fn a_call_that_is_not_awaited_and_fails_costs_no_result() {
    let source = "tools.fail({}); tools.fail({}); tools.echo({bytes: 200000}); console.log('printed before'); return 42";
    for _ in 0..40 {
        let said = said_of(source).await;
        assert!(said.starts_with("printed before\n42"), "{said}");
    }
}

#[tokio::test]
async fn what_never_settles_is_an_error() {
    for source in [
        "await new Promise(() => {})",
        "await tools.echo({}); await {then() {}}",
    ] {
        let said = failure(source).await;
        assert!(said.contains("never settles"), "{said}");
    }
}

#[tokio::test]
async fn long_results_arrive_whole() {
    let source = "let n = 0; for (let i = 0; i < 20; i++) n += (await tools.echo({bytes: 300000})).length; return n";
    assert_eq!(said_of(source).await, "6000000");
}

#[tokio::test]
async fn without_a_run_nothing_can_be_called() {
    let set = tools();
    let outcome = set
        .run(
            "code",
            &json!({"source": "return 1"}),
            CancellationToken::new(),
        )
        .await;
    assert!(outcome.is_error, "{}", outcome.content);
}

#[tokio::test]
async fn a_snippet_makes_so_many_calls_and_no_more() {
    let source = "let made = 0, why = ''; while (!why) await tools.echo({}).then(() => made++, (e) => { why = e.message }); return [made, why]";
    assert_eq!(
        said_of(source).await,
        r#"[10000,"a snippet makes at most 10000 calls"]"#
    );
}

#[tokio::test]
async fn a_name_of_no_tool_says_so() {
    for (source, why) in [
        (
            "return await tools.ehco({})",
            "[`tools.ehco` is no tool here; there are `tools.echo`, ",
        ),
        (
            "return await tools.code({})",
            "[`tools.code` is no tool here; ",
        ),
        (
            "tools.echo({}); return await tools . nope({})",
            "[`tools.nope` is no tool here; ",
        ),
    ] {
        let content = failure(source).await;
        assert!(
            content.contains(why) && content.contains("line 1"),
            "{content}"
        );
    }
    // Also where the snippet catches that; not where it only looks.
    let said = said_of("try { await tools.nope({}) } catch (e) { return e.message }").await;
    assert_eq!(said.lines().next(), Some("not a function"), "{said}");
    assert!(said.contains("[`tools.nope` is no tool here; "), "{said}");
    assert_eq!(said_of("return typeof tools.nope").await, "undefined");
    for (source, why) in [
        ("null.x; tools.echo", "line 1"),
        ("/* mytools.x tools.1 */ null.x", "line 1"),
    ] {
        let content = failure(source).await;
        assert!(
            content.contains(why) && !content.contains("is no tool"),
            "{content}"
        );
    }
}

#[tokio::test]
async fn a_fence_around_a_snippet_is_none_of_it() {
    for source in [
        "```js\nreturn 1 + 1\n```",
        "```javascript\nreturn 1 + 1\n```\n",
        "\n```\nreturn 1 + 1\n```",
        "~~~\nreturn 1 + 1\n~~~",
        "````js\nreturn 1 + 1\n````",
    ] {
        assert_eq!(said(source).await, "2", "{source:?}");
    }
    let content = failure("```js\n\nnull.x\n```").await;
    assert!(content.contains("line 3"), "{content}");
}
