//! What happens in a run, as values: the engine's events, whatever a dialect makes of them.
//! No queue and no delivery; see `queue`.

use std::sync::Arc;

use store::Redacted;
use store::sessions::Outcome;
use tools::ActivityKind;

use super::RunErrorCode;

/// What happens in a run, in order. [`MustArrive::Finished`] is the last one, once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunEvent {
    MustArrive(MustArrive),
    /// `sequence` counts these from 1, with those that were left out on the way; the terminal event has the
    /// next number.
    MayDrop {
        sequence: u64,
        event: MayDrop,
    },
}

/// What a caller that is told of it may rely on: without one of these it is told nothing more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MustArrive {
    /// The input is on the disk. Precedes every provider activity.
    InputPersisted {
        message_id: String,
        revision: String,
    },
    /// A part of the authoritative text of a message, which replaces its deltas. Only for callers
    /// whose deltas may drop.
    Reconcile {
        message_id: Arc<str>,
        /// From 0, without gaps.
        part: u32,
        /// At most [`crate::TextPolicy::max_event_bytes`].
        text: Redacted,
        last_part: bool,
        /// The provider did not finish the message.
        partial: bool,
    },
    /// A tool call waits for an answer.
    ApprovalRequested {
        approval_id: String,
        /// At most [`crate::RunPolicy::max_summary_bytes`].
        summary: Redacted,
        expires_in_ms: u64,
    },
    /// Something a person should know.
    Diagnostic {
        code: RunErrorCode,
        /// At most [`crate::RunPolicy::max_summary_bytes`].
        summary: Redacted,
    },
    /// The run is over and cleaned up.
    Finished {
        sequence: u64,
        outcome: Outcome,
        persistence: Persistence,
        /// Names the history after the run; `None` if the session must be opened again for it.
        revision: Option<String>,
        error_code: Option<RunErrorCode>,
        /// All assistant text, for callers that get no reconciliation; else empty.
        text: Redacted,
        /// Activities that found no room.
        activity_dropped: u64,
    },
}

/// What may be left out for a caller that lags, where the run's [`crate::DeliveryPolicy`] says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MayDrop {
    /// More of a message, to be shown until its reconciliation. Parts count from 0 for each
    /// message; a missing number is text that was dropped.
    Delta {
        message_id: Arc<str>,
        part: u64,
        /// At most [`crate::TextPolicy::max_event_bytes`].
        text: Redacted,
    },
    /// Something the run does beside writing.
    Activity(Activity),
}

/// One thing that a run does beside writing. Ids are the engine's own and raw: they are unique within
/// the run, and a dialect that must not show them hashes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Activity {
    /// A tool call began or ended.
    Tool {
        id: String,
        /// The activity that it stands beneath, if it does.
        parent: Option<String>,
        kind: ActivityKind,
        /// As the model wrote it: not for showing.
        tool: String,
        /// The MCP server whose tool it is: not for showing either.
        server: Option<Arc<str>>,
        /// The same, at most 64 bytes.
        name: Redacted,
        state: ActivityState,
        /// At most [`crate::RunPolicy::max_summary_bytes`].
        summary: Redacted,
        /// Whether the time limit ended it; `None` before the end.
        timed_out: Option<bool>,
    },
    /// Something without details began.
    Began {
        id: String,
        /// The activity that it stands beneath, if it does.
        parent: Option<String>,
        what: Category,
        /// It waits for its turn. When that comes, it begins again.
        waits: bool,
    },
    /// It ended.
    Ended { id: String, state: ActivityState },
    /// A summary of its reasoning that the provider itself made for display, complete.
    ReasoningSummary {
        id: String,
        /// At most 2,048 bytes; empty when the input was longer than 16,384 bytes.
        text: Redacted,
        /// Redaction changed it.
        redacted: bool,
        /// Not all of it is here.
        truncated: bool,
    },
    /// How full the model's context is after a response.
    Context {
        current_tokens: u64,
        max_tokens: u64,
        reasoning_tokens: Option<u64>,
        /// Number of the provider request in the run, from 1.
        request: u32,
        source: ContextSource,
    },
    /// The conversation is made shorter for its model.
    Compaction {
        id: String,
        state: CompactionState,
        /// Of the conversation and of its window, when it is triggered and when it is completed.
        tokens: Option<(u64, u64)>,
        /// At most [`crate::RunPolicy::max_summary_bytes`].
        summary: Redacted,
    },
    /// What a response cost.
    Usage {
        /// Without what came from the cache.
        effective_input: u64,
        output: u64,
        /// `None` if the provider does not say.
        cache_read: Option<u64>,
        /// Number of the provider request in the run, from 1.
        request: u32,
        source: UsageSource,
    },
    /// Something that a subagent does beneath its task, the activity `task`. Its ids are no entries of a history.
    OfTask { task: String, activity: Box<Self> },
}

/// Whose requests [`Activity::Usage`] counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UsageSource {
    /// The one that is over.
    Request,
    /// All of the run's subagents, once at its end.
    Subagents,
}

/// How far a compaction is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompactionState {
    /// It is needed.
    Triggered,
    /// The model is asked for a summary.
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// What [`Activity::Began`] is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    Hook,
    ContextInjection,
    Diagnostic,
    /// The tasks that one response gives to subagents.
    SubagentBatch,
    SubagentTask,
}

/// Where [`Activity::Context`] has its numbers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextSource {
    /// The provider counted and the model's window is known.
    LastProviderUsage,
    /// The provider counted; the window is assumed.
    ProviderPartial,
    /// All of it is a count of ours without a tokenizer.
    FallbackEstimate,
    /// The provider counted the most of it, and what came since is such a count.
    FallbackProjection,
}

/// How far something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActivityState {
    Started,
    Completed,
    Failed,
    Cancelled,
}

/// What of a run is on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// All of it, flushed.
    Durable,
    /// The input; of the rest, at least something is missing.
    Degraded,
    /// Nothing.
    NotStarted,
}

impl Persistence {
    /// As the log has it.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Degraded => "degraded",
            Self::NotStarted => "not_started",
        }
    }
}
