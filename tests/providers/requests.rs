//! What stays the same from request to request of a conversation, and what settings and tools put into each.

use super::*;

/// A wire by its name, what its settings are for a server, its scripts, and where a request has its conversation.
type Wire = (&'static str, fn(&str) -> [Vec<String>; 2], &'static str);

const WIRES: [Wire; 4] = [
    ("anthropic", anthropic, "messages"),
    ("openai-chat", openai_chat, "messages"),
    ("openai-responses", openai_responses, "input"),
    ("gemini", gemini, "contents"),
];

fn settings(api: &str, base: &str) -> Value {
    let own = json!({"api": api, "base_url": base, "api_key_env": "GATEWAY_KEY"});
    json!({"provider": "mine", "model": "m", "providers": {"mine": own}})
}

/// Leaves out the marks of what a server may cache: they move along.
fn unmark(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(unmark),
        Value::Object(members) => {
            members.remove("cache_control");
            members.values_mut().for_each(unmark);
        }
        _ => {}
    }
}

#[test]
fn each_request_of_ten_turns_begins_with_all_of_the_one_before() {
    for (api, script, conversation) in WIRES {
        let turns: Vec<_> = (0..10)
            .flat_map(|turn| script(&format!("Answer {turn}.")))
            .collect();
        let model = Model::start(turns);
        let place = Place::with_settings(&settings(api, &model.base()));
        place.write_file("notes.txt", "first line\nsecond line\n");
        let mut agent = ready(&place);
        let session = agent.create();
        for turn in 0..10 {
            if turn == 5 {
                // A restart changes nothing of it.
                agent.end();
                agent = ready(&place);
                agent.ok("session.open", json!({"session_id": session}));
            }
            let run = agent.turn(&session, &format!("Question {turn}?"));
            assert_eq!(run.outcome(), "completed", "{run:?}");
        }
        agent.end();
        let mut before: Option<(Value, Vec<Value>)> = None;
        for n in 0..20 {
            let mut rest = model.asked().body;
            unmark(&mut rest);
            let Value::Array(said) = rest[conversation].take() else {
                panic!("no conversation: {rest}");
            };
            if let Some((others, earlier)) = before {
                assert_eq!(rest, others, "{api}, request {n}");
                assert!(said.len() > earlier.len());
                assert_eq!(said[..earlier.len()], earlier, "{api}, request {n}");
            }
            before = Some((rest, said));
        }
    }
}

#[test]
fn the_setting_fast_asks_for_the_service_tier() {
    let tiers = [
        ("openai-chat", "priority"),
        ("openai-responses", "priority"),
        ("anthropic", "auto"),
    ];
    for (api, tier) in tiers {
        for fast in [false, true] {
            let script = WIRES.iter().find(|wire| wire.0 == api).unwrap().1;
            let model = Model::start(script("Two lines.").into());
            let mut settings = settings(api, &model.base());
            settings["fast"] = fast.into();
            let [first, _] = turn(&settings, &model, "Two lines.");
            let expected = if fast { json!(tier) } else { Value::Null };
            assert_eq!(first.body["service_tier"], expected, "{api}");
        }
    }
}

#[cfg(feature = "code-mode")]
#[test]
fn what_a_snippet_may_call_is_declared_to_the_model() {
    let model = Model::start(openai_chat("Two lines.").into());
    let mut settings = settings("openai-chat", &model.base());
    settings["permissions"] = json!({"code": {"grep": "deny"}});
    let [first, _] = turn(&settings, &model, "Two lines.");
    let tools = first.body["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["function"]["name"] == "code"));
    let told = first.body["messages"][0]["content"].as_str().unwrap();
    assert!(told.contains("declare const tools: {"), "{told}");
    let read = "  read(input: { limit?: number; offset?: number; path: string }): Promise<string>;";
    assert!(told.contains(read), "{told}");
    // Neither what is denied, nor the tool itself, nor tasks within snippets unless they may be.
    assert!(
        !told.contains("  grep(input") && !told.contains("  code(input"),
        "{told}"
    );
}
