//! `session.create` and `session.open` of local-agent (spec: local-agent, "Owned sessions and chat history").
//! Translates only; sessions live in the engine.

use agent::{Attached, Notice};
use host::{Cx, Reply};
use local_agent::Word;
use magi::local_agent::{Agent, word};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NoParams {}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct OpenParams {
    /// The exact id: 1 to 64 bytes of `[A-Za-z0-9_-]`.
    session_id: String,
}

#[derive(Debug, Serialize, JsonSchema)]
struct SessionAttached {
    session_id: String,
    /// Whether the session has a file, so that a later child can open it.
    durable: bool,
    /// Names the history as it stands now.
    revision: String,
    /// `cwd_unverified`; `saved_selection_unavailable`; `saved_selection_notice`: the saved model goes on
    /// with the nearest thinking level that it has.
    notices: Vec<&'static str>,
}

impl From<Attached> for SessionAttached {
    fn from(attached: Attached) -> Self {
        let notice = |notice: &Notice| match notice {
            Notice::CwdUnverified => "cwd_unverified",
            Notice::SavedSelectionUnavailable => "saved_selection_unavailable",
            Notice::SavedThinkingUnavailable => "saved_selection_notice",
        };
        Self {
            notices: attached.notices.iter().map(notice).collect(),
            session_id: attached.session_id,
            durable: attached.durable,
            revision: attached.revision,
        }
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
        ProfileInvalid, ProviderUnavailable, StartupCancelled, StartupFailed,
    ],
    example: "{}" => r#"{"session_id":"<session_id>","durable":false,"revision":"<revision>","notices":[]}"#,
    handler: create,
}

async fn create(cx: Cx<Agent>, _: NoParams) -> Result<Reply<SessionAttached>, Word> {
    let attached = cx
        .engine()
        .create_session(cx.cancellation())
        .await
        .map_err(word)?;
    Ok(SessionAttached::from(attached).into())
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
        HistoryLimit, OperationCancelled, ConfigurationInvalid, ProfileInvalid, ProviderUnavailable,
        StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>"}"# => r#"{"session_id":"<session_id>","durable":false,"revision":"<revision>","notices":[]}"#,
    handler: open,
}

async fn open(cx: Cx<Agent>, params: OpenParams) -> Result<Reply<SessionAttached>, Word> {
    let opened = cx
        .engine()
        .open_session(&params.session_id, cx.cancellation())
        .await;
    Ok(SessionAttached::from(opened.map_err(word)?).into())
}
