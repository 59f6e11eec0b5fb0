//! Hooks: commands of the person that run at fixed moments, are told of the moment, and may refuse a call.
//! What a hook is told and what its end means; running it is the process room's work, naming it the settings'.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;
use store::settings::HookEvent;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::bounds::clip_bytes;
use crate::guard::Guard;
use crate::process::{Captured, Command, Finished, Status};

/// How long one hook may take.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Bytes kept of each of its outputs.
const OUTPUT_BYTES: usize = 16 * 1024;
/// Longest reason that a model is given, in bytes.
const REASON_BYTES: usize = 1024;
/// Longest excerpt of an output in a diagnostic, in bytes.
const EXCERPT_BYTES: usize = 200;
/// The exit code by which a hook refuses.
const REFUSES: i32 = 2;
/// Exit codes by which a shell says that there is no such command or that it is none.
const NOT_RUN: std::ops::RangeInclusive<i32> = 126..=127;

/// What the hooks of one moment came to. Texts hold output of the hooks and are not redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookVerdict {
    /// Nothing stands against going on. One diagnostic for each hook that failed.
    Go { diagnostics: Vec<String> },
    /// The call must not be made. Only at [`HookEvent::PreTool`].
    Refuse {
        /// For the model, at most 1 KiB and a few words.
        reason: String,
    },
}

/// The hooks of one workspace.
#[derive(Clone, Debug)]
pub struct Hooks {
    workspace: PathBuf,
    guard: Guard,
    commands: store::settings::Hooks,
    time_limit: Duration,
}

/// What one hook came to, seen from the call.
enum HookResult {
    Nothing,
    /// It failed, but a call may go on.
    Failed(String),
    Refused(String),
    /// It did not get to say anything.
    Unknown(String),
}

impl Hooks {
    /// `commands` are shell command lines, run in their order in `workspace`, each under `guard`.
    #[must_use]
    pub fn new(workspace: PathBuf, guard: Guard, commands: store::settings::Hooks) -> Self {
        Self {
            workspace,
            guard,
            commands,
            time_limit: TIME_LIMIT,
        }
    }

    /// Whether anything runs at `event`; nothing needs to be put together for it otherwise.
    #[must_use]
    pub fn any(&self, event: HookEvent) -> bool {
        self.commands.get(&event).is_some_and(|all| !all.is_empty())
    }

    /// Runs the hooks of `event`, one after the other, each for at most 10 s.
    ///
    /// Each reads one JSON object on its standard input: the members of `payload` and `event`.
    ///
    /// A `pre_tool` hook refuses by exit code 2, with its standard error (else its standard output) as the
    /// reason, or by printing `{"decision":"deny","reason":"…"}`. It also refuses when it could not say
    /// anything: not started, not found, over time, ended by a signal, cancelled, or with a decision other
    /// than `allow` and `deny`, or one that is too long or no JSON. What guards a call must not open by failing. Any other exit code and every
    /// failure of other events is a diagnostic. The first refusal is the last hook.
    pub async fn run(
        &self,
        event: HookEvent,
        payload: &Value,
        cancel: &CancellationToken,
    ) -> HookVerdict {
        let mut diagnostics = Vec::new();
        let commands = self.commands.get(&event).into_iter().flatten();
        for (index, command) in commands.enumerate() {
            let called = format!("{} hook {}", event.word(), index + 1);
            if cancel.is_cancelled() && event != HookEvent::PreTool {
                break;
            }
            let span = tracing::debug_span!("hook", event = event.word(), number = index + 1);
            let result = self.run_one(event, index + 1, command, payload, cancel);
            match result.instrument(span).await {
                HookResult::Nothing => {}
                HookResult::Refused(reason) if event == HookEvent::PreTool => {
                    let reason = format!("refused by the {called}: {reason}");
                    return HookVerdict::Refuse { reason };
                }
                HookResult::Unknown(why) if event == HookEvent::PreTool => {
                    let reason = format!("refused, since the {called} {why}");
                    return HookVerdict::Refuse { reason };
                }
                HookResult::Failed(why) | HookResult::Refused(why) | HookResult::Unknown(why) => {
                    diagnostics.push(format!("{called} {why}"));
                }
            }
        }
        HookVerdict::Go { diagnostics }
    }

    async fn run_one(
        &self,
        event: HookEvent,
        number: usize,
        command: &str,
        payload: &Value,
        cancel: &CancellationToken,
    ) -> HookResult {
        let mut members = payload.as_object().cloned().unwrap_or_default();
        members.insert("event".to_owned(), event.word().into());
        let mut stdin = Value::Object(members).to_string().into_bytes();
        stdin.push(b'\n');
        let command = Command {
            stdin,
            time_limit: self.time_limit,
            // Beginning and end together.
            keep: OUTPUT_BYTES / 2,
            ..Command::shell(command, self.workspace.clone())
        };
        let event_name = event.word();
        let (result, status) = match command.run(&self.guard, cancel).await {
            Ok(finished) => (
                hook_result(event, &finished, self.time_limit),
                finished.status,
            ),
            Err(error) => {
                tracing::warn!(event = event_name, number, %error, "a hook can't be run");
                return HookResult::Unknown(format!("could not run: {error}"));
            }
        };
        let exit_code = status.and_then(Status::exit_code);
        let signal = status.and_then(Status::signal);
        // Without its words: those are the hook's own.
        match &result {
            HookResult::Nothing => tracing::debug!(event = event_name, number, "a hook ended"),
            HookResult::Refused(_) => {
                tracing::info!(event = event_name, number, exit_code, "a hook refuses");
            }
            HookResult::Failed(_) => {
                tracing::warn!(event = event_name, number, exit_code, "a hook failed");
            }
            HookResult::Unknown(_) => {
                tracing::warn!(
                    event = event_name,
                    number,
                    exit_code,
                    signal,
                    "a hook could not say anything"
                );
            }
        }
        result
    }
}

fn hook_result(event: HookEvent, finished: &Finished, time_limit: Duration) -> HookResult {
    let code = match finished.status {
        _ if finished.cancelled => return HookResult::Unknown("was cancelled".to_owned()),
        None => {
            return HookResult::Unknown(format!("timed out after {} ms", time_limit.as_millis()));
        }
        Some(Status::Signalled(signal)) => {
            return HookResult::Unknown(format!("was ended by signal {signal}"));
        }
        Some(Status::Exited(code)) => code,
    };
    if event == HookEvent::PreTool {
        if code == REFUSES {
            return HookResult::Refused(excerpt(finished, REASON_BYTES));
        }
        if let Some(decided) = decision(&finished.stdout) {
            return decided;
        }
    }
    match code {
        0 => HookResult::Nothing,
        code if NOT_RUN.contains(&code) => HookResult::Unknown(format!(
            "could not run (exit status {code}): {}",
            excerpt(finished, EXCERPT_BYTES)
        )),
        code => HookResult::Failed(format!(
            "ended with exit status {code}: {}",
            excerpt(finished, EXCERPT_BYTES)
        )),
    }
}

/// A decision against the call, if that is all that was printed. Anything else a hook may print as it likes; but a refusal
/// that is too long to be kept whole, or was quoted badly, must not pass for words.
fn decision(printed: &Captured) -> Option<HookResult> {
    let text = printed.text();
    let text = text.trim();
    let unknown = |why: &str| Some(HookResult::Unknown(why.to_owned()));
    let Ok(value) = serde_json::from_str::<Value>(text) else {
        let begun = text.starts_with('{') && (printed.is_cut() || text.contains("\"decision\""));
        return begun
            .then(|| unknown("printed a decision that cannot be read"))
            .flatten();
    };
    match value.get("decision")?.as_str() {
        Some("allow") => None,
        Some("deny") => {
            let reason = value.get("reason").and_then(Value::as_str);
            Some(HookResult::Refused(clipped(
                reason.unwrap_or_default(),
                REASON_BYTES,
            )))
        }
        _ => unknown("printed an unknown decision"),
    }
}

/// The beginning of what a hook had to say about its failure.
fn excerpt(finished: &Finished, bytes: usize) -> String {
    match finished.stderr.text().trim() {
        "" => clipped(&finished.stdout.text(), bytes),
        errors => clipped(errors, bytes),
    }
}

fn clipped(reason: &str, bytes: usize) -> String {
    match clip_bytes(reason.trim(), bytes) {
        "" => "no reason was given".to_owned(),
        reason => reason.to_owned(),
    }
}
