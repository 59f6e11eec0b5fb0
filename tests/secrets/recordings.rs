//! Canaries through the exchanges that `MC_RECORD` keeps: in prompts, files that tools read, answers cut anywhere, and
//! refusals. What one exchange keeps is tested in `magi-ops/provider`.

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::server::{Answer, Model};
use crate::shapes::{Canary, all};
use crate::shown::Shown;
use crate::support::Place;

/// A response of chat completions.
fn completion(deltas: &[Value]) -> Answer {
    let event = |delta: &Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let mut events: Vec<_> = deltas.iter().map(event).collect();
    events.push(json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}));
    Answer::events(&events)
}

/// Everything of an exchange, and what its stream says together.
fn kept(exchange: &Value) -> Shown {
    let mut shown = Shown::of_value(exchange);
    let body = exchange["response"]["body"].as_str().unwrap_or_default();
    let mut said = String::new();
    for line in body.lines().filter_map(|line| line.strip_prefix("data: ")) {
        let event: Value = serde_json::from_str(line).unwrap_or_default();
        let content = &event["choices"][0]["delta"]["content"];
        said += content.as_str().unwrap_or_default();
        shown.take(&event);
    }
    shown.take(&said.into());
    shown
}

#[test]
fn in_recordings() {
    let canaries = all();
    let file = |canary: &Canary| format!("{}.txt", canary.name);
    let mut answers = Vec::new();
    for (n, canary) in canaries.iter().enumerate() {
        let input = json!({"path": file(canary)}).to_string();
        let read =
            json!([{"index": 0, "id": "c", "function": {"name": "read", "arguments": input}}]);
        answers.push(completion(&[json!({"tool_calls": read})]));
        let line = canary.line();
        let border = |share: usize| line.floor_char_boundary(line.len() * share / 10);
        let (first, second) = (border(n % 5), border(5 + n % 5));
        let pieces = [&line[..first], &line[first..second], &line[second..]];
        let say = |text: &&str| json!({"content": text});
        answers.push(completion(&pieces.iter().map(say).collect::<Vec<_>>()));
        let refusal = json!({"error": {"message": format!("Refused: {line}")}});
        answers.push(Answer::refusal(401, &refusal.to_string()));
    }
    let model = Model::answering(answers);
    let own = json!({"api": "openai-chat", "base_url": model.base(), "api_key_env": "GATEWAY_KEY"});
    let settings = json!({"provider": "mine", "model": "m", "providers": {"mine": own}});
    let place = Place::with_settings(&settings);
    for canary in &canaries {
        place.write_file(&file(canary), &canary.line());
    }
    let folder = place.root().join("recorded");
    let launch = launch()
        .place(&place)
        .env("GATEWAY_KEY", "canary-key-0123456789");
    let mut agent = Agent::spawn(launch.env("MC_RECORD", folder.to_str().unwrap()));
    agent.initialize();
    for canary in &canaries {
        // A session each: what is sent again and again says nothing new.
        let session = agent.create();
        assert_eq!(agent.turn(&session, &canary.line()).outcome(), "completed");
        assert_eq!(agent.turn(&session, "go").outcome(), "failed");
    }
    agent.end();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert_eq!(files.len(), canaries.len() * 3);
    let mut leaks = Vec::new();
    for (path, canary) in files.iter().zip(canaries.iter().flat_map(|it| [it; 3])) {
        let exchange = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        leaks.extend(kept(&exchange).leak(canary));
    }
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
}

#[test]
fn what_is_stored_for_others_is_neither_shown_nor_kept() {
    let stored = |mark: &str| {
        let words = ["access", "refresh", "account", "key", "server"];
        let words = words.map(|word| format!("plainword-{word}-{mark}"));
        let [access, refresh, account, key, server] = &words;
        let oauth =
            json!({"access_token": access, "refresh_token": refresh, "account_id": account});
        let accounts = json!({
            "version": 1,
            "providers": {
                "openai-codex": {"generation": 1, "oauth": oauth},
                "anthropic": {"generation": 1, "api_key": key},
                "a-later-one": 7,
            },
            "mcp_servers": {"s": {"token": {"access_token": server, "scopes": ["plainword-scope"]}}},
        });
        (words, accounts.to_string())
    };
    let (early, first) = stored("early");
    let (late, second) = stored("late");
    let says = format!("{} {} plainword-scope", early.join(" "), late.join(" "));
    let answers = [(); 2].map(|()| completion(&[json!({"content": says})]));
    let model = Model::answering(answers.to_vec());
    let own = json!({"api": "openai-chat", "base_url": model.base()});
    let settings = json!({"provider": "mine", "model": "m", "providers": {"mine": own}});
    let place = Place::with_settings(&settings);
    let file = place.mc_home().join("auth.json");
    std::fs::write(&file, first).unwrap();
    let folder = place.root().join("recorded");
    let launch = launch().place(&place);
    let mut agent = Agent::spawn(launch.env("MC_RECORD", folder.to_str().unwrap()));
    agent.initialize();
    let session = agent.create();
    let shown = Shown::of_run(&agent.turn(&session, "go"));
    assert!(early.iter().all(|word| !shown.holds(word)), "{shown:?}");
    // Nobody knows these yet, so they are words as any others.
    assert!(late.iter().all(|word| shown.holds(word)), "{shown:?}");
    std::fs::write(&file, second).unwrap();
    let shown = Shown::of_run(&agent.turn(&session, "go"));
    let both = || early.iter().chain(&late);
    assert!(both().all(|word| !shown.holds(word)), "{shown:?}");
    assert!(shown.holds("plainword-scope"), "{shown:?}");
    agent.end();
    let entries = std::fs::read_dir(&folder).unwrap();
    let last = entries.map(|entry| entry.unwrap().path()).max().unwrap();
    let last = std::fs::read_to_string(last).unwrap();
    assert!(both().all(|word| !last.contains(word)), "{last}");
}
