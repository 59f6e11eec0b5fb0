//! Calls of servers that do what they should not: each costs its own call and no more (issue: "hangs, floods, crashes in
//! a call, answers late, answers twice, sends 100 MiB, or writes garbage").

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::setting::{finished, heard, log, misbehaving, place, results, settings, steps};
use crate::support::wait_for;

/// The tool's words and whether they are an error.
fn said(result: &Value) -> (&str, bool) {
    (
        result["content"].as_str().unwrap(),
        result["is_error"].as_bool().unwrap(),
    )
}

fn played(calls: &[(&str, Value)]) -> Vec<Value> {
    let place = place(&json!({"s": misbehaving(&[])}), &steps(calls));
    results(&place)
}

#[test]
fn what_is_no_answer_costs_nothing_and_a_wrong_one_its_call() {
    let results = played(&[
        ("mcp__s__garbage", json!({})),
        ("mcp__s__twice", json!({})),
        ("mcp__s__wrong", json!({})),
        ("mcp__s__broken", json!({})),
        ("mcp__s__refuse", json!({})),
        ("mcp__s__fail", json!({})),
        ("mcp__s__image", json!({})),
        ("mcp__s__echo", json!({"text": "still here"})),
    ]);
    let said: Vec<_> = results.iter().map(said).collect();
    assert_eq!(said[0], ("behind the garbage", false));
    assert_eq!(said[1], ("first", false));
    assert!(
        said[2].0.contains("a strange refusal") && said[2].1,
        "{:?}",
        said[2]
    );
    assert!(
        said[3].0.contains("cannot be read") && said[3].1,
        "{:?}",
        said[3]
    );
    assert!(
        said[4].0.contains("refused with these words") && said[4].1,
        "{:?}",
        said[4]
    );
    assert_eq!(said[5], ("it went wrong", true));
    assert!(
        said[6]
            .0
            .starts_with("[an image: image/png, about 9 bytes]\n"),
        "{:?}",
        said[6]
    );
    assert_eq!(said[7], ("echo: still here", false));
}

#[test]
fn the_log_says_that_a_call_failed_and_why_and_nothing_of_others() {
    let calls = [
        ("mcp__s__fail", json!({})),
        ("mcp__s__refuse", json!({})),
        ("mcp__s__nothing", json!({})),
        ("mcp__s__echo", json!({"text": "not logged"})),
        ("bash", json!({"command": "echo not logged; exit 3"})),
        ("nope", json!({})),
    ];
    let servers = json!({"s": misbehaving(&[])});
    let place = place(&servers, &steps(&calls));
    let mut settings = settings(&place);
    settings["permissions"] = json!({"bash": "allow"});
    place.write_settings(&settings);
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "info"));
    agent.initialize();
    let session = agent.create();
    agent.turn(&session, "go");
    agent.end();
    let results = finished(&place, &session);
    assert!(results[2]["is_error"] == true, "{results:?}");
    let log = log(&place);
    for words in [
        "mcp__s__fail: the server tells an error",
        "it went wrong",
        "refused with these words",
        "it has no content",
        "unknown tool",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
    assert_eq!(log.matches("a call failed").count(), 5, "{log}");
    assert!(!log.contains("not logged"), "{log}");
}

#[test]
fn a_flood_costs_its_call_and_no_memory() {
    let calls = [
        ("mcp__s__flood", json!({"n": 100 << 20})),
        ("mcp__s__stderr", json!({"n": 20_000})),
        ("mcp__s__flood", json!({"n": 1 << 20})),
        ("mcp__s__echo", json!({"text": "still here"})),
    ];
    let place = place(&json!({"s": misbehaving(&[])}), &steps(&calls));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let peak = agent.server.peak_rss_kib().unwrap();
    assert!(peak < 80 * 1024, "{peak} KiB");
    agent.end();
    let results = finished(&place, &session);
    let said: Vec<_> = results.iter().map(said).collect();
    assert!(
        said[0].0.contains("longer than 4194304 bytes") && said[0].1,
        "{:?}",
        said[0]
    );
    assert_eq!(said[1], ("said", false));
    assert!(
        said[2]
            .0
            .contains("[truncated: the first 262016 of 1048576 bytes]"),
        "{}",
        said[2].0.len()
    );
    assert_eq!(said[3], ("echo: still here", false));
}

#[test]
fn an_answer_of_very_many_parts_is_told_as_far_as_it_is_read() {
    let results = played(&[
        ("mcp__s__many", json!({"n": 100_000})),
        ("mcp__s__echo", json!({"text": "still here"})),
    ]);
    let (words, is_error) = said(&results[0]);
    assert!(!is_error, "{words}");
    assert_eq!(words.matches("x\n").count(), 999);
    assert!(
        words.ends_with("[truncated: the first 999 of 100000 parts]"),
        "{words}"
    );
    assert_eq!(said(&results[1]), ("echo: still here", false));
}

#[test]
fn a_crash_fails_its_call_and_the_next_one_starts_it_again() {
    let results = played(&[
        ("mcp__s__crash", json!({"n": 9})),
        ("mcp__s__echo", json!({"text": "again"})),
    ]);
    let (words, is_error) = said(&results[0]);
    assert!(
        is_error && words.contains("ended during the call: exit code 9"),
        "{words}"
    );
    assert_eq!(said(&results[1]), ("echo: again", false));
}

#[test]
fn a_cancelled_call_is_told_and_waited_for_no_longer() {
    let place = place(
        &json!({"s": misbehaving(&[])}),
        &steps(&[("mcp__s__hang", json!({}))]),
    );
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let is_called = || {
        heard(&place)
            .iter()
            .any(|message| message["method"] == "tools/call")
    };
    wait_for("the call", is_called);
    let began = Instant::now();
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    let run = agent.finish(run_id);
    assert!(began.elapsed() < Duration::from_secs(2));
    assert_eq!(run.outcome(), "cancelled");
    let id = heard(&place)
        .iter()
        .find(|message| message["method"] == "tools/call")
        .unwrap()["id"]
        .clone();
    wait_for("the word of it", || {
        heard(&place).iter().any(|message| {
            message["method"] == "notifications/cancelled" && message["params"]["requestId"] == id
        })
    });
    agent.end();
}

#[test]
fn an_answer_behind_its_cancellation_is_nobody_s() {
    let place = place(&json!({"s": misbehaving(&[])}), &json!([]));
    let late = steps(&[("mcp__s__wait", json!({"n": 300}))]);
    let next = steps(&[
        ("mcp__s__wait", json!({"n": 600})),
        ("mcp__s__echo", json!({"text": "own"})),
    ]);
    let script = json!({"turns": [{"steps": late}, {"steps": next}]});
    std::fs::write(place.root().join("script.json"), script.to_string()).unwrap();
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    wait_for("the call", || {
        heard(&place)
            .iter()
            .any(|message| message["method"] == "tools/call")
    });
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    assert_eq!(agent.finish(run_id).outcome(), "cancelled");
    // It comes while the next call waits for its own.
    assert_eq!(agent.turn(&session, "again").outcome(), "completed");
    agent.end();
    let results = finished(&place, &session);
    let said: Vec<_> = results.iter().map(said).collect();
    assert_eq!(
        said[1..],
        [("waited", false), ("echo: own", false)],
        "{said:?}"
    );
    let greeted = heard(&place)
        .iter()
        .filter(|message| message["method"] == "initialize")
        .count();
    assert_eq!(greeted, 1, "it was not started again");
}

#[test]
fn one_that_is_stuck_in_a_cancelled_call_is_started_again_for_the_next() {
    let place = place(&json!({"s": misbehaving(&[])}), &json!([]));
    let stuck = steps(&[("mcp__s__stuck", json!({}))]);
    let next = steps(&[("mcp__s__echo", json!({"text": "own"}))]);
    let script = json!({"turns": [{"steps": stuck}, {"steps": next}]});
    std::fs::write(place.root().join("script.json"), script.to_string()).unwrap();
    let count = |method: &str| {
        let heard = heard(&place);
        heard.iter().filter(|said| said["method"] == method).count()
    };
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    wait_for("the call", || count("tools/call") == 1);
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    assert_eq!(agent.finish(run_id).outcome(), "cancelled");
    let began = Instant::now();
    assert_eq!(agent.turn(&session, "again").outcome(), "completed");
    // Its time, which it would have waited for the server, is a minute.
    assert!(began.elapsed() < Duration::from_secs(30));
    agent.end();
    let results = finished(&place, &session);
    assert_eq!(said(results.last().unwrap()), ("echo: own", false));
    assert_eq!(count("initialize"), 2);
}

/// What a server tells besides text, as a model is told: images are seen where it takes them, the rest is said in words.
#[cfg(feature = "providers")]
#[test]
fn images_and_resources_of_a_server_come_to_the_model() {
    use crate::client::launch;
    use crate::server::{Answer, Model};
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgcHBw==";
    let content = json!([
        {"type": "text", "text": "See:"},
        {"type": "image", "data": PNG, "mimeType": "image/png"},
        {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "memo://1", "mimeType": "text/plain", "text": "a memo"}},
        {"type": "resource", "resource": {"uri": "memo://2", "mimeType": "application/zip", "blob": "AAAA"}},
        {"type": "resource_link", "uri": "memo://3", "name": "a link"},
    ]);
    let arguments = json!({"text": content.to_string()}).to_string();
    let call = json!([{"index": 0, "id": "c1", "function": {"name": "mcp__s__content", "arguments": arguments}}]);
    let completion = |delta: Value, reason: &str| {
        Answer::events(&[
            json!({"choices": [{"index": 0, "delta": delta}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
        ])
    };
    for images in [true, false] {
        let model = Model::answering(vec![
            completion(json!({"tool_calls": call}), "tool_calls"),
            completion(json!({"content": "Seen."}), "stop"),
        ]);
        let place = place(&json!({"s": misbehaving(&[])}), &json!([]));
        let mut settings = settings(&place);
        settings["provider"] = json!("mine");
        settings["model"] = json!("m");
        settings["providers"]["mine"] = json!({"api": "openai-chat", "base_url": model.base(),
            "api_key_env": "GATEWAY_KEY", "models": [{"id": "m", "images": images}]});
        place.write_settings(&settings);
        let mut agent = Agent::spawn(
            launch()
                .place(&place)
                .env("GATEWAY_KEY", "a-key-of-the-test"),
        );
        agent.initialize();
        let session = agent.create();
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
        agent.end();
        model.asked();
        let asked = model.asked().body;
        let messages = asked["messages"].as_array().unwrap();
        let told = messages
            .iter()
            .find(|message| message["role"] == "tool")
            .unwrap();
        let words = told["content"].as_str().unwrap();
        for part in [
            "See:",
            "image/png",
            "audio/wav",
            "a memo",
            "memo://2",
            "application/zip",
            "memo://3",
        ] {
            assert!(words.contains(part), "{part}: {words}");
        }
        let is_shown = asked
            .to_string()
            .contains(&format!("data:image/png;base64,{PNG}"));
        assert_eq!(is_shown, images, "{asked}");
    }
}

#[test]
fn what_a_server_asks_is_answered_politely() {
    let place = place(
        &json!({"s": misbehaving(&[])}),
        &steps(&[("mcp__s__ask", json!({}))]),
    );
    let results = results(&place);
    let answers: Value = serde_json::from_str(said(&results[0]).0).unwrap();
    let work = place.work().canonicalize().unwrap();
    assert_eq!(
        answers[0]["roots"][0]["uri"],
        format!("file://{}", work.display())
    );
    assert_eq!(answers[1]["error"]["code"], -32601, "sampling: {answers}");
    assert_eq!(answers[2]["action"], "decline", "elicitation: {answers}");
    assert_eq!(answers[3], json!({}), "ping: {answers}");
    assert_eq!(
        answers[4]["error"]["code"], -32601,
        "an unknown one: {answers}"
    );
}

#[test]
fn other_tools_are_offered_to_the_next_request() {
    let results = played(&[
        ("mcp__s__grown", json!({"text": "too early"})),
        ("mcp__s__grow", json!({})),
        ("mcp__s__grown", json!({"text": "now"})),
    ]);
    assert!(said(&results[0]).0.starts_with("no such tool"));
    assert_eq!(said(&results[2]), ("echo: now", false));
}

#[test]
fn other_tools_of_one_that_was_started_again_are_offered_to_the_next_request() {
    let results = played(&[
        ("mcp__s__regrow", json!({})),
        ("mcp__s__echo", json!({"text": "again"})),
        ("mcp__s__regrown", json!({"text": "now"})),
    ]);
    assert_eq!(said(&results[1]), ("echo: again", false));
    assert_eq!(said(&results[2]), ("echo: now", false));
}

#[test]
fn a_run_is_cancelled_at_once_while_tools_are_listed_again() {
    let calls = steps(&[("mcp__s__grow", json!({})), ("mcp__s__echo", json!({}))]);
    let place = place(&json!({"s": misbehaving(&["--hang-relist"])}), &calls);
    let lists = || {
        let heard = heard(&place);
        let lists = heard.iter().filter(|said| said["method"] == "tools/list");
        lists.count()
    };
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    wait_for("the list", || lists() == 2);
    let began = Instant::now();
    agent.ok(
        "turn.cancel",
        json!({"session_id": session, "run_id": run_id}),
    );
    assert_eq!(agent.finish(run_id).outcome(), "cancelled");
    // The list has ten seconds.
    assert!(began.elapsed() < Duration::from_secs(4));
    agent.end();
}

#[test]
fn a_tool_asks_unless_its_server_is_trusted_and_the_settings_say_otherwise() {
    let calls = steps(&[
        ("mcp__s__echo", json!({"text": "the input"})),
        ("mcp__s__fail", json!({})),
    ]);
    let place = place(&json!({"s": misbehaving(&[])}), &calls);
    let mut changed = settings(&place);
    changed["mcp_servers"]["s"]["trust"] = json!(false);
    changed["permissions"] = json!({"mcp__s__fail": "deny"});
    place.write_settings(&changed);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let asked = agent.until("approval.requested");
    let asked = asked.last().unwrap()["data"].clone();
    let question = asked["summary"].as_str().unwrap();
    assert!(
        question.contains("mcp__s__echo") && question.contains("the input"),
        "{question}"
    );
    agent.ok(
        "approval.answer",
        json!({"session_id": session, "run_id": run_id,
        "approval_id": asked["approval_id"], "allow": true}),
    );
    agent.finish(run_id);
    agent.end();
    let results = finished(&place, &session);
    assert_eq!(said(&results[0]), ("echo: the input", false));
    assert!(
        said(&results[1]).0.contains("The settings deny this tool"),
        "{results:?}"
    );
}
