//! Calls that a call makes: decided, shown and stored as every other, and none of the conversation.

use std::sync::Arc;

use ::tools::{
    Access, Call, Context, DefaultPolicy, Question, Running, Success, Tool, ToolOutcome, ToolSpec,
};
use serde_json::Value;

use super::*;

/// Makes the calls of its input, side by side, and tells what they came to.
struct Relay;

const NAME: &str = "relay_of_the_tests";

::tools::register! {
    name: NAME,
    position: 900,
    make: |cx| {
        let wanted = cx.workspace.join("home/settings.json");
        let wanted = std::fs::read_to_string(wanted).is_ok_and(|text| text.contains("relay"));
        wanted.then(|| Arc::new(Relay) as Arc<dyn Tool>)
    },
}

impl Tool for Relay {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            makes_calls: true,
            ..ToolSpec::changing(NAME, "", json!({}))
        }
    }

    fn access(&self, _: &Value, _: &Context) -> Access {
        Access::new(DefaultPolicy::Allow, Question::new(NAME, ""))
    }

    fn run(&self, call: Call, _: Arc<Context>) -> Running {
        Box::pin(async move {
            let caller = call.caller.unwrap();
            let names: Vec<_> = caller
                .tools()
                .iter()
                .map(|spec| spec.name.clone())
                .collect();
            let calls = call.input["calls"].as_array().unwrap().iter().map(|call| {
                let name = call["name"].as_str().unwrap().to_owned();
                caller.call(name, call["input"].clone())
            });
            let left = call.input["leave"] == true;
            if left {
                let mut calls: Vec<_> = calls.collect();
                // Begun and never waited for.
                let first = calls.swap_remove(0);
                let _ = tokio::time::timeout(std::time::Duration::from_millis(300), first).await;
            } else {
                let outcomes: Vec<ToolOutcome> = futures_util::future::join_all(calls).await;
                let told: Vec<_> = outcomes.iter().map(|o| o.content.trim()).collect();
                let content = format!("{} | {}", names.join(" "), told.join(" | "));
                let summary = "relayed".to_owned();
                return Success::text(content, summary).into();
            }
            let (content, summary) = (String::new(), "left".to_owned());
            Success::text(content, summary).into()
        })
    }
}

async fn relay(input: Value, settings: &str) -> Played {
    let provider = canned(vec![vec![call("c1", NAME, input)], vec![text("done")]]);
    let mut played = play_with(provider.clone(), settings, Vec::new()).await;
    played.asked = std::mem::take(&mut *provider.asked.lock().unwrap());
    played
}

/// Activities of tools: their parents by place, their names and states.
fn activities(events: &[RunEvent]) -> Vec<(Option<usize>, &str, ActivityState)> {
    let mut ids: Vec<&str> = Vec::new();
    let mut seen = Vec::new();
    for event in events {
        if let RunEvent::MayDrop {
            event:
                MayDrop::Activity(Activity::Tool {
                    id,
                    parent,
                    tool,
                    state,
                    ..
                }),
            ..
        } = event
        {
            if *state == ActivityState::Started {
                ids.push(id);
            }
            let parent = parent.as_deref();
            let parent = parent.map(|id| ids.iter().position(|known| *known == id).unwrap());
            seen.push((parent, tool.as_str(), *state));
        }
    }
    seen
}

#[tokio::test]
async fn calls_beneath_a_call_are_decided_shown_and_stored_and_none_of_the_conversation() {
    let calls = json!({ "calls": [
        { "name": "read", "input": { "path": "a.txt" } },
        { "name": "write", "input": { "path": "b.txt", "content": "b" } },
        { "name": "bash", "input": { "command": "true" } },
        { "name": "glob", "input": { "pattern": "*" } },
        { "name": NAME, "input": { "calls": [] } },
        { "name": "nothing", "input": {} },
    ]});
    let settings = r#"{"permissions": {"glob": "deny", "relay_of_the_tests": "allow"}}"#;
    let played = relay(calls, settings).await;
    assert_eq!(error_code(&played.events), None);
    let Some(Message::ToolResult { content, .. }) = played.asked[1].last() else {
        panic!("{:?}", played.asked);
    };
    let told: Vec<_> = content.split(" | ").collect();
    assert!(
        told[0].contains("read") && told[0].contains("write"),
        "{told:?}"
    );
    // Neither what is denied nor what makes calls itself.
    assert!(
        !told[0].contains("glob") && !told[0].contains(NAME),
        "{told:?}"
    );
    assert!(told[1].contains("content of a"), "{told:?}");
    assert!(told[3].contains("did not allow"), "{told:?}");
    assert!(told[4].contains("deny this tool"), "{told:?}");
    assert!(told[5].starts_with("no such tool"), "{told:?}");
    assert!(told[6].starts_with("no such tool"), "{told:?}");
    let seen = activities(&played.events);
    use ActivityState::{Completed, Failed, Started};
    assert_eq!(seen[0], (None, NAME, Started));
    assert_eq!(seen[seen.len() - 1], (None, NAME, Completed));
    for (tool, ended) in [
        ("read", Completed),
        ("write", Completed),
        ("bash", Failed),
        ("glob", Failed),
    ] {
        for state in [Started, ended] {
            let times = seen.iter().filter(|a| **a == (Some(0), tool, state));
            assert_eq!(times.count(), 1, "{tool} {state:?}: {seen:?}");
        }
    }
    // After a restart the model has the one call that it made.
    let calls = played.replayed.iter().filter_map(|message| match message {
        Message::Assistant { tool_calls, .. } => Some(tool_calls.len()),
        _ => None,
    });
    assert_eq!(calls.collect::<Vec<_>>(), [1, 0]);
    assert_eq!(played.stored.matches("\"parent\":").count(), 8);
}

#[tokio::test]
async fn what_a_call_leaves_beneath_it_ends_with_it() {
    let calls = json!({ "leave": true, "calls": [
        { "name": "bash", "input": { "command": "sleep 60" } },
    ]});
    let settings = r#"{"permissions": {"bash": "allow", "relay_of_the_tests": "allow"}}"#;
    let played = relay(calls, settings).await;
    assert_eq!(error_code(&played.events), None);
    use ActivityState::{Completed, Failed, Started};
    assert_eq!(
        activities(&played.events),
        [
            (None, NAME, Started),
            (Some(0), "bash", Started),
            (Some(0), "bash", Failed),
            (None, NAME, Completed),
        ]
    );
}

#[tokio::test]
async fn calls_beneath_a_call_count_against_the_run_s_bound() {
    let read = json!({ "name": "read", "input": { "path": "a.txt" } });
    let calls = json!({ "calls": vec![read; policy::RECONCILED.max_activities + 10] });
    let settings = r#"{"permissions": {"relay_of_the_tests": "allow"}}"#;
    let played = relay(calls, settings).await;
    let Some(Message::ToolResult { content, .. }) = played.asked[1].last() else {
        panic!("{:?}", played.asked);
    };
    assert_eq!(content.matches("too many activities").count(), 11);
}
