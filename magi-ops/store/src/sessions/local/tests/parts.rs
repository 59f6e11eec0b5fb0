//! Tests of sessions that go on in another part: what is read, listed and kept.
//! Parts that are wrong are in `wrong_parts`. That no death loses anything is tested in `tests/processes.rs`.

use super::*;
use redact::Redactor;

pub(super) fn head() -> Vec<Body> {
    vec![Body::Checkpoint {
        activity_id: "c".into(),
        cutoff: 0,
        input: None,
        inputs: 2,
        responses: 0,
        summary: "what was".into(),
        tokens_before: 9,
        tokens_after: 1,
    }]
}

fn number(record: &Record) -> (u64, &'static str) {
    let kind = match record.body {
        Body::Continuation { .. } => "continuation",
        Body::Checkpoint { .. } => "checkpoint",
        _ => "input",
    };
    (record.n, kind)
}

/// A session of three inputs, of which the third is kept in its second part, and then two more come.
pub(super) fn continued(place: &Place) -> (Box<dyn SessionWriter>, SessionId) {
    let mut writer = place.sessions.create().unwrap();
    for text in ["Title", "two", "three"] {
        append(&mut *writer, text).unwrap();
    }
    assert_eq!(writer.extent().records, 3);
    let kept = writer
        .begin_part(Some("t"), head(), &|record| record.n == 3, &|| false)
        .unwrap();
    assert_eq!((kept, writer.extent().records), (vec![(3, 3)], 3));
    append(&mut *writer, "four").unwrap();
    append(&mut *writer, "five").unwrap();
    let id = writer.lease().id().clone();
    (writer, id)
}

const SECOND: [(u64, &str); 5] = [
    (1, "continuation"),
    (2, "checkpoint"),
    (3, "input"),
    (4, "input"),
    (5, "input"),
];

#[test]
fn what_is_kept_and_what_follows_is_read_and_the_rest_stays_where_it_is() {
    let place = Place::new();
    let (mut writer, id) = continued(&place);
    assert!(writer.is_unchanged());
    let names = [
        id.part_name(2),
        id.append_name(),
        id.file_name(),
        id.lock_name(),
    ];
    assert_eq!(place.names(), names);
    let mode = fs::metadata(place.path(&id.part_name(2))).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o600);
    let position = writer.position().unwrap();
    drop(writer);
    let lease = place.sessions.attach(&id).unwrap();
    let begins: Vec<_> = lease.head().unwrap().iter().map(number).collect();
    assert_eq!(begins, SECOND[..2]);
    let mut writer = lease.resume(&position).unwrap().unwrap();
    append(&mut *writer, "six").unwrap();
    drop(writer);

    let (writer, records) = open(&place, &id).unwrap();
    let read: Vec<_> = records.iter().map(number).collect();
    assert_eq!(read[..5], SECOND);
    assert_eq!(texts(&records[2..]), ["three", "four", "five", "six"]);
    let kept = |record: &Record| (record.at, record.turn.clone(), record.body.clone());
    let old = fs::read_to_string(place.path(&id.file_name())).unwrap();
    let old: Vec<Record> = old
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(texts(&old), ["Title", "two", "three"]);
    assert_eq!(kept(&records[2]), kept(&old[2]));
    drop(writer);

    let window = place.sessions.window(&id, None).unwrap().unwrap();
    assert_eq!((window.part, window.records), (2, records));
    assert!(!window.damaged && !window.cut);
    let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
    assert!(!list.incomplete);
    assert_eq!(list.sessions.len(), 1);
    let title = list.sessions[0].title.as_ref().unwrap();
    assert_eq!(title.as_str(), "Title");
}

#[test]
fn a_list_tells_when_the_last_part_changed() {
    let place = Place::new();
    let (writer, id) = continued(&place);
    drop(writer);
    for (name, day) in [(id.file_name(), 0), (id.part_name(2), 1)] {
        let file = fs::File::options()
            .write(true)
            .open(place.path(&name))
            .unwrap();
        let at = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(86_400 * day);
        file.set_modified(at).unwrap();
    }
    let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
    assert_eq!(list.sessions[0].updated_at, "1970-01-02T00:00:00.000Z");
}

#[test]
fn a_session_goes_on_however_often_it_is_full() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    let many = |count| (0..count).map(|_| input("")).collect::<Vec<_>>();
    for part in 2..5 {
        let room = MAX_READ_LINES - writer.extent().records as usize;
        writer.append(None, many(room), Flush::Written).unwrap();
        assert!(writer.extent().is_nearly_full() && !writer.extent().has_room(1, 1));
        assert!(matches!(
            append(&mut *writer, "beyond"),
            Err(AppendError::Full)
        ));
        let kept = writer
            .begin_part(
                None,
                head(),
                &|record| record.n > MAX_READ_LINES as u64 - 2,
                &|| false,
            )
            .unwrap();
        assert_eq!((kept.len(), writer.extent().records), (2, 4));
        append(&mut *writer, "goes on").unwrap();
        assert!(place.path(&id.part_name(part)).exists());
    }
    drop(writer);
    let (writer, records) = open(&place, &id).unwrap();
    assert_eq!(records[0].body, Body::Continuation { part: 4 });
    assert_eq!(records.len(), 5);
    assert!(!writer.extent().is_nearly_full());
}

#[test]
fn what_would_not_fit_begins_no_part() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let many = (0..MAX_READ_LINES).map(|_| input("")).collect();
    writer.append(None, many, Flush::Written).unwrap();
    let refused = writer.begin_part(None, head(), &|_| true, &|| false);
    assert!(matches!(refused, Err(AppendError::Full)));
    assert!(writer.is_unchanged());
    let id = writer.lease().id().clone();
    assert!(!place.path(&id.part_name(2)).exists());
    // Nor does one that is stopped, which is seen before the rest is read.
    let looks = std::cell::Cell::new(0);
    let stop = || {
        looks.set(looks.get() + 1);
        looks.get() == 3
    };
    let stopped = writer.begin_part(None, head(), &|_| false, &stop);
    assert!(matches!(stopped, Err(AppendError::Stopped)));
    assert_eq!(looks.get(), 3);
    assert!(writer.is_unchanged() && !place.path(&id.part_name(2)).exists());
    let kept = writer
        .begin_part(None, head(), &|_| false, &|| false)
        .unwrap();
    assert!(kept.is_empty());

    let mut empty = place.sessions.create().unwrap();
    let refused = empty.begin_part(None, head(), &|_| true, &|| false);
    assert!(matches!(refused, Err(AppendError::Failed)));
}

/// What would be written there could not be read again.
#[test]
fn a_look_holds_for_the_parts_that_there_were_and_only_so_many_are_kept() {
    let place = Place::new();
    let (mut writer, id) = continued(&place);
    let looks = Arc::clone(&place.sessions.looks);
    assert!(writer.is_unchanged());
    let last = |id: &SessionId| looks.last(&place.sessions.dir, id).unwrap();
    assert_eq!(last(&id), 2);
    writer
        .begin_part(None, head(), &|_| false, &|| false)
        .unwrap();
    assert_eq!(last(&id), 3);
    fs::remove_file(place.path(&id.part_name(3))).unwrap();
    assert_eq!(last(&id), 2);
    fs::remove_file(place.path(&id.part_name(2))).unwrap();
    assert_eq!(last(&id), 1);
    for _ in 0..super::super::parts::MAX_LOOKS + 3 {
        assert_eq!(last(&SessionId::random()), 1);
    }
    assert_eq!(looks.kept(), super::super::parts::MAX_LOOKS);
}

#[test]
fn a_session_of_a_hundred_parts_fills_its_last_and_goes_on_in_none() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    append(&mut *writer, "one").unwrap();
    for _ in 2..=MAX_PARTS {
        assert!(writer.extent().may_go_on());
        let begun = writer.begin_part(None, head(), &|_| false, &|| false);
        assert_eq!(begun.unwrap(), []);
    }
    let refused = writer.begin_part(None, head(), &|_| false, &|| false);
    assert!(matches!(refused, Err(AppendError::Full)));
    let many = (0..MAX_READ_LINES - 3).map(|_| input("")).collect();
    writer.append(None, many, Flush::Written).unwrap();
    let extent = writer.extent();
    assert!(!extent.may_go_on() && !extent.is_nearly_full());
    assert!(extent.has_room(1, 100) && !extent.has_room(2, 100));
    append(&mut *writer, "the last").unwrap();
    let beyond = append(&mut *writer, "beyond");
    assert!(matches!(beyond, Err(AppendError::Full)));
}

#[test]
fn what_a_killed_writer_left_of_a_part_goes_with_the_next_process() {
    let place = Place::new();
    let (writer, id) = continued(&place);
    drop(writer);
    let left = place.path(&format!(".magi-code-{:032x}.tmp", 7));
    fs::write(&left, "half a part").unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let file = fs::File::options().write(true).open(&left).unwrap();
    file.set_modified(old).unwrap();
    super::super::sweep::sweep(&place.sessions.dir);
    assert_eq!(place.names(), [id.part_name(2), id.file_name()]);
}
