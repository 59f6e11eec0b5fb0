//! `bash`: one shell command in the workspace, and what of its output a model is shown.
//! Running, bounding and killing it is the process room's work; whether it may run is decided above.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{clip_bytes, counted};
use crate::error::ToolError;
use crate::process::{Command, Finished, Status};
use crate::tool::{Call, Limits, Running, Tool, ToolOutcome, ToolSpec};
use crate::{Access, Context, input, shell};

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
        let line = Input::read(input).map(|input| input.command);
        Access::command(NAME, line.ok().as_deref(), cx)
    }

    fn subject(&self, input: &Value, cx: &Context) -> String {
        let command = input.get("command").and_then(Value::as_str);
        let programs = command.map(|command| programs(command, cx));
        programs.unwrap_or_default().join(", ")
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        Box::pin(async move { run(&call, &cx).await.unwrap_or_else(ToolOutcome::from) })
    }
}

/// Programs that are named of one line.
const PROGRAMS: usize = 4;
/// Longest name of a program that is said, in bytes.
const PROGRAM_BYTES: usize = 32;

/// The programs of a line by their last names, each once, in its order; nothing else of it is said. A name that
/// only the shell knows, or that is none a program would have, is passed over.
fn programs(command: &str, cx: &Context) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in cx.rules.programs(command) {
        let name = name.rsplit('/').next().unwrap_or_default();
        let named = (1..=PROGRAM_BYTES).contains(&name.len())
            && name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'+' | b'-'));
        if named && !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found.truncate(PROGRAMS);
    found
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

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

impl Input {
    /// An input that can be run.
    fn read(input: &Value) -> Result<Self, ToolError> {
        let input: Self = input::decode(input)?;
        let why = if input.command.trim().is_empty() {
            "command must not be empty".to_owned()
        } else if input.command.len() > shell::MAX_BYTES {
            format!("command is longer than {} bytes", shell::MAX_BYTES)
        } else if input.command.contains('\0') {
            "command contains a NUL character".to_owned()
        } else if input
            .timeout_ms
            .is_some_and(|ms| !(1..=MAX_TIMEOUT_MS).contains(&ms))
        {
            format!("timeout_ms must be from 1 to {MAX_TIMEOUT_MS}")
        } else {
            return Ok(input);
        };
        Err(ToolError::Input(why))
    }
}

async fn run(call: &Call, cx: &Context) -> Result<ToolOutcome, ToolError> {
    let input = Input::read(&call.input)?;
    let timeout_ms = input.timeout_ms.unwrap_or(DEFAULT_TIMEOUT_MS);
    let command = Command {
        time_limit: Duration::from_millis(timeout_ms),
        merge: true,
        ..Command::shell(&input.command, cx.workspace.clone())
    };
    match command.run(&cx.guard, call.deadline.cancellation()).await {
        Ok(finished) if finished.cancelled => Err(ToolError::Cancelled),
        Ok(finished) => Ok(outcome(&finished, timeout_ms)),
        Err(error) => {
            let why = clip_bytes(&error.to_string(), 400).to_owned();
            Err(ToolError::Command(why))
        }
    }
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
        images: Vec::new(),
        is_error: note.is_some(),
        timed_out: finished.timed_out,
        summary: format!("{how}, {lines}"),
        why: None,
    }
}
