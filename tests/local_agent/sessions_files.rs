//! The files of sessions: which are opened and which are `session_invalid` (spec: "Owned sessions and chat history").
//! Who owns a session is the parent's.

use super::*;

#[test]
fn empty_existing_file_is_a_durable_session() {
    let place = hello();
    let mut agent = Agent::ready(&place);
    std::fs::create_dir_all(place.session_file("x").parent().unwrap()).unwrap();
    std::fs::write(place.session_file("empty-1"), "").unwrap();
    let opened = agent.ok("session.open", open("empty-1"));
    assert_eq!(opened["durable"], true);
    let (entries, complete) = agent.history("empty-1", opened["revision"].as_str().unwrap());
    assert!(entries.is_empty() && complete);
    assert_eq!(agent.turn("empty-1", "go").outcome(), "completed");
    agent.end();
}

#[test]
fn unsafe_session_ids_are_session_invalid() {
    let mut agent = Agent::ready(&Place::new());
    let long = "a".repeat(65);
    for id in [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a.b",
        "a b",
        "ä",
        "a\0b",
        "~",
        long.as_str(),
    ] {
        assert_eq!(
            agent.err("session.open", open(id)),
            "session_invalid",
            "{id:?}"
        );
    }
    agent.end();
}

#[test]
fn files_that_are_not_safe_regular_files_are_session_invalid() {
    let place = hello();
    let session = stored(&place);
    let outside = place.root().join("outside.jsonl");
    std::fs::copy(place.session_file(&session), &outside).unwrap();
    symlink(&outside, place.session_file("linked")).unwrap();
    std::fs::create_dir(place.session_file("folder")).unwrap();
    let mut agent = Agent::ready(&place);
    for id in ["linked", "folder"] {
        assert_eq!(
            agent.err("session.open", open(id)),
            "session_invalid",
            "{id}"
        );
    }
    agent.end();
}

#[test]
fn malformed_line_in_the_middle_is_session_invalid() {
    let place = hello();
    let session = stored(&place);
    let good = std::fs::read_to_string(place.session_file(&session)).unwrap();
    let first = good.lines().next().unwrap();
    let rest = &good[first.len() + 1..];
    for bad in ["{", "[]", "not json", "{}", "{\"type\":\"no-such-record\"}"] {
        std::fs::write(
            place.session_file(&session),
            format!("{first}\n{bad}\n{rest}"),
        )
        .unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(
            agent.err("session.open", open(&session)),
            "session_invalid",
            "{bad}"
        );
        agent.end();
    }
    std::fs::write(
        place.session_file(&session),
        [first.as_bytes(), b"\n\xff\xfe\n", rest.as_bytes()].concat(),
    )
    .unwrap();
    let mut agent = Agent::ready(&place);
    assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
    agent.end();
}

#[test]
fn records_of_another_session_are_session_invalid() {
    let place = hello();
    let session = stored(&place);
    std::fs::copy(place.session_file(&session), place.session_file("renamed")).unwrap();
    let text = std::fs::read_to_string(place.session_file("renamed")).unwrap();
    assert!(text.contains(&session), "the records name their session");
    let mut agent = Agent::ready(&place);
    assert_eq!(
        agent.err("session.open", open("renamed")),
        "session_invalid"
    );
    agent.end();
}

#[test]
fn session_that_others_can_reach_is_session_invalid_and_kept() {
    use std::os::unix::fs::PermissionsExt;
    type Unsafe = fn(&std::path::Path);
    let ways: [(&str, Unsafe); 3] = [
        ("jsonl", |file| {
            std::fs::hard_link(file, file.with_extension("other")).unwrap();
        }),
        ("jsonl", |file| {
            std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o666)).unwrap();
        }),
        ("lock", |lock| {
            let other = lock.with_extension("other");
            std::fs::write(&other, "theirs").unwrap();
            std::fs::hard_link(other, lock).unwrap();
        }),
    ];
    for (extension, make) in ways {
        let place = hello();
        let session = stored(&place);
        let file = place.session_file(&session);
        let before = std::fs::read(&file).unwrap();
        make(&file.with_extension(extension));
        let mut agent = Agent::ready(&place);
        assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
        assert_eq!(std::fs::read(&file).unwrap(), before);
        agent.end();
    }
}

#[test]
fn file_without_one_whole_record_is_session_invalid_and_kept() {
    let place = hello();
    let session = stored(&place);
    let file = place.session_file(&session);
    let whole = std::fs::read(&file).unwrap();
    let first = whole.iter().position(|byte| *byte == b'\n').unwrap();
    let binary: Vec<u8> = (0..4096u32).map(|n| (n * 7 % 256) as u8).collect();
    for junk in [
        binary.as_slice(),
        b"\x7fELF\x02\x01\x01\0\0",
        b"\0\0\0\0",
        b"no line end",
        &whole[..first / 2],
        &whole[..first],
    ] {
        std::fs::write(&file, junk).unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(agent.err("session.open", open(&session)), "session_invalid");
        assert_eq!(std::fs::read(&file).unwrap(), junk, "taken over");
        agent.end();
    }
}
