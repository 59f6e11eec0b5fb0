//! One call of a tool: decided, asked for, hooked and made, and what came of it.
//! Which calls run when, and what is stored and told of them, is decided in `tools` and `beneath`.

use std::sync::Arc;

use provider::ToolCall;
use redact::{Redacted, Redactor};
use serde_json::Value;
use store::settings::{HookEvent, Permission};
use tokio::sync::oneshot;
use tools::hooks::HookVerdict;
use tools::{Access, Caller, ToolOutcome};

use super::active::ActiveRun;
use super::approval::{Answer, Approval};
use super::hooks;
use super::queue::Sink;
use crate::history::shown_name;
use crate::startup::{Equipment, Workspace};

/// Longest subject of a call that is shown, in bytes.
const MAX_SUBJECT_BYTES: usize = 200;

/// A call and where it stands.
#[derive(Clone, Copy)]
pub(super) struct CallOf<'a> {
    pub(super) call: &'a ToolCall,
    /// Number of the response that asked for it, or for the one that makes it.
    pub(super) response: u32,
    /// The activity of the call that makes it; `None` of a call of the model.
    pub(super) parent: Option<&'a str>,
}

/// Where calls are made.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) workspace: Arc<Workspace>,
    pub(super) equipment: Arc<Equipment>,
    pub(super) active: Arc<ActiveRun>,
    pub(super) sink: Sink,
}

/// One line on a call for a person, the same for every tool: its name, what it is about, and what came of it once that is
/// known, such as `read README.md: 3 lines`.
///
/// A part of an input may be a secret that only the whole of it tells: the last part of an address as the last part of a
/// path, a line of a key as the name of a program.
pub(super) fn shown_line(
    call: &ToolCall,
    about: &str,
    outcome: &str,
    redactor: &Redactor,
) -> Redacted {
    let mut line = shown_name(&call.name, redactor);
    if !about.is_empty() {
        line.push(&Redacted::fixed(" "));
        line.push(&match hides_secret(about, call, redactor) {
            true => Redacted::fixed(redact::MASK),
            false => redactor.redact(about).ends(MAX_SUBJECT_BYTES),
        });
    }
    if !outcome.is_empty() {
        line.push(&Redacted::fixed(": "));
        line.push(&redactor.redact(outcome));
    }
    line
}

/// Whether a part of `about` is of an input's secret.
fn hides_secret(about: &str, call: &ToolCall, redactor: &Redactor) -> bool {
    const MAX_INPUT_BYTES: usize = 4096;
    const MIN_PART_BYTES: usize = 6;
    let inputs = call
        .input
        .as_object()
        .into_iter()
        .flat_map(|input| input.values());
    inputs
        .filter_map(Value::as_str)
        .filter(|text| text.len() <= MAX_INPUT_BYTES)
        .any(|text| {
            let shown = redactor.redact(text);
            let hides = |part: &str| text.contains(part) && !shown.as_str().contains(part);
            // A line end stands there as `\n`.
            about
                .split(['/', '\\', ',', ' '])
                .flat_map(|part| [Some(part), part.get(1..)])
                .flatten()
                .any(|part| part.len() >= MIN_PART_BYTES && hides(part))
        })
}

/// What came of a call and of the hooks around it.
pub(super) struct Ran {
    pub(super) outcome: ToolOutcome,
    /// Hooks that failed, in raw words.
    pub(super) hooks: Vec<String>,
}

impl From<ToolOutcome> for Ran {
    fn from(outcome: ToolOutcome) -> Self {
        Self {
            outcome,
            hooks: Vec::new(),
        }
    }
}

/// Decides about a call, asks for it and makes it. `caller` is what the call itself may ask of the run. `settles` is let
/// go of when no question follows any more.
pub(super) async fn run(
    site: &Site,
    call: &ToolCall,
    access: &Access,
    caller: Option<Arc<dyn Caller>>,
    settles: oneshot::Sender<()>,
) -> Ran {
    let Site {
        workspace,
        equipment,
        active,
        sink,
    } = site;
    // One that was made by a call makes none itself.
    let is_beneath = caller.is_none();
    let decision = equipment.decide(&call.name, access, is_beneath);
    let question_waits = match (decision.permission, active.spec.policy.approval_expiry) {
        (Permission::Deny, _) => {
            return ToolOutcome::failed(decision.denial(&call.name), decision.denied_by()).into();
        }
        (Permission::Ask, None) => {
            return ToolOutcome::failed(decision.unasked(&call.name), "nobody can be asked").into();
        }
        (Permission::Ask, Some(expiry)) => Some((settles, expiry)),
        (Permission::Allow, _) => {
            // Others may start meanwhile: no question follows.
            drop(settles);
            None
        }
    };
    // Before a person is asked: what a hook refuses is no question.
    let mut payload = hooks::payload(active);
    payload["tool"] = call.name.as_str().into();
    payload["input"] = call.input.clone();
    let mut hooks = match hooks::run(workspace, active, sink, HookEvent::PreTool, &payload).await {
        HookVerdict::Go { diagnostics } => diagnostics,
        HookVerdict::Refuse { reason } => {
            return ToolOutcome::failed(reason, "refused by a hook").into();
        }
    };
    if let Some((settles, expiry)) = question_waits {
        let max = active.spec.policy.max_summary_bytes;
        let summary = access.question.render(workspace.redactor(), max);
        let approval = Approval::ask(active, sink, summary, expiry).await;
        drop(settles);
        let answer = match approval {
            Some(approval) => approval.answer().await,
            None => Answer::Cancelled,
        };
        let refusal = match answer {
            Answer::Allowed => None,
            Answer::Denied => Some(("The person did not allow this call.", "not allowed")),
            Answer::Expired => Some((
                "Nobody answered in time; this call was not made.",
                "nobody answered",
            )),
            Answer::Cancelled => Some(("The call was cancelled.", "cancelled")),
        };
        if let Some((content, short)) = refusal {
            let outcome = ToolOutcome::failed(content.to_owned(), short);
            return Ran { outcome, hooks };
        }
    }
    let cancel = active.cancel.clone();
    let outcome = equipment
        .tools
        .run_admitted(&call.name, &call.input, access, caller, cancel)
        .await;
    if workspace.hooks.any(HookEvent::PostTool) {
        payload["result"] = outcome.content.as_str().into();
        payload["is_error"] = outcome.is_error.into();
        let verdict = hooks::run(workspace, active, sink, HookEvent::PostTool, &payload).await;
        if let HookVerdict::Go { diagnostics } = verdict {
            hooks.extend(diagnostics);
        }
    }
    Ran { outcome, hooks }
}
