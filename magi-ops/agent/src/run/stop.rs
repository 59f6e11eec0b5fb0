//! Why a run stops before its model does, and what that is called.

use store::Redacted;
use work::Expired;

/// Why a run failed, or what a diagnostic is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunErrorCode {
    ExecutionFailed,
    PersistenceFailed,
    OutputUnavailable,
    ContentLimit,
    /// The provider did not answer, or refused to; as a diagnostic also of an attempt that is repeated.
    ProviderUnavailable,
    /// The conversation is too long for its model, and could not be made shorter.
    CompactionRequired,
}

impl RunErrorCode {
    /// The word that is stored.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::ExecutionFailed => "execution_failed",
            Self::PersistenceFailed => "persistence_failed",
            Self::OutputUnavailable => "output_unavailable",
            Self::ContentLimit => "content_limit",
            Self::ProviderUnavailable => "provider_unavailable",
            Self::CompactionRequired => crate::history::COMPACTION_REQUIRED,
        }
    }
}

/// Why a run stops before the model does.
pub(super) enum Stop {
    Cancelled,
    OutputLost,
    /// With what a person should know; at most [`RunPolicy::max_summary_bytes`].
    Failed(RunErrorCode, Redacted),
    /// Nothing began: the input could not be stored.
    NotStarted,
}

impl Stop {
    pub(super) fn execution(summary: &'static str) -> Self {
        Self::Failed(RunErrorCode::ExecutionFailed, Redacted::fixed(summary))
    }

    pub(super) fn limit(summary: &'static str) -> Self {
        Self::Failed(RunErrorCode::ContentLimit, Redacted::fixed(summary))
    }
}

impl From<Expired> for Stop {
    fn from(ended: Expired) -> Self {
        match ended {
            Expired::Cancelled => Self::Cancelled,
            Expired::Late => Self::execution("the run took too long"),
        }
    }
}
