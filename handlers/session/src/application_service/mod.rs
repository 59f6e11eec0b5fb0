//! `session.create`, `session.open` and `session.close` of application-service (spec: application-service,
//! "Attachments, close, and conflicts"). Reading sessions is `pages`' matter.

mod pages;

use agent::{Detached, SessionId};
use application_service::Word;
use application_service::messages::{NoPayload, SessionClosed, SessionOpened};
use application_service::words::{CloseStatus, OpenStatus};
use host::{Cx, Reply};
use magi::application_service::{Service, session_of, word};

/// The envelope's session; registered as required, so the dialect has refused a request without.
fn session(cx: &Cx<Service>) -> Result<SessionId, Word> {
    session_of(cx)?.ok_or(Word::InvalidRequest)
}

fn named(cx: &Cx<Service>, _: NoPayload) -> Result<SessionId, Word> {
    session(cx)
}

async fn attached(
    cx: &Cx<Service>,
    session: Option<SessionId>,
) -> Result<Reply<SessionOpened>, Word> {
    let session_id = cx.engine().attach(session).await.map_err(word)?;
    Ok(SessionOpened {
        session_id: session_id.to_string(),
        status: OpenStatus::Open,
    }
    .into())
}

host::operation! {
    /// Records a new session durably and attaches it until it is closed.
    dialect: application_service::ApplicationService,
    method: "session.create",
    position: 50,
    class: Exclusive,
    needs: Initialization,
    params: NoPayload,
    answer: SessionOpened,
    errors: [InvalidPayload, NotInitialized, LimitExceeded, SessionUnavailable, InternalError],
    example: "{}" => r#"{"session_id":"<session_id>","status":"open"}"#,
    handler: create,
}

async fn create(cx: Cx<Service>, _: NoPayload) -> Result<Reply<SessionOpened>, Word> {
    attached(&cx, None).await
}

host::operation! {
    /// Attaches an existing session until it is closed; no other process can then write it. Attached
    /// already, it stays so; attached for a turn only, it now outlives the turn.
    dialect: application_service::ApplicationService,
    method: "session.open",
    position: 60,
    class: Exclusive,
    needs: Initialization,
    session: Required,
    params: NoPayload,
    validate: named,
    answer: SessionOpened,
    errors: [
        InvalidPayload, NotInitialized, LimitExceeded, SessionBusy, SessionUnavailable, InvalidSessionId,
        InternalError,
    ],
    example: "{}" => r#"{"session_id":"<session_id>","status":"open"}"#,
    handler: open,
}

async fn open(cx: Cx<Service>, session_id: SessionId) -> Result<Reply<SessionOpened>, Word> {
    attached(&cx, Some(session_id)).await
}

host::operation! {
    /// Ends the attachment, never the session. During a turn it asks that turn to stop and says
    /// `closing`; repeat it after `turn.terminal`. Idempotent for any valid id.
    dialect: application_service::ApplicationService,
    method: "session.close",
    position: 80,
    class: Exclusive,
    needs: Initialization,
    session: Required,
    params: NoPayload,
    validate: named,
    answer: SessionClosed,
    errors: [InvalidPayload, NotInitialized, InvalidSessionId, InternalError],
    example: "{}" => r#"{"session_id":"<session_id>","status":"closed"}"#,
    handler: close,
}

async fn close(cx: Cx<Service>, session_id: SessionId) -> Result<Reply<SessionClosed>, Word> {
    let closed = cx.engine().engine().detach(&session_id).await;
    let status = match closed.map_err(word)? {
        Detached::Closed => CloseStatus::Closed,
        Detached::Closing => CloseStatus::Closing,
    };
    Ok(SessionClosed {
        session_id: session_id.to_string(),
        status,
    }
    .into())
}
