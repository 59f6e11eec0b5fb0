//! `turn.activity`: which activities there are and exactly what they say (spec: "Structured activity").
//! Their numbers are checked where a turn's events are taken; dropping them is `pressure`'s matter.

use serde_json::{Value, json};

use crate::client::Service;
use crate::turn::{Turn, playing};

fn of_kind<'t>(turn: &'t Turn, kind: &str) -> Vec<&'t Value> {
    let mut activities = turn.activities();
    activities.retain(|activity| activity["kind"] == kind);
    activities
}

/// Checks a hashed identity and returns it.
fn hashed<'v>(value: &'v Value, namespace: &str) -> &'v str {
    let id = value.as_str().expect("an id");
    let digest = id.strip_prefix(namespace).unwrap_or_else(|| panic!("{id}"));
    let hex = |b: u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
    assert!(digest.len() == 64 && digest.bytes().all(hex), "{id}");
    id
}

#[test]
fn a_tool_call_is_two_activities_without_a_word_of_its_content() {
    let place = playing(&json!([
        {"tool": "read", "input": {"path": "canary-1.txt"}}, {"text": "Done."}
    ]));
    place.write_file("canary-1.txt", "canary-2");
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let tools = of_kind(&turn, "tool");
    assert_eq!(tools.len(), 2);
    let id = hashed(&tools[0]["activity_id"], "activity-");
    let tool_id = hashed(&tools[0]["tool_id"], "tool-");
    for (tool, status) in tools.iter().zip(["running", "completed"]) {
        let timed_out = if status == "running" {
            Value::Null
        } else {
            tool["timed_out"].clone()
        };
        assert!(timed_out.is_null() || timed_out == json!(false));
        assert_eq!(
            **tool,
            json!({
                "activity_id": id, "kind": "tool", "tool_id": tool_id, "tool_name": "read", "server_id": null,
                "transport": "local", "status": status, "timed_out": timed_out, "details_omitted": true,
            })
        );
    }
    for event in &turn.events {
        assert!(!event.to_string().contains("canary"), "{event}");
    }
}

#[test]
fn tools_that_fail_are_denied_or_unknown_say_so_and_no_more() {
    for (tool, input, name, transport) in [
        (
            "read",
            json!({"path": "missing-canary"}),
            json!("read"),
            "local",
        ),
        ("glob", json!({"path": "canary"}), json!("glob"), "local"),
        ("canary_tool", json!({}), Value::Null, "unknown"),
        ("/etc/canary", json!({}), Value::Null, "unknown"),
    ] {
        let place = playing(&json!([{"tool": tool, "input": input}, {"text": "Done."}]));
        place.write_settings(&{
            let script = place.root().join("script.json");
            json!({"providers": {"fixture": {"script": script}}, "permissions": {"glob": "ask"}})
        });
        let mut service = Service::ready_in(&place);
        let turn = service.hold(None, "x");
        assert_eq!(
            turn.status(),
            "completed",
            "the model is told, the turn goes on"
        );
        let tools = of_kind(&turn, "tool");
        let end = tools.last().expect("an end");
        assert_eq!(
            (&end["tool_name"], &end["transport"], &end["status"]),
            (&name, &json!(transport), &json!("failed")),
            "{tool}"
        );
        for event in &turn.events {
            assert!(!event.to_string().contains("canary"), "{event}");
        }
    }
}

#[test]
fn usage_and_context_tell_counts_and_reuse_their_streams_identities() {
    let place = playing(&json!([
        {"usage": {"input": 120, "output": 8, "cache_read": 20}},
        {"tool": "list", "input": {}},
        {"usage": {"input": 150, "output": 9, "cache_read": 0}},
        {"text": "Done."}
    ]));
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let usage = of_kind(&turn, "usage");
    assert_eq!(usage.len(), 2, "one for each response");
    let id = hashed(&usage[0]["activity_id"], "activity-");
    for (usage, (output, cache_read, request)) in usage.iter().zip([(8, 20, 1), (9, 0, 2)]) {
        let effective = usage["effective_input"].as_u64().expect("a count");
        assert_eq!(
            **usage,
            json!({
                "activity_id": id, "kind": "usage", "effective_input": effective, "output": output,
                "cache_read": cache_read, "cache_known": true, "request_sequence": request, "final_usage": true,
                "source": "provider_request",
            })
        );
    }
    let context = of_kind(&turn, "context");
    assert_eq!(context.len(), 2);
    let id = hashed(&context[0]["activity_id"], "activity-");
    for (context, request) in context.iter().zip([1, 2]) {
        let count = |name: &str| context[name].as_u64().expect("a count");
        assert!(count("current_tokens") > 0 && count("max_tokens") >= count("current_tokens"));
        let source = context["source"].as_str().unwrap();
        assert!(["last_provider_usage", "provider_partial"].contains(&source));
        assert_eq!(
            **context,
            json!({
                "activity_id": id, "kind": "context", "current_tokens": count("current_tokens"),
                "max_tokens": count("max_tokens"), "reasoning_tokens": null, "request_sequence": request,
                "source": source,
            })
        );
    }
}

#[test]
fn only_a_verified_summary_of_reasoning_is_shown() {
    let place = playing(&json!([
        {"reasoning": "raw canary thinking", "provider_summary": false},
        {"reasoning": "I looked at the list.", "provider_summary": true},
        {"text": "Done."}
    ]));
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let summaries = of_kind(&turn, "reasoning_summary");
    assert_eq!(summaries.len(), 1);
    let id = hashed(&summaries[0]["activity_id"], "activity-");
    assert_eq!(
        *summaries[0],
        json!({
            "activity_id": id, "kind": "reasoning_summary", "text": "I looked at the list.", "redacted": false,
            "truncated": false,
        })
    );
    for event in &turn.events {
        assert!(!event.to_string().contains("canary"), "{event}");
    }
}

#[test]
fn summaries_are_bounded_and_clean() {
    let secret = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789";
    for (summary, text, redacted, truncated) in [
        ("a".repeat(2_048), Some("a".repeat(2_048)), false, false),
        ("é".repeat(1_025), Some("é".repeat(1_024)), false, true),
        (
            format!("a{}", "é".repeat(1_024)),
            Some(format!("a{}", "é".repeat(1_023))),
            false,
            true,
        ),
        ("a".repeat(16_384), Some("a".repeat(2_048)), false, true),
        ("a".repeat(16_385), Some(String::new()), false, true),
        (format!("The key is {secret}."), None, true, false),
    ] {
        let place =
            playing(&json!([{"reasoning": summary, "provider_summary": true}, {"text": "Done."}]));
        let mut service = Service::ready_in(&place);
        let turn = service.hold(None, "x");
        let summaries = of_kind(&turn, "reasoning_summary");
        let shown = summaries.last().expect("a summary");
        let bytes = summary.len();
        if let Some(text) = text {
            assert_eq!(shown["text"], json!(text), "of {bytes} bytes");
        }
        assert!(!shown.to_string().contains(secret));
        assert_eq!(
            (&shown["redacted"], &shown["truncated"]),
            (&json!(redacted), &json!(truncated)),
            "of {bytes} bytes"
        );
    }
}

/// A snippet's calls have its activity as their parent; what would have to be asked for is denied, in the snippet's words.
#[cfg(feature = "code-mode")]
#[test]
fn calls_of_a_snippet_stand_beneath_it() {
    let source = "const said = [await tools.read({path: 'canary-1.txt'})]; \
        try { await tools.bash({command: 'echo canary-3'}) } catch (e) { said.push(e.message) } return said";
    let place = playing(&json!([{"tool": "code", "input": {"source": source}}, {"text": "Done."}]));
    place.write_file("canary-1.txt", "canary-2");
    let mut service = Service::ready_in(&place);
    let turn = service.hold(None, "x");
    let tools = of_kind(&turn, "tool");
    let told: Vec<_> = tools
        .iter()
        .map(|tool| {
            (
                tool["tool_name"].as_str().unwrap(),
                tool["status"].as_str().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("code", "running"),
        ("read", "running"),
        ("read", "completed"),
        ("bash", "running"),
        ("bash", "failed"),
        ("code", "completed"),
    ];
    assert_eq!(told, expected);
    for (at, tool) in tools.iter().enumerate() {
        let parent = matches!(at, 1 | 3).then_some(&tools[0]["activity_id"]);
        assert_eq!(tool.get("parent_activity_id"), parent, "{tool}");
    }
    for event in &turn.events {
        assert!(!event.to_string().contains("canary"), "{event}");
    }
    let stored = std::fs::read_to_string(place.session_file(&turn.session_id)).unwrap();
    let setting = "Nobody can be asked for permission here; `permissions.code.bash` set to `allow` in settings.json would allow it";
    assert!(stored.contains(setting), "{stored}");
}
