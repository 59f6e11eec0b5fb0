//! Scripts of the offline provider: what is played is what a second reading of the script says, and what that
//! reading does not understand is refused with its place. Waits pass in virtual time; no file is read.

use std::sync::Arc;
use std::sync::OnceLock;

use provider::fuzzing::fixture;
use provider::{
    Chunk, ErrorKind, Fixture, Message, Provider, ProviderState, Request, ScriptError,
    ThinkingLevel, ToolCall, Usage,
};
use serde_json::{Map, Value};
use tokio::runtime::{Builder, Runtime};
use tokio_util::sync::CancellationToken;

use crate::naive;

/// Most pieces of one response that are pulled.
const PULLS: usize = 300;
/// Responses that are played of one turn.
const RESPONSES: usize = 4;

/// What a response says, its pieces put together.
#[derive(Debug, PartialEq)]
enum Said {
    Text(String),
    Reasoning(String, bool),
    Tool(String, Value),
    Usage(Usage),
    Failed(ErrorKind),
}

/// Checks an input. Gives the names of what was played, or the place of the refusal without its numbers.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<String> {
    let read = fixture(data);
    let value = serde_json::from_slice::<Value>(data).ok();
    let script = value.as_ref().and_then(turns);
    match read {
        Ok(fixture) => {
            let script = script.expect("what is no script is refused");
            play(&fixture, &script)
        }
        Err(ScriptError::Invalid { at, reason }) => {
            assert!(!reason.is_empty());
            assert!(
                script.is_none() || names_twice(data),
                "a script is taken: {at}: {reason}"
            );
            let place: String = at.chars().filter(|c| !c.is_ascii_digit()).collect();
            vec![place]
        }
        Err(other) => panic!("no file is read: {other:?}"),
    }
}

/// Of members of one name the second reading sees the last one.
fn names_twice(data: &[u8]) -> bool {
    std::str::from_utf8(data).is_ok_and(|text| {
        let found = naive::measure(text);
        found.duplicate_top || found.duplicate_nested
    })
}

/// The members of an object that has no other.
fn object<'a>(value: &'a Value, known: &[&str]) -> Option<&'a Map<String, Value>> {
    let object = value.as_object()?;
    object
        .keys()
        .all(|key| known.contains(&key.as_str()))
        .then_some(object)
}

/// The steps of each turn as they were written, if that is a script.
fn turns(script: &Value) -> Option<Vec<&[Value]>> {
    let script = object(script, &["turns", "compaction"])?;
    let turns = script.get("turns")?.as_array()?;
    let steps = |turn| object(turn, &["steps"])?.get("steps")?.as_array();
    if let Some(compaction) = member(script, "compaction")
        && !steps(compaction)?.iter().all(is_step)
    {
        return None;
    }
    let turns: Option<Vec<&[Value]>> = turns
        .iter()
        .map(|turn| steps(turn).map(Vec::as_slice))
        .collect();
    turns.filter(|turns| !turns.is_empty() && turns.iter().copied().flatten().all(is_step))
}

/// The member called `name`; null is none.
fn member<'a>(step: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    step.get(name).filter(|value| !value.is_null())
}

fn is_step(step: &Value) -> bool {
    let options = [
        ("provider_summary", "reasoning"),
        ("chunks", "text"),
        ("delay_ms", "text"),
        ("repeat", "text"),
        ("input", "tool"),
    ];
    let kinds = ["reasoning", "text", "tool", "usage", "error", "wait_ms"];
    let known = [&options.map(|(name, _)| name)[..], &kinds].concat();
    let Some(step) = object(step, &known) else {
        return false;
    };
    let named: Vec<_> = kinds
        .into_iter()
        .filter(|kind| member(step, kind).is_some())
        .collect();
    let [kind] = named[..] else { return false };
    let owned = options
        .iter()
        .all(|(name, owner)| member(step, name).is_none() || *owner == kind);
    let within = |name: &str, least: u64, most: u64| {
        member(step, name).is_none_or(|value| {
            value
                .as_u64()
                .is_some_and(|value| (least..=most).contains(&value))
        })
    };
    let text = member(step, "text").and_then(Value::as_str);
    let repeat = member(step, "repeat").and_then(Value::as_u64);
    let long = repeat.unwrap_or(0) as u128 * text.unwrap_or("").len() as u128;
    owned
        && within("chunks", 1, 1_000_000)
        && within("repeat", 1, 1_000_000)
        && within("delay_ms", 0, 3_600_000)
        && within("wait_ms", 0, 3_600_000)
        && long <= 64 * 1024 * 1024
        && (member(step, "chunks").is_none() || repeat.is_none())
        && member(step, "provider_summary").is_none_or(Value::is_boolean)
        && match kind {
            "text" | "reasoning" => step[kind].is_string(),
            "tool" => step[kind].as_str().is_some_and(|name| !name.is_empty()),
            "usage" => usage(&step[kind]).is_some(),
            "error" => error(&step[kind]).is_some(),
            _ => true,
        }
}

fn usage(value: &Value) -> Option<Usage> {
    let usage = object(value, &["input", "output", "cache_read", "reasoning"])?;
    let count = |name: &str| member(usage, name).map(Value::as_u64);
    Some(Usage {
        input: count("input")??,
        output: count("output")??,
        cache_read: count("cache_read").map_or(Some(None), |count| count.map(Some))?,
        reasoning: count("reasoning").map_or(Some(None), |count| count.map(Some))?,
    })
}

fn error(value: &Value) -> Option<ErrorKind> {
    Some(match value.as_str()? {
        "rate_limited" => ErrorKind::RateLimited,
        "overloaded" => ErrorKind::Overloaded,
        "unauthorized" => ErrorKind::Unauthorized,
        "network" => ErrorKind::Network,
        "malformed" => ErrorKind::Malformed,
        "context_length" => ErrorKind::ContextLength,
        _ => return None,
    })
}

/// What the response `number` of a turn says, as far as `PULLS` pieces go.
fn expected(steps: &[Value], number: usize) -> Vec<Said> {
    let mut said: Vec<Said> = Vec::new();
    let mut responses = steps.split_inclusive(|step| member_of(step, "tool").is_some());
    for step in responses.nth(number).unwrap_or_default() {
        if let Some(text) = member_of(step, "text").and_then(Value::as_str) {
            let times = member_of(step, "repeat")
                .and_then(Value::as_u64)
                .unwrap_or(1);
            let text = text.repeat(times.min(PULLS as u64) as usize);
            match said.last_mut() {
                Some(Said::Text(before)) => before.push_str(&text),
                _ if text.is_empty() => {}
                _ => said.push(Said::Text(text)),
            }
        } else if let Some(text) = member_of(step, "reasoning").and_then(Value::as_str) {
            let summary = member_of(step, "provider_summary").is_some_and(|flag| flag == true);
            said.push(Said::Reasoning(text.to_owned(), summary));
        } else if let Some(name) = member_of(step, "tool").and_then(Value::as_str) {
            let input = member_of(step, "input").cloned();
            let input = input.unwrap_or_else(|| Value::Object(Map::new()));
            said.push(Said::Tool(name.to_owned(), input));
        } else if let Some(counts) = member_of(step, "usage").and_then(usage) {
            said.push(Said::Usage(counts));
        } else if let Some(error) = member_of(step, "error").and_then(error) {
            said.push(Said::Failed(error));
            break;
        }
    }
    said
}

fn member_of<'a>(step: &'a Value, name: &str) -> Option<&'a Value> {
    step.as_object().and_then(|step| member(step, name))
}

/// A conversation in which `turn` prompts and `response` responses came before.
fn request(turn: usize, response: usize) -> Request {
    let user = || Message::User { text: "hi".into() };
    let spoken = || Message::Assistant {
        state: ProviderState::default(),
        text: "x".into(),
        tool_calls: Vec::new(),
    };
    let mut messages: Vec<_> = (0..turn).flat_map(|_| [user(), spoken()]).collect();
    messages.push(user());
    messages.extend((0..response).map(|_| spoken()));
    Request {
        session: "s".into(),
        model: "fixture-model".into(),
        system: "".into(),
        thinking: ThinkingLevel::Default,
        fast: false,
        written: Default::default(),
        messages: Arc::new(messages),
        tools: Vec::new(),
        workspace: "/".into(),
        ..Request::default()
    }
}

/// Plays the first turns, and the one after the last, which repeats it.
fn play(fixture: &Fixture, turns: &[&[Value]]) -> Vec<String> {
    let mut names = Vec::new();
    let last = turns.len() - 1;
    for turn in [0, 1, last, last + 1] {
        let steps = turns[turn.min(last)];
        for response in 0..RESPONSES {
            let expected = expected(steps, response);
            let (said, cut) = pull(fixture, turn, response);
            if cut {
                begins(&expected, &said);
            } else {
                assert_eq!(said, expected);
            }
            names.extend(said.iter().map(|said| {
                let name = format!("{said:?}");
                name.split('(').next().unwrap_or_default().to_owned()
            }));
        }
    }
    names
}

/// Plays one response. Says too whether it was cancelled before its end.
fn pull(fixture: &Fixture, turn: usize, response: usize) -> (Vec<Said>, bool) {
    let cancel = CancellationToken::new();
    let mut playing = fixture.respond(request(turn, response), cancel.clone());
    runtime().block_on(async {
        let mut said: Vec<Said> = Vec::new();
        for _ in 0..PULLS {
            let Some(next) = playing.next().await else {
                return (said, false);
            };
            match next {
                Ok(Chunk::Text(text)) => {
                    assert!(!text.is_empty());
                    match said.last_mut() {
                        Some(Said::Text(before)) => before.push_str(&text),
                        _ => said.push(Said::Text(text)),
                    }
                }
                Ok(Chunk::Reasoning {
                    text,
                    provider_summary,
                }) => said.push(Said::Reasoning(text, provider_summary)),
                Ok(Chunk::ToolCall(ToolCall { id, name, input })) => {
                    assert_eq!(id, format!("call_{turn}_{response}"));
                    said.push(Said::Tool(name, input));
                }
                Ok(Chunk::Usage(usage)) => said.push(Said::Usage(usage)),
                Ok(other) => panic!("no script says {other:?}"),
                Err(error) => {
                    said.push(Said::Failed(error.kind()));
                    assert_eq!(playing.next().await, None, "nothing after a failure");
                    return (said, false);
                }
            }
        }
        cancel.cancel();
        let end = playing.next().await;
        assert!(
            end.as_ref().is_none_or(|end| end
                .as_ref()
                .is_err_and(|error| *error == ErrorKind::Cancelled)),
            "{end:?}"
        );
        assert_eq!(playing.next().await, None, "nothing after the end");
        (said, true)
    })
}

/// What was played before a cancellation is how the response begins.
fn begins(expected: &[Said], said: &[Said]) {
    let Some((last, before)) = said.split_last() else {
        return;
    };
    assert_eq!(Some(before), expected.get(..before.len()));
    match (last, expected.get(before.len())) {
        (Said::Text(part), Some(Said::Text(whole))) => assert!(whole.starts_with(part)),
        (last, next) => assert_eq!(Some(last), next),
    }
}

/// One clock for all inputs, which stands still but for what is waited for.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| {
        Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime")
    })
}
