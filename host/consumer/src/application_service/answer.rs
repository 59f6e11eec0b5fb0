//! What the twenty operations answer: each payload read strictly, unknown members left alone.
//! `initialize` and `capabilities` advertise; what that must hold is `preflight`'s.

use serde_json::{Map, Value};

use application_service::messages::{
    Accepted, CancellationRequested, ServiceStatus, SessionClosed, SessionOpened,
};
pub use application_service::messages::{Item, ReplayEvent, ReplayPage, SessionPage, Summary};

use super::limits::Limits;
use super::preflight::Advertisement;
use super::request::Request;
use super::words::{
    AuthMethod, AuthReadiness, AuthSource, CatalogState, CloseStatus, Layer, Scope, Thinking,
};
use crate::Violation;
use crate::decode::compact_len;
use host::vocabulary::Word;

use crate::fields::Fields;

/// Items of one page, and of every other list an answer holds.
const ITEMS: usize = 256;

/// A provider or model identity: 1–256 ASCII bytes from letters, digits and `-._/:`.
#[must_use]
pub fn is_selection_id(text: &str) -> bool {
    (1..=256).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'/' | b':'))
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderAuth {
    pub provider_id: String,
    pub auth_method: AuthMethod,
    pub source: AuthSource,
    pub readiness: AuthReadiness,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderEntry {
    pub provider_id: String,
    pub label: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelEntry {
    pub provider_id: String,
    pub model_id: String,
    pub label: String,
    pub available: bool,
    /// Tokens; null is unknown.
    pub context_window: Option<u64>,
    pub max_output_tokens: Option<u64>,
    pub available_thinking_levels: Vec<Thinking>,
}

/// The effective configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effective {
    pub provider_id: String,
    pub model_id: String,
    pub thinking_level: Thinking,
    pub configured_thinking_level: Thinking,
    pub available_thinking_levels: Vec<Thinking>,
    pub fast: bool,
    pub precedence: Vec<Layer>,
    pub writable_scopes: Vec<Scope>,
    pub global_only: Vec<String>,
}

/// A successful answer, by operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Initialized(Box<Advertisement>),
    Capabilities(Box<Advertisement>),
    Status {
        provider_auth_ready: bool,
    },
    Sessions(SessionPage),
    SessionOpen {
        session_id: String,
    },
    SessionClosed {
        session_id: String,
        status: CloseStatus,
    },
    Replay(ReplayPage),
    TurnAccepted {
        turn_id: String,
        session_id: String,
    },
    CancellationRequested,
    AuthStatus(Vec<ProviderAuth>),
    LoginStarted {
        login_id: String,
        provider_id: String,
    },
    CallbackSubmitted,
    LoggedOut {
        provider_id: String,
        removed: bool,
    },
    Providers {
        entries: Vec<ProviderEntry>,
        next_offset: Option<u64>,
    },
    Models {
        entries: Vec<ModelEntry>,
        next_offset: Option<u64>,
        state: CatalogState,
    },
    CatalogRefreshed {
        provider_id: String,
        state: CatalogState,
    },
    Config(Effective),
    ConfigSet {
        scope: Scope,
        effective: Effective,
    },
}

impl Answer {
    /// Reads the payload that answers `request`. `limits` are the accepted ones; `initialize` has none.
    ///
    /// # Errors
    /// The first rule it breaks, among them identities that are not the request's own.
    pub fn read(
        request: &Request,
        payload: &Map<String, Value>,
        limits: Option<&Limits>,
    ) -> Result<Self, Violation> {
        let fields = Fields::new(payload);
        let id_bytes = limits.map_or(1024, Limits::max_id_bytes);
        let id = |name| fields.matching(name, |id| (1..=id_bytes).contains(&id.len()));
        Ok(match request {
            Request::Initialize { .. } => {
                Self::Initialized(Box::new(Advertisement::of_initialize(fields)?))
            }
            Request::Capabilities => Self::Capabilities(Box::new(Advertisement::read(fields)?)),
            Request::Status => {
                let status: ServiceStatus = fields.whole("payload")?;
                Self::Status {
                    provider_auth_ready: status.provider_auth_ready,
                }
            }
            Request::SessionList { limit, .. } => {
                Self::Sessions(sessions(fields, limit.unwrap_or(32), id_bytes)?)
            }
            Request::SessionCreate => {
                let SessionOpened { session_id, .. } = fields.whole("payload")?;
                ids(id_bytes, &[("session_id", &session_id)])?;
                Self::SessionOpen { session_id }
            }
            Request::SessionOpen { session_id } => {
                let opened: SessionOpened = fields.whole("payload")?;
                same("session_id", session_id, &opened.session_id)?;
                Self::SessionOpen {
                    session_id: opened.session_id,
                }
            }
            Request::SessionClose { session_id } => {
                let closed: SessionClosed = fields.whole("payload")?;
                same("session_id", session_id, &closed.session_id)?;
                Self::SessionClosed {
                    session_id: closed.session_id,
                    status: closed.status,
                }
            }
            Request::SessionReplay { limit, .. } => {
                if compact_len(payload)
                    > limits.map_or(16_384, Limits::max_session_replay_page_bytes)
                {
                    return Err(Violation::PayloadTooLarge);
                }
                Self::Replay(replay(fields, limit.unwrap_or(32), id_bytes)?)
            }
            Request::TurnStart { session_id, .. } => {
                let turn: Accepted = fields.whole("payload")?;
                let (turn_id, assigned) = (&turn.turn_id, &turn.session_id);
                ids(id_bytes, &[("turn_id", turn_id), ("session_id", assigned)])?;
                if let Some(asked) = session_id {
                    same("session_id", asked, assigned)?;
                }
                Self::TurnAccepted {
                    turn_id: turn.turn_id,
                    session_id: turn.session_id,
                }
            }
            Request::TurnCancel { .. } | Request::AuthLoginCancel { .. } => {
                let CancellationRequested { .. } = fields.whole("payload")?;
                Self::CancellationRequested
            }
            Request::AuthStatus => Self::AuthStatus(auth_status(fields)?),
            Request::AuthLoginStart { provider_id } => {
                fields.literal("status", "started")?;
                provider(fields, provider_id)?;
                Self::LoginStarted {
                    login_id: id("login_id")?,
                    provider_id: provider_id.clone(),
                }
            }
            Request::AuthLoginCallback { .. } => {
                fields.literal("status", "submitted")?;
                Self::CallbackSubmitted
            }
            Request::AuthLogout { provider_id } => {
                fields.literal("status", "logged_out")?;
                fields.constant("environment_unchanged", true)?;
                provider(fields, provider_id)?;
                Self::LoggedOut {
                    provider_id: provider_id.clone(),
                    removed: fields.flag("removed")?,
                }
            }
            Request::CatalogProviders { limit, .. } => {
                fields.literal("refresh", "cache_only")?;
                let entries = list(fields, "entries", limit.unwrap_or(32), |entry| {
                    Ok(ProviderEntry {
                        provider_id: entry.matching("provider_id", is_selection_id)?,
                        label: entry.bounded("label", 256)?,
                    })
                })?;
                Self::Providers {
                    entries,
                    next_offset: fields.nullable("next_offset", Fields::count)?,
                }
            }
            Request::CatalogModels {
                provider_id, limit, ..
            } => models(fields, provider_id, limit.unwrap_or(32))?,
            Request::CatalogRefresh { provider_id } => {
                provider(fields, provider_id)?;
                Self::CatalogRefreshed {
                    provider_id: provider_id.clone(),
                    state: fields.word("state")?,
                }
            }
            Request::ConfigGet => Self::Config(effective(fields)?),
            Request::ConfigSet { scope, .. } => {
                fields.constant("persisted", true)?;
                if fields.word::<Scope>("scope")? != *scope {
                    return Err(Violation::IdentityMismatch("scope"));
                }
                Self::ConfigSet {
                    scope: *scope,
                    effective: effective(fields.object("effective")?)?,
                }
            }
        })
    }
}

/// Identities within the bound in force.
pub(super) fn ids(max: usize, ids: &[(&'static str, &str)]) -> Result<(), Violation> {
    match ids.iter().find(|(_, id)| id.len() > max) {
        None => Ok(()),
        Some((name, _)) => Err(Violation::OutOfBounds(name)),
    }
}

fn same(name: &'static str, asked: &str, got: &str) -> Result<(), Violation> {
    if asked == got {
        Ok(())
    } else {
        Err(Violation::IdentityMismatch(name))
    }
}

fn provider(fields: Fields<'_>, asked: &str) -> Result<(), Violation> {
    same("provider_id", asked, fields.text("provider_id")?)
}

fn list<T>(
    fields: Fields<'_>,
    name: &'static str,
    max: usize,
    read: impl Fn(Fields<'_>) -> Result<T, Violation>,
) -> Result<Vec<T>, Violation> {
    fields
        .array(name, max)?
        .iter()
        .map(|item| read(Fields::of(item, name)?))
        .collect()
}

fn word_list<W: Word>(
    fields: Fields<'_>,
    name: &'static str,
    max: usize,
) -> Result<Vec<W>, Violation> {
    let word = |item: &Value| {
        let word = item.as_str().ok_or(Violation::WrongType(name))?;
        W::from_word(word).ok_or(Violation::UnknownWord(name))
    };
    fields.array(name, max)?.iter().map(word).collect()
}

fn sessions(fields: Fields<'_>, max: usize, id_bytes: usize) -> Result<SessionPage, Violation> {
    fields.array("sessions", max)?;
    let page: SessionPage = fields.whole("payload")?;
    for session in &page.sessions {
        ids(id_bytes, &[("session_id", &session.session_id)])?;
    }
    if let Some(next) = &page.next_after {
        ids(id_bytes, &[("next_after", next)])?;
    }
    Ok(page)
}

fn replay(fields: Fields<'_>, max: usize, id_bytes: usize) -> Result<ReplayPage, Violation> {
    fields.array("events", max)?;
    let page: ReplayPage = fields.whole("payload")?;
    for event in &page.events {
        ids(id_bytes, &[("cursor", &event.cursor)])?;
    }
    let (next, snapshot) = (&page.next_cursor, &page.snapshot_cursor);
    ids(
        id_bytes,
        &[("next_cursor", next), ("snapshot_cursor", snapshot)],
    )?;
    if page.resync_required && !page.events.is_empty() {
        return Err(Violation::Contradiction("resync_required"));
    }
    // At the current end both name the same place (spec: "Durable replay").
    if !page.truncated && !page.resync_required && next != snapshot {
        return Err(Violation::Contradiction("next_cursor"));
    }
    Ok(page)
}

fn auth_status(fields: Fields<'_>) -> Result<Vec<ProviderAuth>, Violation> {
    list(fields, "providers", ITEMS, |entry| {
        let readiness: AuthReadiness = entry.word("readiness")?;
        if entry.flag("ready")? != (readiness == AuthReadiness::Ready) {
            return Err(Violation::Contradiction("ready"));
        }
        Ok(ProviderAuth {
            provider_id: entry.matching("provider_id", is_selection_id)?,
            auth_method: entry.word("auth_method")?,
            source: entry.word("source")?,
            readiness,
        })
    })
}

fn models(fields: Fields<'_>, asked: &str, max: usize) -> Result<Answer, Violation> {
    fields.literal("refresh", "cache_only")?;
    let state: CatalogState = fields.word("state")?;
    let entries = list(fields, "entries", max, |entry| {
        provider(entry, asked)?;
        Ok(ModelEntry {
            provider_id: asked.to_owned(),
            model_id: entry.matching("model_id", is_selection_id)?,
            label: entry.bounded("label", 256)?,
            available: entry.flag("available")?,
            context_window: entry.nullable("context_window", Fields::count)?,
            max_output_tokens: entry.nullable("max_output_tokens", Fields::count)?,
            available_thinking_levels: word_list(entry, "available_thinking_levels", 6)?,
        })
    })?;
    // Stale entries may be shown, not chosen; an unavailable cache has none (spec: "Provider and model catalogs").
    let offered = entries.iter().any(|entry| entry.available);
    if (state == CatalogState::Unavailable && !entries.is_empty())
        || (state == CatalogState::Stale && offered)
    {
        return Err(Violation::Contradiction("state"));
    }
    Ok(Answer::Models {
        entries,
        next_offset: fields.nullable("next_offset", Fields::count)?,
        state,
    })
}

fn effective(fields: Fields<'_>) -> Result<Effective, Violation> {
    let selection = fields.object("selection")?;
    Ok(Effective {
        provider_id: selection.matching("provider_id", is_selection_id)?,
        model_id: selection.matching("model_id", is_selection_id)?,
        thinking_level: fields.word("thinking_level")?,
        configured_thinking_level: fields.word("configured_thinking_level")?,
        available_thinking_levels: word_list(fields, "available_thinking_levels", 6)?,
        fast: fields.flag("fast")?,
        precedence: word_list(fields, "precedence", 3)?,
        writable_scopes: word_list(fields, "writable_scopes", 2)?,
        global_only: fields.names("global_only", ITEMS, |name| !name.is_empty())?,
    })
}
