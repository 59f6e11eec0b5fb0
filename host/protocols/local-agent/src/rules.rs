//! local-agent v1 as data: its words, its limits, the rules of its loop. No method is named here but the one that opens
//! a connection.

use std::time::Duration;

use host::correlate::Identities;
use host::dialect::{Admission, OutputRules, Rules, Standard};
use host::frame::{FrameRules, Oversize, Unterminated};
use host::scan::ScanLimits;

use crate::guide::GUIDE;
use crate::limits::Limits;

pub const PROTOCOL: &str = "magi-code.local-agent";
/// The dialect's name in schemas and command lines.
pub const NAME: &str = "local-agent";
pub const VERSION: u16 = 1;
/// Names in a required-capability list.
pub const REQUIRED_CAPABILITIES: usize = 16;

host::vocabulary! {
    /// Why a request or a run failed.
    Word {
        InvalidFrame => "invalid_frame", "The frame is empty or nested too deeply.";
        InvalidRequest => "invalid_request", "The frame is not one well-formed request object.";
        InvalidParams => "invalid_params", "The params are not those of the method.";
        ProtocolMismatch => "protocol_mismatch", "The protocol or its version is not served; the connection closes.";
        UnsupportedMethod => "unsupported_method", "The method is not linked into this server.";
        UnsupportedCapability => "unsupported_capability", "A required capability is not advertised.";
        NotInitialized => "not_initialized", "Initialization has not succeeded yet.";
        AlreadyInitialized => "already_initialized", "Initialization was admitted before; restart the child to retry.";
        DuplicateId => "duplicate_id", "The request id was used before in this child.";
        RequestLimit => "request_limit", "The child's request ids are used up; the connection closes.";
        FrameTooLarge => "frame_too_large", "The frame passed its byte limit; the connection closes.";
        IncompleteFrame => "incomplete_frame", "The input ended inside a frame.";
        ConfigurationInvalid => "configuration_invalid", "The settings could not be read or are not valid.";
        ProviderUnavailable => "provider_unavailable", "The selected provider is not available or has no usable credential.";
        ProfileInvalid => "profile_invalid", "The primary-agent profile is not valid.";
        McpUnavailable => "mcp_unavailable", "An enabled MCP server could not be started.";
        StartupCancelled => "startup_cancelled", "Initialization was cancelled.";
        StartupFailed => "startup_failed", "Initialization failed.";
        Busy => "busy", "Another operation or a run is in progress.";
        StaleSession => "stale_session", "Another session is attached.";
        SessionMissing => "session_missing", "No such session, or none is attached.";
        SessionBusy => "session_busy", "Another process or attachment owns the session.";
        SessionInvalid => "session_invalid", "The session is unsafe, unreadable or malformed.";
        CwdMismatch => "cwd_mismatch", "The session belongs to another working directory.";
        HistoryLimit => "history_limit", "The session is larger than what can be projected.";
        StaleRevision => "stale_revision", "The revision or the cursor is no longer valid.";
        ContentLimit => "content_limit", "Content passed a limit.";
        OperationCancelled => "operation_cancelled", "The operation was cancelled.";
        StaleRun => "stale_run", "No such run is active.";
        StaleApproval => "stale_approval", "The approval is unknown, answered or expired.";
        ExecutionFailed => "execution_failed", "The run failed.";
        PersistenceFailed => "persistence_failed", "The input could not be made durable.";
        OutputUnavailable => "output_unavailable", "Events could not be delivered in time.";
    }
}

pub static RULES: Rules = Rules {
    name: NAME,
    opening: Some("initialize"),
    version: VERSION,
    frame: FrameRules {
        max_bytes: Limits::VERSION_1.frame_bytes,
        oversize: Oversize::Close,
        unterminated: Unterminated::Refuse,
        read_batch: 4096,
    },
    scan: ScanLimits {
        depth: Limits::VERSION_1.json_depth,
        ..ScanLimits::UNBOUNDED
    },
    limits: Limits::PUBLISHED,
    words: Word::ALL,
    identities: Identities::Lifetime {
        max: Limits::VERSION_1.requests_per_child,
    },
    admission: Admission::Paced {
        // The queue of 32 is full no sooner than the deadline of the first frame in it: 16 + 2000 / 130.
        room: 16,
        pause: Duration::from_millis(130),
    },
    requests: 1,
    output: OutputRules {
        queue_frames: Limits::VERSION_1.pending_responses,
        frame_bytes: Limits::VERSION_1.frame_bytes,
        deadline: Some(Duration::from_millis(2000)),
        strict: false,
    },
    closing: Duration::from_millis(2000),
    background: Duration::ZERO,
    cleanup: Duration::from_millis(2000),
    standard: Standard {
        unsupported: Word::UnsupportedMethod.code(),
        invalid_params: Word::InvalidParams.code(),
        invalid_session: Word::InvalidRequest.code(),
        not_initialized: Word::NotInitialized.code(),
        duplicate: Word::DuplicateId.code(),
        exhausted: Word::RequestLimit.code(),
        busy: Word::Busy.code(),
        internal: Word::ExecutionFailed.code(),
        oversize: Word::ContentLimit.code(),
    },
    guide: GUIDE,
};
