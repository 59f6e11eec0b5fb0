//! The seven events of a run, read strictly. Their order and sums are `assemble`'s.
//! No request, no response.

use serde_json::Value;

use super::words::{
    ActivityKind, ActivityState, ErrorCode, Outcome, Persistence, is_id, is_session_id, is_uuid,
};
use crate::Violation;
use crate::fields::Fields;

/// UTF-8 bytes of text in one live event.
pub const LIVE_CHUNK_BYTES: usize = 4_000;
/// UTF-8 bytes of a summary.
pub const SUMMARY_BYTES: usize = 1_024;
/// The longest an approval can wait, in milliseconds.
pub const APPROVAL_MS: u64 = 60_000;

/// One event of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub session_id: String,
    pub run_id: String,
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The input is on disk: from now on the session can be opened again after this child is gone.
    InputPersisted {
        message_id: String,
        revision: String,
    },
    /// A best-effort append to a segment of the answer.
    MessageDelta {
        message_id: String,
        part: u64,
        text: String,
    },
    /// A piece of the authoritative copy of a segment.
    MessageReconcile {
        message_id: String,
        part: u64,
        text: String,
        last_part: bool,
        partial: bool,
    },
    Activity {
        activity_id: String,
        kind: ActivityKind,
        state: ActivityState,
        name: String,
        summary: String,
    },
    ApprovalRequested {
        approval_id: String,
        summary: String,
        expires_in_ms: u64,
    },
    Diagnostic {
        code: String,
        summary: String,
    },
    RunFinished {
        outcome: Outcome,
        persistence: Persistence,
        revision: Option<String>,
        error_code: Option<ErrorCode>,
    },
}

impl Event {
    /// Reads the event `name` with its `data`.
    ///
    /// # Errors
    /// [`Violation::UnknownEvent`], or the first rule its data breaks.
    pub fn read(name: &str, data: &Value) -> Result<Self, Violation> {
        let data = Fields::of(data, "data")?;
        let message = |f: &Fields<'_>| f.matching("message_id", is_id);
        let summary = |f: &Fields<'_>| f.bounded("summary", SUMMARY_BYTES);
        let kind = match name {
            "input.persisted" => {
                data.constant("durable", true)?;
                EventKind::InputPersisted {
                    message_id: message(&data)?,
                    revision: data.matching("revision", is_id)?,
                }
            }
            "message.delta" => EventKind::MessageDelta {
                message_id: message(&data)?,
                part: data.count("part")?,
                text: data.bounded("text", LIVE_CHUNK_BYTES)?,
            },
            "message.reconcile" => EventKind::MessageReconcile {
                message_id: message(&data)?,
                part: data.count("part")?,
                text: data.bounded("text", LIVE_CHUNK_BYTES)?,
                last_part: data.flag("last_part")?,
                partial: data.flag("partial")?,
            },
            "activity" => EventKind::Activity {
                activity_id: data.matching("activity_id", |id| (1..=1024).contains(&id.len()))?,
                kind: data.word("kind")?,
                state: data.word("state")?,
                name: data.bounded("name", SUMMARY_BYTES)?,
                summary: summary(&data)?,
            },
            "approval.requested" => {
                let expires_in_ms = data.count("expires_in_ms")?;
                if !(1..=APPROVAL_MS).contains(&expires_in_ms) {
                    return Err(Violation::OutOfBounds("expires_in_ms"));
                }
                EventKind::ApprovalRequested {
                    approval_id: data.matching("approval_id", is_uuid)?,
                    summary: summary(&data)?,
                    expires_in_ms,
                }
            }
            "diagnostic" => EventKind::Diagnostic {
                code: data.matching("code", is_id)?,
                summary: summary(&data)?,
            },
            "run.finished" => EventKind::RunFinished {
                outcome: data.word("outcome")?,
                persistence: data.word("persistence")?,
                revision: data.nullable("revision", |f, name| f.matching(name, is_id))?,
                error_code: data
                    .nullable("error_code", Fields::word)
                    .map_err(|violation| match violation {
                        Violation::UnknownWord(_) => Violation::UnknownErrorCode,
                        other => other,
                    })?,
            },
            _ => return Err(Violation::UnknownEvent),
        };
        Ok(Self {
            session_id: data.matching("session_id", is_session_id)?,
            run_id: data.matching("run_id", is_uuid)?,
            kind,
        })
    }
}
