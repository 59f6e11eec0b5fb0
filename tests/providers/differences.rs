//! Where servers differ and fail: what the person is told, what is learned, what goes back (decisions, "Real providers").
//! Whole turns are the parent's.

use super::*;

#[test]
fn selections_that_cannot_be_served_fail_startup() {
    let custom = |own: Value| json!({"provider": "mine", "model": "m", "providers": {"mine": own}});
    let local = "http://127.0.0.1:9";
    for (settings, code) in [
        // The keys of these are not set.
        (
            json!({"provider": "anthropic", "model": "m"}),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat", "base_url": local, "api_key_env": "NO_SUCH_KEY"})),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat", "base_url": local, "models": ["other"]})),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-responses"})),
            "configuration_invalid",
        ),
        (custom(json!({"base_url": local})), "provider_unavailable"),
        (
            json!({"provider": "ollama", "providers": {"ollama": {"api": "ollama"}}}),
            "provider_unavailable",
        ),
        (
            custom(json!({"api": "openai-chat"})),
            "configuration_invalid",
        ),
        (
            custom(json!({"api": "gemini", "base_url": format!("{local}/v1/responses")})),
            "configuration_invalid",
        ),
        (
            custom(json!({"api": "ollama", "base_url": "ftp://127.0.0.1"})),
            "configuration_invalid",
        ),
        (
            custom(json!({"api": "ollama", "base_url": "http://me:canary@127.0.0.1"})),
            "configuration_invalid",
        ),
    ] {
        let place = Place::with_settings(&settings);
        let mut agent = Agent::spawn(launch().place(&place));
        let refused = agent.err("initialize", json!({"required_capabilities": []}));
        assert_eq!(refused, code, "{settings}");
        agent.ok("shutdown", json!({}));
        assert_clean(&agent.server.wait_exit());
    }
}

pub(super) fn chat(base: &str, more: &Value) -> Value {
    let mut own = json!({"api": "openai-chat", "base_url": base, "api_key_env": "GATEWAY_KEY"});
    own.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    json!({"provider": "mine", "model": "m", "providers": {"mine": own}})
}

/// A response of chat completions: its deltas, then the reason to finish.
pub(super) fn completion(deltas: &[Value], reason: &str) -> Answer {
    let delta = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut events: Vec<_> = deltas.iter().map(delta).collect();
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}));
    Answer::events(&events)
}

fn list_call(id: &str) -> Value {
    json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "list", "arguments": "{}"}}]})
}

#[test]
fn a_refusal_of_a_request_without_a_key_says_that_none_was_sent() {
    let body = r#"{"error":{"message":"no token"}}"#;
    let model = Model::answering(vec![Answer::refusal(401, body)]);
    let place = Place::with_settings(&chat(&model.base(), &json!({"api_key_env": null})));
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "Hello?");
    let diagnostics = run.named("diagnostic");
    let summary = diagnostics.last().unwrap()["summary"].as_str().unwrap();
    let words =
        "(none was sent: `providers.mine.api_key_env` names no variable) (HTTP 401): no token";
    assert!(summary.ends_with(words), "{summary}");
    agent.end();
}

#[test]
fn why_a_model_refuses_is_told_redacted_and_kept() {
    let secret = format!("sk-proj-{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let leak = format!(r#"{{"error":{{"message":"Incorrect API key provided: {secret}"}}}}"#);
    let long = format!(r#"{{"error":{{"message":"{}"}}}}"#, "no ".repeat(2000));
    for (status, body, told) in [
        (
            404,
            r#"{"error":{"message":"The model `m` does not exist"}}"#,
            "The model `m` does not exist",
        ),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance"}}"#,
            "Insufficient Balance",
        ),
        (
            422,
            r#"{"detail":[{"loc":["body","messages"],"msg":"too odd"}]}"#,
            "too odd",
        ),
        (401, leak.as_str(), "Incorrect API key provided"),
        (400, long.as_str(), "no no no"),
        (
            400,
            r#"{"error":{"message":"\u001b]0;title\u0007no \u001b[31mred\u001b[0m\u001b]8;;http://x"}}"#,
            "(HTTP 400): no red",
        ),
        (302, "", "(HTTP 302)"),
    ] {
        let model = Model::answering(vec![Answer::refusal(status, body)]);
        let place = Place::with_settings(&chat(&model.base(), &json!({})));
        let mut agent = ready(&place);
        let session = agent.create();
        let run = agent.turn(&session, "Hello?");
        assert_eq!(run.outcome(), "failed");
        assert_eq!(run.end()["error_code"], "provider_unavailable", "{status}");
        let diagnostics = run.named("diagnostic");
        let summary = diagnostics.last().unwrap()["summary"].as_str().unwrap();
        assert!(summary.contains(told), "{status}: {summary}");
        let names_its_variable = summary.contains("of the variable `GATEWAY_KEY`");
        assert_eq!(names_its_variable, status == 401, "{summary}");
        assert!(summary.contains(&format!("(HTTP {status})")), "{summary}");
        assert!(
            summary.len() <= 400 && !summary.contains(&secret),
            "{summary}"
        );
        assert!(!format!("{run:?}").contains("127.0.0.1"));
        agent.end();
        let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
        assert!(
            stored.contains(told) && !stored.contains(&secret),
            "{stored}"
        );
    }
}

#[test]
fn a_model_that_cannot_be_reached_is_told_with_host_and_port_and_the_system_s_reason() {
    // Nobody listens there any more.
    let model = Model::start(Vec::new());
    let base = model.base();
    let address = base.trim_start_matches("http://").to_owned();
    let base = format!("{base}/path-canary?key=query-canary");
    let settings = json!({
        "provider": "mine",
        "model": "m",
        "providers": {"mine": {"api": "ollama", "base_url": base}},
    });
    drop(model);
    let place = Place::with_settings(&settings);
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "Hello?");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "provider_unavailable");
    let told = format!("{run:?}");
    assert!(
        told.contains("Connection refused") || told.contains("onnection"),
        "{told}"
    );
    let at = format!("the provider cannot be reached at {address}: ");
    assert!(told.contains(&at) && !told.contains("canary"), "{told}");
    agent.end();
}

#[test]
fn a_member_that_the_server_refuses_is_left_out_from_then_on() {
    let refusal = r#"{"error":{"message":"Unrecognized request argument: stream_options"}}"#;
    let done = || completion(&[json!({"content": "ok"})], "stop");
    let model = Model::answering(vec![Answer::refusal(400, refusal), done(), done()]);
    let place = Place::with_settings(&chat(&model.base(), &json!({"max_output_tokens": 77})));
    let mut agent = ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    }
    agent.end();
    let asked = [model.asked(), model.asked(), model.asked()];
    let has: Vec<_> = asked
        .iter()
        .map(|asked| asked.body.get("stream_options").is_some())
        .collect();
    assert_eq!(has, [true, false, false]);
    assert!(asked.iter().all(|asked| asked.body["max_tokens"] == 77));
}

#[test]
fn what_a_server_wants_back_goes_back_after_a_restart_too() {
    let signed = json!({"google": {"thought_signature": "canary-signature"}});
    let mut call = list_call("call_1");
    call["tool_calls"][0]["extra_content"] = signed.clone();
    let first = completion(
        &[json!({"reasoning_content": "canary thinking"}), call],
        "tool_calls",
    );
    let done = || completion(&[json!({"content": "ok"})], "stop");
    let model = Model::answering(vec![first, done(), done(), done()]);
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert!(!format!("{run:?}").contains("canary"), "{run:?}");
    agent.end();
    for _ in 0..2 {
        let mut agent = ready(&place);
        agent.ok("session.open", json!({ "session_id": session }));
        agent.turn(&session, "on");
        agent.end();
    }
    let asked: Vec<_> = (0..4).map(|_| model.asked().body).collect();
    for body in &asked[1..] {
        let said = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .find(|message| message["role"] == "assistant")
            .unwrap();
        assert_eq!(said["reasoning_content"], "canary thinking");
        assert_eq!(said["tool_calls"][0]["extra_content"], signed);
    }
}

#[test]
fn ids_of_calls_are_as_a_server_takes_them() {
    let refusal =
        r#"{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}"#;
    let model = Model::answering(vec![
        completion(&[list_call("call_1")], "tool_calls"),
        Answer::refusal(400, refusal),
        completion(&[json!({"content": "ok"})], "stop"),
        completion(&[json!({"content": "ok"})], "stop"),
    ]);
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    for _ in 0..2 {
        assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    }
    agent.end();
    let ids: Vec<_> = (0..4)
        .map(|_| {
            let body = model.asked().body;
            let messages = body["messages"].as_array().unwrap().clone();
            let called = messages
                .iter()
                .find_map(|m| m["tool_calls"][0]["id"].as_str().map(str::to_owned));
            let answered = messages
                .iter()
                .find_map(|m| m["tool_call_id"].as_str().map(str::to_owned));
            assert_eq!(called, answered);
            called
        })
        .collect();
    assert_eq!((&ids[0], ids[1].as_deref()), (&None, Some("call_1")));
    assert_eq!(ids[2].as_ref().unwrap().len(), 9);
    assert_eq!(ids[2], ids[3]);
}

#[test]
fn a_model_that_repeats_one_call_is_told_and_then_stopped() {
    let answers = (0..20).map(|at| completion(&[list_call(&format!("call_{at}"))], "tool_calls"));
    let model = Model::answering(answers.collect());
    let place = Place::with_settings(&chat(&model.base(), &json!({})));
    let mut agent = ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "failed");
    assert_eq!(run.end()["error_code"], "execution_failed");
    let diagnostics = run.named("diagnostic");
    let summary = diagnostics.last().unwrap()["summary"].as_str().unwrap();
    assert!(summary.contains("eight times"), "{summary}");
    agent.end();
    let results: Vec<_> = (0..8)
        .map(|_| {
            let body = model.asked().body;
            let last = body["messages"].as_array().unwrap().last().unwrap().clone();
            last["content"]
                .as_str()
                .unwrap()
                .contains("times with the same result")
        })
        .collect();
    // Behind the third call and the later ones.
    assert_eq!(results, [false, false, false, true, true, true, true, true]);
}
