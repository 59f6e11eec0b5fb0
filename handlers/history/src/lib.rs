//! `history.page` of local-agent (spec: local-agent, "Owned sessions and chat history").
//! Translates only; the projection and its bounds live in the engine.

use agent::{EntryKind, HistoryEntry, HistoryPage};
use host::{Cx, Reply};
use local_agent::{Word, words as vocabulary};
use magi::local_agent::{Agent, word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PageParams {
    session_id: String,
    /// As the attachment or the finished run gave it.
    revision: String,
    /// Null or omitted for the first page; else the previous page's `next_cursor`.
    #[serde(default)]
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Page {
    session_id: String,
    revision: String,
    /// At most 100 in stored order.
    entries: Vec<Entry>,
    next_cursor: Option<String>,
    /// True only on the last page of a complete projection.
    complete: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Entry {
    message_id: String,
    kind: vocabulary::EntryKind,
    text: String,
    partial: bool,
    /// From 0; contiguous parts of one message concatenate.
    part: u32,
    last_part: bool,
}

impl From<HistoryEntry> for Entry {
    fn from(entry: HistoryEntry) -> Self {
        Self {
            message_id: entry.message_id,
            kind: match entry.kind {
                EntryKind::User => vocabulary::EntryKind::User,
                EntryKind::Assistant => vocabulary::EntryKind::Assistant,
                EntryKind::ReasoningSummary => vocabulary::EntryKind::ReasoningSummary,
                EntryKind::Activity => vocabulary::EntryKind::Activity,
                EntryKind::Diagnostic => vocabulary::EntryKind::Diagnostic,
            },
            text: entry.text.into_string(),
            partial: entry.partial,
            part: entry.part,
            last_part: entry.last_part,
        }
    }
}

host::operation! {
    /// Gives one page of the attached session's history under one revision.
    dialect: local_agent::LocalAgent,
    method: "history.page",
    position: 60,
    class: Exclusive,
    needs: Initialization,
    params: PageParams,
    answer: Page,
    errors: [
        InvalidParams, NotInitialized, Busy, SessionMissing, StaleSession, StaleRevision, HistoryLimit,
        SessionInvalid, ContentLimit, OperationCancelled, ConfigurationInvalid, ProfileInvalid,
        ProviderUnavailable, StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>","revision":"<revision>","cursor":null}"# => r#"{"session_id":"<session_id>","revision":"<revision>","entries":[],"next_cursor":null,"complete":true}"#,
    handler: page,
}

async fn page(cx: Cx<Agent>, params: PageParams) -> Result<Reply<Page>, Word> {
    let HistoryPage {
        session_id,
        revision,
        entries,
        next_cursor,
        complete,
    } = cx
        .engine()
        .history_page(
            &params.session_id,
            &params.revision,
            params.cursor.as_deref(),
            cx.cancellation(),
        )
        .await
        .map_err(word)?;
    let entries = entries.into_iter().map(Entry::from).collect();
    Ok(Page {
        session_id,
        revision,
        entries,
        next_cursor,
        complete,
    }
    .into())
}
