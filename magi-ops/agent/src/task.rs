//! `task`: gives a task to a subagent, and brings back what it writes last.
//! What a subagent is, may and costs is the run's matter.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tools::{
    Access, ActivityKind, Call, Concurrency, Context, DefaultPolicy, Delegation, Limits, Question,
    Running, Tool, ToolError, ToolOutcome, ToolSpec,
};

use crate::run::MAX_TASK_PROMPT_BYTES;

const NAME: &str = "task";

const DESCRIPTION: &str = "Gives a task to a subagent, which works on it with tools of its own and returns one text. It \
knows nothing of this conversation, so the prompt must say everything: what to do, where, and what to report. Several \
tasks that do not depend on each other may be given together.";

/// A subagent's own time is bounded by the run; this is for one that waits for others first.
const LIMITS: Limits = Limits {
    wall: Duration::from_secs(65 * 60),
    overtime: Duration::from_secs(5),
    // Its tools are ended and its records written within what a cancelled command may take.
    cancel: Duration::from_millis(1500),
};

tools::register! {
    name: NAME,
    position: 90,
    make: |_| Some(Arc::new(Task)),
}

struct Task;

impl Tool for Task {
    fn spec(&self) -> ToolSpec {
        let schema = json!({
            "type": "object",
            "properties": {
                "profile": {
                    "type": "string",
                    "description": "The profile of the subagent: its role, tools and model. Without one it is as you are.",
                },
                "prompt": { "type": "string", "description": "The task, with everything that it takes to do it." },
            },
            "required": ["prompt"],
            "additionalProperties": false,
        });
        ToolSpec {
            concurrency: Concurrency::SideBySide,
            activity: ActivityKind::Subagent,
            makes_calls: true,
            looks: false,
            limits: LIMITS,
            advice: "Give a task to a subagent when it takes much reading and you need only what comes of it.",
            ..ToolSpec::changing(NAME, DESCRIPTION, schema)
        }
    }

    fn access(&self, input: &Value, _: &Context) -> Access {
        let prompt = input.get("prompt").and_then(Value::as_str);
        Access::new(
            DefaultPolicy::Allow,
            Question::new(NAME, prompt.unwrap_or_default()),
        )
    }

    /// Only a name that the person gave a profile is said.
    fn subject(&self, input: &Value, cx: &Context) -> String {
        let profile = input.get("profile").and_then(Value::as_str);
        let known = cx
            .profiles
            .iter()
            .find(|known| Some(known.as_str()) == profile);
        known.cloned().unwrap_or_default()
    }

    fn run(&self, call: Call, _: Arc<Context>) -> Running {
        Box::pin(async move {
            let task = match delegation(&call.input) {
                Ok(task) => task,
                Err(error) => return error.into(),
            };
            match call.caller {
                Some(caller) => caller.delegate(task, call.deadline).await,
                None => ToolOutcome::failed("there is no run that could give a task", "no run"),
            }
        })
    }
}

fn delegation(input: &Value) -> Result<Delegation, ToolError> {
    let refused = |why: &str| Err(ToolError::Input(why.to_owned()));
    let profile = match &input["profile"] {
        Value::Null => None,
        Value::String(name) if name.trim().is_empty() => None,
        Value::String(name) => Some(name.clone()),
        _ => return refused("`profile` must be the name of a profile"),
    };
    let Some(prompt) = input["prompt"].as_str() else {
        return refused("`prompt` must be a text");
    };
    if prompt.trim().is_empty() {
        return refused("`prompt` must say what to do");
    }
    if prompt.len() > MAX_TASK_PROMPT_BYTES {
        return Err(ToolError::TooLong {
            what: "the prompt".to_owned(),
            limit: MAX_TASK_PROMPT_BYTES,
        });
    }
    Ok(Delegation {
        profile,
        prompt: prompt.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_task_needs_words_within_bounds() {
        let read = |input: Value| delegation(&input).map(|task| (task.profile, task.prompt));
        let plain = Ok((None, "do".to_owned()));
        for input in [
            json!({"prompt": "do"}),
            json!({"prompt": "do", "profile": null}),
            json!({"prompt": "do", "profile": " "}),
        ] {
            assert_eq!(read(input).map_err(|error| error.to_string()), plain);
        }
        let named = read(json!({"prompt": "do", "profile": "review"})).unwrap();
        assert_eq!(named.0.as_deref(), Some("review"));
        let long = "x".repeat(MAX_TASK_PROMPT_BYTES);
        assert!(read(json!({"prompt": long})).is_ok());
        for wrong in [
            json!({}),
            json!({"prompt": 5}),
            json!({"prompt": " \n"}),
            json!({"prompt": "do", "profile": ["review"]}),
            json!({"prompt": format!("{long}x")}),
        ] {
            assert!(read(wrong).is_err());
        }
    }

    #[test]
    fn only_known_profiles_are_named() {
        let mut cx = Context::new("/".into(), Vec::new());
        cx.profiles = vec!["review".to_owned()];
        let subject =
            |profile: &str| Task.subject(&json!({"profile": profile, "prompt": "p"}), &cx);
        assert_eq!(subject("review"), "review");
        assert_eq!(subject("made up"), "");
    }
}
