//! The session operations (spec: "Attachments, close, and conflicts", "Listing", "Durable replay").

use host::read;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{id, nullable_id, whole_page};
use crate::words::{CloseStatus, OpenStatus, ReplayStatus, Role};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionOpened {
    #[serde(deserialize_with = "id")]
    pub session_id: String,
    pub status: OpenStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionClosed {
    #[serde(deserialize_with = "id")]
    pub session_id: String,
    /// `closing` while a turn of it ends.
    pub status: CloseStatus,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PagePayload {
    /// Where an earlier page ended, at most 128 bytes; from the start when null or left out.
    #[serde(default)]
    pub after: Option<String>,
    /// 1 to 32 items.
    #[serde(default = "whole_page")]
    #[schemars(range(min = 1, max = 32))]
    pub limit: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SessionPage {
    /// Ordered by id.
    pub sessions: Vec<Summary>,
    /// The last id that was looked at, for the next page.
    #[serde(deserialize_with = "nullable_id")]
    pub next_after: Option<String>,
    /// More sessions follow.
    pub truncated: bool,
    /// Some sessions could not be read or shown.
    pub incomplete: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    #[serde(deserialize_with = "id")]
    pub session_id: String,
    /// What it is about, redacted, on one line.
    #[serde(deserialize_with = "read::nullable")]
    pub title: Option<String>,
    /// RFC 3339, in UTC.
    #[serde(deserialize_with = "read::text::<64, _, _>")]
    pub updated_at: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayPage {
    pub events: Vec<ReplayEvent>,
    /// Behind this page, for the next one.
    #[serde(deserialize_with = "id")]
    pub next_cursor: String,
    /// The end that this request saw.
    #[serde(deserialize_with = "id")]
    pub snapshot_cursor: String,
    /// More items follow.
    pub truncated: bool,
    /// Something is missing from the readable window.
    pub gap: bool,
    /// `after` is not of this projection: discard what was cached and read from the start.
    pub resync_required: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayEvent {
    /// Everything up to and with this item; at most 128 bytes. Save it only after accepting the item.
    #[serde(deserialize_with = "id")]
    pub cursor: String,
    #[serde(flatten)]
    pub item: Item,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Item {
    Message {
        role: Role,
        /// At most 2,048 UTF-8 bytes.
        #[serde(deserialize_with = "read::text::<2048, _, _>")]
        text: String,
        /// From 0 for each message.
        #[serde(deserialize_with = "read::count")]
        part: u64,
        last_part: bool,
    },
    /// Of what a compaction cut off; before everything else.
    Summary {
        #[serde(deserialize_with = "read::text::<2048, _, _>")]
        text: String,
        #[serde(deserialize_with = "read::count")]
        part: u64,
        last_part: bool,
    },
    Terminal {
        status: ReplayStatus,
    },
}
