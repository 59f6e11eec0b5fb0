//! The list of sessions, as values: what a page tells of each session, whatever keeps it.
//! Finding and reading them is their store's matter.

use std::io;
use std::time::{Duration, SystemTime};

use redact::{Redacted, Redactor};

use super::SessionId;

/// Most directory entries of one scan, of whatever kind (spec: application-service, "Listing").
pub const MAX_SCAN_ENTRIES: usize = 20_000;
/// Most sessions of one page.
pub const MAX_LIST_ITEMS: usize = 32;
/// Longest title, in UTF-8 bytes.
pub(super) const MAX_TITLE_BYTES: usize = 120;
/// The last second that RFC 3339 can name, after the Unix epoch.
pub(super) const LAST_SECOND: u64 = 253_402_300_799;

/// One page, ordered by session id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionList {
    pub sessions: Vec<SessionSummary>,
    /// The last id that was looked at, if more follow. It may be none of `sessions`.
    pub next_after: Option<SessionId>,
    /// More candidates remain.
    pub truncated: bool,
    /// Some candidates could not be read or shown.
    pub incomplete: bool,
}

/// What a list says of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    pub id: SessionId,
    /// Of the first input: one line, at most 120 bytes.
    pub title: Option<Redacted>,
    /// When it last changed: RFC 3339, UTC, in milliseconds.
    pub updated_at: String,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ListError {
    #[error("there are more than {MAX_SCAN_ENTRIES} entries to look at")]
    ScanLimit,
    #[error("the sessions can't be listed")]
    Io(#[source] io::Error),
}

impl SessionSummary {
    /// The summary of a session whose first input is `input`, and which last changed at `changed`.
    #[must_use]
    pub fn new(
        id: SessionId,
        input: Option<&str>,
        changed: SystemTime,
        redactor: &Redactor,
    ) -> Self {
        Self {
            id,
            title: input.and_then(|input| first_line(input, redactor)),
            updated_at: timestamp(changed),
        }
    }
}

/// The first line with something on it. Redacted as a whole before that, so that the cut hides
/// no secret from the redactor.
pub(super) fn first_line(text: &str, redactor: &Redactor) -> Option<Redacted> {
    let text = redactor.redact(text);
    let line = text.as_str().trim_start();
    let start = text.len() - line.len();
    let line = line.lines().next()?.trim_end();
    Some(
        text.part(start..start + line.len())
            .summary(MAX_TITLE_BYTES),
    )
}

/// RFC 3339. Times that it can't name become the nearest that it can.
pub(super) fn timestamp(time: SystemTime) -> String {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
        .min(Duration::from_secs(LAST_SECOND));
    humantime::format_rfc3339_millis(SystemTime::UNIX_EPOCH + since).to_string()
}
