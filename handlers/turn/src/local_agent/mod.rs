//! `turn.start` and `turn.cancel` of local-agent (spec: local-agent, "Turns, approvals and events").
//! Translates only; the run lives in the engine.

mod events;

use agent::Run;
use host::{Cx, Reply};
use local_agent::Word;
use local_agent::messages::{Accepted, CancelParams, CancellationRequested, StartParams};
use magi::local_agent::{Agent, word};

host::operation! {
    /// Admits one run of the attached session. What happens in it comes as events, `run.finished` last.
    dialect: local_agent::LocalAgent,
    method: "turn.start",
    position: 70,
    class: Inline,
    needs: Initialization,
    params: StartParams,
    answer: Accepted,
    errors: [
        InvalidParams, NotInitialized, Busy, SessionInvalid, SessionMissing, StaleSession, OperationCancelled,
        ConfigurationInvalid, ProfileInvalid, ProviderUnavailable, McpUnavailable, StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>","prompt":"What is in this directory?"}"# => r#"{"run_id":"<run_id>","accepted":true}"#,
    handler: start,
}

fn start(cx: Cx<Agent>, params: StartParams) -> Result<Reply<Accepted>, Word> {
    let Run { run_id, events, .. } = cx
        .engine()
        .start_turn(&params.session_id, magi::local_agent::run(params.prompt))
        .map_err(word)?;
    let accepted = Accepted {
        run_id: run_id.clone(),
        accepted: true,
    };
    Ok(Reply::new(accepted).then(events::forward(
        events,
        cx.events(),
        params.session_id,
        run_id,
    )))
}

host::operation! {
    /// Asks the active run to stop; idempotent. Its end comes as `run.finished`, after cleanup.
    dialect: local_agent::LocalAgent,
    method: "turn.cancel",
    position: 80,
    class: Inline,
    needs: Initialization,
    params: CancelParams,
    answer: CancellationRequested,
    errors: [
        InvalidParams, NotInitialized, StaleRun, ConfigurationInvalid, ProfileInvalid, ProviderUnavailable, McpUnavailable,
        StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>","run_id":"<run_id>"}"# => r#"{"cancellation_requested":true}"#,
    handler: cancel,
}

fn cancel(cx: Cx<Agent>, params: CancelParams) -> Result<Reply<CancellationRequested>, Word> {
    cx.engine()
        .cancel_turn(&params.session_id, &params.run_id)
        .map_err(word)?;
    Ok(CancellationRequested {
        cancellation_requested: true,
    }
    .into())
}
