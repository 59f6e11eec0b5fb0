//! Rules of runs for tests: one caller whose deltas may drop, one who takes all text and may miss activities.

use std::time::Duration;

use crate::{Authoritative, DeliveryPolicy, RunPolicy, RunSpec, Selection, TextPolicy};

pub(crate) const RECONCILED: RunPolicy = RunPolicy {
    max_prompt_bytes: 16_384,
    approval_expiry: Some(Duration::from_secs(60)),
    delivery: DeliveryPolicy {
        queue: 32,
        queued_deltas: 24,
        wait: Some(Duration::from_millis(2000)),
        deltas_may_drop: true,
        activities_may_drop: false,
    },
    text: TextPolicy {
        max_bytes: 8 * 1024 * 1024,
        max_json_bytes: None,
        max_messages: 512,
        max_event_bytes: 4000,
        authoritative: Authoritative::ByMessage,
    },
    max_activities: 4096,
    max_responses: 1024,
    max_summary_bytes: 1024,
    max_reasoning_bytes: 2048,
    max_reasoning_input_bytes: 16_384,
    max_unshown_bytes: 8 * 1024 * 1024,
    max_result_bytes: 32 * 1024 * 1024,
};

pub(crate) const COLLECTED: RunPolicy = RunPolicy {
    approval_expiry: None,
    delivery: DeliveryPolicy {
        wait: None,
        deltas_may_drop: false,
        activities_may_drop: true,
        ..RECONCILED.delivery
    },
    text: TextPolicy {
        max_bytes: 16_384,
        max_json_bytes: Some(31_744),
        authoritative: Authoritative::AtTheEnd,
        ..RECONCILED.text
    },
    ..RECONCILED
};

/// A run of the session's own model whose text is reconciled.
pub(crate) fn reconciled_run(prompt: &str) -> RunSpec {
    RunSpec {
        prompt: prompt.to_owned(),
        selection: Selection::OfSession,
        parent: None,
        invocation: "tests",
        policy: RECONCILED,
    }
}
