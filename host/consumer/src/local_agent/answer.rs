//! What the nine operations answer: each result read as the protocol's own crate defines it, then held against the
//! request and the limits in force. No envelope and no correlation beyond the request an answer belongs to.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde_json::Value;

use local_agent::messages::{Accepted, CancellationRequested, Recorded, Stopping};
pub use local_agent::messages::{
    Entry, Initialized, Limits, Page, ServerStatus as Status, SessionAttached as Attached,
};

use super::request::Request;
use super::words::{Readiness, State};
use crate::Violation;
use crate::decode::compact_len;
use crate::fields::{Fields, read, same};
use crate::violation::ensure;

/// Version 1's bounds: the most this client is built to consume, and what holds before negotiation.
pub const VERSION_1: Limits = Limits::VERSION_1;

/// Bounds on what a client sends and on how the child waits: any number will do.
const FREE: [&str; 4] = [
    "prompt_bytes",
    "pending_responses",
    "requests_per_child",
    "output_deadline_ms",
];

/// A bound on what the child sends must be one this client can consume; it is never clamped.
fn limits(value: &Value) -> Result<(), Violation> {
    let limits: Limits = read(value, "limits").map_err(Violation::of_limit)?;
    for ((name, value), (_, known)) in limits.each().into_iter().zip(VERSION_1.each()) {
        let most = if FREE.contains(&name) {
            u32::MAX as usize
        } else {
            known
        };
        ensure(value <= most, Violation::UnsafeBound(name))?;
    }
    Ok(())
}

/// Whether what a status says fits together. `fields` is what it was read from.
fn consistent(status: &Status, fields: Fields<'_>) -> Result<(), Violation> {
    let readiness = status.readiness;
    let ready = readiness == Readiness::Ready;
    let fits = match status.state {
        State::Starting => readiness == Readiness::Initializing,
        State::Idle | State::Running => ready,
        State::Failed => !ready && readiness != Readiness::Initializing,
    };
    ensure(fits, Violation::Contradiction("readiness"))?;
    if ready {
        // Only a ready child owes the two identities; before that there is nothing they could name.
        fields.required("session_id")?;
        fields.required("run_id")?;
        ensure(
            status.context_id.is_some(),
            Violation::WrongType("context_id"),
        )?;
    }
    if status.state == State::Starting
        && (status.provider.is_some() || status.model.is_some() || status.context_id.is_some())
    {
        return Err(Violation::Contradiction("state"));
    }
    if (status.state == State::Running) != status.run_id.is_some() {
        return Err(Violation::Contradiction("run_id"));
    }
    if status.run_id.is_some() && status.session_id.is_none() {
        return Err(Violation::Contradiction("session_id"));
    }
    Ok(())
}

/// A successful answer, by operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Initialized(Box<Initialized>),
    Status(Box<Status>),
    Stopping,
    SessionCreated(Attached),
    SessionOpened(Attached),
    HistoryPage(Page),
    /// The turn is admitted; nothing more is known yet.
    TurnAdmitted {
        run_id: String,
    },
    CancellationRequested,
    ApprovalRecorded,
}

impl Answer {
    /// Reads the result that answers `request`.
    ///
    /// # Errors
    /// The first rule it breaks, among them identities that are not the request's own.
    pub fn read(request: &Request, result: &Value, limits: &Limits) -> Result<Self, Violation> {
        Ok(match request {
            Request::Initialize(params) => {
                let required = &params.required_capabilities;
                Self::Initialized(Box::new(initialized(result, required)?))
            }
            Request::Status => {
                let status: Status = whole(result)?;
                consistent(&status, Fields::of(result, "result")?)?;
                Self::Status(Box::new(status))
            }
            Request::Shutdown => {
                let Stopping { .. } = whole(result)?;
                Self::Stopping
            }
            Request::SessionCreate => {
                let session: Attached = whole(result)?;
                // A created session is lazy: nothing of it is on disk (spec: "Owned sessions and chat history").
                if session.durable || !session.notices.is_empty() {
                    return Err(Violation::Contradiction("durable"));
                }
                Self::SessionCreated(session)
            }
            Request::SessionOpen(params) => {
                let session: Attached = whole(result)?;
                same("session_id", &params.session_id, &session.session_id)?;
                Self::SessionOpened(session)
            }
            Request::HistoryPage(params) => {
                if compact_len(result) > limits.history_page_bytes {
                    return Err(Violation::PayloadTooLarge);
                }
                let page = page(result, limits)?;
                same("session_id", &params.session_id, &page.session_id)?;
                same("revision", &params.revision, &page.revision)?;
                Self::HistoryPage(page)
            }
            Request::TurnStart(_) => {
                let Accepted { run_id, .. } = whole(result)?;
                Self::TurnAdmitted { run_id }
            }
            Request::TurnCancel(_) => {
                let CancellationRequested { .. } = whole(result)?;
                Self::CancellationRequested
            }
            Request::ApprovalAnswer(_) => {
                let Recorded { .. } = whole(result)?;
                Self::ApprovalRecorded
            }
        })
    }
}

fn whole<T: DeserializeOwned>(result: &Value) -> Result<T, Violation> {
    read(result, "result")
}

fn initialized(result: &Value, required: &[Cow<'static, str>]) -> Result<Initialized, Violation> {
    let fields = Fields::of(result, "result")?;
    limits(fields.required("limits")?)?;
    let initialized: Initialized = whole(result)?;
    for name in required {
        if !initialized
            .capabilities
            .iter()
            .any(|offered| offered == name)
        {
            return Err(Violation::MissingCapability(match name {
                Cow::Borrowed(name) => name,
                Cow::Owned(_) => "required_capabilities",
            }));
        }
    }
    consistent(&initialized.status, fields.object("status")?)?;
    // Success comes only after readiness.
    ensure(
        initialized.status.readiness == Readiness::Ready,
        Violation::Contradiction("status"),
    )?;
    Ok(initialized)
}

fn page(result: &Value, limits: &Limits) -> Result<Page, Violation> {
    let fields = Fields::of(result, "result")?;
    fields.array("entries", limits.history_page_entries)?;
    let page: Page = whole(result)?;
    let long = |entry: &Entry| entry.text.len() > limits.content_chunk_bytes;
    ensure(
        !page.entries.iter().any(long),
        Violation::OutOfBounds("text"),
    )?;
    // Only the last page can complete a projection, and a page that leads on must lead somewhere.
    if page.next_cursor.is_some() && (page.complete || page.entries.is_empty()) {
        return Err(Violation::Contradiction("next_cursor"));
    }
    Ok(page)
}
