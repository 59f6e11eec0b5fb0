//! Tests of what is shown of each kind of activity, and that no name, argument or result is.
#![allow(clippy::unwrap_used)]
use super::*;
use agent::Activity as Raw;
use proptest::prelude::*;
use serde_json::{Value, json};

/// SHA-256 of `abc`, as FIPS 180-2 gives it.
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn shown(raw: Raw) -> Value {
    serde_json::to_value(super::shown(raw)).unwrap()
}

fn tool(name: &str, state: ActivityState, timed_out: Option<bool>) -> Value {
    shown(Raw::Tool {
        id: "abc".to_owned(),
        parent: None,
        kind: agent::ActivityKind::Tool,
        tool: name.to_owned(),
        server: None,
        name: Default::default(),
        state,
        summary: Default::default(),
        timed_out,
    })
}

#[test]
fn a_built_in_tool_is_named_and_any_other_only_hashed() {
    let read = tool("read", ActivityState::Completed, Some(false));
    let (id, tool_id) = (format!("activity-{ABC}"), hashed("tool", "read"));
    assert_eq!(
        read,
        json!({
            "activity_id": id, "kind": "tool", "tool_id": tool_id, "tool_name": "read", "server_id": null,
            "transport": "local", "status": "completed", "timed_out": false, "details_omitted": true,
        })
    );
    for other in ["abc", "Read", "read ", "", "secret_tool"] {
        let shown = tool(other, ActivityState::Started, None);
        assert_eq!(shown["tool_name"], Value::Null, "{other}");
        assert_eq!(shown["transport"], "unknown", "{other}");
        assert!(!shown.to_string().contains("secret"), "{shown}");
    }
    let abc = tool("abc", ActivityState::Started, None);
    assert_eq!(abc["tool_id"], format!("tool-{ABC}"));
    assert!(abc.as_object().unwrap()["timed_out"].is_null());
}

#[test]
fn a_tool_of_a_server_is_hashed_with_its_server_and_never_named() {
    // Also one that has the name of a tool of ours.
    for name in ["mcp__secret__tool", "read"] {
        let shown = shown(Raw::Tool {
            id: "abc".to_owned(),
            parent: None,
            kind: agent::ActivityKind::Tool,
            tool: name.to_owned(),
            server: Some("abc".into()),
            name: Default::default(),
            state: ActivityState::Started,
            summary: Default::default(),
            timed_out: None,
        });
        assert_eq!(shown["server_id"], format!("server-{ABC}"));
        assert_eq!(shown["tool_id"], hashed("tool", name));
        assert_eq!(
            (&shown["transport"], &shown["tool_name"]),
            (&json!("mcp"), &Value::Null)
        );
        assert!(!shown.to_string().contains("secret"), "{shown}");
    }
}

#[test]
fn a_tool_runs_and_then_completes_or_fails() {
    for (state, word) in [
        (ActivityState::Started, "running"),
        (ActivityState::Completed, "completed"),
        (ActivityState::Failed, "failed"),
        (ActivityState::Cancelled, "failed"),
    ] {
        assert_eq!(tool("bash", state, None)["status"], word);
    }
}

#[test]
fn a_call_beneath_another_names_it_on_start_only() {
    let beneath = |state| {
        shown(Raw::Tool {
            id: "x".to_owned(),
            parent: Some("abc".to_owned()),
            kind: agent::ActivityKind::Tool,
            tool: "read".to_owned(),
            server: None,
            name: Default::default(),
            state,
            summary: Default::default(),
            timed_out: None,
        })
    };
    let started = beneath(ActivityState::Started);
    assert_eq!(started["parent_activity_id"], format!("activity-{ABC}"));
    let ended = beneath(ActivityState::Completed);
    assert!(ended.get("parent_activity_id").is_none());
}

#[test]
fn a_lifecycle_has_its_category_on_start_only() {
    let id = || "abc".to_owned();
    let activity_id = format!("activity-{ABC}");
    for (what, category) in [
        (Category::SubagentBatch, "subagent_batch"),
        (Category::Hook, "hook"),
        (Category::ContextInjection, "context_injection"),
        (Category::Diagnostic, "diagnostic"),
    ] {
        assert_eq!(
            shown(Raw::Began {
                id: id(),
                parent: None,
                what,
                waits: false,
            }),
            json!({
                "activity_id": activity_id, "kind": "lifecycle", "category": category,
                "status": "running", "details_omitted": true,
            })
        );
    }
    let state = ActivityState::Cancelled;
    assert_eq!(
        shown(Raw::Ended { id: id(), state }),
        json!({
            "activity_id": activity_id, "kind": "lifecycle", "category": "activity",
            "status": "cancelled", "details_omitted": true,
        })
    );
}

#[test]
fn counts_that_nobody_knows_are_null_or_marked() {
    let context = |reasoning_tokens, source| {
        shown(Raw::Context {
            current_tokens: 128,
            max_tokens: 200_000,
            reasoning_tokens,
            request: 2,
            source,
        })
    };
    let id = hashed("activity", CONTEXT_STREAM);
    assert_eq!(
        context(None, ContextSource::ProviderPartial),
        json!({
            "activity_id": id, "kind": "context", "current_tokens": 128, "max_tokens": 200_000,
            "reasoning_tokens": null, "request_sequence": 2, "source": "provider_partial",
        })
    );
    let known = context(Some(7), ContextSource::LastProviderUsage);
    assert_eq!(
        (&known["reasoning_tokens"], &known["source"]),
        (&json!(7), &json!("last_provider_usage"))
    );
    let usage = |cache_read| {
        shown(Raw::Usage {
            effective_input: 120,
            output: 8,
            cache_read,
            request: 1,
            source: Source::Request,
        })
    };
    let id = hashed("activity", USAGE_STREAM);
    assert_eq!(
        usage(None),
        json!({
            "activity_id": id, "kind": "usage", "effective_input": 120, "output": 8, "cache_read": 0,
            "cache_known": false, "request_sequence": 1, "final_usage": true, "source": "provider_request",
        })
    );
    let cached = usage(Some(0));
    assert_eq!(
        (&cached["cache_read"], &cached["cache_known"]),
        (&json!(0), &json!(true))
    );
}

#[test]
fn a_task_waits_runs_and_ends_beneath_its_batch() {
    let activity_id = format!("activity-{ABC}");
    let parent = hashed("activity", "batch");
    for (waits, status) in [(true, "queued"), (false, "running")] {
        let began = shown(Raw::Began {
            id: "abc".to_owned(),
            parent: Some("batch".to_owned()),
            what: Category::SubagentTask,
            waits,
        });
        assert_eq!(
            began,
            json!({
                "activity_id": activity_id, "parent_activity_id": parent, "kind": "lifecycle",
                "category": "subagent_task", "status": status, "details_omitted": true,
            })
        );
    }
}

#[test]
fn a_compaction_has_counts_at_its_beginning_and_its_end() {
    let activity_id = format!("activity-{ABC}");
    use CompactionState::{Cancelled, Completed, Failed, Running, Triggered};
    for (state, word, counts, ended) in [
        (Triggered, "triggered", true, false),
        (Running, "running", false, false),
        (Completed, "completed", true, true),
        (Failed, "failed", false, true),
        (Cancelled, "cancelled", false, true),
    ] {
        let (current, max) = match counts {
            true => (json!(7), json!(9)),
            false => (Value::Null, Value::Null),
        };
        let raw = Raw::Compaction {
            id: "abc".to_owned(),
            state,
            tokens: counts.then_some((7, 9)),
            summary: Default::default(),
        };
        assert_eq!(
            shown(raw),
            json!({
                "activity_id": activity_id, "kind": "compaction", "status": word, "current_tokens": current,
                "max_tokens": max, "replay_required": ended,
            })
        );
    }
}

#[test]
fn what_a_subagent_does_stands_beneath_its_task_on_start_only() {
    let of_task = |activity: Raw| {
        shown(Raw::OfTask {
            task: "abc".to_owned(),
            activity: Box::new(activity),
        })
    };
    let tool = |parent: Option<&str>, state, timed_out| {
        of_task(Raw::Tool {
            id: "x".to_owned(),
            parent: parent.map(str::to_owned),
            kind: agent::ActivityKind::Tool,
            tool: "read".to_owned(),
            server: None,
            name: Default::default(),
            state,
            summary: Default::default(),
            timed_out,
        })
    };
    let task = format!("activity-{ABC}");
    let started = tool(None, ActivityState::Started, None);
    assert_eq!(started["parent_activity_id"], task);
    assert_eq!(started["tool_name"], "read");
    let ended = tool(None, ActivityState::Failed, Some(true));
    assert!(ended.get("parent_activity_id").is_none());
    assert_eq!(ended["timed_out"], Value::Null);
    let deeper = tool(Some("other"), ActivityState::Started, None);
    assert_eq!(deeper["parent_activity_id"], hashed("activity", "other"));
    let hook = of_task(Raw::Began {
        id: "h".to_owned(),
        parent: None,
        what: Category::Hook,
        waits: false,
    });
    assert_eq!(hook["parent_activity_id"], task);
    let state = ActivityState::Completed;
    let ended = of_task(Raw::Ended {
        id: "h".to_owned(),
        state,
    });
    assert!(ended.get("parent_activity_id").is_none());
}

#[test]
fn subagents_cost_stands_apart() {
    let usage = shown(Raw::Usage {
        effective_input: 7,
        output: 3,
        cache_read: Some(1),
        request: 2,
        source: Source::Subagents,
    });
    assert_eq!(usage["source"], "subagent_aggregate");
    assert_eq!(usage["request_sequence"], 2);
}

#[test]
fn a_summary_is_what_the_engine_cleaned() {
    assert_eq!(
        shown(Raw::ReasoningSummary {
            id: "abc".to_owned(),
            text: Default::default(),
            redacted: false,
            truncated: true,
        }),
        json!({
            "activity_id": format!("activity-{ABC}"), "kind": "reasoning_summary", "text": "",
            "redacted": false, "truncated": true,
        })
    );
}

proptest! {
    #[test]
    fn identities_are_bounded_and_tell_nothing_of_the_raw_ones(raw in ".{4,300}") {
        let id = hashed("activity", &raw);
        prop_assert_eq!(id.len(), "activity-".len() + 64);
        prop_assert!(id["activity-".len()..].bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')));
        prop_assert_eq!(&id, &hashed("activity", &raw));
        prop_assert_ne!(id, hashed("activity", &format!("{raw} ")));
    }
}
