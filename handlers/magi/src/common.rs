//! What both dialects' runs and errors have in common.
//! What differs stands in each dialect's `rules`.

use agent::{Authoritative, DeliveryPolicy, EngineError, ErrorKind, RunIds, RunPolicy, TextPolicy};
use host::vocabulary::Word;

/// The bounds that both specifications give; delivery and text as most callers take them.
pub(crate) const POLICY: RunPolicy = RunPolicy {
    ids: RunIds::Short,
    max_prompt_bytes: 16_384,
    approval_expiry: None,
    delivery: DeliveryPolicy {
        queue: 32,
        queued_deltas: 32,
        wait: None,
        deltas_may_drop: false,
        activities_may_drop: false,
    },
    text: TextPolicy {
        max_bytes: 16_384,
        max_json_bytes: None,
        max_messages: 512,
        max_event_bytes: 4000,
        authoritative: Authoritative::AtTheEnd,
    },
    max_activities: 4096,
    max_responses: 1024,
    max_summary_bytes: 1024,
    max_reasoning_bytes: 2048,
    max_reasoning_input_bytes: 16_384,
    max_unshown_bytes: 8 * 1024 * 1024,
    // They stay in memory for the next requests, and a session holds 64 MiB.
    max_result_bytes: 32 * 1024 * 1024,
};

/// The word of a dialect for an error of the engine, whose reason goes to the log.
pub(crate) fn logged<W: Word>(error: &EngineError, word: fn(ErrorKind) -> W) -> W {
    let word = word(error.kind());
    error.log(word.word());
    word
}
