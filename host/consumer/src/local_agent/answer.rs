//! What the nine operations answer: each result read strictly, unknown additional fields left alone.
//! No envelope and no correlation beyond the request an answer belongs to.

use serde_json::Value;

use super::request::Request;
use super::words::{EntryKind, Readiness, State, is_id, is_session_id, is_uuid};
use crate::Violation;
use crate::decode::compact_len;
use crate::fields::Fields;

/// Version 1's bounds: the most this client is built to consume, and what holds before negotiation.
pub const VERSION_1: Limits = Limits {
    frame_bytes: 65_536,
    json_depth: 32,
    id_bytes: 64,
    prompt_bytes: 16_384,
    history_page_bytes: 32_768,
    history_page_entries: 100,
    content_chunk_bytes: 16_384,
    pending_responses: 32,
    requests_per_child: 4096,
    output_deadline_ms: 2000,
};

/// What the child says it holds to. Bytes are UTF-8 bytes, time is milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub frame_bytes: usize,
    pub json_depth: usize,
    pub id_bytes: usize,
    pub prompt_bytes: usize,
    pub history_page_bytes: usize,
    pub history_page_entries: usize,
    pub content_chunk_bytes: usize,
    pub pending_responses: usize,
    pub requests_per_child: usize,
    pub output_deadline_ms: usize,
}

impl Limits {
    fn read(fields: Fields<'_>) -> Result<Self, Violation> {
        // A bound on what the child sends must be one this client can consume; it is never clamped.
        let of = |name: &'static str, most: usize| match fields.count(name) {
            Ok(value) if (1..=most as u64).contains(&value) => Ok(value as usize),
            _ => Err(Violation::UnsafeBound(name)),
        };
        let any = u32::MAX as usize;
        Ok(Self {
            frame_bytes: of("frame_bytes", VERSION_1.frame_bytes)?,
            json_depth: of("json_depth", VERSION_1.json_depth)?,
            id_bytes: of("id_bytes", VERSION_1.id_bytes)?,
            prompt_bytes: of("prompt_bytes", any)?,
            history_page_bytes: of("history_page_bytes", VERSION_1.history_page_bytes)?,
            history_page_entries: of("history_page_entries", VERSION_1.history_page_entries)?,
            content_chunk_bytes: of("content_chunk_bytes", VERSION_1.content_chunk_bytes)?,
            pending_responses: of("pending_responses", any)?,
            requests_per_child: of("requests_per_child", any)?,
            output_deadline_ms: of("output_deadline_ms", any)?,
        })
    }
}

/// What the child is and does. Provider and model are null where they could not be shown safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub state: State,
    pub readiness: Readiness,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub context_id: Option<String>,
    pub session_id: Option<String>,
    pub run_id: Option<String>,
}

impl Status {
    fn read(fields: Fields<'_>) -> Result<Self, Violation> {
        let state: State = fields.word("state")?;
        let readiness: Readiness = fields.word("readiness")?;
        let fits = match state {
            State::Starting => readiness == Readiness::Initializing,
            State::Idle | State::Running => readiness == Readiness::Ready,
            State::Failed => !matches!(readiness, Readiness::Initializing | Readiness::Ready),
        };
        if !fits {
            return Err(Violation::Contradiction("readiness"));
        }
        let ready = readiness == Readiness::Ready;
        let name = |f: &Fields<'_>, name| f.bounded(name, 256);
        let digest = |f: &Fields<'_>, name| {
            f.matching(name, |text| {
                (1..=128).contains(&text.len()) && text.is_ascii()
            })
        };
        let session = |f: &Fields<'_>, name| f.matching(name, is_session_id);
        let run = |f: &Fields<'_>, name| f.matching(name, is_uuid);
        // Only a ready child owes the two identities; before that there is nothing they could name.
        let owed = |name: &'static str| ready || fields.has(name);
        let status = Self {
            state,
            readiness,
            provider: fields.nullable("provider", name)?,
            model: fields.nullable("model", name)?,
            context_id: fields.nullable("context_id", digest)?,
            session_id: if owed("session_id") {
                fields.nullable("session_id", session)?
            } else {
                None
            },
            run_id: if owed("run_id") {
                fields.nullable("run_id", run)?
            } else {
                None
            },
        };
        if ready && status.context_id.is_none() {
            return Err(Violation::WrongType("context_id"));
        }
        if state == State::Starting
            && (status.provider.is_some() || status.model.is_some() || status.context_id.is_some())
        {
            return Err(Violation::Contradiction("state"));
        }
        if (state == State::Running) != status.run_id.is_some() {
            return Err(Violation::Contradiction("run_id"));
        }
        if status.run_id.is_some() && status.session_id.is_none() {
            return Err(Violation::Contradiction("session_id"));
        }
        Ok(status)
    }
}

/// The answer to `initialize`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Initialized {
    pub capabilities: Vec<String>,
    pub limits: Limits,
    pub status: Status,
}

/// One part of one entry of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub message_id: String,
    pub kind: EntryKind,
    pub text: String,
    pub partial: bool,
    pub part: u64,
    pub last_part: bool,
}

/// One page of the history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    pub session_id: String,
    pub revision: String,
    pub entries: Vec<Entry>,
    pub next_cursor: Option<String>,
    pub complete: bool,
}

/// An attached session. `notices` is an open vocabulary of names, at most 16.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub session_id: String,
    pub durable: bool,
    pub revision: String,
    pub notices: Vec<String>,
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
        let fields = Fields::of(result, "result")?;
        Ok(match request {
            Request::Initialize {
                required_capabilities,
            } => Self::Initialized(Box::new(initialized(fields, required_capabilities)?)),
            Request::Status => Self::Status(Box::new(Status::read(fields)?)),
            Request::Shutdown => {
                fields.literal("state", "stopping")?;
                Self::Stopping
            }
            Request::SessionCreate => {
                let session = attached(fields)?;
                // A created session is lazy: nothing of it is on disk (spec: "Owned sessions and chat history").
                if session.durable || !session.notices.is_empty() {
                    return Err(Violation::Contradiction("durable"));
                }
                Self::SessionCreated(session)
            }
            Request::SessionOpen { session_id } => {
                let session = attached(fields)?;
                same("session_id", session_id, &session.session_id)?;
                Self::SessionOpened(session)
            }
            Request::HistoryPage {
                session_id,
                revision,
                ..
            } => {
                if compact_len(result) > limits.history_page_bytes {
                    return Err(Violation::PayloadTooLarge);
                }
                let page = page(fields, limits)?;
                same("session_id", session_id, &page.session_id)?;
                same("revision", revision, &page.revision)?;
                Self::HistoryPage(page)
            }
            Request::TurnStart { .. } => {
                fields.constant("accepted", true)?;
                Self::TurnAdmitted {
                    run_id: fields.matching("run_id", is_uuid)?,
                }
            }
            Request::TurnCancel { .. } => {
                fields.constant("cancellation_requested", true)?;
                Self::CancellationRequested
            }
            Request::ApprovalAnswer { .. } => {
                fields.constant("recorded", true)?;
                Self::ApprovalRecorded
            }
        })
    }
}

fn same(name: &'static str, asked: &str, got: &str) -> Result<(), Violation> {
    if asked == got {
        Ok(())
    } else {
        Err(Violation::IdentityMismatch(name))
    }
}

fn initialized(fields: Fields<'_>, required: &[&'static str]) -> Result<Initialized, Violation> {
    let capabilities = fields.names("capabilities", 256, is_id)?;
    for name in required {
        if !capabilities.iter().any(|offered| offered == name) {
            return Err(Violation::MissingCapability(name));
        }
    }
    let limits = Limits::read(fields.object("limits")?)?;
    let status = Status::read(fields.object("status")?)?;
    // Success comes only after readiness.
    if status.readiness != Readiness::Ready {
        return Err(Violation::Contradiction("status"));
    }
    Ok(Initialized {
        capabilities,
        limits,
        status,
    })
}

fn attached(fields: Fields<'_>) -> Result<Attached, Violation> {
    Ok(Attached {
        session_id: fields.matching("session_id", is_session_id)?,
        durable: fields.flag("durable")?,
        revision: fields.matching("revision", is_id)?,
        notices: fields.names("notices", 16, is_id)?,
    })
}

fn page(fields: Fields<'_>, limits: &Limits) -> Result<Page, Violation> {
    let mut entries = Vec::new();
    for entry in fields.array("entries", limits.history_page_entries)? {
        let entry = Fields::of(entry, "entries")?;
        entries.push(Entry {
            message_id: entry.matching("message_id", is_id)?,
            kind: entry.word("kind")?,
            text: entry.bounded("text", limits.content_chunk_bytes)?,
            partial: entry.flag("partial")?,
            part: entry.count("part")?,
            last_part: entry.flag("last_part")?,
        });
    }
    let page = Page {
        session_id: fields.matching("session_id", is_session_id)?,
        revision: fields.matching("revision", is_id)?,
        entries,
        next_cursor: fields.nullable("next_cursor", |f, name| f.matching(name, is_id))?,
        complete: fields.flag("complete")?,
    };
    // Only the last page can complete a projection, and a page that leads on must lead somewhere.
    if page.next_cursor.is_some() && (page.complete || page.entries.is_empty()) {
        return Err(Violation::Contradiction("next_cursor"));
    }
    Ok(page)
}
