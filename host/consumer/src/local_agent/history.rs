//! What the pages of a history add up to.
//! Pure: no I/O. Text here is as received; make it `display::plain` before a terminal sees it.

use std::collections::HashSet;

use local_agent::messages::PageParams;

use super::answer::{Entry, Page};
use super::request::Request;
use super::words::EntryKind;
use crate::Violation;
use crate::violation::ensure;

/// UTF-8 bytes of text in one history.
pub const TEXT_BYTES: usize = 8 * 1024 * 1024;
/// Parts in one history.
pub const PARTS: usize = 10_000;

/// One whole message of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub message_id: String,
    pub kind: EntryKind,
    pub text: String,
    pub partial: bool,
}

/// A history, read page by page: ask for [`History::request`] until there is none.
#[derive(Clone, Debug)]
pub struct History {
    session_id: String,
    revision: String,
    cursor: Option<String>,
    ended: bool,
    complete: bool,
    pages: usize,
    parts: usize,
    bytes: usize,
    open: Option<(Message, u64)>,
    messages: Vec<Message>,
    seen: HashSet<String>,
}

impl History {
    #[must_use]
    pub fn new(session_id: String, revision: String) -> Self {
        Self {
            session_id,
            revision,
            cursor: None,
            ended: false,
            complete: false,
            pages: 0,
            parts: 0,
            bytes: 0,
            open: None,
            messages: Vec::new(),
            seen: HashSet::new(),
        }
    }

    /// The request for the next page, or `None` after the last.
    #[must_use]
    pub fn request(&self) -> Option<Request> {
        (!self.ended).then(|| {
            Request::HistoryPage(PageParams {
                session_id: self.session_id.clone(),
                revision: self.revision.clone(),
                cursor: self.cursor.clone(),
            })
        })
    }

    /// Takes the page that answered [`History::request`].
    ///
    /// # Errors
    /// The rule it breaks: parts out of order, a message twice, more than one history may hold.
    pub fn accept(&mut self, page: Page) -> Result<(), Violation> {
        ensure(!self.ended, Violation::AfterTerminal)?;
        if page.next_cursor.is_some() && page.next_cursor == self.cursor {
            return Err(Violation::Contradiction("next_cursor"));
        }
        self.pages += 1;
        for entry in page.entries {
            self.entry(entry)?;
        }
        self.ended = page.next_cursor.is_none();
        self.complete = page.complete;
        self.cursor = page.next_cursor;
        if self.ended && self.open.is_some() {
            Err(Violation::ReconcileGap)
        } else {
            Ok(())
        }
    }

    fn entry(&mut self, entry: Entry) -> Result<(), Violation> {
        self.parts += 1;
        self.bytes += entry.text.len();
        if self.parts > PARTS || self.bytes > TEXT_BYTES {
            return Err(Violation::ContentLimit);
        }
        let message = match self.open.take() {
            Some((mut message, next)) => {
                if message.message_id != entry.message_id
                    || message.kind != entry.kind
                    || next != entry.part
                {
                    return Err(Violation::ReconcileGap);
                }
                message.text.push_str(&entry.text);
                message.partial |= entry.partial;
                message
            }
            None => {
                ensure(entry.part == 0, Violation::ReconcileGap)?;
                ensure(
                    self.seen.insert(entry.message_id.clone()),
                    Violation::OutOfOrder,
                )?;
                Message {
                    message_id: entry.message_id,
                    kind: entry.kind,
                    text: entry.text,
                    partial: entry.partial,
                }
            }
        };
        if entry.last_part {
            self.messages.push(message);
        } else {
            self.open = Some((message, entry.part + 1));
        }
        Ok(())
    }

    /// Every message that is whole so far, in stored order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.messages
    }

    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// The last page has been read and says that nothing is missing.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.ended && self.complete
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn entry(id: &str, part: u64, text: &str, last_part: bool) -> Entry {
        Entry {
            message_id: id.into(),
            kind: EntryKind::User,
            text: text.into(),
            partial: false,
            part,
            last_part,
        }
    }

    fn page(entries: Vec<Entry>, next: Option<&str>, complete: bool) -> Page {
        Page {
            session_id: "s".into(),
            revision: "v".into(),
            entries,
            next_cursor: next.map(Into::into),
            complete,
        }
    }

    #[test]
    fn a_history_is_read_across_pages() {
        let mut history = History::new("s".into(), "v".into());
        history
            .accept(page(
                vec![entry("a", 0, "x", true), entry("b", 0, "y", false)],
                Some("c1"),
                false,
            ))
            .unwrap();
        assert!(
            matches!(history.request(), Some(Request::HistoryPage(PageParams { cursor: Some(c), .. })) if c == "c1")
        );
        history
            .accept(page(vec![entry("b", 1, "z", true)], None, true))
            .unwrap();
        assert!(history.request().is_none() && history.is_complete());
        let texts: Vec<_> = history
            .messages()
            .iter()
            .map(|message| message.text.as_str())
            .collect();
        assert_eq!((texts, history.pages()), (vec!["x", "yz"], 2));
    }

    #[test]
    fn a_history_with_holes_is_refused() {
        let read = |pages: Vec<Page>| {
            let mut history = History::new("s".into(), "v".into());
            pages.into_iter().try_for_each(|page| history.accept(page))
        };
        assert_eq!(
            read(vec![page(vec![entry("a", 1, "", true)], None, true)]),
            Err(Violation::ReconcileGap)
        );
        assert_eq!(
            read(vec![page(vec![entry("a", 0, "", false)], None, true)]),
            Err(Violation::ReconcileGap)
        );
        let mixed = vec![entry("a", 0, "", false), entry("b", 0, "", true)];
        assert_eq!(
            read(vec![page(mixed, None, true)]),
            Err(Violation::ReconcileGap)
        );
        let twice = vec![entry("a", 0, "", true), entry("a", 0, "", true)];
        assert_eq!(
            read(vec![page(twice, None, true)]),
            Err(Violation::OutOfOrder)
        );
        let circle = || page(vec![], Some("c"), false);
        assert_eq!(
            read(vec![circle(), circle()]),
            Err(Violation::Contradiction("next_cursor"))
        );
    }
}
