//! Reasons to finish: which say that a response is whole, cut off, withheld or failed.
//! The words of all wires together, since servers mix them.

use super::failure_kind::says_any;
use super::wire::Progress;
use crate::error::{ErrorKind, ProviderError};

/// What a reason to finish means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Finish {
    /// The response is whole.
    Whole,
    /// The output's or the context's limit cut it off: what came is all there is.
    Cut,
    /// No evidence of anything.
    #[default]
    Unknown,
}

/// Reasons that promise a call.
const CALLS: [&str; 4] = ["tool_calls", "tool_call", "tool_use", "function_call"];
const WHOLE: [&str; 10] = [
    "stop",
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
const CUT: [&str; 3] = ["length", "model_length", "model_context_window_exceeded"];
/// What words for other limits begin with, or have in them: `max_tokens`, `max_time`, `repetition_truncation`.
const LIMIT: &str = "max_";
const TRUNCATED: &str = "truncat";
/// Parts of words with which a filter, or the model itself, withholds the answer.
const WITHHELD: [&str; 12] = [
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
    "language",
];
/// Parts of words with which the server gives up.
const FAILED: [&str; 21] = [
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
    "unexpected",
    "too_many",
    "missing",
    "no_image",
];
/// Words that stand for none.
const NO_REASON: [&str; 3] = ["", "null", "none"];
/// What is said of a part of a response that is not at its end.
const UNFINISHED: [&str; 3] = ["incomplete", "in_progress", "queued"];
/// Failures that have no other name.
const OTHER: &str = "other";

/// What the events of one response say of its end.
#[derive(Debug, Default)]
pub(crate) struct Ending {
    /// Why the model stopped, if it said so.
    stop: Finish,
    /// The reason to finish says that a call has come.
    promised: bool,
    /// The wire's own end marker has come.
    pub(crate) marked: bool,
    /// Another wire's end marker has come: evidence only where nothing says otherwise.
    pub(crate) marked_elsewhere: bool,
    /// The last reason to finish that nobody knows.
    unknown: Option<String>,
}

impl Ending {
    /// Reads a reason to finish. Some servers give it again with the counts.
    ///
    /// # Errors
    /// For a word that names a failure.
    pub(crate) fn reason(&mut self, reason: &str) -> Result<(), ProviderError> {
        let (stop, word) = read(reason)?;
        self.promised |= CALLS.contains(&word.as_str());
        if stop == Finish::Unknown && !NO_REASON.contains(&word.as_str()) {
            tracing::debug!("an unknown reason to finish is no evidence of an end");
            self.unknown = Some(reason.to_owned());
        } else if stop != Finish::Unknown && !self.is_cut() {
            self.stop = stop;
        }
        Ok(())
    }

    /// Reads why a response is not whole, as its server says itself.
    ///
    /// # Errors
    /// For whatever is no limit that cut it off.
    pub(crate) fn incomplete(&mut self, reason: &str) -> Result<(), ProviderError> {
        match read(reason)?.0 {
            Finish::Cut => self.stop = Finish::Cut,
            Finish::Whole | Finish::Unknown => {
                let failure = ProviderError::new(ErrorKind::Failed);
                let failure = failure.with_note("it says that its answer is incomplete");
                return Err(failure.with_message(reason));
            }
        }
        Ok(())
    }

    /// Reads a second reason to finish, which the server behind a gateway gave: only what it says against an end counts.
    ///
    /// # Errors
    /// For a word that names a failure.
    pub(crate) fn second_reason(reason: &str) -> Result<(), ProviderError> {
        read(reason).map(drop)
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.stop == Finish::Cut
    }

    fn has_marker(&self) -> bool {
        self.marked || (self.marked_elsewhere && self.unknown.is_none())
    }

    pub(crate) fn progress(&self) -> Progress {
        match self.stop {
            Finish::Unknown => Progress::More,
            Finish::Whole | Finish::Cut => Progress::Finishing,
        }
    }

    /// Whether a response with text, or with calls, is whole.
    ///
    /// # Errors
    /// If it is not.
    pub(crate) fn check(&self, has_text: bool, has_calls: bool) -> Result<(), ProviderError> {
        match self.stop {
            // Some local servers give no reason to finish. The marker alone says that all of the response
            // is here, which a lost connection cannot; whether the model was cut off stays unknown then.
            Finish::Unknown if !self.has_marker() => Err(match &self.unknown {
                Some(word) => ProviderError::malformed("it ends for a reason that nobody knows")
                    .with_message(word),
                None => ErrorKind::Interrupted.into(),
            }),
            Finish::Unknown if !has_text && !has_calls => Err(ProviderError::malformed(
                "the answer is empty and says no reason to finish",
            )),
            _ if self.promised && !has_calls => Err(ProviderError::malformed(
                "it says that it calls a tool and names none",
            )),
            _ => Ok(()),
        }
    }
}

/// Whether a part of a response is whole by what its server says of it; what says nothing of that is.
///
/// # Errors
/// For a word that names a failure.
pub(crate) fn is_whole(status: &str) -> Result<bool, ProviderError> {
    let (stop, word) = read(status)?;
    Ok(stop != Finish::Cut && !UNFINISHED.contains(&word.as_str()))
}

/// What a reason means, and its word as it is compared. An error tells it as it came: what is a secret is known so.
fn read(reason: &str) -> Result<(Finish, String), ProviderError> {
    let word = reason.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let stop = finish(&word).map_err(|kind| ProviderError::new(kind).with_message(reason))?;
    Ok((stop, word))
}

/// What `reason` means, which is in lower case and one word.
fn finish(reason: &str) -> Result<Finish, ErrorKind> {
    if WHOLE.contains(&reason) || CALLS.contains(&reason) {
        Ok(Finish::Whole)
    } else if CUT.contains(&reason) || reason.starts_with(LIMIT) || reason.contains(TRUNCATED) {
        Ok(Finish::Cut)
    } else if says_any(reason, &WITHHELD) {
        Err(ErrorKind::Filtered)
    } else if says_any(reason, &FAILED) || reason == OTHER {
        Err(ErrorKind::Failed)
    } else {
        Ok(Finish::Unknown)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn finish(reason: &str) -> Result<Finish, ProviderError> {
        let mut ending = Ending::default();
        ending.reason(reason).map(|()| ending.stop)
    }

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
        for cut in [
            "length",
            "MAX_TOKENS",
            "model_length",
            "max_time",
            "repetition_truncation",
        ] {
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
            ("LANGUAGE", ErrorKind::Filtered),
            ("MALFORMED_FUNCTION_CALL", ErrorKind::Failed),
            ("UNEXPECTED_TOOL_CALL", ErrorKind::Failed),
            ("MISSING_THOUGHT_SIGNATURE", ErrorKind::Failed),
            ("OTHER", ErrorKind::Failed),
        ] {
            let error = finish(failed).unwrap_err();
            assert_eq!((error.kind(), error.message()), (kind, Some(failed)));
        }
    }

    #[test]
    fn a_reason_that_nobody_knows_is_told_and_only_the_wire_s_own_marker_is_more() {
        let ending = |reason: &str, marked, marked_elsewhere| {
            let mut ending = Ending {
                marked,
                marked_elsewhere,
                ..Ending::default()
            };
            ending.reason(reason).unwrap();
            ending.check(true, true)
        };
        assert_eq!(ending("Because", true, false), Ok(()));
        assert_eq!(ending("null", false, true), Ok(()));
        for marked_elsewhere in [false, true] {
            let error = ending("Because", false, marked_elsewhere).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Malformed);
            assert_eq!(error.message(), Some("Because"));
        }
        assert_eq!(
            ending("null", false, false).unwrap_err(),
            ErrorKind::Interrupted
        );
        // A known one that comes later counts.
        let mut both = Ending::default();
        both.reason("Because").unwrap();
        both.reason("stop").unwrap();
        assert_eq!(both.check(true, false), Ok(()));
    }

    #[test]
    fn a_part_is_whole_where_nothing_says_otherwise() {
        for (status, whole) in [
            ("", true),
            ("completed", true),
            ("zz", true),
            ("incomplete", false),
            ("in_progress", false),
            ("max_tokens", false),
        ] {
            assert_eq!(is_whole(status), Ok(whole), "{status}");
        }
        for status in ["failed", "cancelled", "error"] {
            assert_eq!(is_whole(status).unwrap_err(), ErrorKind::Failed, "{status}");
        }
    }

    #[test]
    fn what_a_server_calls_incomplete_is_cut_off_or_failed() {
        let incomplete = |reason| {
            let mut ending = Ending::default();
            ending.incomplete(reason).map(|()| ending.is_cut())
        };
        assert_eq!(incomplete("max_output_tokens"), Ok(true));
        assert_eq!(
            incomplete("content_filter").unwrap_err(),
            ErrorKind::Filtered
        );
        for word in ["incomplete", "Zzz", "stop"] {
            let error = incomplete(word).unwrap_err();
            assert_eq!(
                (error.kind(), error.message()),
                (ErrorKind::Failed, Some(word))
            );
        }
    }
}
