//! `approval.answer` of local-agent (spec: local-agent, "Turns, approvals and events").
//! Translates only; who wins is decided by the engine.

use host::{Cx, Reply};
use local_agent::Word;
use local_agent::messages::{AnswerParams, Recorded};
use magi::local_agent::{Agent, word};

host::operation! {
    /// Answers one waiting approval of the active run. Exactly one answer is recorded.
    dialect: local_agent::LocalAgent,
    method: "approval.answer",
    position: 90,
    class: Inline,
    needs: Initialization,
    params: AnswerParams,
    answer: Recorded,
    errors: [
        InvalidParams, NotInitialized, StaleApproval, ConfigurationInvalid, ProfileInvalid,
        ProviderUnavailable, McpUnavailable, StartupCancelled, StartupFailed,
    ],
    example: r#"{"session_id":"<session_id>","run_id":"<run_id>","approval_id":"<approval_id>","allow":true}"# => r#"{"recorded":true}"#,
    handler: answer,
}

fn answer(cx: Cx<Agent>, params: AnswerParams) -> Result<Reply<Recorded>, Word> {
    cx.engine()
        .answer_approval(
            &params.session_id,
            &params.run_id,
            &params.approval_id,
            params.allow,
        )
        .map_err(word)?;
    Ok(Recorded { recorded: true }.into())
}
