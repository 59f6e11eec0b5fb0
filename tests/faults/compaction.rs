//! SIGKILL at every point of turns that make their conversation shorter, or that begin another part of a full session: what
//! was acknowledged is there, and the session goes on.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::driver::{Driver, Kind, Seen};
use crate::local_agent::LocalAgent;
use crate::seeded::{Random, seed};
use crate::support::Place;

/// Every turn but the first needs a summary before its first request, and another one behind its call.
fn place() -> Arc<Place> {
    let used = |tokens: u64| json!({"usage": {"input": tokens, "output": 0}});
    let turns: Vec<_> = (0..200)
        .map(|n| {
            json!({"steps": [
                {"text": format!("Look {n}. "), "chunks": 2, "delay_ms": 1},
                used(950),
                {"tool": "read", "input": {"path": "a.txt"}},
                {"text": format!("Answer {n}."), "chunks": 2, "delay_ms": 1},
                used(950),
            ]})
        })
        .collect();
    let summary = json!({"steps": [{"text": "In short. ", "chunks": 4, "delay_ms": 1}, used(7)]});
    let place = Place::with_window(&json!({"turns": turns, "compaction": summary}), 1000);
    place.write_file("a.txt", "some content\n");
    place
}

/// One more prompt, and the death of its child when it has said so many things; nothing after its end.
fn death(
    place: &Arc<Place>,
    session: &mut Option<String>,
    sent: &mut Vec<(String, bool)>,
    most: usize,
) {
    let mut driver = LocalAgent::ready(place);
    let id = match session {
        Some(id) => {
            let history = driver.open(id).expect("the session opens");
            let stored = history.texts(Kind::User);
            let mut stored = stored.iter().peekable();
            sent.retain(|(prompt, acknowledged)| {
                let there = stored.next_if(|it| **it == prompt).is_some();
                assert!(
                    there || !acknowledged,
                    "an acknowledged input is lost: {prompt}"
                );
                there
            });
            assert_eq!(stored.next(), None, "a prompt that nobody sent");
            id.clone()
        }
        None => driver.create(),
    };
    let prompt = format!("prompt {} {most}", sent.len());
    driver.begin(&id, &prompt);
    let mut seen = Vec::new();
    while seen.len() < most && !matches!(seen.last(), Some(Seen::Ended { .. })) {
        seen.push(driver.next());
    }
    seen.extend(driver.kill());
    let acknowledged = seen.contains(&Seen::InputStored);
    if acknowledged || session.is_some() {
        *session = Some(id);
    }
    if session.is_some() {
        sent.push((prompt, acknowledged));
    }
}

#[test]
fn sigkill_at_every_point_of_a_compaction_loses_nothing_acknowledged() {
    let place = place();
    let (mut session, mut sent) = (None, Vec::new());
    death(&place, &mut session, &mut sent, usize::MAX);
    for most in 0..24 {
        death(&place, &mut session, &mut sent, most);
    }
    let file = LocalAgent::session_file(&place, session.as_ref().unwrap());
    let stored = std::fs::read_to_string(file).unwrap();
    assert!(stored.matches(r#""type":"checkpoint""#).count() > 5);
    // It still goes on.
    let mut driver = LocalAgent::ready(&place);
    let id = session.unwrap();
    driver.open(&id).unwrap();
    driver.turn(&id, "the last");
    driver.end();
}

/// Lengthens the last part of a session until it is nearly full.
fn lengthen(place: &Place, session: &str, part: u32) {
    let path = match part {
        1 => place.session_file(session),
        _ => place
            .session_file(session)
            .with_extension(format!("{part}.jsonl")),
    };
    let mut text = std::fs::read_to_string(&path).unwrap();
    // A torn end is of no record.
    text.truncate(text.rfind('\n').map_or(0, |at| at + 1));
    // Of which nothing is shown.
    let body = json!({"type": "reasoning", "text": ""});
    for n in text.lines().count() + 1..=76_000 {
        let record: Value = json!({"v": 1, "n": n, "session": session, "at": 1, "body": body});
        text += &format!("{record}\n");
    }
    std::fs::write(path, text).unwrap();
}

#[test]
fn sigkill_at_every_point_of_a_continuation_leaves_one_session_that_goes_on() {
    let seed = seed();
    let mut random = Random::new(seed);
    let place = place();
    let mut driver = LocalAgent::ready(&place);
    let id = driver.create();
    driver.turn(&id, "the first");
    driver.end();
    let parts = || {
        let names = std::fs::read_dir(place.mc_home().join("sessions")).unwrap();
        let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".jsonl")).count() as u32
    };
    for most in [1, 3, 5, 6] {
        lengthen(&place, &id, parts());
        let before = parts();
        let mut driver = LocalAgent::ready(&place);
        driver.open(&id).expect("a full session opens");
        driver.begin(&id, &format!("prompt {most}"));
        let mut seen = Vec::new();
        while seen.len() < most && !matches!(seen.last(), Some(Seen::Ended { .. })) {
            seen.push(driver.next());
        }
        std::thread::sleep(std::time::Duration::from_millis(random.below(30)));
        seen.extend(driver.kill());
        assert!((before..=before + 1).contains(&parts()));
        let mut driver = LocalAgent::ready(&place);
        let history = driver
            .open(&id)
            .unwrap_or_else(|error| panic!("{seed}, {most}: {error:?}"));
        let last = format!("prompt {most}");
        let stored = history.texts(Kind::User);
        if seen.contains(&Seen::InputStored) {
            assert!(
                stored.contains(&last.as_str()),
                "{seed}, {most}: {stored:?}"
            );
        }
        driver.turn(&id, "goes on");
        driver.end();
    }
    assert!(parts() > 2);
}
