//! mty-agent 1.0 as data: its words, its limits, the rules of its loop. No op is named here.

use std::time::Duration;

use host::correlate::Identities;
use host::dialect::{Admission, Limit, OutputRules, Rules, Standard};
use host::frame::{FrameRules, Oversize, Unterminated};
use host::scan::ScanLimits;

use crate::guide::GUIDE;

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
/// A client of a server that takes no byte of its answer for so long is gone: what it does not read is memory, and the
/// place of a request that others wait for.
pub(crate) const WRITE_STALL: Duration = Duration::from_secs(10);
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
        Limit::new(
            "request_bytes",
            REQUEST_BYTES as u64,
            "Bytes of a request line, a single-shot body or an HTTP body, whitespace around it not counted. Beyond it: an `error` line and exit code 2; over HTTP status 413.",
        ),
        Limit::new(
            "answer_bytes",
            ANSWER_BYTES as u64,
            "Bytes of text that one answer of an op holds, as JSON; an op that leaves something out says so.",
        ),
        Limit::new(
            "json_depth",
            JSON_DEPTH as u64,
            "Objects and arrays that may be open at once in a request. Deeper is an `error` line and exit code 2.",
        ),
        Limit::new(
            "message_chars",
            MESSAGE_CHARS as u64,
            "Characters of an `error` line's `message`; a longer one is cut and ends in `…`.",
        ),
        Limit::new(
            "concurrent_requests",
            REQUESTS as u64,
            "Requests that one process serves at once over all its connections (HTTP, Unix sockets); further ones wait.",
        ),
        Limit::new(
            "header_read_timeout_ms",
            HEADER_READ_TIMEOUT.as_millis() as u64,
            "Milliseconds from the start of an HTTP connection to the end of its header.",
        ),
        Limit::new(
            "write_stall_ms",
            WRITE_STALL.as_millis() as u64,
            "Milliseconds in which a client of a server (HTTP, Unix sockets) takes no byte of its answer; then its connection ends and its request is a place for another.",
        ),
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
    background: Duration::ZERO,
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
    guide: GUIDE,
};
