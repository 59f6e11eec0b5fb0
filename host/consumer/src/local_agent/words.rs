//! The closed vocabularies of local-agent and the grammars of its identities.
//! A word that is not here ends the connection (spec: "Frames, correlation and compatibility").

use crate::fields::words;

words! {
    /// Why the server refused a request, or why a run failed.
    pub enum ErrorCode {
        InvalidFrame = "invalid_frame",
        InvalidRequest = "invalid_request",
        InvalidParams = "invalid_params",
        ProtocolMismatch = "protocol_mismatch",
        UnsupportedMethod = "unsupported_method",
        UnsupportedCapability = "unsupported_capability",
        NotInitialized = "not_initialized",
        AlreadyInitialized = "already_initialized",
        DuplicateId = "duplicate_id",
        RequestLimit = "request_limit",
        FrameTooLarge = "frame_too_large",
        IncompleteFrame = "incomplete_frame",
        ConfigurationInvalid = "configuration_invalid",
        ProviderUnavailable = "provider_unavailable",
        ProfileInvalid = "profile_invalid",
        McpUnavailable = "mcp_unavailable",
        StartupCancelled = "startup_cancelled",
        StartupFailed = "startup_failed",
        Busy = "busy",
        StaleSession = "stale_session",
        SessionMissing = "session_missing",
        SessionBusy = "session_busy",
        SessionInvalid = "session_invalid",
        CwdMismatch = "cwd_mismatch",
        HistoryLimit = "history_limit",
        StaleRevision = "stale_revision",
        ContentLimit = "content_limit",
        OperationCancelled = "operation_cancelled",
        StaleRun = "stale_run",
        StaleApproval = "stale_approval",
        ExecutionFailed = "execution_failed",
        PersistenceFailed = "persistence_failed",
        OutputUnavailable = "output_unavailable",
    }
}

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
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
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
