//! The list of a directory of sessions: one bounded scan of it, then the heads of one page's files.
//! Reads no session whole and takes no lock; sessions come and go while it looks.

use std::collections::BTreeSet;
use std::fs;
use std::io;

use redact::Redactor;

use super::{
    Body, ListError, LocalSessions, MAX_LIST_ITEMS, MAX_SCAN_ENTRIES, Record, SessionId,
    SessionList, SessionSummary, file, parts,
};
use crate::file::prefix;

/// How much of a file is read in search of a title.
const HEAD_BYTES: u64 = 64 * 1024;

impl LocalSessions {
    /// See [`super::SessionStore::list`].
    pub(super) fn page(
        &self,
        after: Option<&SessionId>,
        limit: usize,
        redactor: &Redactor,
    ) -> Result<SessionList, ListError> {
        let limit = limit.clamp(1, MAX_LIST_ITEMS);
        // One more than the page holds tells whether more remain.
        let (mut candidates, nameless) = self.candidates(after, limit + 1)?;
        let truncated = candidates.len() > limit;
        if truncated {
            candidates.pop_last();
        }
        let mut list = SessionList {
            sessions: Vec::new(),
            next_after: candidates.last().filter(|_| truncated).cloned(),
            truncated,
            // Each is told of on the page where it would stand.
            incomplete: nameless.iter().any(|name| {
                let last = candidates.last().filter(|_| truncated);
                last.is_none_or(|last| name.as_str() <= last.as_str())
            }),
        };
        for id in candidates {
            match self.look(&id, redactor) {
                Ok((summary, whole)) => {
                    list.sessions.push(summary);
                    list.incomplete |= !whole;
                }
                // Removed since the scan: no candidate any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::debug!(session = %id, error = &error as &dyn std::error::Error, "a session is not listed");
                    list.incomplete = true;
                }
            }
        }
        Ok(list)
    }

    /// The `count` smallest ids after `after`, and the names behind it that are called like a session's and
    /// cannot be an id.
    fn candidates(
        &self,
        after: Option<&SessionId>,
        count: usize,
    ) -> Result<(BTreeSet<SessionId>, Vec<String>), ListError> {
        let mut smallest: BTreeSet<SessionId> = BTreeSet::new();
        let mut nameless = Vec::new();
        for (scanned, entry) in fs::read_dir(&self.dir).map_err(ListError::Io)?.enumerate() {
            if scanned == MAX_SCAN_ENTRIES {
                return Err(ListError::ScanLimit);
            }
            let name = entry.map_err(ListError::Io)?.file_name();
            let name = name.to_string_lossy();
            let Some(name) = SessionId::name_of_file(&name) else {
                continue;
            };
            let is_full = smallest.len() == count;
            if after.is_some_and(|after| name <= after.as_str())
                || (is_full && smallest.last().is_some_and(|last| name >= last.as_str()))
            {
                continue;
            }
            match name.parse() {
                Ok(id) => {
                    smallest.insert(id);
                    if smallest.len() > count {
                        smallest.pop_last();
                    }
                }
                Err(_) if name.is_empty() => {}
                Err(_) => nameless.push(name.to_owned()),
            }
        }
        Ok((smallest, nameless))
    }

    /// The summary of a session, and whether all of its head could be read. An error if the
    /// file is none of a session.
    fn look(&self, id: &SessionId, redactor: &Redactor) -> io::Result<(SessionSummary, bool)> {
        let file = file::open_to_read(&self.dir.join(id.file_name()))?;
        let part = parts::last(&self.dir, id).map_err(io::Error::other)?;
        let modified = match part {
            1 => file.metadata()?.modified()?,
            _ => file::open_to_read(&parts::path(&self.dir, id, part))?
                .metadata()?
                .modified()?,
        };
        let (head, _) = prefix(file, HEAD_BYTES)?;
        let (input, whole) = match first_input(&head, id) {
            // The session goes on in its last part, whatever became of the one that has its title.
            Err(error) if part > 1 && error.kind() == io::ErrorKind::InvalidData => (None, false),
            found => found?,
        };
        let summary = SessionSummary::new(id.clone(), input.as_deref(), modified, redactor);
        Ok((summary, whole))
    }
}

/// The first input in the head of a file, and whether every line before it was a record. The first
/// must be: nothing else says that the file is one of this session.
fn first_input(head: &[u8], id: &SessionId) -> io::Result<(Option<String>, bool)> {
    let mut whole = true;
    let mut from = 0;
    for end in memchr::memchr_iter(b'\n', head) {
        match Record::parse(&head[from..end], id) {
            Some(record) => {
                if let Body::UserInput { text, .. } = record.body {
                    return Ok((Some(text), whole));
                }
            }
            None if from == 0 => return Err(io::ErrorKind::InvalidData.into()),
            None => whole = false,
        }
        from = end + 1;
    }
    // A first line without an end is no record, and none that a crash tore: it stands behind none.
    if from == 0 && !head.is_empty() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((None, whole))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::os::unix::fs::{PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::super::tests::{Place, append, line};
    use super::*;
    use crate::sessions::{
        SessionStore as _,
        list::{LAST_SECOND, MAX_TITLE_BYTES, timestamp},
    };
    use redact::Redacted;
    use std::time::{Duration, SystemTime};

    fn list(place: &Place, after: Option<&str>, limit: usize) -> SessionList {
        let after = after.map(|after| after.parse().unwrap());
        place
            .sessions
            .list(after.as_ref(), limit, &Redactor::default())
            .unwrap()
    }

    fn ids(list: &SessionList) -> Vec<&str> {
        list.sessions
            .iter()
            .map(|summary| summary.id.as_str())
            .collect()
    }

    fn put(place: &Place, name: &str, text: &str) {
        place.put(name, line(name, 1, text));
    }

    #[test]
    fn pages_follow_the_order_of_ids() {
        let place = Place::new();
        assert_eq!(
            list(&place, None, 32),
            SessionList {
                sessions: vec![],
                next_after: None,
                truncated: false,
                incomplete: false
            }
        );
        for name in ["b", "a", "_", "Z", "10", "9", "a-b"] {
            put(&place, name, name);
        }
        fs::write(place.path("c.lock"), "").unwrap();
        fs::write(place.path("not an id.jsonl"), "").unwrap();
        fs::write(place.path("d.json"), "").unwrap();
        fs::write(place.path(".jsonl"), "").unwrap();
        let all = list(&place, None, 32);
        assert_eq!(ids(&all), ["10", "9", "Z", "_", "a", "a-b", "b"]);
        assert!(!all.truncated && all.next_after.is_none());
        // One is called like a session and cannot be one; it would be the last.
        assert!(all.incomplete);
        let page = list(&place, None, 3);
        assert_eq!(ids(&page), ["10", "9", "Z"]);
        assert!(page.truncated && !page.incomplete);
        assert_eq!(page.next_after.as_ref().unwrap().as_str(), "Z");
        assert_eq!(ids(&list(&place, Some("Z"), 3)), ["_", "a", "a-b"]);
        let last = list(&place, Some("a-b"), 1);
        assert_eq!(ids(&last), ["b"]);
        assert!(!last.truncated && last.next_after.is_none() && last.incomplete);
        assert!(list(&place, Some("b"), 1).sessions.is_empty());
        // An id that is none of them is a position too.
        assert_eq!(ids(&list(&place, Some("aa"), 1)), ["b"]);
    }

    #[test]
    fn what_is_unsafe_or_malformed_is_left_out_and_said() {
        let place = Place::new();
        put(&place, "good", "x");
        symlink(place.path("good.jsonl"), place.path("link.jsonl")).unwrap();
        symlink(place.path("nowhere"), place.path("zz.jsonl")).unwrap();
        fs::create_dir(place.path("dir.jsonl")).unwrap();
        let pipe = place.path("pipe.jsonl");
        let mode = rustix::fs::Mode::from(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        place.put("foreign", line("other", 1, "x"));
        place.put("nonsense", "nonsense\n");
        place.put("endless", "x".repeat(HEAD_BYTES as usize + 1));
        place.put("half", &line("half", 1, "x").as_bytes()[..40]);
        put(&place, "twice", "x");
        fs::hard_link(place.path("twice.jsonl"), place.path("other name")).unwrap();
        put(&place, "open", "x");
        fs::set_permissions(place.path("open.jsonl"), fs::Permissions::from_mode(0o666)).unwrap();
        let all = list(&place, None, 32);
        assert_eq!(ids(&all), ["good"]);
        assert!(all.incomplete && !all.truncated);
        // Each by itself; the last examined is where the next page begins, shown or not.
        for name in [
            "link", "zz", "dir", "pipe", "foreign", "nonsense", "endless", "half", "twice", "open",
        ] {
            let mut before = name.to_owned();
            let last = before.pop().unwrap();
            before.push(char::from(last as u8 - 1));
            before.push_str("zzz");
            let page = list(&place, Some(&before), 1);
            assert!(page.sessions.is_empty() && page.incomplete, "{name}");
            if page.truncated {
                assert_eq!(page.next_after.unwrap().as_str(), name);
            }
        }
    }

    #[test]
    fn the_title_is_the_first_line_that_the_person_wrote_without_its_secrets() {
        let title = |text: &str| {
            let place = Place::new();
            put(&place, "s", text);
            let list = list(&place, None, 1);
            let title = list.sessions[0].title.clone();
            title.map(Redacted::into_string)
        };
        assert_eq!(title("Hello").as_deref(), Some("Hello"));
        assert_eq!(title("\n \t\r\n  One \t\r\nTwo").as_deref(), Some("One"));
        assert_eq!(title("a\u{202e}b\u{7}c\u{2028}d").as_deref(), Some("abc"));
        assert_eq!(title(" \n "), None);
        let long = title(&"日".repeat(100)).unwrap();
        assert!(long.len() <= MAX_TITLE_BYTES && long.ends_with('…'));
        let secret = format!(
            "{}ghp_{}",
            "x ".repeat(50),
            "aB3dE6gH9jK2mN5pQ8sT".repeat(2)
        );
        assert!(!title(&secret).unwrap().contains("ghp_"));
    }

    #[test]
    fn sessions_without_a_readable_title_have_none() {
        let place = Place::new();
        place.put("empty", "");
        place.put(
            "torn",
            line("torn", 1, "x").replace("user_input", "reasoning") + "{\"v\":1",
        );
        let body = Body::Diagnostic {
            code: "c".into(),
            summary: "s".into(),
        };
        let mut writer = place.sessions.create().unwrap();
        let id = writer.lease().id().to_string();
        writer
            .append(None, vec![body], crate::sessions::Flush::Durable)
            .unwrap();
        let titles = |list: &SessionList| -> Vec<_> {
            let sessions = list.sessions.iter();
            sessions
                .map(|summary| (summary.id.to_string(), summary.title.clone()))
                .collect()
        };
        let all = list(&place, None, 32);
        let mut expected = vec![
            ("empty".to_owned(), None),
            ("torn".to_owned(), None),
            (id.clone(), None),
        ];
        expected.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(titles(&all), expected);
        assert!(!all.incomplete);
        append(&mut *writer, "now").unwrap();
        let all = list(&place, None, 32);
        assert!(titles(&all).contains(&(id, Some(Redacted::fixed("now")))));

        let place = Place::new();
        place.put(
            "s",
            line("s", 1, "").replace("user_input", "reasoning") + "bad\n" + &line("s", 2, "found"),
        );
        let all = list(&place, None, 32);
        assert_eq!(
            titles(&all),
            [("s".to_owned(), Some(Redacted::fixed("found")))]
        );
        assert!(all.incomplete);
    }

    #[test]
    fn times_are_rfc_3339_whatever_the_file_says() {
        let at = |seconds: u64, millis: u64| {
            SystemTime::UNIX_EPOCH + Duration::from_secs(seconds) + Duration::from_millis(millis)
        };
        assert_eq!(timestamp(at(0, 0)), "1970-01-01T00:00:00.000Z");
        assert_eq!(
            timestamp(at(1_709_210_096, 789)),
            "2024-02-29T12:34:56.789Z"
        );
        let before = SystemTime::UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!(timestamp(before), "1970-01-01T00:00:00.000Z");
        assert_eq!(timestamp(at(LAST_SECOND, 999)), "9999-12-31T23:59:59.000Z");
        assert_eq!(timestamp(at(1 << 40, 0)), "9999-12-31T23:59:59.000Z");

        let place = Place::new();
        put(&place, "s", "x");
        let file = fs::File::options()
            .write(true)
            .open(place.path("s.jsonl"))
            .unwrap();
        file.set_modified(at(1_709_210_096, 0)).unwrap();
        let list = list(&place, None, 1);
        assert_eq!(list.sessions[0].updated_at, "2024-02-29T12:34:56.000Z");
    }

    #[test]
    fn every_entry_counts_and_one_too_many_is_no_partial_page() {
        let place = Place::new();
        put(&place, "s", "x");
        for n in 1..MAX_SCAN_ENTRIES {
            fs::write(place.path(&n.to_string()), "").unwrap();
        }
        assert_eq!(ids(&list(&place, None, 32)), ["s"]);
        fs::write(place.path("one more"), "").unwrap();
        let refused = place.sessions.list(None, 32, &Redactor::default());
        assert!(matches!(refused, Err(ListError::ScanLimit)));
        fs::remove_dir_all(&place.sessions.dir).unwrap();
        let refused = place.sessions.list(None, 32, &Redactor::default());
        assert!(matches!(
            refused,
            Err(ListError::Io(error)) if error.kind() == io::ErrorKind::NotFound
        ));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Following the pages visits every session once, in order, whatever the limit.
        #[test]
        fn pages_visit_every_session_once(names in prop::collection::btree_set("[A-Za-z0-9_-]{1,4}", 0..40), limit in 1usize..=32) {
            let place = Place::new();
            for name in &names {
                put(&place, name, name);
            }
            let mut seen = Vec::new();
            let mut after: Option<SessionId> = None;
            loop {
                let page = list(&place, after.as_ref().map(SessionId::as_str), limit);
                prop_assert!(page.sessions.len() <= limit);
                prop_assert_eq!(page.truncated, page.next_after.is_some());
                seen.extend(ids(&page).into_iter().map(str::to_owned));
                after = page.next_after;
                if after.is_none() {
                    break;
                }
            }
            prop_assert_eq!(seen, names.into_iter().collect::<Vec<_>>());
        }
    }
}
