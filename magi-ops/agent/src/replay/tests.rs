//! Tests of the replay: what is shown of which records, that positions hold as long as they may, and that every page fits.
//! Pages are measured as the JSON that the spec shows.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use store::LocalHome;
use store::sessions::{Body, Flush, LocalSessions, Outcome, SessionWriter};

use super::*;
use crate::memory::MemorySessions;

mod compaction;
mod properties;

/// One session, in memory unless its file is what a test is about.
struct Place {
    dir: Option<tempfile::TempDir>,
    sessions: Arc<dyn SessionStore>,
    writer: Box<dyn SessionWriter>,
}

impl Place {
    fn new(bodies: Vec<Body>) -> Self {
        Self::with(None, Arc::new(MemorySessions::default()), bodies)
    }

    fn on_disk(bodies: Vec<Body>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let sessions = LocalSessions::new(&LocalHome::prepare(dir.path()).unwrap());
        Self::with(Some(dir), Arc::new(sessions), bodies)
    }

    fn with(
        dir: Option<tempfile::TempDir>,
        sessions: Arc<dyn SessionStore>,
        bodies: Vec<Body>,
    ) -> Self {
        let writer = sessions.create().unwrap();
        let mut place = Self {
            dir,
            sessions,
            writer,
        };
        place.add(bodies);
        place
    }

    fn add(&mut self, bodies: Vec<Body>) {
        self.writer
            .append(Some("t"), bodies, Flush::Written)
            .unwrap();
    }

    fn file(&self) -> std::path::PathBuf {
        let name = format!("sessions/{}.jsonl", self.writer.lease().id());
        self.dir.as_ref().unwrap().path().join(name)
    }

    /// As another process sees it, which knows nothing yet.
    fn page(&self, after: Option<&str>, limit: usize) -> ReplayPage {
        let replays = Replays::new(Arc::clone(&self.sessions), Redactor::default());
        replays
            .page(self.writer.lease().id(), after, limit)
            .unwrap()
    }

    fn all(&self, limit: usize) -> Vec<ReplayItem> {
        let replays = Replays::new(Arc::clone(&self.sessions), Redactor::default());
        let mut items = Vec::new();
        let mut after = None;
        loop {
            let page = replays
                .page(self.writer.lease().id(), after.as_deref(), limit)
                .unwrap();
            assert!(!page.resync_required && page.items.len() <= limit);
            assert!(!page.truncated || !page.items.is_empty(), "pages go on");
            assert_eq!(page.truncated, page.next_cursor != page.snapshot_cursor);
            assert!(encoded(&page) <= MAX_PAGE_BYTES);
            if let Some(last) = page.items.last() {
                assert_eq!(last.cursor, page.next_cursor);
            }
            items.extend(page.items);
            after = Some(page.next_cursor);
            if !page.truncated {
                return items;
            }
        }
    }

    fn shown(&self) -> Vec<String> {
        self.all(32).iter().map(|item| show(&item.body)).collect()
    }
}

fn show(body: &ReplayBody) -> String {
    match body {
        ReplayBody::Message { role, text, .. } => format!("{role:?}: {text}"),
        ReplayBody::Summary { text, .. } => format!("Summary: {text}"),
        ReplayBody::Terminal(end) => format!("{end:?}"),
    }
}

fn encoded(page: &ReplayPage) -> usize {
    let event = |item: &ReplayItem| -> Value {
        match &item.body {
            ReplayBody::Message {
                role,
                text,
                part,
                last_part,
            } => json!({
                "cursor": item.cursor,
                "kind": "message",
                "role": format!("{role:?}").to_lowercase(),
                "text": text.as_str(),
                "part": part,
                "last_part": last_part,
            }),
            ReplayBody::Summary {
                text,
                part,
                last_part,
            } => json!({
                "cursor": item.cursor,
                "kind": "summary",
                "text": text.as_str(),
                "part": part,
                "last_part": last_part,
            }),
            ReplayBody::Terminal(end) => json!({
                "cursor": item.cursor,
                "kind": "terminal",
                "status": match end {
                    TurnEnd::Completed => "completed",
                    TurnEnd::Cancelled => "cancelled",
                    TurnEnd::Failed => "failed",
                    TurnEnd::CompactionRequired => "compaction_required",
                },
            }),
        }
    };
    let value = json!({
        "events": page.items.iter().map(event).collect::<Vec<_>>(),
        "next_cursor": page.next_cursor,
        "snapshot_cursor": page.snapshot_cursor,
        "truncated": page.truncated,
        "gap": page.gap,
        "resync_required": page.resync_required,
    });
    serde_json::to_string(&value).unwrap().len()
}

fn user(text: &str) -> Body {
    Body::UserInput {
        message_id: "u".into(),
        text: text.into(),
    }
}

fn piece(id: &str, text: &str) -> Body {
    Body::AssistantText {
        message_id: id.into(),
        response: 0,
        text: text.into(),
    }
}

fn whole(id: &str, text: Option<&str>) -> Body {
    Body::AssistantMessage {
        message_id: id.into(),
        response: 0,
        text: text.map(Into::into),
        partial: false,
    }
}

fn end(outcome: Outcome) -> Body {
    Body::TurnFinished {
        outcome,
        error_code: None,
    }
}

/// Whoever looks while a message is being written must not see the half of a secret that has come.
#[test]
fn the_beginning_of_a_secret_waits_for_its_end() {
    let secret = "correct-horse-battery-staple";
    let redactor = Redactor::default();
    redactor.learn([secret]);
    let mut place = Place::new(vec![
        user("Question"),
        piece("a", "It is correct-horse-bat"),
    ]);
    let said = |place: &Place| {
        let replays = Replays::new(place.sessions.clone(), redactor.clone());
        let page = replays.page(place.writer.lease().id(), None, 32).unwrap();
        page.items[1..]
            .iter()
            .map(|item| show(&item.body))
            .collect::<Vec<_>>()
    };
    assert_eq!(said(&place), ["Assistant: It is "]);
    place.add(vec![piece("a", "tery-staple, and")]);
    assert_eq!(said(&place), ["Assistant: It is [redacted], and"]);
    place.add(vec![whole("a", None)]);
    assert_eq!(said(&place), ["Assistant: It is [redacted], and"]);
    place.add(vec![piece("b", "correct-horse")]);
    assert_eq!(said(&place).len(), 1);
    // An end that may be all of it.
    place.add(vec![whole("b", None)]);
    assert_eq!(said(&place)[1], "Assistant: correct-horse");
}

#[test]
fn messages_and_ends_are_shown_and_nothing_else() {
    let place = Place::new(vec![
        Body::Session {
            created_at: 1,
            cwd: "/secret/path".into(),
            provider: None,
            model: None,
        },
        user("Question"),
        Body::Reasoning {
            item_id: None,
            text: "thought".into(),
            provider_summary: true,
        },
        piece("a", "Let me "),
        piece("a", "look."),
        whole("a", None),
        Body::ToolStarted {
            activity_id: "x".into(),
            call_id: "c".into(),
            response: 0,
            name: "read".into(),
            input: json!({"path": "p"}),
            subject: None,
            parent: None,
        },
        Body::ToolFinished {
            activity_id: "x".into(),
            call_id: "c".into(),
            name: "read".into(),
            is_error: false,
            summary: "s".into(),
            content: "c".into(),
            parent: None,
        },
        piece("b", "replaced"),
        whole("b", Some("Done.")),
        end(Outcome::Completed),
        user("Again"),
        piece("a", "Partial ans"),
        end(Outcome::Cancelled),
        user("Crash"),
        piece("d", "Up to here"),
        user("More"),
        Body::Diagnostic {
            code: "c".into(),
            summary: "s".into(),
        },
        end(Outcome::Failed),
    ]);
    let expected = [
        "User: Question",
        "Assistant: Let me look.",
        "Assistant: Done.",
        "Completed",
        "User: Again",
        "Assistant: Partial ans",
        "Cancelled",
        "User: Crash",
        "Assistant: Up to here",
        "User: More",
        "Failed",
    ];
    assert_eq!(place.shown(), expected);
    let page = place.page(None, 32);
    assert!(!page.gap && !page.truncated);
}

#[test]
fn a_session_without_turns_has_a_position_to_poll() {
    let mut place = Place::new(vec![Body::Session {
        created_at: 1,
        cwd: String::new(),
        provider: None,
        model: None,
    }]);
    let empty = place.page(None, 32);
    assert!(empty.items.is_empty());
    assert_eq!(empty.next_cursor, empty.snapshot_cursor);
    assert!(!empty.truncated && !empty.gap && !empty.resync_required);
    assert_eq!(place.page(Some(&empty.next_cursor), 1), empty);
    place.add(vec![user("Question")]);
    let page = place.page(Some(&empty.next_cursor), 1);
    assert_eq!(show(&page.items[0].body), "User: Question");
    let end = place.page(Some(&page.next_cursor), 1);
    assert!(end.items.is_empty() && !end.resync_required);
    assert_eq!(end.next_cursor, page.next_cursor);
}

#[test]
fn a_position_of_another_session_or_of_what_is_no_more_asks_for_a_new_start() {
    let turn = || vec![user("Question"), piece("a", "Par")];
    let mut place = Place::new(turn());
    let other = Place::new(turn());
    let start = place.page(None, 1);
    let seen = place.page(None, 32).next_cursor;
    place.add(vec![piece("a", "tial"), end(Outcome::Completed)]);
    let theirs = other.page(None, 32).next_cursor;
    for wrong in [
        seen.as_str(),
        &theirs,
        "",
        "0",
        "-",
        &seen.replacen('2', "3", 1),
        &format!("0{}", start.next_cursor),
        &format!("+{}", start.next_cursor),
        &start.next_cursor.to_uppercase(),
        &"9".repeat(128),
    ] {
        if wrong == start.next_cursor {
            continue;
        }
        let page = place.page(Some(wrong), 32);
        assert!(page.resync_required && page.items.is_empty(), "{wrong}");
        assert!(page.truncated, "there is something to replay");
        let again = place.page(Some(&page.next_cursor), 32);
        assert_eq!(again, place.page(None, 32));
    }
    // What the stale position had accepted before its last item still stands.
    let page = place.page(Some(&start.next_cursor), 32);
    assert_eq!(show(&page.items[0].body), "Assistant: Partial");
}

#[test]
fn texts_are_redacted_whole_before_they_are_cut() {
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let text = format!("{} {secret} end", "x".repeat(MAX_PART_BYTES - 12));
    let (first, second) = text.split_at(MAX_PART_BYTES);
    let place = Place::new(vec![user(&text), piece("a", first), piece("a", second)]);
    for items in [place.all(1), place.all(32)] {
        assert_eq!(items.len(), 4);
        let all: String = items.iter().map(|item| show(&item.body)).collect();
        assert!(!all.contains("ghp_") && !all.contains("aB3d"), "{all}");
    }
}

#[test]
fn what_follows_a_hole_in_a_message_is_not_shown() {
    let secret = format!("ghp_{}", "aB3dE6gH9jK2mN5pQ8sT".repeat(2));
    let (head, tail) = secret.split_at(20);
    let place = Place::on_disk(vec![
        user("Question"),
        piece("a", "Before "),
        piece("a", head),
        // Within the message.
        Body::ProviderState {
            response: 0,
            state: serde_json::json!({"thinking": "thought", "signature": "s"}),
        },
        piece("a", tail),
        whole("a", None),
        piece("b", "After."),
        whole("b", None),
        end(Outcome::Completed),
    ]);
    let text = std::fs::read_to_string(place.file()).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let without = |lost: &[usize]| {
        let kept = lines.iter().enumerate();
        let kept = kept.map(|(at, line)| if lost.contains(&at) { "{}" } else { line });
        std::fs::write(
            place.file(),
            kept.map(|l| l.to_owned() + "\n").collect::<String>(),
        )
        .unwrap();
        assert!(place.page(None, 1).gap);
        place.shown()
    };
    assert_eq!(
        without(&[2]),
        [
            "User: Question",
            "Assistant: Before ",
            "Assistant: After.",
            "Completed"
        ]
    );
    assert_eq!(without(&[0, 1, 2]), ["Assistant: After.", "Completed"]);
    assert_eq!(without(&[0, 1, 2, 3, 4, 5, 6]), ["Completed"]);
    assert_eq!(
        without(&[0]),
        ["Assistant: After.", "Completed"],
        "it may have begun in what is lost"
    );
}

#[test]
fn the_window_moves_and_says_so() {
    let long = "word ".repeat(3000);
    let mut place = Place::on_disk(vec![user("first")]);
    for _ in 0..200 {
        place.add(vec![user(&long), end(Outcome::Completed)]);
    }
    let early = place.page(None, 1);
    assert!(early.gap && early.truncated);
    let items = place.all(32);
    assert_eq!(show(&items.last().unwrap().body), "Completed");
    assert!(items.len() > 500);
    // A little more leaves positions as they are; a lot moves the window on, and the same words
    // are others then.
    place.add(vec![user("little")]);
    let page = place.page(Some(&items.last().unwrap().cursor), 32);
    assert!(!page.resync_required);
    assert_eq!(show(&page.items[0].body), "User: little");
    for _ in 0..100 {
        place.add(vec![user(&long), end(Outcome::Completed)]);
    }
    let page = place.page(Some(&early.next_cursor), 32);
    assert!(page.resync_required && page.gap);
}

#[test]
fn an_unchanged_file_is_projected_once_and_a_changed_one_again() {
    let mut place = Place::on_disk(vec![user("one")]);
    let replays = Replays::new(place.sessions.clone(), Redactor::default());
    let id = place.writer.lease().id().clone();
    // Until the file's times are in the past, they prove nothing.
    let projection = loop {
        let one = replays.projection(&id).unwrap();
        if Arc::ptr_eq(&one, &replays.projection(&id).unwrap()) {
            break one;
        }
        std::thread::yield_now();
    };
    assert!(Arc::ptr_eq(&projection, &replays.projection(&id).unwrap()));
    place.add(vec![user("two")]);
    assert_eq!(replays.page(&id, None, 32).unwrap().items.len(), 2);
    for _ in 0..2 * MAX_CACHED {
        let other = Place::new(vec![user("other")]);
        let missing = replays.page(other.writer.lease().id(), None, 1);
        assert_eq!(missing, Err(ErrorKind::SessionMissing.into()));
        replays.page(&id, None, 1).unwrap();
    }
    assert!(replays.lock().len() <= MAX_CACHED);
}

#[test]
fn hostile_escapes_fit_into_pages() {
    let text = "\"\\\n\t\t".repeat(MAX_PART_BYTES);
    let mut bodies = vec![user(&text)];
    bodies.extend((0..40).map(|n| user(if n % 2 == 0 { "\"" } else { "" })));
    bodies.push(end(Outcome::Completed));
    let place = Place::new(bodies);
    // `all` measures every page.
    let items = place.all(32);
    let joined: String = items
        .iter()
        .filter_map(|item| match &item.body {
            ReplayBody::Message { text, .. } => Some(text.as_str()),
            _ => None,
        })
        .collect();
    // A carriage return alone ends a line.
    assert_eq!(joined, text.replace('\r', "\n") + &"\"".repeat(20));
}
