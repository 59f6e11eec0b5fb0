//! application-service v1 as data: its words, its limits, the rules of its loop. No method is named here but the one that opens
//! a connection.

use std::time::Duration;

use host::correlate::Identities;
use host::dialect::{Admission, OutputRules, Rules, Standard};
use host::frame::{FrameRules, Oversize, Unterminated};
use host::scan::ScanLimits;

use crate::guide::GUIDE;
use crate::limits::Limits;

/// The dialect's name in schemas and command lines.
pub const NAME: &str = "application-service";
pub const VERSION: u16 = 1;
/// Request, session, turn and event correlation IDs, in bytes.
pub const ID_BYTES: usize = Limits::VERSION_1.max_id_bytes;
/// Methods, capabilities and event names, in bytes.
pub const NAME_BYTES: usize = Limits::VERSION_1.max_name_bytes;
/// Protocol-version and requested-capability lists.
pub const NEGOTIATION_ITEMS: usize = Limits::VERSION_1.max_negotiation_items;
/// Most items of a page of sessions or of a replay, and how many there are when nobody says.
pub const PAGE_ITEMS: u64 = Limits::VERSION_1.max_session_page_items as u64;
pub const RECORD_BYTES: usize = Limits::VERSION_1.max_record_bytes;
pub const PAYLOAD_BYTES: usize = Limits::VERSION_1.max_payload_bytes;

host::vocabulary! {
    /// Why a request failed, with its fixed message.
    Word {
        InvalidJson => "invalid_json", "The record is not valid JSON.";
        RecordTooLarge => "record_too_large", "The record exceeds the record limit.";
        InvalidRequest => "invalid_request", "The request envelope is not valid.";
        PayloadTooLarge => "payload_too_large", "The payload exceeds its byte limit.";
        LimitExceeded => "limit_exceeded", "A protocol limit was exceeded.";
        UnsupportedVersion => "unsupported_version", "The protocol version is not supported.";
        UnsupportedCapability => "unsupported_capability", "A requested capability is not supported.";
        UnsupportedOperation => "unsupported_operation", "The method is not implemented.";
        NotInitialized => "not_initialized", "The service is not initialized.";
        InvalidPayload => "invalid_payload", "The payload is not valid for this operation.";
        DuplicateRequestId => "duplicate_request_id", "The request ID is already in flight.";
        TooManyActiveTurns => "too_many_active_turns", "The active turn limit is reached.";
        SessionBusy => "session_busy", "The session is in use.";
        SessionUnavailable => "session_unavailable", "The session is not available.";
        InvalidSessionId => "invalid_session_id", "The session ID is not valid.";
        UnknownTurn => "unknown_turn", "The turn is unknown or has ended.";
        AuthBusy => "auth_busy", "A login is already active, or was handed something before.";
        UnknownLogin => "unknown_login", "The login is unknown or has ended.";
        ProviderUnavailable => "provider_unavailable", "The provider does not support this operation.";
        ConfirmationRequired => "confirmation_required", "The operation needs explicit confirmation.";
        ConfigurationUnavailable => "configuration_unavailable", "The settings could not be read.";
        ConfigurationBusy => "configuration_busy", "A catalog or configuration request is running.";
        CatalogRefreshFailed => "catalog_refresh_failed", "The catalog could not be refreshed.";
        SettingsWriteFailed => "settings_write_failed", "The settings could not be saved.";
        InvalidScope => "invalid_scope", "The scope is not valid for this change.";
        InvalidSelection => "invalid_selection", "The selection is not available.";
        UnsupportedReasoning => "unsupported_reasoning", "The reasoning choice is not supported.";
        CatalogUnavailable => "catalog_unavailable", "No usable catalog; refresh first.";
        CatalogStale => "catalog_stale", "The catalog is stale; refresh first.";
        InternalError => "internal_error", "The service could not handle the request.";
    }
}

pub static RULES: Rules = Rules {
    name: NAME,
    opening: Some("initialize"),
    version: VERSION,
    frame: FrameRules {
        // The record limit counts the newline.
        max_bytes: RECORD_BYTES - 1,
        oversize: Oversize::Discard,
        unterminated: Unterminated::Refuse,
        read_batch: 16 * 1024,
    },
    scan: ScanLimits {
        depth: Limits::VERSION_1.max_json_depth,
        string_bytes: Limits::VERSION_1.max_string_bytes,
        array_items: Limits::VERSION_1.max_array_items,
        object_fields: Limits::VERSION_1.max_object_fields,
    },
    limits: Limits::PUBLISHED,
    words: Word::ALL,
    identities: Identities::InFlight,
    admission: Admission::AfterFlush,
    requests: 1,
    output: OutputRules {
        queue_frames: 64,
        frame_bytes: RECORD_BYTES,
        deadline: None,
        strict: true,
    },
    // The spec sets no deadline for a drain at EOF; without one, a client that neither reads nor
    // leaves would keep the process for ever.
    closing: Duration::from_secs(10),
    // A refresh of a catalog may take 30 s, and is neither cancelled nor left unanswered.
    background: Duration::from_secs(30),
    // As long as that where output fails meanwhile; the service waits less for whatever else ends.
    cleanup: Duration::from_secs(40),
    standard: Standard {
        unsupported: Word::UnsupportedOperation.code(),
        invalid_params: Word::InvalidPayload.code(),
        invalid_session: Word::InvalidRequest.code(),
        not_initialized: Word::NotInitialized.code(),
        duplicate: Word::DuplicateRequestId.code(),
        exhausted: Word::LimitExceeded.code(),
        // Not reached: what is exclusive holds back the next record.
        busy: Word::SessionBusy.code(),
        internal: Word::InternalError.code(),
        oversize: Word::InternalError.code(),
    },
    guide: GUIDE,
};
