//! `history.page` of local-agent (spec: local-agent, "Owned sessions and chat history").
//! Translates only; the projection and its bounds live in the engine.

use agent::{EntryKind, HistoryEntry, HistoryPage};
use host::{Cx, Reply};
use local_agent::messages::{Entry, Page, PageParams};
use local_agent::{Word, words as vocabulary};
use magi::local_agent::{Agent, word};

fn entry(entry: HistoryEntry) -> Entry {
    Entry {
        message_id: entry.message_id,
        kind: match entry.kind {
            EntryKind::User => vocabulary::EntryKind::User,
            EntryKind::Assistant => vocabulary::EntryKind::Assistant,
            EntryKind::ReasoningSummary => vocabulary::EntryKind::ReasoningSummary,
            EntryKind::Activity => vocabulary::EntryKind::Activity,
            EntryKind::Compaction => vocabulary::EntryKind::Compaction,
            EntryKind::Diagnostic => vocabulary::EntryKind::Diagnostic,
        },
        text: entry.text.into_string(),
        partial: entry.partial,
        part: entry.part.into(),
        last_part: entry.last_part,
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
        ProviderUnavailable, McpUnavailable, StartupCancelled, StartupFailed,
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
    let entries = entries.into_iter().map(entry).collect();
    Ok(Page {
        session_id,
        revision,
        entries,
        next_cursor,
        complete,
    }
    .into())
}
