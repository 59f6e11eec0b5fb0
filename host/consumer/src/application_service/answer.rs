//! What the twenty operations answer: each payload read as the protocol's own crate defines it, then held against the
//! request and the limits in force. `initialize` and `capabilities` advertise; what that must hold is `preflight`'s.

use serde_json::{Map, Value};

use application_service::messages::{
    Accepted, AuthStatus, CallbackSubmitted, CancellationRequested, CatalogRefreshed, ConfigStored,
    Effective, LoggedOut, LoginStarted, ModelPage, ProviderPage, ServiceStatus, SessionClosed,
    SessionOpened,
};
pub use application_service::messages::{Item, ReplayEvent, ReplayPage, SessionPage, Summary};

use super::limits::{Limits, ids};
use super::preflight::Advertisement;
use super::request::Request;
use super::words::{AuthReadiness, CatalogState, Scope};
use crate::Violation;
use crate::decode::compact_len;
use crate::fields::{Fields, same};
use crate::violation::ensure;

/// A successful answer, by operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Initialized(Box<Advertisement>),
    Capabilities(Box<Advertisement>),
    Status(ServiceStatus),
    Sessions(SessionPage),
    SessionOpen(SessionOpened),
    SessionClosed(SessionClosed),
    Replay(ReplayPage),
    TurnAccepted(Accepted),
    CancellationRequested(CancellationRequested),
    AuthStatus(AuthStatus),
    LoginStarted(LoginStarted),
    CallbackSubmitted(CallbackSubmitted),
    LoggedOut(LoggedOut),
    Providers(ProviderPage),
    Models(ModelPage),
    CatalogRefreshed(CatalogRefreshed),
    Config(Effective),
    ConfigSet(ConfigStored),
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
        let id_bytes = limits.map_or(1024, |limits| limits.max_id_bytes);
        let id = |name, id: &str| ids(id_bytes, &[(name, id)]);
        let few = |name, most: u64| {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            fields.array(name, most).map(drop)
        };
        Ok(match request {
            Request::Initialize(_) => {
                Self::Initialized(Box::new(Advertisement::of_initialize(fields)?))
            }
            Request::Capabilities => Self::Capabilities(Box::new(Advertisement::read(fields)?)),
            Request::Status => Self::Status(fields.whole("payload")?),
            Request::SessionList(params) => {
                few("sessions", params.limit)?;
                let page: SessionPage = fields.whole("payload")?;
                for session in &page.sessions {
                    id("session_id", &session.session_id)?;
                }
                if let Some(next) = &page.next_after {
                    id("next_after", next)?;
                }
                Self::Sessions(page)
            }
            Request::SessionCreate => {
                let opened: SessionOpened = fields.whole("payload")?;
                id("session_id", &opened.session_id)?;
                Self::SessionOpen(opened)
            }
            Request::SessionOpen { session_id } => {
                let opened: SessionOpened = fields.whole("payload")?;
                same("session_id", session_id, &opened.session_id)?;
                Self::SessionOpen(opened)
            }
            Request::SessionClose { session_id } => {
                let closed: SessionClosed = fields.whole("payload")?;
                same("session_id", session_id, &closed.session_id)?;
                Self::SessionClosed(closed)
            }
            Request::SessionReplay { page, .. } => {
                let bytes = limits.map_or(16_384, |limits| limits.max_session_replay_page_bytes);
                ensure(compact_len(payload) <= bytes, Violation::PayloadTooLarge)?;
                few("events", page.limit)?;
                let page: ReplayPage = fields.whole("payload")?;
                replayed(&page, id_bytes)?;
                Self::Replay(page)
            }
            Request::TurnStart { session_id, .. } => {
                let turn: Accepted = fields.whole("payload")?;
                id("turn_id", &turn.turn_id)?;
                id("session_id", &turn.session_id)?;
                if let Some(params) = session_id {
                    same("session_id", params, &turn.session_id)?;
                }
                Self::TurnAccepted(turn)
            }
            Request::TurnCancel(_) | Request::AuthLoginCancel(_) => {
                Self::CancellationRequested(fields.whole("payload")?)
            }
            Request::AuthStatus => {
                let status: AuthStatus = fields.whole("payload")?;
                let fits = |ready, readiness| ready == (readiness == AuthReadiness::Ready);
                let mut providers = status.providers.iter();
                if !providers.all(|provider| fits(provider.ready, provider.readiness)) {
                    return Err(Violation::Contradiction("ready"));
                }
                Self::AuthStatus(status)
            }
            Request::AuthLoginStart(params) => {
                let login: LoginStarted = fields.whole("payload")?;
                id("login_id", &login.login_id)?;
                same("provider_id", &params.provider_id, &login.provider_id)?;
                Self::LoginStarted(login)
            }
            Request::AuthLoginCallback(_) => Self::CallbackSubmitted(fields.whole("payload")?),
            Request::AuthLogout(params) => {
                let logged_out: LoggedOut = fields.whole("payload")?;
                same("provider_id", &params.provider_id, &logged_out.provider_id)?;
                Self::LoggedOut(logged_out)
            }
            Request::CatalogProviders(params) => {
                few("entries", params.limit)?;
                let page: ProviderPage = fields.whole("payload")?;
                advances(params.offset, page.next_offset)?;
                Self::Providers(page)
            }
            Request::CatalogModels(params) => {
                few("entries", params.limit)?;
                let page: ModelPage = fields.whole("payload")?;
                advances(params.offset, page.next_offset)?;
                offered(&page, &params.provider_id)?;
                Self::Models(page)
            }
            Request::CatalogRefresh(params) => {
                let refreshed: CatalogRefreshed = fields.whole("payload")?;
                same("provider_id", &params.provider_id, &refreshed.provider_id)?;
                Self::CatalogRefreshed(refreshed)
            }
            Request::ConfigGet => Self::Config(fields.whole("payload")?),
            Request::ConfigSet(params) => {
                let stored: ConfigStored = fields.whole("payload")?;
                let scope = params.scope.map_or("", Scope::word);
                same("scope", scope, stored.scope.word())?;
                Self::ConfigSet(stored)
            }
        })
    }
}

fn replayed(page: &ReplayPage, id_bytes: usize) -> Result<(), Violation> {
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
    Ok(())
}

/// Whoever follows pages comes to an end.
fn advances(from: u64, next: Option<u64>) -> Result<(), Violation> {
    let fits = next.is_none_or(|next| next > from);
    ensure(fits, Violation::Contradiction("next_offset"))
}

fn offered(page: &ModelPage, params: &str) -> Result<(), Violation> {
    for entry in &page.entries {
        same("provider_id", params, &entry.provider_id)?;
    }
    // Stale entries may be shown, not chosen; an unavailable cache has none (spec: "Provider and model catalogs").
    let any = page.entries.iter().any(|entry| entry.available);
    let fits = match page.state {
        CatalogState::FreshCache => true,
        CatalogState::Stale => !any,
        CatalogState::Unavailable => page.entries.is_empty(),
    };
    ensure(fits, Violation::Contradiction("state"))
}
