//! The messages of application-service, each once for whoever sends and whoever reads it: payloads
//! of requests are strict, answers and events tolerate members that this version does not know. What spans several messages
//! is the client's and the server's matter.

mod activity;
mod auth;
mod catalog;
mod config;
mod event;
mod lifecycle;
mod session;
mod turn;

pub use activity::{Activity, Compaction, Context, Kind, Lifecycle, ReasoningSummary, Tool, Usage};
pub use auth::{
    AuthStatus, CallbackPayload, CallbackSubmitted, LoggedOut, LoginPayload, LoginProgress,
    LoginStarted, LoginTerminal, LogoutPayload, ProviderAuth, ProviderPayload, Transient,
};
pub use catalog::{
    CatalogRefreshed, ModelEntry, ModelPage, ModelsPayload, ProviderEntry, ProviderPage,
    ProvidersPayload,
};
pub use config::{ConfigPayload, ConfigStored, Effective, Selection, SelectionPayload};
pub use event::{AssistantDelta, TurnActivity, TurnStarted, TurnTerminal};
pub use lifecycle::{ActivityFlags, Capabilities, InitializePayload, Initialized, ServiceStatus};
pub use session::{
    Item, PagePayload, ReplayEvent, ReplayPage, SessionClosed, SessionOpened, SessionPage, Summary,
};
pub use turn::{Accepted, CancelPayload, CancellationRequested, StartPayload};

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

/// The payload of operations that take none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoPayload {}

const fn whole_page() -> u64 {
    crate::PAGE_ITEMS
}

/// The most that an identity or a name of any server may have; the limits in force say less.
const ID_BYTES: usize = 1024;

fn is_id(text: &str) -> bool {
    (1..=ID_BYTES).contains(&text.len())
}

/// Of a provider or a model: 1 to 256 bytes of `[A-Za-z0-9._/:-]`.
#[must_use]
pub fn is_selection_id(text: &str) -> bool {
    let fits = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'/' | b':');
    (1..=256).contains(&text.len()) && text.bytes().all(fits)
}

fn selection<'de, D: Deserializer<'de>>(source: D) -> Result<String, D::Error> {
    host::read::matching(source, is_selection_id)
}

fn id<'de, T: From<String>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    host::read::matching(source, is_id)
}

fn nullable_id<'de, T: From<String>, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<T>, D::Error> {
    host::read::nullable_matching(source, is_id)
}
