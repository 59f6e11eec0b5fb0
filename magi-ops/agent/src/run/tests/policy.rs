//! Rules of runs for tests: a caller whose deltas may drop and whose text is reconciled. The bounds are no dialect's, and
//! small.

use std::time::Duration;

use crate::{Authoritative, DeliveryPolicy, RunIds, RunPolicy, RunSpec, TextPolicy};

pub(crate) const RECONCILED: RunPolicy = RunPolicy {
    ids: RunIds::Uuid,
    max_prompt_bytes: 1000,
    approval_expiry: Some(Duration::from_secs(10)),
    delivery: DeliveryPolicy {
        queue: 16,
        queued_deltas: 12,
        wait: Some(Duration::from_millis(1500)),
        deltas_may_drop: true,
        activities_may_drop: false,
    },
    text: TextPolicy {
        max_bytes: 1024 * 1024,
        max_json_bytes: None,
        max_messages: 20,
        max_event_bytes: 4000,
        authoritative: Authoritative::ByMessage,
    },
    max_activities: 50,
    max_responses: 20,
    max_summary_bytes: 1024,
    max_reasoning_bytes: 2048,
    max_reasoning_input_bytes: 16_384,
    max_unshown_bytes: 1024 * 1024,
    max_result_bytes: 2 * 1024 * 1024,
};

/// A run of the session's own model whose text is reconciled.
pub(crate) fn reconciled_run(prompt: &str) -> RunSpec {
    RunSpec {
        prompt: prompt.to_owned(),
        parent: None,
        invocation: "tests",
        policy: RECONCILED,
    }
}
