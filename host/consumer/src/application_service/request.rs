//! What this client may ask of an application service, and how it is written.
//! Requests are strict: exactly the documented fields, absent where absence has the documented meaning.

use application_service::messages::{CancelPayload, InitializePayload, StartPayload};
use serde_json::{Map, Value, json};

use super::VERSION;
use super::answer::is_selection_id;
use super::event::Transient;
use super::limits::Limits;
use super::words::{Scope, Thinking};
use crate::NotSent;
use crate::decode::compact_len;

/// A change for `config.set`; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Provider and model.
    pub selection: Option<(String, String)>,
    pub thinking_level: Option<Thinking>,
    /// Global scope only.
    pub fast: Option<bool>,
}

/// A request with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    Initialize {
        requested_capabilities: Vec<String>,
    },
    Status,
    Capabilities,
    SessionList {
        after: Option<String>,
        limit: Option<usize>,
    },
    SessionCreate,
    SessionOpen {
        session_id: String,
    },
    SessionReplay {
        session_id: String,
        after: Option<String>,
        limit: Option<usize>,
    },
    SessionClose {
        session_id: String,
    },
    TurnStart {
        session_id: Option<String>,
        prompt: String,
    },
    TurnCancel {
        turn_id: String,
    },
    AuthStatus,
    AuthLoginStart {
        provider_id: String,
    },
    /// `input` is what the person pasted: used once, kept nowhere.
    AuthLoginCallback {
        login_id: String,
        input: Transient,
    },
    AuthLoginCancel {
        login_id: String,
    },
    /// Sent as confirmed: ask the person first.
    AuthLogout {
        provider_id: String,
    },
    CatalogProviders {
        offset: usize,
        limit: Option<usize>,
    },
    CatalogModels {
        provider_id: String,
        offset: usize,
        limit: Option<usize>,
    },
    CatalogRefresh {
        provider_id: String,
    },
    ConfigGet,
    ConfigSet {
        scope: Scope,
        change: Change,
    },
}

impl Request {
    /// Its name on the wire, which is also its operation name.
    #[must_use]
    pub fn method(&self) -> &'static str {
        match self {
            Self::Initialize { .. } => "initialize",
            Self::Status => "status",
            Self::Capabilities => "capabilities",
            Self::SessionList { .. } => "session.list",
            Self::SessionCreate => "session.create",
            Self::SessionOpen { .. } => "session.open",
            Self::SessionReplay { .. } => "session.replay",
            Self::SessionClose { .. } => "session.close",
            Self::TurnStart { .. } => "turn.start",
            Self::TurnCancel { .. } => "turn.cancel",
            Self::AuthStatus => "auth.status",
            Self::AuthLoginStart { .. } => "auth.login.start",
            Self::AuthLoginCallback { .. } => "auth.login.callback",
            Self::AuthLoginCancel { .. } => "auth.login.cancel",
            Self::AuthLogout { .. } => "auth.logout",
            Self::CatalogProviders { .. } => "catalog.providers",
            Self::CatalogModels { .. } => "catalog.models",
            Self::CatalogRefresh { .. } => "catalog.refresh",
            Self::ConfigGet => "config.get",
            Self::ConfigSet { .. } => "config.set",
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
        matches!(self, Self::Initialize { .. })
    }

    fn payload(&self) -> Value {
        match self {
            Self::Initialize {
                requested_capabilities,
            } => json!(InitializePayload {
                supported_protocol_versions: vec![application_service::VERSION],
                requested_capabilities: requested_capabilities.clone(),
            }),
            Self::Status
            | Self::Capabilities
            | Self::SessionCreate
            | Self::SessionOpen { .. }
            | Self::SessionClose { .. }
            | Self::AuthStatus
            | Self::ConfigGet => json!({}),
            Self::SessionList { after, limit } | Self::SessionReplay { after, limit, .. } => {
                let mut page = Map::new();
                page.extend(
                    after
                        .as_ref()
                        .map(|after| ("after".to_owned(), json!(after))),
                );
                page.extend(limit.map(|limit| ("limit".to_owned(), json!(limit))));
                Value::Object(page)
            }
            Self::TurnStart { prompt, .. } => json!(StartPayload {
                prompt: prompt.clone(),
                options: Map::new(),
            }),
            Self::TurnCancel { turn_id } => json!(CancelPayload {
                turn_id: turn_id.clone(),
            }),
            Self::AuthLoginStart { provider_id } | Self::CatalogRefresh { provider_id } => {
                json!({ "provider_id": provider_id })
            }
            Self::AuthLoginCallback { login_id, input } => {
                json!({ "login_id": login_id, "input": input.reveal() })
            }
            Self::AuthLoginCancel { login_id } => json!({ "login_id": login_id }),
            Self::AuthLogout { provider_id } => {
                json!({ "provider_id": provider_id, "confirmed": true })
            }
            Self::CatalogProviders { offset, limit } => {
                json!({ "offset": offset, "limit": limit.unwrap_or(32) })
            }
            Self::CatalogModels {
                provider_id,
                offset,
                limit,
            } => {
                json!({ "provider_id": provider_id, "offset": offset, "limit": limit.unwrap_or(32) })
            }
            Self::ConfigSet { scope, change } => {
                let mut set = Map::new();
                set.insert("scope".to_owned(), json!(scope.word()));
                if let Some((provider, model)) = &change.selection {
                    set.insert(
                        "selection".to_owned(),
                        json!({ "provider_id": provider, "model_id": model }),
                    );
                }
                set.extend(
                    change
                        .thinking_level
                        .map(|level| ("thinking_level".to_owned(), json!(level.word()))),
                );
                set.extend(change.fast.map(|fast| ("fast".to_owned(), json!(fast))));
                Value::Object(set)
            }
        }
    }

    /// The record for this request, without LF. `limits` are the server's, once it has said them.
    ///
    /// # Errors
    /// What the server would have to refuse anyway stays here: [`NotSent`].
    pub fn encode(&self, request_id: &str, limits: Option<&Limits>) -> Result<Vec<u8>, NotSent> {
        self.check(limits)?;
        let payload = self.payload();
        let mut record = json!({
            "protocol_version": VERSION, "kind": "request", "request_id": request_id,
            "method": self.method(), "payload": payload,
        });
        if let Some(session_id) = self.session_id() {
            record["session_id"] = json!(session_id);
        }
        let bytes = record.to_string().into_bytes();
        let (payload_bytes, record_bytes) = limits.map_or((32_768, 65_536), |limits| {
            (limits.max_payload_bytes(), limits.max_record_bytes())
        });
        // The record bound includes the LF (spec: "Advertised limits").
        if compact_len(&record["payload"]) > payload_bytes || bytes.len() + 1 > record_bytes {
            return Err(NotSent::TooLarge);
        }
        Ok(bytes)
    }

    fn check(&self, limits: Option<&Limits>) -> Result<(), NotSent> {
        let of = |read: fn(&Limits) -> usize, otherwise| limits.map_or(otherwise, read);
        let id_bytes = of(Limits::max_id_bytes, 128);
        let id = |id: &str| {
            let fits = (1..=id_bytes).contains(&id.len());
            if fits {
                Ok(())
            } else {
                Err(NotSent::BadIdentity)
            }
        };
        let page = |after: Option<&str>, limit: Option<usize>, most: usize| {
            after.map_or(Ok(()), id)?;
            let fits = limit.is_none_or(|limit| (1..=most.min(32)).contains(&limit));
            if fits {
                Ok(())
            } else {
                Err(NotSent::BadArgument)
            }
        };
        let provider = |id: &str| {
            if is_selection_id(id) {
                Ok(())
            } else {
                Err(NotSent::BadIdentity)
            }
        };
        if let Some(session) = self.session_id() {
            id(session)?;
        }
        match self {
            Self::Initialize {
                requested_capabilities,
            } => {
                let most = of(Limits::max_negotiation_items, 8).min(8);
                if requested_capabilities.len() > most {
                    Err(NotSent::BadArgument)
                } else {
                    Ok(())
                }
            }
            Self::SessionList { after, limit } | Self::SessionReplay { after, limit, .. } => page(
                after.as_deref(),
                *limit,
                of(Limits::max_session_page_items, 32),
            ),
            Self::TurnStart { prompt, .. } if prompt.trim().is_empty() => Err(NotSent::BlankPrompt),
            Self::TurnStart { prompt, .. }
                if prompt.len() > of(Limits::max_string_bytes, 16_384) =>
            {
                Err(NotSent::PromptTooLong)
            }
            Self::TurnCancel { turn_id } => id(turn_id),
            Self::AuthLoginCancel { login_id } => id(login_id),
            Self::AuthLoginCallback { login_id, input } => {
                id(login_id)?;
                if (1..=4096).contains(&input.reveal().len()) {
                    Ok(())
                } else {
                    Err(NotSent::BadArgument)
                }
            }
            Self::AuthLoginStart { provider_id }
            | Self::AuthLogout { provider_id }
            | Self::CatalogRefresh { provider_id } => provider(provider_id),
            Self::CatalogProviders { offset, limit }
            | Self::CatalogModels { offset, limit, .. } => {
                if let Self::CatalogModels { provider_id, .. } = self {
                    provider(provider_id)?;
                }
                if *offset > 100_000 {
                    return Err(NotSent::BadArgument);
                }
                page(None, *limit, of(Limits::max_catalog_page_items, 32))
            }
            Self::ConfigSet { scope, change } => {
                if let Some((provider_id, model_id)) = &change.selection {
                    provider(provider_id)?;
                    provider(model_id)?;
                }
                let misplaced = change.fast.is_some() && *scope == Scope::Project;
                if *change == Change::default() || misplaced {
                    Err(NotSent::BadArgument)
                } else {
                    Ok(())
                }
            }
            _ => Ok(()),
        }
    }
}
