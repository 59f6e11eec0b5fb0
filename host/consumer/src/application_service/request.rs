//! What this client may ask of an application service, in the payloads of the protocol's own crate.
//! Requests are strict: exactly the documented fields, within the documented bounds.

use application_service::PAGE_ITEMS;
use application_service::messages::{
    CallbackPayload, CancelPayload, ConfigPayload, InitializePayload, LoginPayload, LogoutPayload,
    ModelsPayload, NoPayload, PagePayload, ProviderPayload, ProvidersPayload, StartPayload,
    is_selection_id,
};
use serde_json::{Map, Value, json};

use super::VERSION;
use super::limits::Limits;
use super::words::Scope;
use crate::NotSent;
use crate::decode::compact_len;
use crate::violation::ensure;

/// A request with its payload and, where the operation is about one, the session of its envelope.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    Initialize(InitializePayload),
    Status,
    Capabilities,
    SessionList(PagePayload),
    SessionCreate,
    SessionOpen {
        session_id: String,
    },
    SessionReplay {
        session_id: String,
        page: PagePayload,
    },
    SessionClose {
        session_id: String,
    },
    /// Without a session: in a new one.
    TurnStart {
        session_id: Option<String>,
        start: StartPayload,
    },
    TurnCancel(CancelPayload),
    AuthStatus,
    AuthLoginStart(ProviderPayload),
    /// What the person pasted: used once, kept nowhere.
    AuthLoginCallback(CallbackPayload),
    AuthLoginCancel(LoginPayload),
    /// Ask the person first, and say so.
    AuthLogout(LogoutPayload),
    CatalogProviders(ProvidersPayload),
    CatalogModels(ModelsPayload),
    CatalogRefresh(ProviderPayload),
    ConfigGet,
    ConfigSet(ConfigPayload),
}

impl Request {
    /// Initialization with the operations that it asks the server to check.
    #[must_use]
    pub fn initialize(requested_capabilities: Vec<String>) -> Self {
        Self::Initialize(InitializePayload {
            supported_protocol_versions: vec![application_service::VERSION],
            requested_capabilities,
        })
    }

    /// A turn with this prompt.
    #[must_use]
    pub fn turn(session_id: Option<String>, prompt: String) -> Self {
        let options = Map::new();
        Self::TurnStart {
            session_id,
            start: StartPayload { prompt, options },
        }
    }

    /// Its name on the wire, which is also its operation name.
    #[must_use]
    pub fn method(&self) -> &'static str {
        self.written().0
    }

    fn written(&self) -> (&'static str, Value) {
        let none = || json!(NoPayload {});
        match self {
            Self::Initialize(payload) => ("initialize", json!(payload)),
            Self::Status => ("status", none()),
            Self::Capabilities => ("capabilities", none()),
            Self::SessionList(payload) => ("session.list", json!(payload)),
            Self::SessionCreate => ("session.create", none()),
            Self::SessionOpen { .. } => ("session.open", none()),
            Self::SessionReplay { page, .. } => ("session.replay", json!(page)),
            Self::SessionClose { .. } => ("session.close", none()),
            Self::TurnStart { start, .. } => ("turn.start", json!(start)),
            Self::TurnCancel(payload) => ("turn.cancel", json!(payload)),
            Self::AuthStatus => ("auth.status", none()),
            Self::AuthLoginStart(payload) => ("auth.login.start", json!(payload)),
            Self::AuthLoginCallback(payload) => ("auth.login.callback", json!(payload)),
            Self::AuthLoginCancel(payload) => ("auth.login.cancel", json!(payload)),
            Self::AuthLogout(payload) => ("auth.logout", json!(payload)),
            Self::CatalogProviders(payload) => ("catalog.providers", json!(payload)),
            Self::CatalogModels(payload) => ("catalog.models", json!(payload)),
            Self::CatalogRefresh(payload) => ("catalog.refresh", json!(payload)),
            Self::ConfigGet => ("config.get", none()),
            Self::ConfigSet(payload) => ("config.set", json!(payload)),
        }
    }

    /// The outer session identity it carries.
    #[must_use]
    pub fn session_id(&self) -> Option<&str> {
        match self {
            Self::SessionOpen { session_id }
            | Self::SessionReplay { session_id, .. }
            | Self::SessionClose { session_id } => Some(session_id),
            Self::TurnStart { session_id, .. } => session_id.as_deref(),
            _ => None,
        }
    }

    /// Part of the preflight itself, so allowed before it.
    #[must_use]
    pub fn is_discovery(&self) -> bool {
        matches!(self, Self::Initialize(_))
    }

    /// The record for this request, without LF. `limits` are the server's, once it has said them.
    ///
    /// # Errors
    /// What the server would have to refuse anyway stays here: [`NotSent`].
    pub fn encode(&self, request_id: &str, limits: Option<&Limits>) -> Result<Vec<u8>, NotSent> {
        let limits = limits.map_or(&application_service::Limits::VERSION_1, |limits| &**limits);
        self.check(limits)?;
        let (method, payload) = self.written();
        let mut record = json!({
            "protocol_version": VERSION, "kind": "request", "request_id": request_id,
            "method": method, "payload": payload,
        });
        if let Some(session_id) = self.session_id() {
            record["session_id"] = json!(session_id);
        }
        let bytes = record.to_string().into_bytes();
        // The record bound includes the LF (spec: "Advertised limits").
        if compact_len(&record["payload"]) > limits.max_payload_bytes
            || bytes.len() + 1 > limits.max_record_bytes
        {
            return Err(NotSent::TooLarge);
        }
        Ok(bytes)
    }

    fn check(&self, limits: &application_service::Limits) -> Result<(), NotSent> {
        let id = |id: &str| {
            let fits = (1..=limits.max_id_bytes).contains(&id.len());
            ensure(fits, NotSent::BadIdentity)
        };
        let provider = |id: &str| ensure(is_selection_id(id), NotSent::BadIdentity);
        let few = |limit: u64, most: usize| {
            let most = PAGE_ITEMS.min(most as u64);
            ensure((1..=most).contains(&limit), NotSent::BadArgument)
        };
        let page = |page: &PagePayload| {
            page.after.as_deref().map_or(Ok(()), id)?;
            few(page.limit, limits.max_session_page_items)
        };
        let catalog = |offset: u64, limit| {
            ensure(offset <= 100_000, NotSent::BadArgument)?;
            few(limit, limits.max_catalog_page_items)
        };
        if let Some(session) = self.session_id() {
            id(session)?;
        }
        match self {
            Self::Initialize(payload) => {
                let most = limits.max_negotiation_items;
                let most = most.min(application_service::NEGOTIATION_ITEMS);
                let names = payload.requested_capabilities.len();
                ensure(names <= most, NotSent::BadArgument)
            }
            Self::SessionList(asked) | Self::SessionReplay { page: asked, .. } => page(asked),
            Self::TurnStart { start, .. } => {
                ensure(!start.prompt.trim().is_empty(), NotSent::BlankPrompt)?;
                let fits = start.prompt.len() <= limits.max_string_bytes;
                ensure(fits, NotSent::PromptTooLong)
            }
            Self::TurnCancel(payload) => id(&payload.turn_id),
            Self::AuthLoginCancel(payload) => id(&payload.login_id),
            Self::AuthLoginCallback(payload) => {
                id(&payload.login_id)?;
                let bytes = payload.input.reveal().len();
                ensure((1..=4096).contains(&bytes), NotSent::BadArgument)
            }
            Self::AuthLogout(payload) => {
                ensure(payload.confirmed, NotSent::BadArgument)?;
                provider(&payload.provider_id)
            }
            Self::AuthLoginStart(payload) | Self::CatalogRefresh(payload) => {
                provider(&payload.provider_id)
            }
            Self::CatalogProviders(payload) => catalog(payload.offset, payload.limit),
            Self::CatalogModels(payload) => {
                provider(&payload.provider_id)?;
                catalog(payload.offset, payload.limit)
            }
            Self::ConfigSet(payload) => {
                if let Some(selection) = &payload.selection {
                    provider(&selection.provider_id)?;
                    provider(&selection.model_id)?;
                }
                let changes = payload.selection.is_some()
                    || payload.thinking_level.is_some()
                    || payload.fast.is_some();
                let fits = match payload.scope {
                    Some(Scope::Global) => true,
                    Some(Scope::Project) => payload.fast.is_none(),
                    None => false,
                };
                ensure(changes && fits, NotSent::BadArgument)
            }
            Self::Status
            | Self::Capabilities
            | Self::SessionCreate
            | Self::SessionOpen { .. }
            | Self::SessionClose { .. }
            | Self::AuthStatus
            | Self::ConfigGet => Ok(()),
        }
    }
}
