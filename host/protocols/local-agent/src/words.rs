//! The closed vocabularies of local-agent beside its failures, and the grammars of its identities. A client ends
//! the connection at a word that is not here (spec: "Frames, correlation and compatibility").

use host::words;

/// IDs, methods and capability names, in ASCII bytes.
pub const NAME_BYTES: usize = 64;

words! {
    /// What the child is doing.
    pub enum State { Starting = "starting", Idle = "idle", Running = "running", Failed = "failed" }
}

words! {
    /// Whether the child can take work. Beyond the first two, the startup error.
    pub enum Readiness {
        Initializing = "initializing",
        Ready = "ready",
        ConfigurationInvalid = "configuration_invalid",
        ProviderUnavailable = "provider_unavailable",
        ProfileInvalid = "profile_invalid",
        McpUnavailable = "mcp_unavailable",
        StartupCancelled = "startup_cancelled",
        StartupFailed = "startup_failed",
    }
}

words! {
    /// What a child that was told to end says.
    pub enum ShutdownState { Stopping = "stopping" }
}

words! {
    /// What an entry of the history is.
    pub enum EntryKind {
        User = "user",
        Assistant = "assistant",
        ReasoningSummary = "reasoning_summary",
        Activity = "activity",
        Compaction = "compaction",
        Diagnostic = "diagnostic",
    }
}

words! {
    pub enum ActivityKind { Tool = "tool", Subagent = "subagent", Compaction = "compaction" }
}

words! {
    pub enum ActivityState { Started = "started", Completed = "completed", Failed = "failed" }
}

words! {
    /// How a run ended.
    pub enum Outcome { Completed = "completed", Cancelled = "cancelled", Failed = "failed" }
}

words! {
    /// What of a run is on disk.
    pub enum Persistence { Durable = "durable", Degraded = "degraded", NotStarted = "not_started" }
}

/// 1–64 ASCII bytes from `[A-Za-z0-9._-]`: request, message and cursor identities, names, revisions.
#[must_use]
pub fn is_id(text: &str) -> bool {
    host::negotiate::is_name(text, NAME_BYTES)
}

/// 1–64 ASCII bytes from `[A-Za-z0-9_-]`.
#[must_use]
pub fn is_session_id(text: &str) -> bool {
    is_id(text) && !text.contains('.')
}

/// A hyphenated UUID.
#[must_use]
pub fn is_uuid(text: &str) -> bool {
    text.len() == 36 && uuid::Uuid::try_parse(text).is_ok()
}
