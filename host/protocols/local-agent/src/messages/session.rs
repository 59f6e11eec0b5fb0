//! `session.create`, `session.open` and `history.page` (spec: "Owned sessions and chat history").

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id, names, nullable_id, session};
use crate::words::EntryKind;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenParams {
    /// The exact id: 1 to 64 bytes of `[A-Za-z0-9_-]`.
    pub session_id: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionAttached {
    #[serde(deserialize_with = "session")]
    pub session_id: String,
    /// Whether the session has a file, so that a later child can open it.
    pub durable: bool,
    /// Names the history as it stands now.
    #[serde(deserialize_with = "id")]
    pub revision: String,
    /// `cwd_unverified`; `saved_selection_unavailable`; `saved_selection_notice`: the saved model goes on
    /// with the nearest thinking level that it has.
    #[serde(deserialize_with = "names::<16, _>")]
    pub notices: Vec<Cow<'static, str>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PageParams {
    pub session_id: String,
    /// As the attachment or the finished run gave it.
    pub revision: String,
    /// Null or omitted for the first page; else the previous page's `next_cursor`.
    #[serde(default)]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Page {
    #[serde(deserialize_with = "session")]
    pub session_id: String,
    #[serde(deserialize_with = "id")]
    pub revision: String,
    /// At most 100 in stored order.
    pub entries: Vec<Entry>,
    #[serde(deserialize_with = "nullable_id")]
    pub next_cursor: Option<String>,
    /// True only on the last page of a complete projection.
    pub complete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    #[serde(deserialize_with = "id")]
    pub message_id: String,
    pub kind: EntryKind,
    pub text: String,
    pub partial: bool,
    /// From 0; contiguous parts of one message concatenate.
    #[serde(deserialize_with = "host::read::count")]
    pub part: u64,
    pub last_part: bool,
}
