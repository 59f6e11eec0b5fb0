//! The messages of local-agent, each once for whoever sends and whoever reads it: params are strict, answers and events
//! tolerate members that this version does not know. What spans several messages is the client's and the server's matter.

mod event;
mod lifecycle;
mod session;
mod turn;

pub use crate::limits::Limits;
pub use event::{
    ActivityEvent, ApprovalRequested, Diagnostic, InputPersisted, MessageDelta, MessageReconcile,
    RunEvent, RunFinished,
};
pub use lifecycle::{InitializeParams, Initialized, ServerStatus, Stopping};
pub use session::{Entry, OpenParams, Page, PageParams, SessionAttached};
pub use turn::{
    Accepted, AnswerParams, CancelParams, CancellationRequested, Recorded, StartParams,
};

use host::read::{matching, nullable_matching};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::words::{is_id, is_session_id, is_uuid};

/// Params of methods that take none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NoParams {}

fn id<'de, T: From<String>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    matching(source, is_id)
}

fn nullable_id<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    nullable_matching(source, is_id)
}

fn session<'de, T: From<String>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    matching(source, is_session_id)
}

fn nullable_session<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    nullable_matching(source, is_session_id)
}

fn run<'de, T: From<String>, D: Deserializer<'de>>(source: D) -> Result<T, D::Error> {
    matching(source, is_uuid)
}

fn nullable_run<'de, D: Deserializer<'de>>(source: D) -> Result<Option<String>, D::Error> {
    nullable_matching(source, is_uuid)
}

fn names<'de, const MAX: usize, D: Deserializer<'de>>(
    source: D,
) -> Result<Vec<std::borrow::Cow<'static, str>>, D::Error> {
    host::read::names(source, MAX, is_id)
}
