//! mty-agent 1.0 as data: its words, its limits, the rules of its loop. No op is named here.

use std::time::Duration;

use host::correlate::Identities;
use host::dialect::{Admission, Limit, OutputRules, Rules, Standard};
use host::frame::{FrameRules, Oversize, Unterminated};
use host::scan::ScanLimits;

/// The dialect's name in schemas.
pub const NAME: &str = "mty-agent";
/// The protocol's own version, as `GET /v1/agent/version` tells it.
pub const PROTOCOL_VERSION: &str = "1.0";
/// A request line or an HTTP body, in bytes.
pub const REQUEST_BYTES: usize = 8 * 1024 * 1024;
/// Whitespace around a request line or a single-shot body that its bound does not count, in bytes.
pub const SURROUNDING_BYTES: usize = 64 * 1024;
/// Text that one answer of an op may hold, in bytes as JSON; an op that leaves something out says so.
pub const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Requests that a process serves at once over all its connections; further ones wait. One whose header or
/// body is still on its way is none yet, and one that was abandoned is one until its work has ended.
pub const REQUESTS: usize = 64;
/// From an HTTP connection's start to the end of its header.
pub const HEADER_READ_TIMEOUT: Duration = Duration::from_secs(10);
/// Containers open at once in a request.
pub const JSON_DEPTH: usize = 128;
/// An error message, in characters.
pub const MESSAGE_CHARS: usize = 200;

/// Exit code of a normal error: diagnostics, a failed test, a missing file.
pub const EXIT_FAILURE: i32 = 1;
/// Exit code of a protocol error: bad JSON, an unknown op, a transport failure.
pub const EXIT_PROTOCOL: i32 = 2;

host::vocabulary! {
    /// Kinds of failure that an op may declare. On the wire they are messages and exit codes.
    Word {
        Failed => "failed", "The op ran and failed; exit code 1.";
        Protocol => "protocol", "The request is not one that the op takes; exit code 2.";
    }
}

pub static RULES: Rules = Rules {
    name: NAME,
    opening: None,
    version: 1,
    frame: FrameRules {
        max_bytes: REQUEST_BYTES + SURROUNDING_BYTES,
        oversize: Oversize::Discard,
        unterminated: Unterminated::Deliver,
        read_batch: 16 * 1024,
    },
    scan: ScanLimits {
        depth: JSON_DEPTH,
        ..ScanLimits::UNBOUNDED
    },
    limits: &[
        Limit {
            name: "request_bytes",
            value: REQUEST_BYTES as u64,
        },
        Limit {
            name: "answer_bytes",
            value: ANSWER_BYTES as u64,
        },
        Limit {
            name: "json_depth",
            value: JSON_DEPTH as u64,
        },
        Limit {
            name: "message_chars",
            value: MESSAGE_CHARS as u64,
        },
        Limit {
            name: "concurrent_requests",
            value: REQUESTS as u64,
        },
        Limit {
            name: "header_read_timeout_ms",
            value: HEADER_READ_TIMEOUT.as_millis() as u64,
        },
    ],
    words: Word::ALL,
    // Requests have no identity; one is served after another.
    identities: Identities::InFlight,
    admission: Admission::AfterFlush,
    requests: REQUESTS,
    output: OutputRules {
        queue_frames: 1,
        frame_bytes: usize::MAX,
        deadline: None,
        strict: false,
    },
    closing: Duration::from_millis(2000),
    cleanup: Duration::from_millis(2000),
    standard: Standard {
        unsupported: Word::Protocol.code(),
        invalid_params: Word::Protocol.code(),
        invalid_session: Word::Protocol.code(),
        not_initialized: Word::Failed.code(),
        duplicate: Word::Protocol.code(),
        exhausted: Word::Protocol.code(),
        busy: Word::Failed.code(),
        internal: Word::Failed.code(),
        oversize: Word::Failed.code(),
    },
};
