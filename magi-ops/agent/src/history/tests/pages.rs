//! Pages of a history: their cursors, their bounds, and that they are read back whole.

use super::*;

#[test]
fn cursors_name_one_page_of_one_revision_in_one_spelling() {
    assert_eq!(page_of(&cursor(REVISION, 7), REVISION), Some(7));
    let longest = cursor(REVISION, MAX_SNAPSHOT_PARTS);
    assert!(crate::is_id(&longest), "{longest}");
    for wrong in [
        "",
        "7",
        ".7",
        "+7",
        "07",
        "-1",
        "7 ",
        "99999999999999999999999",
    ] {
        let text = format!("{REVISION}.{wrong}");
        if wrong != "7" {
            assert_eq!(page_of(&text, REVISION), None, "{text}");
        }
        assert_eq!(page_of(wrong, REVISION), None);
    }
    assert_eq!(page_of(&cursor("another", 7), REVISION), None);
}

#[test]
fn beyond_the_snapshot_bounds_there_is_no_page() {
    let many = |count: usize| {
        let bodies = (0..count).map(|n| user(&n.to_string(), "")).collect();
        // Each of these turns was interrupted, which adds an entry, but for the last record.
        Snapshot::new(project(&records(bodies)), &Redactor::default())
    };
    assert!(many(MAX_SNAPSHOT_PARTS / 2).is_ok());
    assert_eq!(
        many(MAX_SNAPSHOT_PARTS / 2 + 1).unwrap_err(),
        ErrorKind::HistoryLimit.into()
    );
    let long = |bytes: usize| {
        let bodies = vec![user("u", &"x".repeat(bytes))];
        Snapshot::new(project(&records(bodies)), &Redactor::default())
    };
    assert!(long(MAX_SNAPSHOT_BYTES - 256 * 1024).is_ok());
    assert_eq!(
        long(MAX_SNAPSHOT_BYTES).unwrap_err(),
        ErrorKind::HistoryLimit.into()
    );
}

fn as_json(page: &HistoryPage) -> Value {
    let entries: Vec<_> = page
        .entries
        .iter()
        .map(|entry| {
            json!({
                "message_id": entry.message_id,
                "kind": "reasoning_summary",
                "text": entry.text.as_str(),
                "partial": entry.partial,
                "part": entry.part,
                "last_part": entry.last_part,
            })
        })
        .collect();
    json!({
        "session_id": page.session_id,
        "revision": page.revision,
        "entries": entries,
        "next_cursor": page.next_cursor,
        "complete": page.complete,
    })
}

/// Reads all pages as a client does; checks every bound; returns the messages.
fn read(snapshot: &Snapshot, session: &str) -> Vec<(String, String)> {
    let mut messages: Vec<(String, String)> = Vec::new();
    let mut number = 0;
    let mut open = false;
    loop {
        let page = snapshot.page(number, session, REVISION).unwrap();
        assert!(serde_json::to_string(&as_json(&page)).unwrap().len() <= 32_768);
        assert!(page.entries.len() <= 100);
        for entry in &page.entries {
            assert!(entry.text.len() <= 16_384);
            if open {
                let last = messages.last_mut().unwrap();
                assert_eq!(last.0, entry.message_id);
                assert!(entry.part > 0);
                last.1.push_str(entry.text.as_str());
            } else {
                assert_eq!(entry.part, 0);
                messages.push((entry.message_id.clone(), entry.text.to_string()));
            }
            open = !entry.last_part;
        }
        let Some(next) = &page.next_cursor else {
            assert_eq!(page.complete, snapshot.complete);
            break;
        };
        assert!(!page.complete);
        number = page_of(next, REVISION).unwrap();
    }
    assert!(!open);
    messages
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_history_fits_its_pages_and_is_read_back_whole(
        texts in prop::collection::vec(("[\\x00-\\x1f\"\\\\ -~ä日🔑]{1,12}", 1usize..9000), 1..30),
        small in 0usize..250,
    ) {
        let session = "s".repeat(64);
        let texts: Vec<String> = texts
            .iter()
            .map(|(unit, times)| unit.repeat(*times))
            .chain((0..small).map(|n| n.to_string()))
            .collect();
        let mut bodies = Vec::new();
        for (n, text) in texts.iter().enumerate() {
            bodies.push(user(&format!("{n:064}"), text));
            bodies.push(end(Outcome::Completed));
        }
        let redactor = Redactor::default();
        let snapshot = Snapshot::new(project(&records(bodies)), &redactor).unwrap();
        let got = read(&snapshot, &session);
        prop_assert_eq!(got.len(), texts.len());
        for ((_, got), text) in got.iter().zip(&texts) {
            prop_assert_eq!(got.clone(), redactor.redact(text).into_string());
        }
    }
}
