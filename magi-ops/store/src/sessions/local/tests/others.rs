//! Tests of session files that others made, reach or change: refused, kept, never written over.
//! On a real disk, within a temporary directory.

use super::*;

#[test]
fn links_directories_pipes_and_unreadable_files_are_invalid() {
    let place = Place::new();
    let target = place.dir.path().join("elsewhere.jsonl");
    fs::write(&target, line("s", 1, "x")).unwrap();
    symlink(&target, place.path("s.jsonl")).unwrap();
    fs::create_dir(place.path("d.jsonl")).unwrap();
    let pipe = place.path("p.jsonl");
    let mode = rustix::fs::Mode::from(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    for name in ["s", "d", "p"] {
        let id = name.parse().unwrap();
        assert!(
            matches!(open(&place, &id), Err(SessionError::Invalid(_))),
            "{name}"
        );
    }
    let id = place.put("l", line("l", 1, "x"));
    symlink(&target, place.path("l.lock")).unwrap();
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
}

/// Everybody who comes for a session whose file, or whose lock, others can reach is refused, and nothing is written.
#[test]
fn a_file_that_others_can_reach_is_refused_and_kept() {
    type Unsafe = fn(&Path);
    let ways: [(&str, Unsafe); 3] = [
        ("linked", |path| {
            fs::hard_link(path, path.with_extension("link")).unwrap();
        }),
        ("everybody's", |path| {
            fs::set_permissions(path, fs::Permissions::from_mode(0o602)).unwrap();
        }),
        ("a link", |path| {
            let real = path.with_extension("real");
            fs::rename(path, &real).unwrap();
            symlink(real, path).unwrap();
        }),
    ];
    for (what, make) in ways {
        for name in ["s.jsonl", "s.lock", "s.append"] {
            let place = Place::new();
            let id = place.put("s", line("s", 1, "x"));
            let path = place.path(name);
            if name != "s.jsonl" {
                fs::write(&path, "theirs").unwrap();
            }
            let before = fs::read(&path).unwrap();
            make(&path);
            let opened = open(&place, &id);
            assert!(
                matches!(opened, Err(SessionError::Invalid(_))),
                "{what} {name}"
            );
            // A reading takes no lease.
            let seen = place.sessions.window(&id, None);
            assert_eq!(seen.is_err(), name != "s.lock", "{what} {name}");
            assert_eq!(fs::read(&path).unwrap(), before, "{what} {name}");
        }
    }
}

#[test]
fn a_name_that_comes_while_attached_stops_the_writer() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    append(&mut *writer, "one").unwrap();
    let path = place.path(&writer.lease().id().file_name());
    fs::hard_link(&path, place.path("other name")).unwrap();
    let before = fs::read(&path).unwrap();
    assert!(!writer.is_unchanged());
    let refused = append(&mut *writer, "two");
    assert!(matches!(refused, Err(AppendError::Changed)));
    assert_eq!(fs::read(&path).unwrap(), before);
    fs::remove_file(place.path("other name")).unwrap();
    append(&mut *writer, "two").unwrap();
    assert!(writer.is_unchanged());
}

#[test]
fn what_no_crash_leaves_is_neither_read_nor_cut() {
    let first = line("s", 1, "one");
    for junk in [
        b"\x7fELF\x02\x01\x01".as_slice(),
        b"\0\0\0\0",
        b"{",
        &first.as_bytes()[..first.len() / 2],
        first.trim_end().as_bytes(),
        b"junk\n",
        b"\n",
    ] {
        let place = Place::new();
        let id = place.put("s", junk);
        let opened = open(&place, &id);
        assert!(matches!(opened, Err(SessionError::Invalid(_))), "{junk:?}");
        assert_eq!(fs::read(place.path("s.jsonl")).unwrap(), junk);
        // Also where it came after the empty file was opened.
        let id = place.put("e", "");
        let mut opened = open(&place, &id).unwrap();
        fs::write(place.path("e.jsonl"), junk).unwrap();
        assert!(!opened.0.is_unchanged());
        let refused = append(&mut *opened.0, "mine");
        assert!(matches!(refused, Err(AppendError::Changed)), "{junk:?}");
        assert_eq!(fs::read(place.path("e.jsonl")).unwrap(), junk);
    }
}

#[test]
fn a_change_within_the_same_moment_is_noticed() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let path = place.path(&writer.lease().id().file_name());
    for round in 0..50 {
        append(&mut *writer, "one").unwrap();
        assert!(writer.is_unchanged());
        // The same length at once after the append, its time put back.
        let time = fs::metadata(&path).unwrap().modified().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let file = fs::File::options().write(true).open(&path).unwrap();
        let changed = text.replace("one", "two");
        std::os::unix::fs::FileExt::write_all_at(&file, changed.as_bytes(), 0).unwrap();
        assert!(!writer.is_unchanged(), "round {round}");
        std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).unwrap();
        assert!(writer.is_unchanged(), "round {round}: the same bytes");
        file.set_modified(time).unwrap();
        assert!(writer.is_unchanged(), "round {round}: the same time");
    }
}

#[test]
fn a_writer_goes_on_under_a_later_lease_unless_somebody_wrote_between() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let id = writer.lease().id().clone();
    assert!(writer.position().is_none(), "there is no file yet");
    append(&mut *writer, "one").unwrap();
    for round in 0..3 {
        let position = writer.position().unwrap();
        drop(writer);
        let lease = place.sessions.attach(&id).unwrap();
        writer = lease.resume(&position).unwrap().unwrap();
        assert!(writer.is_unchanged(), "round {round}");
        append(&mut *writer, "more").unwrap();
    }
    let position = writer.position().unwrap();
    drop(writer);
    assert_eq!(open(&place, &id).unwrap().1.len(), 4);
    // The same length, at once.
    let path = place.path(&id.file_name());
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("one", "two")).unwrap();
    let lease = place.sessions.attach(&id).unwrap();
    assert!(lease.resume(&position).unwrap().is_none());
}

#[test]
fn edits_by_others_are_noticed_and_never_written_over() {
    type Edit = fn(&Path);
    let edits: [(&str, Edit, bool); 5] = [
        (
            "appended",
            |path| {
                let mut text = fs::read_to_string(path).unwrap();
                text.push_str("{\"theirs\":1}\n");
                fs::write(path, text).unwrap();
            },
            true,
        ),
        ("truncated", |path| fs::write(path, "").unwrap(), true),
        ("removed", |path| fs::remove_file(path).unwrap(), true),
        (
            "replaced",
            |path| {
                let copy = path.with_extension("copy");
                fs::copy(path, &copy).unwrap();
                fs::rename(copy, path).unwrap();
            },
            true,
        ),
        // Same length: known by the digest when somebody looks.
        (
            "changed in place",
            |path| {
                let text = fs::read_to_string(path).unwrap().replace("one", "two");
                fs::write(path, text).unwrap();
            },
            false,
        ),
    ];
    for (what, edit, refused) in edits {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        append(&mut *writer, "one").unwrap();
        assert!(writer.is_unchanged());
        let path = place.path(&writer.lease().id().file_name());
        edit(&path);
        let before = fs::read(&path).ok();
        assert!(!writer.is_unchanged(), "{what}");
        if refused {
            let error = append(&mut *writer, "mine").unwrap_err();
            assert!(matches!(error, AppendError::Changed), "{what}: {error}");
            assert_eq!(fs::read(&path).ok(), before, "{what}");
        }
        assert!(!writer.is_unchanged(), "{what}");
    }
}

#[test]
fn a_file_in_the_way_of_a_new_session_is_not_touched() {
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    let path = place.path(&writer.lease().id().file_name());
    fs::write(&path, "theirs").unwrap();
    assert!(!writer.is_unchanged());
    assert!(append(&mut *writer, "mine").is_err());
    assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
}
