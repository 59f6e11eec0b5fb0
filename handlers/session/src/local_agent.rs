//! `session.create` and `session.open` of local-agent (spec: local-agent, "Owned sessions and chat history").
//! Translates only; sessions live in the engine.

use agent::{Attached, Notice};
use host::{Cx, Reply};
use local_agent::Word;
use local_agent::messages::{NoParams, OpenParams, SessionAttached};
use magi::local_agent::{Agent, word};

fn attached(attached: Attached) -> SessionAttached {
    let notice = |notice: &Notice| match notice {
        Notice::CwdUnverified => "cwd_unverified".into(),
        Notice::SavedSelectionUnavailable => "saved_selection_unavailable".into(),
        Notice::SavedThinkingUnavailable => "saved_selection_notice".into(),
    };
    SessionAttached {
        notices: attached.notices.iter().map(notice).collect(),
        session_id: attached.session_id,
        durable: attached.durable,
        revision: attached.revision,
    }
}

host::operation! {
    /// Attaches a new session. It becomes durable with the first acknowledged input.
    dialect: local_agent::LocalAgent,
    method: "session.create",
    position: 40,
    class: Exclusive,
    needs: Initialization,
    params: NoParams,
    answer: SessionAttached,
    errors: [
        InvalidParams, NotInitialized, Busy, SessionInvalid, OperationCancelled, ConfigurationInvalid,
        ProfileInvalid, ProviderUnavailable, McpUnavailable, StartupCancelled, StartupFailed,
    ],
    example: "{}" => r#"{"session_id":"<session_id>","durable":false,"revision":"<revision>","notices":[]}"#,
    handler: create,
}

async fn create(cx: Cx<Agent>, _: NoParams) -> Result<Reply<SessionAttached>, Word> {
    let created = cx
        .engine()
        .attach(None, cx.cancellation())
        .await
        .map_err(word)?;
    Ok(attached(created).into())
}

host::operation! {
    /// Attaches an existing session by its exact id; never another one. A failure leaves the previous
    /// attachment as it was.
    dialect: local_agent::LocalAgent,
    method: "session.open",
    position: 50,
    class: Exclusive,
    needs: Initialization,
    params: OpenParams,
    answer: SessionAttached,
    errors: [
        InvalidParams, NotInitialized, Busy, SessionMissing, SessionBusy, SessionInvalid, CwdMismatch,
        HistoryLimit, OperationCancelled, ConfigurationInvalid, ProfileInvalid, ProviderUnavailable, McpUnavailable,
        StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>"}"# => r#"{"session_id":"<session_id>","durable":false,"revision":"<revision>","notices":[]}"#,
    handler: open,
}

async fn open(cx: Cx<Agent>, params: OpenParams) -> Result<Reply<SessionAttached>, Word> {
    let opened = cx
        .engine()
        .attach(Some(&params.session_id), cx.cancellation())
        .await;
    Ok(attached(opened.map_err(word)?).into())
}
