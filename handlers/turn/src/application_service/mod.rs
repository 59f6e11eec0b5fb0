//! `turn.start` and `turn.cancel` of application-service (spec: application-service, "`turn.start`", "`turn.cancel`").
//! What happens in a turn is `events`' matter.

mod activity;
mod events;

use agent::{Run, SessionId};
use application_service::messages::{Accepted, CancelPayload, CancellationRequested, StartPayload};
use application_service::words::{AdmissionStatus, CancellationStatus};
use application_service::{ID_BYTES, Word};
use host::{Cx, Reply};
use magi::application_service::{Service, TURN, session_of, turn, word};

host::operation! {
    /// Starts a turn of the envelope's session, or of a new one. What happens in it comes as events:
    /// `turn.started` first, `turn.terminal` last; the request id stays reserved until then. A session
    /// that nothing has attached is attached for as long as its turn.
    dialect: application_service::ApplicationService,
    method: "turn.start",
    position: 90,
    class: Exclusive,
    needs: Initialization,
    session: Optional,
    params: StartPayload,
    validate: startable,
    answer: Accepted,
    errors: [
        InvalidPayload, NotInitialized, LimitExceeded, TooManyActiveTurns, SessionBusy, SessionUnavailable,
        InvalidSessionId, InternalError,
    ],
    example: r#"{"prompt":"What is in this directory?","options":{}}"# => r#"{"turn_id":"<turn_id>","session_id":"<session_id>","status":"accepted"}"#,
    handler: start,
}

/// The session to work in, if not a new one, and what to do there.
fn startable(cx: &Cx<Service>, payload: StartPayload) -> Result<(Option<SessionId>, String), Word> {
    let StartPayload { prompt, options } = payload;
    if !options.is_empty() || !TURN.admits(&prompt) {
        return Err(Word::InvalidPayload);
    }
    Ok((session_of(cx)?, prompt))
}

async fn start(
    cx: Cx<Service>,
    (session_id, prompt): (Option<SessionId>, String),
) -> Result<Reply<Accepted>, Word> {
    let run = cx.engine().start_turn(session_id, turn(prompt));
    let Run {
        session_id,
        run_id,
        events,
    } = run.await.map_err(word)?;
    let sink = cx.events().for_session(&session_id);
    let turn = events::Turn::new(&run_id, &session_id);
    let accepted = Accepted {
        turn_id: run_id,
        session_id,
        status: AdmissionStatus::Accepted,
    };
    Ok(Reply::new(accepted).then(turn.forward(events, sink)))
}

host::operation! {
    /// Asks an active turn to stop. Its end comes as `turn.terminal`, after cleanup; a turn that completes
    /// first is still `completed`.
    dialect: application_service::ApplicationService,
    method: "turn.cancel",
    position: 100,
    class: Inline,
    needs: Initialization,
    session: Optional,
    params: CancelPayload,
    validate: cancellable,
    answer: CancellationRequested,
    errors: [InvalidPayload, NotInitialized, LimitExceeded, InvalidSessionId, UnknownTurn],
    example: r#"{"turn_id":"<turn_id>"}"# => r#"{"status":"cancellation_requested"}"#,
    handler: cancel,
}

fn cancellable(
    cx: &Cx<Service>,
    payload: CancelPayload,
) -> Result<(Option<SessionId>, String), Word> {
    if payload.turn_id.len() > ID_BYTES {
        return Err(Word::LimitExceeded);
    }
    Ok((session_of(cx)?, payload.turn_id))
}

fn cancel(
    cx: Cx<Service>,
    (session_id, turn_id): (Option<SessionId>, String),
) -> Result<Reply<CancellationRequested>, Word> {
    let asked = cx.engine().cancel_turn(session_id.as_ref(), &turn_id);
    asked.map_err(word)?;
    Ok(CancellationRequested {
        status: CancellationStatus::CancellationRequested,
    }
    .into())
}
