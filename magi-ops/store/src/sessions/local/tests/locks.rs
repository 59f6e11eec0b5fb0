//! Tests of the locks of a session, within one process.
//! What they do between processes is tested beside the crate.

use super::*;

#[test]
fn the_lease_excludes_within_one_process_and_survives_a_reopen() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    assert!(matches!(open(&place, &id), Err(SessionError::Missing)));
    append(&mut *writer, "x").unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    let again = load(writer.lease()).unwrap();
    drop(writer);
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    drop(again);
    assert!(open(&place, &id).is_ok());
}

#[test]
fn an_attached_session_is_held_before_it_is_read() {
    let place = Place::new();
    let missing = "missing".parse().unwrap();
    assert!(matches!(
        place.sessions.attach(&missing),
        Err(SessionError::Missing)
    ));
    fs::create_dir(place.path("d.jsonl")).unwrap();
    let directory = "d".parse().unwrap();
    assert!(matches!(
        place.sessions.attach(&directory),
        Err(SessionError::Invalid(_))
    ));
    fs::remove_dir(place.path("d.jsonl")).unwrap();

    // Not even whether it could be read is asked.
    let id = place.put("s", "nonsense\n");
    let held = place.sessions.attach(&id).unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Busy)));
    assert!(matches!(
        load(Arc::clone(&held)),
        Err(SessionError::Invalid(_))
    ));
    place.put("s", line("s", 1, "one"));
    let mut opened = load(Arc::clone(&held)).unwrap();
    assert_eq!(texts(&opened.1), ["one"]);
    append(&mut *opened.0, "two").unwrap();
    drop(held);
    assert!(matches!(
        place.sessions.attach(&id),
        Err(SessionError::Busy)
    ));
    drop(opened);
    assert_eq!(place.names(), ["s.jsonl"], "locks go with their last use");
    assert_eq!(open(&place, &id).unwrap().1.len(), 2);
}

#[test]
fn who_is_attached_retains_the_file_and_refuses_others_without_its_lock_file_too() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    append(&mut *writer, "one").unwrap();
    let lock = |operation| {
        let file = fs::File::open(place.path(&id.file_name())).unwrap();
        flock(&file, operation).map(|()| file)
    };
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_err());
    assert!(lock(FlockOperation::NonBlockingLockShared).is_ok());
    fs::remove_file(place.path(&id.lock_name())).unwrap();
    for _ in 0..2 {
        assert!(matches!(
            place.sessions.attach(&id),
            Err(SessionError::Busy)
        ));
    }
    drop(writer);
    let pruner = lock(FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(matches!(
        place.sessions.attach(&id),
        Err(SessionError::Busy)
    ));
    drop(pruner);

    // A file that took the place of the retained one is retained when it is read.
    let held = place.sessions.attach(&id).unwrap();
    let copy = place.path("copy");
    fs::copy(place.path(&id.file_name()), &copy).unwrap();
    fs::rename(&copy, place.path(&id.file_name())).unwrap();
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_ok());
    load(Arc::clone(&held)).unwrap();
    assert!(lock(FlockOperation::NonBlockingLockExclusive).is_err());
}

#[test]
fn a_read_waits_for_an_append_but_an_append_for_a_read_not_for_ever() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    append(&mut *writer, "one").unwrap();
    let lock = || fs::File::open(place.path(&id.append_name())).unwrap();
    let appending = lock();
    flock(&appending, FlockOperation::LockExclusive).unwrap();
    assert!(matches!(
        place.sessions.window(&id, None),
        Err(SessionError::Busy)
    ));
    drop(appending);
    assert!(place.sessions.window(&id, None).is_ok());

    let reading = lock();
    flock(&reading, FlockOperation::LockShared).unwrap();
    assert!(place.sessions.window(&id, None).is_ok(), "two may read");
    append(&mut *writer, "two").unwrap();
    assert!(writer.is_unchanged());
    drop(writer);
    let kept = [id.append_name(), id.file_name()];
    assert_eq!(place.names(), kept, "what a reader holds stays its lock");
    drop(reading);
    drop(place.sessions.attach(&id).unwrap());
    assert_eq!(place.names(), [id.file_name()]);
}

#[test]
fn what_killed_processes_left_of_locks_goes_and_what_is_held_stays() {
    let place = Place::new();
    let held = place.sessions.create().unwrap();
    let own = format!("{}.lock", held.lease().id());
    let left = ["a.append", "a.lock", "b.lock"];
    for name in left.into_iter().chain(["not an id.lock", "c.txt"]) {
        fs::write(place.path(name), "").unwrap();
    }
    place.put("a", "");
    // The next process.
    let next = LocalSessions::new(&LocalHome::prepare(&place.dir.path().join("home")).unwrap());
    let other = next.create().unwrap();
    let mut expected = vec![
        own,
        format!("{}.lock", other.lease().id()),
        "a.jsonl".to_owned(),
        "c.txt".to_owned(),
        "not an id.lock".to_owned(),
    ];
    expected.sort();
    assert_eq!(place.names(), expected);
    drop(held);
    assert!(place.sessions.attach(&"a".parse().unwrap()).is_ok());
}
