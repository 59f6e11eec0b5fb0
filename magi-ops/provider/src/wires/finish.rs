//! Reasons to finish: which say that a response is whole, cut off, withheld or failed.
//! The words of all wires together, since servers mix them.

use crate::error::{ErrorKind, ProviderError};

/// What a reason to finish means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// The response is whole.
    Whole,
    /// The output's or the context's limit cut it off: what came is all there is.
    Cut,
    /// No evidence of anything.
    Unknown,
}

const WHOLE: [&str; 14] = [
    "stop",
    "tool_calls",
    "tool_call",
    "tool_use",
    "function_call",
    "end_turn",
    "stop_sequence",
    "pause_turn",
    "eos",
    "eos_token",
    "end",
    "done",
    "complete",
    "completed",
];
const CUT: [&str; 5] = [
    "length",
    "max_tokens",
    "model_length",
    "max_output_tokens",
    "model_context_window_exceeded",
];
/// Parts of words with which a filter, or the model itself, withholds the answer.
const WITHHELD: [&str; 11] = [
    "filter",
    "safety",
    "refus",
    "sensitive",
    "prohibited",
    "recitation",
    "blocklist",
    "blocked",
    "moderation",
    "guardrail",
    "spii",
];
/// Parts of words with which the server gives up.
const FAILED: [&str; 17] = [
    "error",
    "fail",
    "abort",
    "cancel",
    "timeout",
    "timed_out",
    "overload",
    "insufficient",
    "interrupt",
    "unavailable",
    "exception",
    "malformed",
    "invalid",
    "denied",
    "crash",
    "kill",
    "disconnect",
];

/// Of a reason to finish that promises a call, and none came.
pub(crate) const NO_CALL: &str = "it says that it calls a tool and names none";

/// Whether the word `reason` says that a call has come.
pub(crate) fn promises_call(reason: &str) -> bool {
    let reason = reason.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    ["tool_calls", "tool_call", "tool_use", "function_call"].contains(&reason.as_str())
}

/// What the word `reason` means.
///
/// # Errors
/// For a word that names a failure.
pub(crate) fn finish(reason: &str) -> Result<Finish, ProviderError> {
    let reason = reason.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let reason = reason.as_str();
    let says = |parts: &[&str]| parts.iter().any(|part| reason.contains(part));
    if WHOLE.contains(&reason) {
        Ok(Finish::Whole)
    } else if CUT.contains(&reason) {
        Ok(Finish::Cut)
    } else if says(&WITHHELD) {
        Err(ProviderError::new(ErrorKind::Filtered).with_message(reason))
    } else if says(&FAILED) {
        Err(ProviderError::new(ErrorKind::Failed).with_message(reason))
    } else {
        if !reason.is_empty() {
            tracing::debug!("an unknown reason to finish is no evidence of an end");
        }
        Ok(Finish::Unknown)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn words_mean_what_they_say() {
        for whole in [
            "stop",
            "STOP",
            "tool_calls",
            "end_turn",
            "function_call",
            "tool-use",
        ] {
            assert_eq!(finish(whole), Ok(Finish::Whole), "{whole}");
        }
        for cut in ["length", "MAX_TOKENS", "model_length"] {
            assert_eq!(finish(cut), Ok(Finish::Cut), "{cut}");
        }
        for unknown in ["", "null", "load", "because"] {
            assert_eq!(finish(unknown), Ok(Finish::Unknown), "{unknown}");
        }
        for (failed, kind) in [
            ("error", ErrorKind::Failed),
            ("ABORT", ErrorKind::Failed),
            ("failed", ErrorKind::Failed),
            ("insufficient_system_resource", ErrorKind::Failed),
            ("network_error", ErrorKind::Failed),
            ("content_filter", ErrorKind::Filtered),
            ("SAFETY", ErrorKind::Filtered),
            ("refusal", ErrorKind::Filtered),
        ] {
            assert_eq!(finish(failed).unwrap_err(), kind, "{failed}");
        }
    }
}
