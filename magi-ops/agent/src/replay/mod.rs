//! The durable replay of a session for clients that are not attached to it: its recent window as items, and their pages.
//! Reconciling records is the history's, reading them the store's; positions stand in `cursor`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use store::sessions::{Body, Record, SessionId, SessionStore, Version, Window};
use store::{Redacted, Redactor};

use crate::compaction::is_blank;
use crate::error::{EngineError, ErrorKind};
use crate::history::{EntryKind, Projector, TurnEnd, split};

mod cursor;

use cursor::Chain;

/// Most items of one page (spec: application-service, "Advertised limits").
const MAX_PAGE_ITEMS: usize = 32;
/// Most bytes of one page as JSON, all told.
const MAX_PAGE_BYTES: usize = 16 * 1024;
/// Longest text of one part, in UTF-8 bytes.
const MAX_PART_BYTES: usize = 2048;
/// Room for what surrounds the items of a page: two cursors, names, flags, braces.
const PAGE_OVERHEAD: usize = 256;
/// Room for what surrounds the text of an item: a cursor, names, flags, number.
const ITEM_OVERHEAD: usize = 160;
/// Projections in the cache, each of at most a window.
const MAX_CACHED: usize = 4;

/// Who wrote a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    User,
    Assistant,
}

/// What an item is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayBody {
    /// One part of a message. Parts of a message are contiguous and concatenate.
    Message {
        role: Role,
        /// At most 2,048 UTF-8 bytes.
        text: Redacted,
        /// From 0.
        part: u32,
        last_part: bool,
    },
    /// One part of the summary that stands for what was said before; only before everything else. Parts are as those
    /// of a message.
    Summary {
        text: Redacted,
        part: u32,
        last_part: bool,
    },
    /// The end of a turn. A turn that was interrupted has none, nor has one that still runs.
    Terminal(TurnEnd),
}

/// One item, and the position after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayItem {
    /// At most 64 bytes of the id grammar. Names what was projected up to and with this item,
    /// in whichever process.
    pub cursor: String,
    pub body: ReplayBody,
}

/// One page. Serialized as compact JSON with the names of the spec it stays within 16,384
/// bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayPage {
    pub items: Vec<ReplayItem>,
    /// The position after this page; the starting one if `resync_required`.
    pub next_cursor: String,
    /// The end as it was observed.
    pub snapshot_cursor: String,
    /// More items remain after `next_cursor`.
    pub truncated: bool,
    /// Records are missing: outside the window, or unusable within it.
    pub gap: bool,
    /// The given position is none of this projection. There are no items then.
    pub resync_required: bool,
}

/// Replays sessions. Keeps the projections asked for last, so that pages and polls of a file
/// that does not change cost a look at it.
#[derive(Debug)]
pub struct Replays {
    sessions: Arc<dyn SessionStore>,
    redactor: Redactor,
    /// The last used last.
    cache: Mutex<Vec<Cached>>,
}

#[derive(Clone, Debug)]
struct Cached {
    id: SessionId,
    version: Version,
    /// The redactor's when this was projected: it may know more secrets by now.
    generation: u64,
    projection: Arc<Projection>,
}

impl Replays {
    pub fn new(sessions: Arc<dyn SessionStore>, redactor: Redactor) -> Self {
        Self {
            sessions,
            redactor,
            cache: Mutex::default(),
        }
    }

    /// At most `limit` items (1 to 32; others are taken for the nearest) of the session `id`
    /// after the position `after`, or from the start. Needs no attachment. Blocks.
    ///
    /// # Errors
    /// `Busy` while the session is being appended to, `Unavailable` when it is missing, unsafe or unreadable; never for
    /// what it holds.
    pub fn page(
        &self,
        id: &SessionId,
        after: Option<&str>,
        limit: usize,
    ) -> Result<ReplayPage, EngineError> {
        Ok(self.projection(id)?.page(after, limit))
    }

    fn projection(&self, id: &SessionId) -> Result<Arc<Projection>, EngineError> {
        let generation = self.redactor.generation();
        let holds = |known: &&Cached| known.id == *id && known.generation == generation;
        let known = self.lock().iter().find(holds).cloned();
        // Not under the lock: another session's reader need not wait for this one's.
        let window = self
            .sessions
            .window(id, known.as_ref().map(|known| &known.version))?;
        let current = match (window, known) {
            (Some(window), _) => Cached {
                id: id.clone(),
                projection: Arc::new(Projection::new(id, &window, &self.redactor)),
                version: window.version,
                generation,
            },
            (None, Some(known)) => known,
            // Only what is known can be unchanged.
            (None, None) => return Err(ErrorKind::SessionMissing.into()),
        };
        let projection = Arc::clone(&current.projection);
        let mut cache = self.lock();
        cache.retain(|cached| cached.id != current.id);
        if cache.len() == MAX_CACHED {
            cache.remove(0);
        }
        cache.push(current);
        Ok(projection)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Cached>> {
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The items of a window. A cursor of the chain stands before and after each.
#[derive(Debug)]
struct Projection {
    items: Vec<Item>,
    chain: Chain,
    gap: bool,
}

#[derive(Debug)]
struct Item {
    body: ReplayBody,
    /// Bytes as JSON, cursor included.
    bytes: usize,
}

/// The summary that a window's conversation begins with.
struct Summary<'w> {
    /// Number of its record.
    n: u64,
    cutoff: u64,
    input: Option<u64>,
    text: &'w str,
}

impl<'w> Summary<'w> {
    /// The last one of a window.
    fn last(records: &'w [Record]) -> Option<Self> {
        records.iter().rev().find_map(|record| match &record.body {
            Body::Checkpoint {
                cutoff,
                input,
                summary,
                ..
            } => Some(Self {
                n: record.n,
                // It can't stand for what came after it.
                cutoff: (*cutoff).min(record.n),
                input: *input,
                text: summary,
            }),
            _ => None,
        })
    }
}

/// Whether each summary stands for what came before it, and for no less than the one before.
fn in_order(records: &[Record]) -> bool {
    let mut before = 0;
    records.iter().all(|record| match record.body {
        Body::Checkpoint { cutoff, .. } => {
            let fits = (before..record.n).contains(&cutoff);
            before = cutoff;
            fits
        }
        _ => true,
    })
}

impl Projection {
    fn new(id: &SessionId, window: &Window, redactor: &Redactor) -> Self {
        let summary = Summary::last(&window.records);
        let (first, is_summary) = match (&summary, window.records.first()) {
            (Some(summary), _) => (summary.n, true),
            (None, first) => (first.map_or(1, |record| record.n), false),
        };
        let mut this = Self {
            items: Vec::new(),
            chain: Chain::start(id, window.part, first, is_summary),
            gap: window.damaged,
        };
        let mut projector = Projector::default();
        if let Some(summary) = &summary {
            let text = redactor.redact(summary.text);
            this.add_text(&text, |text, part, last_part| ReplayBody::Summary {
                text,
                part,
                last_part,
            });
            this.gap |= !in_order(&window.records) || is_blank(summary.text);
            let numbered = |n| window.records.iter().find(|record| record.n == n);
            let input = summary.input.and_then(numbered);
            let is_input = |record: &&Record| {
                matches!(record.body, Body::UserInput { .. }) && record.n <= summary.cutoff
            };
            if let Some(input) = input.filter(is_input) {
                projector.goes_on_at(input.n);
                projector.take(input);
            } else {
                this.gap |= summary.input.is_some();
            }
            projector.goes_on_at(summary.cutoff + 1);
            let begins = window
                .records
                .first()
                .is_some_and(|it| it.n <= summary.cutoff + 1);
            this.gap |= !begins;
        } else {
            this.gap |= window.cut;
        }
        let cutoff = summary.as_ref().map_or(0, |summary| summary.cutoff);
        for record in window.records.iter().filter(|record| record.n > cutoff) {
            projector.take(record);
        }
        let projected = projector.finish();
        let mut ends = projected.ends.into_iter().peekable();
        let mut said = String::new();
        for (at, message) in projected.messages.into_iter().enumerate() {
            while let Some((_, end)) = ends.next_if(|(before, _)| *before <= at) {
                this.add(ReplayBody::Terminal(end), 0);
            }
            let role = match message.kind {
                EntryKind::User => Role::User,
                EntryKind::Assistant => Role::Assistant,
                EntryKind::ReasoningSummary
                | EntryKind::Activity
                | EntryKind::Compaction
                | EntryKind::Diagnostic => continue,
            };
            let text = message.redacted(redactor, &mut said);
            this.add_text(&text, |text, part, last_part| ReplayBody::Message {
                role,
                text,
                part,
                last_part,
            });
        }
        for (_, end) in ends {
            this.add(ReplayBody::Terminal(end), 0);
        }
        this
    }

    /// Adds a text in parts; nothing of an empty one, whose pieces are missing or may all be a secret.
    fn add_text(&mut self, text: &Redacted, item: impl Fn(Redacted, u32, bool) -> ReplayBody) {
        if text.is_empty() {
            return;
        }
        let most_json = MAX_PAGE_BYTES - PAGE_OVERHEAD - ITEM_OVERHEAD;
        let parts = split(text, MAX_PART_BYTES, most_json);
        let last = parts.len() - 1;
        for (part, (text, json_bytes)) in parts.into_iter().enumerate() {
            self.add(item(text, part as u32, part == last), json_bytes);
        }
    }

    fn add(&mut self, body: ReplayBody, json_bytes: usize) {
        self.chain.push(&body);
        self.items.push(Item {
            body,
            bytes: json_bytes + ITEM_OVERHEAD,
        });
    }

    fn page(&self, after: Option<&str>, limit: usize) -> ReplayPage {
        let end = self.items.len();
        let position = after.map_or(Some(0), |cursor| self.chain.position(cursor));
        let limit = position.map_or(0, |_| limit.clamp(1, MAX_PAGE_ITEMS));
        let start = position.unwrap_or(0);
        let mut bytes = PAGE_OVERHEAD;
        let items = self.items[start..].iter().take(limit).take_while(|item| {
            bytes += item.bytes;
            bytes <= MAX_PAGE_BYTES
        });
        let next = start + items.count();
        let items = (start..next).map(|at| ReplayItem {
            cursor: self.chain.cursor(at + 1),
            body: self.items[at].body.clone(),
        });
        ReplayPage {
            items: items.collect(),
            next_cursor: self.chain.cursor(next),
            snapshot_cursor: self.chain.cursor(end),
            truncated: next < end,
            gap: self.gap,
            resync_required: position.is_none(),
        }
    }
}

#[cfg(test)]
mod tests;
