//! The recent end of a session file, read without a lease and whatever stands there: what can't be used is left out.
//! Strict reading of a whole session is `read`'s; what the records mean is decided above.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use super::file::{self, Stamp, refusal};
use super::lease::AppendLock;
use super::parts::{self, Looks};
use super::{
    MAX_READ_LINES, MAX_WINDOW_BYTES, Record, SessionError, SessionId, Version, Window, read,
};

/// Where the window of a longer file may begin: at multiples of this. Every move costs a client all positions
/// that it remembers, so it comes once in many turns; a window then shows a quarter less than it might.
const STEP_BYTES: u64 = 512 * 1024;

/// The recent window of the session `id` of the directory; see [`super::SessionStore::window`].
pub(super) fn read(
    dir: &Path,
    id: &SessionId,
    looks: &Looks,
    known: Option<&Version>,
) -> Result<Option<Window>, SessionError> {
    let first = file::open_to_read(&dir.join(id.file_name())).map_err(refusal)?;
    let _settled = AppendLock::reading(dir, id)?;
    let part = looks.last(dir, id)?;
    let file = match part {
        1 => first,
        _ => file::open_to_read(&parts::path(dir, id, part)).map_err(refusal)?,
    };
    let stamp = Stamp::of(&file).map_err(SessionError::Io)?;
    // Times of a moment ago prove nothing.
    let version = Version((!stamp.is_fresh()).then(|| format!("{part} {stamp:?}")));
    if known.is_some_and(|known| known.proves(&version)) {
        return Ok(None);
    }
    let start = stamp
        .len
        .saturating_sub(MAX_WINDOW_BYTES)
        .next_multiple_of(STEP_BYTES);
    // One byte more tells whether the first line is whole.
    let from = start.saturating_sub(1);
    let bytes = read_from(file, from, stamp.len - from).map_err(SessionError::Io)?;
    let (records, mut damaged) = parse(&bytes, from > 0, id);
    damaged |= !read::says(part, from > 0, &records);
    Ok(Some(Window {
        records,
        part,
        damaged,
        cut: from > 0,
        version,
    }))
}

/// At most `len` bytes, which are few; less if the file was cut since.
fn read_from(mut file: File, at: u64, len: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(usize::try_from(len).map_err(io::Error::other)?);
    file.seek(SeekFrom::Start(at))?;
    file.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The records of whole lines, and whether others are missing.
fn parse(bytes: &[u8], cut: bool, id: &SessionId) -> (Vec<Record>, bool) {
    let mut ends = memchr::memchr_iter(b'\n', bytes);
    let mut from = if cut {
        // The rest of a line that began before, or just its LF.
        ends.next().map_or(bytes.len(), |at| at + 1)
    } else {
        0
    };
    let lines = memchr::memchr_iter(b'\n', &bytes[from..]).count();
    let mut gap = lines == 0 && !cut && !bytes.is_empty();
    for _ in MAX_READ_LINES..lines {
        from = ends.next().map_or(bytes.len(), |at| at + 1);
        gap = true;
    }
    let mut records: Vec<Record> = Vec::new();
    for end in ends {
        match Record::parse(&bytes[from..end], id) {
            Some(record) => {
                // Numbers have no holes: where there is one, somebody took a line out.
                let expected = match records.last() {
                    Some(last) => last.n.checked_add(1),
                    None if cut || gap => Some(record.n),
                    None => Some(1),
                };
                gap |= expected != Some(record.n);
                records.push(record);
            }
            None => gap = true,
        }
        from = end + 1;
    }
    (records, gap)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::symlink;

    use proptest::prelude::*;

    use super::super::tests::{Place, append, line, open, texts};
    use super::*;
    use crate::sessions::{Body, Flush, SessionStore as _};

    fn window(place: &Place, id: &SessionId) -> Window {
        place.sessions.window(id, None).unwrap().unwrap()
    }

    #[test]
    fn a_short_session_is_whole_and_needs_no_lease() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let id = writer.lease().id().clone();
        let missing = place.sessions.window(&id, None);
        assert!(matches!(missing, Err(SessionError::Missing)));
        append(&mut *writer, "one").unwrap();
        append(&mut *writer, "two").unwrap();
        let seen = window(&place, &id);
        assert_eq!(texts(&seen.records), ["one", "two"]);
        assert!(!seen.damaged && !seen.cut);
        drop(writer);
        assert_eq!(window(&place, &id).records.len(), 2);
        assert_eq!(
            place.names(),
            [id.file_name()],
            "neither side left a lock file"
        );
    }

    #[test]
    fn lines_that_are_no_records_of_the_session_are_a_gap_and_a_torn_end_is_none() {
        let (one, two, three) = (line("s", 1, "1"), line("s", 2, "2"), line("s", 3, "3"));
        for (text, expected, gap) in [
            (String::new(), vec![], false),
            ("\0\0\0".to_owned(), vec![], true),
            (one.trim_end().to_owned(), vec![], true),
            (one.clone(), vec!["1"], false),
            (format!("{one}{two}"), vec!["1", "2"], false),
            (format!("{one}{}", two.trim_end()), vec!["1"], false),
            (format!("{one}{{\"v\":1,\"n"), vec!["1"], false),
            (format!("{one}\n{two}"), vec!["1", "2"], true),
            (format!("{one}nonsense\n{two}"), vec!["1", "2"], true),
            (
                format!("{one}{}{two}", line("other", 2, "x")),
                vec!["1", "2"],
                true,
            ),
            (
                format!("{one}{}", two.replace("\"v\":1", "\"v\":9")),
                vec!["1"],
                true,
            ),
            (format!("{one}{three}"), vec!["1", "3"], true),
            (two.clone(), vec!["2"], true),
            (
                line("s", u64::MAX, "x") + &line("s", 0, "y"),
                vec!["x", "y"],
                true,
            ),
        ] {
            let place = Place::new();
            let id = place.put("s", &text);
            let seen = window(&place, &id);
            assert_eq!(texts(&seen.records), expected, "{text}");
            assert_eq!(seen.damaged, gap, "{text}");
        }
    }

    #[test]
    fn only_the_recent_end_of_a_long_session_is_read() {
        let place = Place::new();
        let filler = "x".repeat(1000);
        let whole: String = (1..=3000).map(|n| line("s", n, &filler)).collect();
        let id = place.put("s", &whole);
        let seen = window(&place, &id);
        assert!(seen.damaged || seen.cut);
        assert_eq!(seen.records.last().unwrap().n, 3000);
        let bytes = seen.records.len() * line("s", 1000, &filler).len();
        assert!(bytes as u64 <= MAX_WINDOW_BYTES);
        assert!(bytes as u64 >= MAX_WINDOW_BYTES - STEP_BYTES - 2000);

        // The start stays where it is while little is appended.
        let first = seen.records[0].n;
        let mut writer = open(&place, &id).unwrap().0;
        let len = fs::metadata(place.path("s.jsonl")).unwrap().len();
        let room = (STEP_BYTES - len % STEP_BYTES) / 1200;
        assert!(room > 100, "many turns");
        for _ in 1..room {
            append(&mut *writer, &filler).unwrap();
        }
        let later = window(&place, &id);
        assert_eq!(later.records[0].n, first);
        assert_eq!(later.records.last().unwrap().n, 3000 + room - 1);
    }

    #[test]
    fn a_line_that_begins_where_the_window_begins_is_whole() {
        let place = Place::new();
        let fill = |n: u64, bytes: u64| {
            let bare = line("s", n, "").len() as u64;
            line("s", n, &"x".repeat((bytes - bare) as usize))
        };
        let text = fill(1, STEP_BYTES) + &fill(2, MAX_WINDOW_BYTES);
        let id = place.put("s", &text);
        let seen = window(&place, &id);
        assert!(seen.damaged || seen.cut);
        assert_eq!(seen.records.len(), 1);
        assert_eq!(seen.records[0].n, 2);
    }

    #[test]
    fn no_more_than_the_bounded_number_of_lines_counts() {
        let place = Place::new();
        let mut text = "\n".repeat(MAX_READ_LINES);
        text.insert_str(0, &line("s", 1, "old"));
        text += &line("s", 2, "new");
        let id = place.put("s", &text);
        let seen = window(&place, &id);
        assert_eq!(texts(&seen.records), ["new"]);
        assert!(seen.damaged || seen.cut);
    }

    #[test]
    fn what_is_no_regular_file_is_refused() {
        let place = Place::new();
        let target = place.put("t", line("t", 1, "x"));
        symlink(place.path("t.jsonl"), place.path("s.jsonl")).unwrap();
        fs::create_dir(place.path("d.jsonl")).unwrap();
        for name in ["s", "d"] {
            let seen = place.sessions.window(&name.parse().unwrap(), None);
            assert!(matches!(seen, Err(SessionError::Invalid(_))), "{name}");
        }
        symlink(place.path("t.jsonl"), place.path("t.append")).unwrap();
        let seen = place.sessions.window(&target, None);
        assert!(matches!(seen, Err(SessionError::Invalid(_))));
    }

    #[test]
    fn an_unchanged_file_is_known_once_its_times_prove_it() {
        let place = Place::new();
        let id = place.put("s", line("s", 1, "one"));
        let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
        let file = fs::File::options()
            .write(true)
            .open(place.path("s.jsonl"))
            .unwrap();
        file.set_modified(old).unwrap();
        // Setting the time is a change itself, of the moment: wait until it is past.
        let seen = loop {
            let seen = window(&place, &id);
            if seen.version.0.is_some() {
                break seen;
            }
            std::thread::yield_now();
        };
        let again = place.sessions.window(&id, Some(&seen.version)).unwrap();
        assert!(again.is_none());
        let mut writer = open(&place, &id).unwrap().0;
        append(&mut *writer, "two").unwrap();
        let again = place.sessions.window(&id, Some(&seen.version)).unwrap();
        let again = again.unwrap();
        assert_eq!(texts(&again.records), ["one", "two"]);
        assert!(again.version.0.is_none());
        let fresh = place.sessions.window(&id, Some(&again.version)).unwrap();
        assert!(fresh.is_some(), "times of just now prove nothing");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_bytes_are_a_window(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let place = Place::new();
            let id = place.put("s", &bytes);
            let seen = window(&place, &id);
            prop_assert!(seen.records.is_empty());
            prop_assert_eq!(seen.damaged, !bytes.is_empty());
        }

        /// Whatever is between them, records of the session are found in order.
        #[test]
        fn records_are_found_between_anything(parts in prop::collection::vec(prop_oneof![Just(None), "[^\n]{0,20}".prop_map(Some)], 0..20)) {
            let mut text = String::new();
            let mut n = 0;
            for part in &parts {
                match part {
                    None => { n += 1; text += &line("s", n, "x"); }
                    Some(noise) => { text += noise; text.push('\n'); }
                }
            }
            let place = Place::new();
            let id = place.put("s", &text);
            let seen = window(&place, &id);
            let numbers: Vec<_> = seen.records.iter().map(|record| record.n).collect();
            prop_assert_eq!(numbers, (1..=n).collect::<Vec<_>>());
            prop_assert_eq!(seen.damaged, parts.iter().any(Option::is_some));
        }
    }

    #[test]
    fn a_session_recorded_at_once_is_found_without_a_turn() {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        let body = Body::Session {
            created_at: 1,
            cwd: "/w".into(),
            provider: None,
            model: None,
        };
        writer
            .append(None, vec![body.clone()], Flush::Durable)
            .unwrap();
        let seen = window(&place, writer.lease().id());
        assert_eq!(seen.records[0].body, body);
        assert!(!seen.damaged && !seen.cut);
    }
}
