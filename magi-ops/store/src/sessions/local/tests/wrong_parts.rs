//! Tests of parts of a session that are wrong, missing, unsafe or made by others: refused, and noticed in time.
//! Parts that are right are in `parts`.

use super::parts::{continued, head};
use super::*;
use redact::Redactor;

#[test]
fn a_part_that_is_none_makes_the_session_invalid() {
    let text = |part: u32| {
        let record = Record {
            body: Body::Continuation { part },
            ..serde_json::from_str(&line("s", 1, "")).unwrap()
        };
        serde_json::to_string(&record).unwrap() + "\n"
    };
    let behind = |n: u64, body: Body| {
        let record = Record {
            body,
            ..serde_json::from_str(&line("s", n, "")).unwrap()
        };
        serde_json::to_string(&record).unwrap() + "\n"
    };
    let session = Body::Session {
        created_at: 1,
        cwd: "/w".into(),
        provider: None,
        model: None,
    };
    let checkpoint = |n| behind(n, head().remove(0));
    let whole = text(2) + &checkpoint(2);
    for (part, opens) in [
        (whole.clone(), true),
        (text(2) + &behind(2, session.clone()) + &checkpoint(3), true),
        (whole.clone() + &line("s", 3, "x"), true),
        (whole.clone() + "{\"torn", true),
        // What was before is lost with the checkpoint.
        (text(2), false),
        (text(2) + "{\"torn", false),
        (text(2) + &behind(2, session.clone()), false),
        (text(2) + &behind(2, session.clone()) + "{\"torn", false),
        (whole[..whole.len() - 1].to_owned(), false),
        (text(2) + &line("s", 2, "x") + &checkpoint(3), false),
        (text(2) + &behind(2, session) + &line("s", 3, "x"), false),
        (text(3), false),
        (line("s", 1, "x"), false),
        (String::new(), false),
        ("torn".to_owned(), false),
        (text(2) + "\n", false),
        (text(2).replace("\"s\"", "\"other\""), false),
        (text(2) + &text(2).replace("\"n\":1", "\"n\":2"), false),
    ] {
        let place = Place::new();
        let id = place.put("s", line("s", 1, "one"));
        fs::write(place.path("s.2.jsonl"), &part).unwrap();
        let opened = open(&place, &id);
        assert_eq!(opened.is_ok(), opens, "{part}");
        if !opens {
            assert!(matches!(opened, Err(SessionError::Invalid(_))), "{part}");
            let window = place.sessions.window(&id, None).unwrap().unwrap();
            assert!(window.damaged, "{part}");
        }
        drop(opened);
        // Whoever looks at the beginning alone finds the same, as far as that goes.
        let head = place.sessions.attach(&id).unwrap().head();
        assert!(head.is_ok() || !opens, "{part}");
        assert!(head.is_err() || part.contains("checkpoint"), "{part}");
    }
    // A first file is no other part.
    let place = Place::new();
    let id = place.put("s", text(2));
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
}

#[test]
fn a_window_of_a_part_that_is_none_is_damaged() {
    let text = |n: u64, part: u32| {
        let record = Record {
            body: Body::Continuation { part },
            ..serde_json::from_str(&line("s", n, "")).unwrap()
        };
        serde_json::to_string(&record).unwrap() + "\n"
    };
    let checkpoint = Record {
        body: head().remove(0),
        ..serde_json::from_str(&line("s", 2, "")).unwrap()
    };
    let begin = text(1, 2) + &serde_json::to_string(&checkpoint).unwrap() + "\n";
    let long: String = (3..3000).map(|n| line("s", n, &"x".repeat(1000))).collect();
    for (part, damaged) in [
        (begin.clone(), false),
        (begin.clone() + &line("s", 3, "x"), false),
        (begin.clone() + &long, false),
        (text(1, 2), true),
        (text(1, 2) + &line("s", 2, "x"), true),
        (String::new(), true),
        (line("s", 1, "x"), true),
        (text(1, 3), true),
        (begin.clone() + &text(3, 2), true),
        (begin.clone() + &long + &text(3000, 2), true),
    ] {
        let place = Place::new();
        let id = place.put("s", line("s", 1, "one"));
        fs::write(place.path("s.2.jsonl"), &part).unwrap();
        let window = place.sessions.window(&id, None).unwrap().unwrap();
        let begins = &part[..part.len().min(200)];
        assert_eq!(window.damaged, damaged, "{begins}");
    }
    let place = Place::new();
    let id = place.put("s", line("s", 1, "one") + &text(2, 2));
    assert!(place.sessions.window(&id, None).unwrap().unwrap().damaged);
}

#[test]
fn a_part_that_is_missing_before_the_last_makes_the_session_invalid() {
    for last in [3, 4, 100] {
        let place = Place::new();
        let mut writer = place.sessions.create().unwrap();
        append(&mut *writer, "one").unwrap();
        let id = writer.lease().id().clone();
        fs::write(place.path(&id.part_name(last)), "").unwrap();
        place.sessions.looks.forget();
        // Whoever is attached makes no part that the last one would hide.
        let refused = writer.begin_part(None, head(), &|_| true, &|| false);
        assert!(refused.is_err() && !writer.is_unchanged(), "{last}");
        drop(writer);
        let attached = place.sessions.attach(&id);
        assert!(matches!(attached, Err(SessionError::Invalid(_))), "{last}");
        let window = place.sessions.window(&id, None);
        assert!(matches!(window, Err(SessionError::Invalid(_))), "{last}");
        let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
        assert!(list.sessions.is_empty() && list.incomplete);
        assert_eq!(place.names().len(), 2, "{:?}", place.names());
    }
}

#[test]
fn nothing_is_written_to_a_part_that_nobody_would_read() {
    type Way = fn(&Place, &SessionId);
    let ways: [(&str, Way); 7] = [
        ("the first is gone", |place, id| {
            fs::rename(place.path(&id.file_name()), place.path("away")).unwrap();
        }),
        ("the first is another", |place, id| {
            fs::copy(place.path(&id.file_name()), place.path("copy")).unwrap();
            fs::rename(place.path("copy"), place.path(&id.file_name())).unwrap();
        }),
        ("the first has a second name", |place, id| {
            fs::hard_link(place.path(&id.file_name()), place.path("link")).unwrap();
        }),
        ("the first is everybody's", |place, id| {
            let mode = fs::Permissions::from_mode(0o666);
            fs::set_permissions(place.path(&id.file_name()), mode).unwrap();
        }),
        ("one came behind", |place, id| {
            fs::copy(place.path(&id.part_name(2)), place.path(&id.part_name(3))).unwrap();
        }),
        ("one came with a hole before it", |place, id| {
            fs::copy(place.path(&id.part_name(2)), place.path(&id.part_name(4))).unwrap();
        }),
        ("the last is gone", |place, id| {
            fs::rename(place.path(&id.part_name(2)), place.path("away")).unwrap();
        }),
    ];
    for (what, way) in ways {
        let place = Place::new();
        let (mut writer, id) = continued(&place);
        way(&place, &id);
        place.sessions.looks.forget();
        let last = fs::read(place.path(&id.part_name(2))).ok();
        let names = place.names();
        let refused = append(&mut *writer, "lost");
        assert!(matches!(refused, Err(AppendError::Changed)), "{what}");
        let refused = writer.begin_part(None, head(), &|_| true, &|| false);
        assert!(matches!(refused, Err(AppendError::Changed)), "{what}");
        assert!(!writer.is_unchanged(), "{what}");
        assert_eq!(fs::read(place.path(&id.part_name(2))).ok(), last, "{what}");
        assert_eq!(place.names(), names, "{what}");
    }
    // A session of one part has others as soon as somebody puts one there.
    let place = Place::new();
    let mut writer = place.sessions.create().unwrap();
    append(&mut *writer, "one").unwrap();
    let id = writer.lease().id().clone();
    fs::write(place.path(&id.part_name(2)), "").unwrap();
    let refused = append(&mut *writer, "lost");
    assert!(matches!(refused, Err(AppendError::Changed)));
    fs::remove_file(place.path(&id.part_name(2))).unwrap();
    append(&mut *writer, "two").unwrap();
}

#[test]
fn a_part_that_is_missing_is_noticed_by_the_next_whole_look() {
    for last in [4, 100] {
        let place = Place::new();
        let (mut writer, id) = continued(&place);
        assert!(writer.is_unchanged());
        fs::write(place.path(&id.part_name(last)), "").unwrap();
        // Whoever reads everything or makes a part looks at once.
        let refused = writer.begin_part(None, head(), &|_| true, &|| false);
        assert!(refused.is_err() && !place.path(&id.part_name(3)).exists());
        let read = writer.lease().load(&mut |_| {});
        assert!(matches!(read, Err(SessionError::Invalid(_))), "{last}");
        // Everybody else in a moment.
        place.sessions.looks.forget();
        assert!(!writer.is_unchanged());
        let position = writer.position().unwrap();
        let resumed = writer.lease().resume(&position);
        assert!(matches!(resumed, Err(SessionError::Invalid(_))), "{last}");
        drop(writer);
        let attached = place.sessions.attach(&id);
        assert!(matches!(attached, Err(SessionError::Invalid(_))), "{last}");
        let window = place.sessions.window(&id, None);
        assert!(matches!(window, Err(SessionError::Invalid(_))), "{last}");
    }
}

#[test]
fn the_last_part_alone_decides_what_a_session_is() {
    let place = Place::new();
    let (writer, id) = continued(&place);
    drop(writer);
    fs::write(place.path(&id.file_name()), "junk\n").unwrap();
    let lease = place.sessions.attach(&id).unwrap();
    assert_eq!(lease.head().unwrap().len(), 2);
    drop(lease);
    assert_eq!(open(&place, &id).unwrap().1.len(), 5);
    assert!(!place.sessions.window(&id, None).unwrap().unwrap().damaged);
    // It is listed too, without the title that is gone.
    let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
    assert_eq!(list.sessions.len(), 1);
    assert!(list.sessions[0].title.is_none() && list.incomplete);
}

#[test]
fn a_session_whose_last_part_is_unsafe_is_not_attached() {
    let place = Place::new();
    let (writer, id) = continued(&place);
    drop(writer);
    let part = place.path(&id.part_name(2));
    let away = part.with_extension("away");
    let attached = || match place.sessions.attach(&id) {
        Ok(_) => true,
        Err(SessionError::Invalid(_)) => false,
        Err(error) => panic!("{error}"),
    };
    assert!(attached());
    fs::set_permissions(&part, fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!attached(), "everybody may write it");
    fs::set_permissions(&part, fs::Permissions::from_mode(0o600)).unwrap();
    fs::hard_link(&part, &away).unwrap();
    assert!(!attached(), "another name");
    fs::remove_file(&part).unwrap();
    symlink(&away, &part).unwrap();
    assert!(!attached(), "a link");
    fs::remove_file(&part).unwrap();
    fs::create_dir(&part).unwrap();
    assert!(!attached(), "a folder");
}

#[test]
fn parts_that_others_make_take_or_reach_are_noticed() {
    // Another part.
    let place = Place::new();
    let (mut writer, id) = continued(&place);
    let position = writer.position().unwrap();
    fs::write(place.path(&id.part_name(3)), "").unwrap();
    assert!(!writer.is_unchanged());
    assert!(matches!(
        writer.begin_part(None, head(), &|_| false, &|| false),
        Err(AppendError::Changed)
    ));
    drop(writer);
    let lease = place.sessions.attach(&id).unwrap();
    assert!(Arc::clone(&lease).resume(&position).unwrap().is_none());
    drop(lease);
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));

    // The first file is the session.
    let place = Place::new();
    let (mut writer, id) = continued(&place);
    fs::remove_file(place.path(&id.file_name())).unwrap();
    assert!(!writer.is_unchanged());
    drop(writer);
    assert!(matches!(open(&place, &id), Err(SessionError::Missing)));
    let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
    assert!(list.sessions.is_empty() && !list.incomplete);

    // The part itself.
    let place = Place::new();
    let (mut writer, id) = continued(&place);
    let part = place.path(&id.part_name(2));
    fs::hard_link(&part, part.with_extension("other")).unwrap();
    assert!(matches!(
        append(&mut *writer, "x"),
        Err(AppendError::Changed)
    ));
    assert!(!writer.is_unchanged());
    drop(writer);
    assert!(matches!(open(&place, &id), Err(SessionError::Invalid(_))));
    assert!(place.sessions.window(&id, None).is_err());
    let list = place.sessions.list(None, 32, &Redactor::default()).unwrap();
    assert!(list.sessions.is_empty() && list.incomplete);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However a part is cut short, every line before the cut is read; a cut within its head leaves no part.
    #[test]
    fn any_prefix_of_a_part_opens(cut in any::<prop::sample::Index>()) {
        let place = Place::new();
        let (writer, id) = continued(&place);
        drop(writer);
        let path = place.path(&id.part_name(2));
        let whole = fs::read(&path).unwrap();
        let cut = cut.index(whole.len() + 1);
        fs::write(&path, &whole[..cut]).unwrap();
        let lines = whole[..cut].iter().filter(|&&byte| byte == b'\n').count();
        match open(&place, &id) {
            Ok((_, records)) => prop_assert_eq!(records.len(), lines),
            Err(error) => prop_assert!(lines < 2 && matches!(error, SessionError::Invalid(_))),
        }
    }
}
