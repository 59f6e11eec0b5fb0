//! The seven run events of local-agent and their projection from the engine's.
//! Bounds are the engine's; here only names and words are given.

use std::sync::Arc;

use agent::{
    Activity, ActivityKind, ActivityState, CompactionState, MayDrop, MustArrive, Outcome,
    Persistence, RunErrorCode, RunEvent, RunEvents,
};
use host::{EventSink, Undelivered};
#[cfg(feature = "approval")]
use local_agent::messages::ApprovalRequested;
use local_agent::messages::{
    ActivityEvent, Diagnostic, InputPersisted, MessageDelta, MessageReconcile, RunFinished,
};
use local_agent::{Word, words as vocabulary};

host::event! {
    /// The input is on the disk; precedes every provider activity.
    dialect: local_agent::LocalAgent, position: 10, data: InputPersisted
}

host::event! {
    /// More of a message, shown until its reconciliation.
    dialect: local_agent::LocalAgent, position: 20, data: MessageDelta
}

host::event! {
    /// A part of the authoritative text, which replaces the deltas once all parts are there.
    dialect: local_agent::LocalAgent, position: 30, data: MessageReconcile
}

host::event! {
    /// Something the run does beside writing.
    dialect: local_agent::LocalAgent, position: 40, data: ActivityEvent
}

#[cfg(feature = "approval")]
host::event! {
    /// A tool call waits for an answer; denied when none comes in time.
    dialect: local_agent::LocalAgent, position: 50, data: ApprovalRequested
}

host::event! {
    /// Something a person should know.
    dialect: local_agent::LocalAgent, position: 60, data: Diagnostic
}

host::event! {
    /// The run is over and cleaned up; nothing of it follows.
    dialect: local_agent::LocalAgent, position: 70, data: RunFinished
}

/// Sends a run's events until its last, or until nobody listens; the engine notices the latter.
pub(crate) async fn forward(
    mut events: RunEvents,
    sink: EventSink,
    session_id: String,
    run_id: String,
) {
    let session_id: Arc<str> = session_id.into();
    let run_id: Arc<str> = run_id.into();
    while let Some(event) = events.recv().await {
        if send(&sink, Arc::clone(&session_id), Arc::clone(&run_id), event)
            .await
            .is_err()
        {
            break;
        }
    }
}

async fn send(
    sink: &EventSink,
    session_id: Arc<str>,
    run_id: Arc<str>,
    event: RunEvent,
) -> Result<(), Undelivered> {
    match event {
        RunEvent::MustArrive(MustArrive::InputPersisted {
            message_id,
            revision,
        }) => {
            sink.send(&InputPersisted {
                session_id,
                run_id,
                message_id,
                durable: true,
                revision,
            })
            .await
        }
        RunEvent::MayDrop {
            event:
                MayDrop::Delta {
                    message_id,
                    part,
                    text,
                    ..
                },
            ..
        } => {
            sink.send(&MessageDelta {
                session_id,
                run_id,
                message_id,
                part,
                text: text.into_string(),
            })
            .await
        }
        RunEvent::MustArrive(MustArrive::Reconcile {
            message_id,
            part,
            text,
            last_part,
            partial,
        }) => {
            let text = text.into_string();
            sink.send(&MessageReconcile {
                session_id,
                run_id,
                message_id,
                part: part.into(),
                text,
                last_part,
                partial,
            })
            .await
        }
        RunEvent::MayDrop {
            event:
                MayDrop::Activity(Activity::Tool {
                    id,
                    kind,
                    name,
                    state,
                    summary,
                    ..
                }),
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
                session_id,
                run_id,
                activity_id: id,
                kind: match kind {
                    ActivityKind::Tool => vocabulary::ActivityKind::Tool,
                    ActivityKind::Subagent => vocabulary::ActivityKind::Subagent,
                },
                state,
                name,
                summary,
            })
            .await
        }
        RunEvent::MayDrop {
            event:
                MayDrop::Activity(Activity::Compaction {
                    id, state, summary, ..
                }),
            ..
        } => {
            let state = match state {
                CompactionState::Triggered => vocabulary::ActivityState::Started,
                // Told with the one before.
                CompactionState::Running => return Ok(()),
                CompactionState::Completed => vocabulary::ActivityState::Completed,
                CompactionState::Failed | CompactionState::Cancelled => {
                    vocabulary::ActivityState::Failed
                }
            };
            sink.send(&ActivityEvent {
                session_id,
                run_id,
                activity_id: id,
                kind: vocabulary::ActivityKind::Compaction,
                state,
                name: "compaction".to_owned(),
                summary: summary.into_string(),
            })
            .await
        }
        // The dialect has no words for the others.
        RunEvent::MayDrop {
            event: MayDrop::Activity(_),
            ..
        } => Ok(()),
        // The engine asks nobody when it was told that nobody can answer.
        #[cfg(not(feature = "approval"))]
        RunEvent::MustArrive(MustArrive::ApprovalRequested { .. }) => Ok(()),
        #[cfg(feature = "approval")]
        RunEvent::MustArrive(MustArrive::ApprovalRequested {
            approval_id,
            summary,
            expires_in_ms,
        }) => {
            let summary = summary.into_string();
            sink.send(&ApprovalRequested {
                session_id,
                run_id,
                approval_id,
                summary,
                expires_in_ms,
            })
            .await
        }
        RunEvent::MustArrive(MustArrive::Diagnostic { code, summary }) => {
            sink.send(&Diagnostic {
                session_id,
                run_id,
                code: word(code).code().into(),
                summary: summary.into_string(),
            })
            .await
        }
        RunEvent::MustArrive(MustArrive::Finished {
            outcome,
            persistence,
            revision,
            error_code,
            ..
        }) => {
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
                session_id,
                run_id,
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
        // The dialect has no word for it; what the model does not take is its provider's refusal.
        RunErrorCode::ProviderUnavailable | RunErrorCode::CompactionRequired => {
            Word::ProviderUnavailable
        }
    }
}
