//! The history of a session as a client reads it: one bounded snapshot of a revision, and its pages.
//! What is shown of each record is decided in `project`, how it is cut in `chunk`.

use std::sync::Arc;

use store::Redacted;

use crate::error::{EngineError, ErrorKind};
use crate::writer::SharedWriter;

mod chunk;
mod project;

pub(crate) use chunk::{json_len, split};
use project::Projection;
pub use project::TurnEnd;
pub(crate) use project::{COMPACTION_REQUIRED, Projector, shown_name};

/// Most bytes of one page, however its members are serialized as JSON (spec: local-agent,
/// "Bounds and failure policy").
pub(crate) const MAX_PAGE_BYTES: usize = 32 * 1024;
/// Most entries of one page.
pub(crate) const MAX_PAGE_ENTRIES: usize = 100;
/// Longest text of one part, in UTF-8 bytes.
pub(crate) const MAX_PART_BYTES: usize = 16 * 1024;
/// Most bytes of all parts as JSON.
pub(crate) const MAX_SNAPSHOT_BYTES: usize = 8 * 1024 * 1024;
/// Most parts.
pub(crate) const MAX_SNAPSHOT_PARTS: usize = 10_000;

/// Room for what surrounds the entries of a page: two ids of 64 bytes, a cursor, names, braces.
const PAGE_OVERHEAD: usize = 512;
/// Room for what surrounds the text of a part: an id of 64 bytes, kind, flags, number, names.
const PART_OVERHEAD: usize = 256;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    User,
    Assistant,
    ReasoningSummary,
    Activity,
    /// A summary that stands for what was said before it, to a model; a person still has that.
    Compaction,
    Diagnostic,
}

/// One part of one message. Parts of a message are contiguous and concatenate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryEntry {
    /// Follows the id grammar, at most 64 bytes; scoped to session and revision.
    pub message_id: String,
    pub kind: EntryKind,
    /// At most 16,384 UTF-8 bytes, fewer where JSON escapes make it longer.
    pub text: Redacted,
    /// What the message stands for was not finished.
    pub partial: bool,
    /// From 0.
    pub part: u32,
    pub last_part: bool,
}

/// One page. Serialized as JSON with names of at most 16 bytes it stays within 32,768 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    pub session_id: String,
    pub revision: String,
    pub entries: Vec<HistoryEntry>,
    /// At most 64 bytes; `None` on the last page.
    pub next_cursor: Option<String>,
    /// The last page of a whole history without interrupted turns.
    pub complete: bool,
}

/// The immutable projection of one revision.
#[derive(Debug)]
pub(crate) struct Snapshot {
    parts: Vec<HistoryEntry>,
    /// Where each page begins; never empty.
    pages: Vec<usize>,
    complete: bool,
}

impl Snapshot {
    /// The projection of what the file holds now; `known` if that is the same still.
    /// `StaleRevision` if someone else changed the file. Blocks.
    pub(crate) fn current(
        redactor: &store::Redactor,
        writer: &SharedWriter,
        known: Option<Arc<Self>>,
    ) -> Result<Arc<Self>, EngineError> {
        writer.with(|writer| {
            let mut projector = Projector::default();
            let mut read = Ok(());
            if known.is_none() && writer.is_durable() {
                let mut take = |record| projector.take(&record);
                read = writer.lease().load(&mut take).map(drop);
            }
            // After the read, so that a change before or during it is noticed.
            if !writer.is_unchanged() {
                return Err(ErrorKind::StaleRevision.into());
            }
            if let Some(known) = known {
                return Ok(known);
            }
            read?;
            Self::new(projector.finish(), redactor).map(Arc::new)
        })
    }

    /// Redacts and cuts. Beyond the snapshot's bounds it is `HistoryLimit`, not a shortened
    /// history.
    fn new(projection: Projection, redactor: &store::Redactor) -> Result<Self, EngineError> {
        let mut parts = Vec::new();
        let mut pages = vec![0];
        let mut total = 0;
        let mut page = PAGE_OVERHEAD;
        let mut said = String::new();
        for message in projection.messages {
            let text = message.redacted(redactor, &mut said);
            let texts = split(
                &text,
                MAX_PART_BYTES,
                MAX_PAGE_BYTES - PAGE_OVERHEAD - PART_OVERHEAD,
            );
            let last = texts.len() - 1;
            for (part, (text, json_bytes)) in texts.into_iter().enumerate() {
                let bytes = json_bytes + PART_OVERHEAD;
                total += bytes;
                if total > MAX_SNAPSHOT_BYTES || parts.len() == MAX_SNAPSHOT_PARTS {
                    return Err(ErrorKind::HistoryLimit.into());
                }
                let start = *pages.last().unwrap_or(&0);
                if page + bytes > MAX_PAGE_BYTES || parts.len() - start == MAX_PAGE_ENTRIES {
                    pages.push(parts.len());
                    page = PAGE_OVERHEAD;
                }
                page += bytes;
                parts.push(HistoryEntry {
                    message_id: message.id.clone(),
                    kind: message.kind,
                    text,
                    partial: message.partial,
                    part: part as u32,
                    last_part: part == last,
                });
            }
        }
        Ok(Self {
            parts,
            pages,
            complete: !projection.incomplete,
        })
    }

    /// Page `number`, from 0.
    pub(crate) fn page(
        &self,
        number: usize,
        session_id: &str,
        revision: &str,
    ) -> Option<HistoryPage> {
        let start = *self.pages.get(number)?;
        let next = self.pages.get(number + 1).copied();
        Some(HistoryPage {
            session_id: session_id.to_owned(),
            revision: revision.to_owned(),
            entries: self.parts[start..next.unwrap_or(self.parts.len())].to_vec(),
            next_cursor: next.map(|_| cursor(revision, number + 1)),
            complete: next.is_none() && self.complete,
        })
    }
}

/// The cursor of page `number` of `revision`.
fn cursor(revision: &str, number: usize) -> String {
    format!("{revision}.{number}")
}

/// The page that a cursor of `revision` names. Whether it was ever given out is the caller's
/// to know.
pub(crate) fn page_of(text: &str, revision: &str) -> Option<usize> {
    let number = text
        .strip_prefix(revision)?
        .strip_prefix('.')?
        .parse()
        .ok()?;
    // One spelling for each page: `+1` and `01` were never given out.
    (cursor(revision, number) == text).then_some(number)
}

#[cfg(test)]
mod tests;
