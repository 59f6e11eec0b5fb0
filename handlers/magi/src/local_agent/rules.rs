//! local-agent's rules for runs, and the one place where the engine's errors become its words (spec: local-agent,
//! "Bounds and failure policy").

use std::time::Duration;

use ::local_agent::Word;
use agent::{
    Authoritative, DeliveryPolicy, EngineError, ErrorKind, RunIds, RunPolicy, RunSpec,
    StartupErrorKind, TextPolicy,
};

use crate::common::{POLICY, logged};

/// The rules of a run. Deltas of a client that lags may drop, since each message is reconciled; what must
/// arrive waits for 2,000 ms.
const RUN: RunPolicy = RunPolicy {
    // Without the operation that answers nobody can.
    approval_expiry: if cfg!(feature = "approval") {
        Some(Duration::from_millis(60_000))
    } else {
        None
    },
    ids: RunIds::Uuid,
    delivery: DeliveryPolicy {
        queued_deltas: 24,
        wait: Some(Duration::from_millis(2000)),
        deltas_may_drop: true,
        ..POLICY.delivery
    },
    text: TextPolicy {
        max_bytes: 8 * 1024 * 1024,
        authoritative: Authoritative::ByMessage,
        ..POLICY.text
    },
    ..POLICY
};

/// A run of the attached session.
#[must_use]
pub fn run(prompt: String) -> RunSpec {
    RunSpec {
        prompt,
        parent: None,
        invocation: "local_agent",
        policy: RUN,
    }
}

/// The word for an error of the engine; its reason goes to the log.
#[must_use]
pub fn word(error: EngineError) -> Word {
    logged(&error, word_of)
}

fn word_of(kind: ErrorKind) -> Word {
    match kind {
        ErrorKind::NotInitialized => Word::NotInitialized,
        ErrorKind::AlreadyInitialized => Word::AlreadyInitialized,
        ErrorKind::Startup(error) => startup_word(error),
        // One session and one run: a second one of either overlaps.
        ErrorKind::Busy | ErrorKind::TooManySessions | ErrorKind::TooManyRuns => Word::Busy,
        ErrorKind::StaleSession => Word::StaleSession,
        ErrorKind::SessionMissing => Word::SessionMissing,
        ErrorKind::SessionBusy => Word::SessionBusy,
        ErrorKind::SessionInvalid
        | ErrorKind::ScanLimit
        // No operation of this dialect asks for these.
        | ErrorKind::Configuration(_)
        | ErrorKind::Internal => {
            Word::SessionInvalid
        }
        ErrorKind::CwdMismatch => Word::CwdMismatch,
        ErrorKind::HistoryLimit => Word::HistoryLimit,
        ErrorKind::StaleRevision => Word::StaleRevision,
        ErrorKind::InvalidPrompt => Word::InvalidParams,
        ErrorKind::UnknownRun => Word::StaleRun,
        ErrorKind::UnknownApproval => Word::StaleApproval,
        ErrorKind::Cancelled => Word::OperationCancelled,
    }
}

/// The word for a startup that failed: what `initialize` answered, and everything after it.
#[must_use]
pub fn startup_word(error: StartupErrorKind) -> Word {
    match error {
        StartupErrorKind::ConfigurationInvalid => Word::ConfigurationInvalid,
        StartupErrorKind::ProfileInvalid => Word::ProfileInvalid,
        StartupErrorKind::ProviderUnavailable => Word::ProviderUnavailable,
        StartupErrorKind::McpUnavailable => Word::McpUnavailable,
        StartupErrorKind::Cancelled => Word::StartupCancelled,
        StartupErrorKind::Failed => Word::StartupFailed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a run does at each of them is tested beside the engine.
    #[test]
    fn the_bounds_of_a_run_are_the_specified_ones() {
        let bounds = (
            RUN.max_prompt_bytes,
            RUN.max_activities,
            RUN.max_summary_bytes,
        );
        assert_eq!(bounds, (16_384, 4096, 1024));
        let text = RUN.text;
        let bounds = (text.max_bytes, text.max_messages, text.max_event_bytes);
        assert_eq!(bounds, (8_388_608, 512, 4000));
    }
}
