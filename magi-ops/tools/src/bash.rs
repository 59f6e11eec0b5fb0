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

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        Box::pin(async move { run(&call, &cx).await.unwrap_or_else(ToolOutcome::from) })
    }
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
    match command.run(cx.guard(), &call.cancel).await {
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
    content.extend(note.iter().map(String::as_str));
    let lines = counted(finished.stdout.lines(), "line", "lines");
    ToolOutcome {
        content,
        is_error: note.is_some(),
        timed_out: finished.timed_out,
        summary: format!(": {how}, {lines}"),
    }
}
