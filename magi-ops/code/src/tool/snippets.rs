//! The tool where there is an engine: its offer, a call, and what of the snippet's end a model is told.
//! How a snippet runs is the process's matter.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tools::{
    Access, Call, Context, DefaultPolicy, Limits, Question, Running, Success, Tool, ToolError,
    ToolOutcome, ToolSpec,
};

use super::NAME;
use crate::bounds;
use crate::declare::declarations;
use crate::message::Ended;
use crate::process::{self, Finished, How};

const DESCRIPTION: &str = "Runs a JavaScript snippet that may call the other tools: the body of an async function, in strict \
    mode. `await tools.NAME(input)` gives a tool's result as text and throws an Error where the call failed or was \
    not allowed. What console.log prints and the value that is returned (as JSON, a string as it is) are the result, \
    256 KiB at most. Calls may run side by side with Promise.all. There is no network, no file, no timer and no \
    module: only the language and the tools. Each snippet starts anew; it has 64 MiB and 30 s of its own, not counting its calls.";
const ADVICE: &str = "Use `code` where one snippet spares many calls or much text: to look through many files, to count, to filter.";

/// A snippet has its own time; this is for all of its calls, each of which has its own limit too.
const LIMITS: Limits = Limits {
    wall: Duration::from_secs(60 * 60),
    overtime: Duration::from_secs(5),
    // A command beneath is waited for.
    cancel: Duration::from_secs(4),
};
/// Room for a value or an error beside whatever was printed, and for the notes, in bytes.
const TAIL: usize = 16 * 1024;
const NOTES: usize = 1024;
/// Longest note about what nobody handled, in bytes.
const UNHANDLED: usize = 640;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The body of an async function.
    source: String,
}

impl Input {
    /// An input that can be run.
    fn read(input: &Value) -> Result<Self, ToolError> {
        let input: Self = tools::input::decode(input)?;
        let input = Self {
            source: unfenced(input.source),
        };
        let why = if input.source.trim().is_empty() {
            "source must not be empty".to_owned()
        } else if input.source.len() > bounds::SOURCE {
            format!("source is longer than {} bytes", bounds::SOURCE)
        } else if input.source.contains('\0') {
            "source contains a NUL character".to_owned()
        } else {
            return Ok(input);
        };
        Err(ToolError::Input(why))
    }
}

/// A snippet without the Markdown fence around it that some models write, of backticks or tildes; its lines keep
/// their numbers.
fn unfenced(source: String) -> String {
    let inner = || {
        let text = source.trim();
        let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = text.len() - text.trim_start_matches(mark).len();
        let fence = text.get(..length).filter(|fence| fence.len() >= 3)?;
        let inner = text[length..].strip_suffix(fence)?;
        let (language, body) = inner.split_once('\n')?;
        let is_word = language.trim().chars().all(char::is_alphanumeric);
        (is_word && !body.contains(fence)).then_some(body)
    };
    match inner() {
        Some(body) => {
            let before = &source[..body.as_ptr() as usize - source.as_ptr() as usize];
            "\n".repeat(before.matches('\n').count()) + body
        }
        None => source,
    }
}

/// The first line of what an error says, and where it was.
fn first_words(said: &str) -> String {
    let mut lines = said.lines().map(str::trim);
    let first = lines.next().unwrap_or_default();
    let place = lines
        .next()
        .filter(|place| place.starts_with("at ") || place.starts_with("near "));
    match place {
        Some(place) => format!("{first} {place}"),
        None => first.to_owned(),
    }
}

/// What of `tools.…` in a source names no tool: the engine only tells that it is no function. With `called` only what is
/// called there.
fn unknown_tool(source: &str, tools: &[String], called: bool) -> Option<String> {
    const MOST: usize = 8;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let found = source.match_indices("tools").find_map(|(at, word)| {
        let is_whole = !source[..at].ends_with(is_part);
        let name = source[at + word.len()..]
            .trim_start()
            .strip_prefix('.')?
            .trim_start();
        let (name, behind) = name.split_at(name.find(|c| !is_part(c)).unwrap_or(name.len()));
        let is_meant = !called || behind.trim_start().starts_with('(');
        let is_name = is_whole && is_meant && name.starts_with(|c: char| !c.is_ascii_digit());
        (is_name && name.len() <= 64 && tools.iter().all(|tool| tool != name)).then_some(name)
    })?;
    let named: Vec<_> = tools
        .iter()
        .take(MOST)
        .map(|tool| format!("`tools.{tool}`"))
        .collect();
    let more = if tools.len() > MOST { ", …" } else { "" };
    Some(format!(
        "[`tools.{found}` is no tool here; there are {}{more}]",
        named.join(", ")
    ))
}

pub(super) struct Code;

impl Tool for Code {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            limits: LIMITS,
            advice: ADVICE,
            makes_calls: true,
            looks: false,
            ..ToolSpec::changing(NAME, DESCRIPTION, tools::input::schema::<Input>())
        }
    }

    fn section_on(&self, callable: &[&ToolSpec]) -> String {
        let declarations = declarations(callable.iter().copied());
        format!("# Snippets\n\nWhat a snippet of `{NAME}` may call:\n\n```ts\n{declarations}```\n")
    }

    /// What it does is what its calls do, and those are looked at one by one.
    fn access(&self, input: &Value, _: &Context) -> Access {
        let source = input.get("source").and_then(Value::as_str);
        Access::new(
            DefaultPolicy::Allow,
            Question::new(NAME, source.unwrap_or_default()),
        )
    }

    fn subject(&self, input: &Value, _: &Context) -> String {
        let source = input.get("source").and_then(Value::as_str);
        match source.map_or(0, |source| source.lines().count()) {
            1 => "1 line".to_owned(),
            lines => format!("{lines} lines"),
        }
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        Box::pin(async move { run(call, &cx).await.unwrap_or_else(ToolOutcome::from) })
    }
}

async fn run(call: Call, cx: &Context) -> Result<ToolOutcome, ToolError> {
    let Input { source } = Input::read(&call.input)?;
    let Some(caller) = call.caller else {
        return Err(ToolError::Command("nothing can be called here".to_owned()));
    };
    let tools = caller.tools();
    let tools: Vec<_> = tools.iter().map(|spec| spec.name.clone()).collect();
    let cancel = call.deadline.cancellation();
    let unknown = unknown_tool(&source, &tools, false);
    // Who catches the error knows no more than the engine.
    let caught = unknown_tool(&source, &tools, true);
    let finished = process::run(cx.guard.path(), source, tools, &*caller, cancel).await;
    let mut finished = finished.map_err(|error| {
        tracing::warn!(%error, "a snippet can't be run");
        ToolError::Command(format!("the snippet can't be run: {error}"))
    })?;
    let noted = match &mut finished.how {
        How::Ended(Ended::Threw(text)) => Some((text, unknown)),
        How::Ended(Ended::Returned(value)) => Some((value.get_or_insert_default(), caught)),
        _ => None,
    };
    if let Some((text, Some(note))) = noted {
        if !text.is_empty() {
            text.push('\n');
        }
        *text += &note;
    }
    outcome(finished)
}

fn outcome(finished: Finished) -> Result<ToolOutcome, ToolError> {
    let Finished {
        printed,
        cut,
        calls,
        unawaited,
        unhandled,
        how,
    } = finished;
    let mut timed_out = false;
    let (tail, failed) = match how {
        How::Cancelled => return Err(ToolError::Cancelled),
        How::Ended(Ended::Returned(value)) => (value.unwrap_or_default(), None),
        How::Ended(Ended::Threw(text)) => (text, Some("an error")),
        How::Ended(Ended::OutOfTime(line)) => {
            timed_out = true;
            let place = line.map_or_else(String::new, |line| format!("\n    near line {line}"));
            (
                format!("Error: the snippet took more than 30 s of its own time{place}"),
                Some("timed out"),
            )
        }
        How::Lost(error) => {
            tracing::warn!(%error, "a snippet's process is lost");
            let text = "Error: the snippet's process ended unexpectedly; it may have needed too much memory";
            (text.to_owned(), Some("ended unexpectedly"))
        }
    };
    let content = text(printed, &tail, cut, unawaited, &unhandled);
    let calls = match calls {
        1 => "1 call".to_owned(),
        calls => format!("{calls} calls"),
    };
    Ok(match failed {
        None => Success::text(content, calls).into(),
        Some(label) => ToolOutcome {
            timed_out,
            ..ToolOutcome::failed(content, &format!("{label}, {calls}")).because(first_words(&tail))
        },
    })
}

/// What was printed, then the value or the error, then what is to be said of both: [`bounds::OUTPUT`] at most.
fn text(
    mut content: String,
    tail: &str,
    mut cut: bool,
    unawaited: usize,
    unhandled: &str,
) -> String {
    let most = bounds::OUTPUT - NOTES;
    let room = tail.floor_char_boundary((most - content.len().min(most)).max(TAIL));
    cut |= room < tail.len();
    let tail = &tail[..room];
    let room = content.floor_char_boundary(most - tail.len());
    cut |= room < content.len();
    content.truncate(room);
    let mut add = |text: &str| {
        if !content.is_empty() && !content.ends_with('\n') {
            content.push('\n');
        }
        content.push_str(text);
    };
    add(tail);
    if cut {
        add(&format!(
            "[cut: the output of a snippet has at most {} KiB]\n",
            bounds::OUTPUT / 1024
        ));
    }
    match unawaited {
        0 => {}
        1 => add("[1 call was not awaited: it was ended if it still ran]\n"),
        calls => add(&format!(
            "[{calls} calls were not awaited: those that still ran were ended]\n"
        )),
    }
    if !unhandled.is_empty() {
        let unhandled = &unhandled[..unhandled.floor_char_boundary(UNHANDLED)];
        add(&format!("[{unhandled}]\n"));
    }
    if content.is_empty() {
        content.push_str("[no output]\n");
    }
    content
}
