//! The seven run events of local-agent and their projection from the engine's.
//! Bounds are the engine's; here only names and words are given.

use std::sync::Arc;

use agent::{
    Activity, ActivityKind, ActivityState, Outcome, Persistence, RunErrorCode, RunEvent, RunEvents,
};
use host::{EventSink, Undelivered};
use local_agent::{Word, words as vocabulary};
use schemars::JsonSchema;
use serde::Serialize;

/// What every run event's data includes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Scope {
    session_id: Arc<str>,
    run_id: Arc<str>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct InputPersisted {
    #[serde(flatten)]
    scope: Scope,
    message_id: String,
    durable: bool,
    revision: String,
}

host::event! {
    /// The input is on the disk; precedes every provider activity.
    dialect: local_agent::LocalAgent, name: "input.persisted", position: 10, delivery: MustArrive, data: InputPersisted
}

#[derive(Debug, Serialize, JsonSchema)]
struct MessageDelta {
    #[serde(flatten)]
    scope: Scope,
    message_id: Arc<str>,
    /// From 0 for each message; a missing number is text that was dropped.
    part: u64,
    /// At most 4,000 UTF-8 bytes.
    text: String,
}

host::event! {
    /// More of a message, shown until its reconciliation.
    dialect: local_agent::LocalAgent, name: "message.delta", position: 20, delivery: MayDrop, data: MessageDelta
}

#[derive(Debug, Serialize, JsonSchema)]
struct MessageReconcile {
    #[serde(flatten)]
    scope: Scope,
    message_id: Arc<str>,
    part: u32,
    /// At most 4,000 UTF-8 bytes.
    text: String,
    last_part: bool,
    partial: bool,
}

host::event! {
    /// A part of the authoritative text, which replaces the deltas once all parts are there.
    dialect: local_agent::LocalAgent, name: "message.reconcile", position: 30, delivery: MustArrive, data: MessageReconcile
}

#[derive(Debug, Serialize, JsonSchema)]
struct ActivityEvent {
    #[serde(flatten)]
    scope: Scope,
    activity_id: String,
    kind: vocabulary::ActivityKind,
    state: vocabulary::ActivityState,
    name: String,
    /// At most 1,024 UTF-8 bytes; never raw params or results.
    summary: String,
}

host::event! {
    /// Something the run does beside writing.
    dialect: local_agent::LocalAgent, name: "activity", position: 40, delivery: MustArrive, data: ActivityEvent
}

#[cfg(feature = "approval")]
#[derive(Debug, Serialize, JsonSchema)]
struct ApprovalRequested {
    #[serde(flatten)]
    scope: Scope,
    approval_id: String,
    /// At most 1,024 UTF-8 bytes.
    summary: String,
    expires_in_ms: u64,
}

#[cfg(feature = "approval")]
host::event! {
    /// A tool call waits for an answer; denied when none comes in time.
    dialect: local_agent::LocalAgent, name: "approval.requested", position: 50, delivery: MustArrive, data: ApprovalRequested
}

#[derive(Debug, Serialize, JsonSchema)]
struct Diagnostic {
    #[serde(flatten)]
    scope: Scope,
    code: Word,
    /// At most 1,024 UTF-8 bytes.
    summary: String,
}

host::event! {
    /// Something a person should know.
    dialect: local_agent::LocalAgent, name: "diagnostic", position: 60, delivery: MustArrive, data: Diagnostic
}

#[derive(Debug, Serialize, JsonSchema)]
struct RunFinished {
    #[serde(flatten)]
    scope: Scope,
    outcome: vocabulary::Outcome,
    persistence: vocabulary::Persistence,
    /// For history after the run; null when the session must be opened again for it.
    revision: Option<String>,
    error_code: Option<Word>,
}

host::event! {
    /// The run is over and cleaned up; nothing of it follows.
    dialect: local_agent::LocalAgent, name: "run.finished", position: 70, delivery: MustArrive, data: RunFinished
}

/// Sends a run's events until its last, or until nobody listens; the engine notices the latter.
pub(crate) async fn forward(
    mut events: RunEvents,
    sink: EventSink,
    session_id: String,
    run_id: String,
) {
    let scope = Scope {
        session_id: session_id.into(),
        run_id: run_id.into(),
    };
    while let Some(event) = events.recv().await {
        if send(&sink, scope.clone(), event).await.is_err() {
            break;
        }
    }
}

async fn send(sink: &EventSink, scope: Scope, event: RunEvent) -> Result<(), Undelivered> {
    match event {
        RunEvent::InputPersisted {
            message_id,
            revision,
        } => {
            sink.send(&InputPersisted {
                scope,
                message_id,
                durable: true,
                revision,
            })
            .await
        }
        RunEvent::Delta {
            message_id,
            part,
            text,
            ..
        } => {
            sink.send(&MessageDelta {
                scope,
                message_id,
                part,
                text: text.into_string(),
            })
            .await
        }
        RunEvent::Reconcile {
            message_id,
            part,
            text,
            last_part,
            partial,
        } => {
            let text = text.into_string();
            sink.send(&MessageReconcile {
                scope,
                message_id,
                part,
                text,
                last_part,
                partial,
            })
            .await
        }
        RunEvent::Activity {
            activity:
                Activity::Tool {
                    id,
                    kind,
                    name,
                    state,
                    summary,
                    ..
                },
            ..
        } => {
            let state = match state {
                ActivityState::Started => vocabulary::ActivityState::Started,
                ActivityState::Completed => vocabulary::ActivityState::Completed,
                ActivityState::Failed | ActivityState::Cancelled => {
                    vocabulary::ActivityState::Failed
                }
            };
            let (name, summary) = (name.into_string(), summary.into_string());
            sink.send(&ActivityEvent {
                scope,
                activity_id: id,
                kind: match kind {
                    ActivityKind::Tool => vocabulary::ActivityKind::Tool,
                    ActivityKind::Subagent => vocabulary::ActivityKind::Subagent,
                    ActivityKind::Compaction => vocabulary::ActivityKind::Compaction,
                },
                state,
                name,
                summary,
            })
            .await
        }
        // The dialect has no words for the others.
        RunEvent::Activity { .. } => Ok(()),
        // The engine asks nobody when it was told that nobody can answer.
        #[cfg(not(feature = "approval"))]
        RunEvent::ApprovalRequested { .. } => Ok(()),
        #[cfg(feature = "approval")]
        RunEvent::ApprovalRequested {
            approval_id,
            summary,
            expires_in_ms,
        } => {
            let summary = summary.into_string();
            sink.send(&ApprovalRequested {
                scope,
                approval_id,
                summary,
                expires_in_ms,
            })
            .await
        }
        RunEvent::Diagnostic { code, summary } => {
            sink.send(&Diagnostic {
                scope,
                code: word(code),
                summary: summary.into_string(),
            })
            .await
        }
        RunEvent::Finished {
            outcome,
            persistence,
            revision,
            error_code,
            ..
        } => {
            let outcome = match outcome {
                Outcome::Completed => vocabulary::Outcome::Completed,
                Outcome::Cancelled => vocabulary::Outcome::Cancelled,
                Outcome::Failed => vocabulary::Outcome::Failed,
            };
            let persistence = match persistence {
                Persistence::Durable => vocabulary::Persistence::Durable,
                Persistence::Degraded => vocabulary::Persistence::Degraded,
                Persistence::NotStarted => vocabulary::Persistence::NotStarted,
            };
            let error_code = error_code.map(word);
            sink.send(&RunFinished {
                scope,
                outcome,
                persistence,
                revision,
                error_code,
            })
            .await
        }
    }
}

fn word(code: RunErrorCode) -> Word {
    match code {
        RunErrorCode::ExecutionFailed => Word::ExecutionFailed,
        RunErrorCode::PersistenceFailed => Word::PersistenceFailed,
        RunErrorCode::OutputUnavailable => Word::OutputUnavailable,
        RunErrorCode::ContentLimit => Word::ContentLimit,
        RunErrorCode::ProviderUnavailable => Word::ProviderUnavailable,
    }
}
