//! `bash`: one shell command in the workspace, and what of its output a model is shown.
//! Running, bounding and killing it is the process room's work; whether it may run is decided above.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{self, counted};
use crate::error::ToolError;
use crate::process::{Command, Finished, ProcessError, Status};
use crate::tool::{Call, Limits, Running, Tool, ToolOutcome, ToolSpec};
use crate::{Access, Context, input};

const NAME: &str = "bash";
const DESCRIPTION: &str = "Runs a shell command in the workspace and returns its output, standard error included. There is no \
        terminal and nothing to read on standard input. Of a long output the first and the last 16 KiB \
        are shown. Ends after 120 s, or after timeout_ms. Whatever the command leaves running in the \
        background ends with it. Each call starts anew: directories and variables do not carry over.";

crate::register! {
    name: NAME,
    position: 70,
    make: |_| Some(Arc::new(BashTool)),
}

struct BashTool;

impl Tool for BashTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            advice: "Commands of `bash` run in the workspace without a terminal: nobody can answer what they ask.",
            limits: LIMITS,
            ..ToolSpec::changing(NAME, DESCRIPTION, input::schema::<Input>())
        }
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::command(NAME, input.get("command").and_then(Value::as_str), cx)
    }

    fn subject(&self, input: &Value, _: &Context) -> String {
        let command = input.get("command").and_then(Value::as_str);
        match command.map(programs).unwrap_or_default().as_slice() {
            [] => NAME.to_owned(),
            programs => format!("{NAME}: {}", programs.join(", ")),
        }
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        Box::pin(async move { run(&call, &cx).await.unwrap_or_else(ToolOutcome::from) })
    }
}

/// Programs that are named of one line.
const PROGRAMS: usize = 4;
/// Bytes of a line that are looked at for them.
const LOOKED_BYTES: usize = 4096;
/// Longest name of a program that is said, in bytes.
const PROGRAM_BYTES: usize = 32;

/// The programs of a line by their last names, each once, in its order; nothing else of it is said. A name that
/// only the shell knows, or that is none a program would have, is passed over.
fn programs(command: &str) -> Vec<String> {
    let looked = bounds::clip_bytes(command, LOOKED_BYTES);
    // What a here-document holds is no command.
    let looked = looked.split_once("<<").map_or(looked, |(before, _)| before);
    let mut found: Vec<String> = Vec::new();
    for simple in crate::shell::loose_commands(&without_redirections(looked)) {
        let Some(name) = simple
            .words
            .first()
            .and_then(|word| word.literal.as_deref())
        else {
            continue;
        };
        let name = name.rsplit('/').next().unwrap_or_default();
        let named = (1..=PROGRAM_BYTES).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-'));
        if named && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
        if found.len() == PROGRAMS {
            break;
        }
    }
    found
}

/// The line without what its commands read from and write to.
fn without_redirections(line: &str) -> String {
    let mut out = String::new();
    let mut quote = None;
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None | Some('"'), '\\') => {
                out.push(c);
                out.extend(chars.next());
                continue;
            }
            (None, '<' | '>') => {
                while chars
                    .next_if(|c| matches!(c, '<' | '>' | '&' | '|'))
                    .is_some()
                {}
                if chars.peek() != Some(&'(') {
                    while chars.next_if(|c| matches!(c, ' ' | '\t')).is_some() {}
                    while chars
                        .next_if(|c| !c.is_whitespace() && !";&|()<>".contains(*c))
                        .is_some()
                    {}
                }
                out.push(' ');
                continue;
            }
            _ => {}
        }
        out.push(c);
    }
    out
}

/// A command has a time limit of its own, and is killed by its guard: the set only steps in when both fail.
const LIMITS: Limits = Limits {
    wall: Duration::from_millis(MAX_TIMEOUT_MS),
    overtime: Duration::from_secs(5),
    cancel: Duration::from_secs(3),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The command line, as for bash -c.
    command: String,
    /// How long it may take, in milliseconds: 1 to 600000. Default 120000.
    #[schemars(range(min = 1, max = MAX_TIMEOUT_MS))]
    timeout_ms: Option<u64>,
}

/// Longest command line, in bytes.
const COMMAND_BYTES: usize = 32 * 1024;
const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

async fn run(call: &Call, cx: &Context) -> Result<ToolOutcome, ToolError> {
    let input: Input = input::decode(&call.input)?;
    let refused = |why: String| Err(ToolError::Input(why));
    if input.command.trim().is_empty() {
        return refused("command must not be empty".to_owned());
    }
    if input.command.len() > COMMAND_BYTES {
        return refused(format!("command is longer than {COMMAND_BYTES} bytes"));
    }
    if input.command.contains('\0') {
        return refused("command contains a NUL character".to_owned());
    }
    let timeout_ms = input.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&timeout_ms) {
        return refused(format!("timeout_ms must be from 1 to {MAX_TIMEOUT_MS}"));
    }
    let command = Command {
        time_limit: Duration::from_millis(timeout_ms),
        merge: true,
        ..Command::shell(&input.command, cx.workspace().to_owned())
    };
    match command.run(cx.guard(), call.deadline.cancellation()).await {
        Ok(finished) if finished.cancelled => Err(ToolError::Cancelled),
        Ok(finished) => Ok(outcome(&finished, timeout_ms)),
        Err(error) => Err(failed(&error)),
    }
}

fn failed(error: &ProcessError) -> ToolError {
    ToolError::Command(bounds::clip_bytes(&error.to_string(), 400).to_owned())
}

/// The output and, where it went wrong, how: for the model. Only numbers for a person.
fn outcome(finished: &Finished, timeout_ms: u64) -> ToolOutcome {
    let (how, note) = match finished.status {
        Some(Status::Exited(0)) => ("exit 0".to_owned(), None),
        Some(Status::Exited(code)) => (
            format!("exit {code}"),
            Some(format!("[exit status {code}]\n")),
        ),
        Some(Status::Signalled(signal)) => (
            format!("signal {signal}"),
            Some(format!("[ended by signal {signal}]\n")),
        ),
        None => (
            format!("timed out after {timeout_ms} ms"),
            Some(format!(
                "[timed out after {timeout_ms} ms and was killed]\n"
            )),
        ),
    };
    let mut content = finished.stdout.text();
    if content.is_empty() {
        content.push_str("[no output]\n");
    } else if !content.ends_with('\n') {
        content.push('\n');
    }
    if finished.stdout.is_lossy() {
        content.push_str("[not valid UTF-8: wrong bytes are shown as U+FFFD]\n");
    }
    content.extend(note.iter().map(String::as_str));
    let lines = counted(finished.stdout.lines(), "line", "lines");
    ToolOutcome {
        content,
        is_error: note.is_some(),
        timed_out: finished.timed_out,
        summary: format!(": {how}, {lines}"),
    }
}
