//! Histories written by hand in the stored format: budgets, older records, restoration (spec: "Owned
//! sessions and chat history"). Sessions that the child itself wrote are in sessions.rs and history.rs.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::Agent;
use crate::support::Place;

#[path = "stored_projection.rs"]
mod projection;

const SESSION: &str = "by-hand";

/// A place with one session of these bodies, each with the turn it belongs to.
fn place_with(bodies: impl IntoIterator<Item = (u64, Value)>) -> Arc<Place> {
    let place = Place::new();
    let mut text = String::new();
    for (n, (turn, body)) in bodies.into_iter().enumerate() {
        let record = json!({
            "v": 1, "n": n + 1, "session": SESSION, "at": 1_796_000_000_000u64,
            "turn": format!("00000000-0000-4000-8000-{turn:012}"), "body": body
        });
        text += &record.to_string();
        text.push('\n');
    }
    let file = place.session_file(SESSION);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
    place
}

/// The first record of a session in the place's own workspace is not known before the place is:
/// an empty cwd stands for older metadata.
fn session_record() -> Value {
    json!({"type": "session", "created_at": 1_796_000_000_000u64, "cwd": ""})
}

fn user(n: u64, text: &str) -> Value {
    json!({"type": "user_input", "message_id": format!("user-{n}"), "text": text})
}

fn finished() -> Value {
    json!({"type": "turn_finished", "outcome": "completed"})
}

/// One finished turn of these bodies after its prompt.
fn turn(bodies: Vec<Value>) -> Vec<(u64, Value)> {
    let mut all = vec![session_record(), user(1, "prompt")];
    all.extend(bodies);
    all.push(finished());
    all.into_iter().map(|body| (1, body)).collect()
}

fn open(agent: &mut Agent) -> Value {
    agent.ok("session.open", json!({"session_id": SESSION}))
}

/// Opens the session and reads its whole history.
fn read(place: &Arc<Place>) -> (Vec<Value>, bool) {
    let mut agent = Agent::ready(place);
    let opened = open(&mut agent);
    let history = agent.history(SESSION, opened["revision"].as_str().unwrap());
    agent.end();
    history
}

fn texts<'a>(entries: &'a [Value], kind: &str) -> Vec<&'a str> {
    entries
        .iter()
        .filter(|entry| entry["kind"] == kind)
        .map(|entry| entry["text"].as_str().unwrap())
        .collect()
}

/// The budget is enforced when opening or when paging, and never by a page that claims completeness.
fn assert_over_budget(place: &Arc<Place>) {
    let mut agent = Agent::ready(place);
    let opened = agent.call("session.open", json!({"session_id": SESSION}));
    let code = match opened.get("result") {
        None => opened["error"]["code"].as_str().unwrap().to_owned(),
        Some(result) => agent.err(
            "history.page",
            json!({"session_id": SESSION, "revision": result["revision"], "cursor": null}),
        ),
    };
    assert_eq!(code, "history_limit");
    // The connection stays usable.
    agent.create();
    agent.end();
}

#[test]
fn absent_cwd_metadata_gives_a_notice() {
    let place = place_with(turn(vec![]));
    let mut agent = Agent::ready(&place);
    assert_eq!(open(&mut agent)["notices"], json!(["cwd_unverified"]));
    agent.end();
}

#[test]
fn relative_recorded_cwd_is_cwd_mismatch() {
    for cwd in [".", "work", "../work"] {
        let mut bodies = turn(vec![]);
        bodies[0].1["cwd"] = json!(cwd);
        let mut agent = Agent::ready(&place_with(bodies));
        assert_eq!(
            agent.err("session.open", json!({"session_id": SESSION})),
            "cwd_mismatch",
            "{cwd}"
        );
        agent.end();
    }
}

#[test]
fn missing_record_is_session_invalid() {
    let place = place_with(turn(vec![session_record(), user(1, "a"), finished()]));
    let file = place.session_file(SESSION);
    let text = std::fs::read_to_string(&file).unwrap();
    let without_second: String = text
        .lines()
        .enumerate()
        .filter(|(n, _)| *n != 1)
        .map(|(_, line)| format!("{line}\n"))
        .collect();
    std::fs::write(&file, without_second).unwrap();
    let mut agent = Agent::ready(&place);
    let open = json!({"session_id": SESSION});
    assert_eq!(agent.err("session.open", open), "session_invalid");
    agent.end();
}

#[test]
#[cfg(target_os = "linux")]
fn workspaces_that_are_not_utf_8_are_verified_too() {
    use std::os::unix::ffi::OsStrExt;
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    let folder = |byte: u8| {
        let path = place
            .work()
            .join(std::ffi::OsStr::from_bytes(&[b'n', byte]));
        std::fs::create_dir_all(&path).unwrap();
        path
    };
    let ready = |cwd| {
        let mut agent = Agent::spawn(crate::client::launch().place(&place).cwd(cwd));
        agent.initialize();
        agent
    };
    let mut agent = ready(folder(0xff));
    let session = agent.create();
    agent.turn(&session, "go");
    agent.end();
    let open = json!({"session_id": session});
    let mut other = ready(folder(0xfe));
    assert_eq!(other.err("session.open", open.clone()), "cwd_mismatch");
    other.end();
    let mut same = ready(folder(0xff));
    assert_eq!(same.ok("session.open", open)["notices"], json!([]));
    same.end();
}

#[test]
fn unavailable_saved_selection_keeps_the_startup_selection_and_says_so() {
    let mut bodies = turn(vec![]);
    bodies[0].1["provider"] = json!("gone-provider");
    bodies[0].1["model"] = json!("gone-model");
    let place = place_with(bodies);
    let before = std::fs::read(place.session_file(SESSION)).unwrap();
    let mut agent = Agent::ready(&place);
    let notices = open(&mut agent)["notices"].clone();
    assert!(
        notices
            .as_array()
            .unwrap()
            .contains(&json!("saved_selection_unavailable")),
        "{notices}"
    );
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["provider"], &status["model"]),
        (&json!("fixture"), &json!("fixture-model"))
    );
    agent.end();
    assert_eq!(
        std::fs::read(place.session_file(SESSION)).unwrap(),
        before,
        "opening wrote history"
    );
}

fn selection(provider: &str, model: &str, thinking: &str) -> Value {
    json!({"type": "selection", "provider": provider, "model": model, "thinking": thinking})
}

/// The selections that the file holds now, in order.
fn selections(place: &Place) -> Vec<Value> {
    let bodies = place.records(SESSION).into_iter();
    bodies.filter(|body| body["type"] == "selection").collect()
}

/// A place with a session that was used with `selected`, and two models of the offline provider.
fn place_with_selection(selected: &Value) -> Arc<Place> {
    let mut bodies = turn(vec![]);
    bodies.insert(1, (1, selected.clone()));
    let place = place_with(bodies);
    place.write_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    place.write_settings(&json!({
        "model": "one",
        "providers": {
            "fixture": {"models": ["one", "two"], "script": place.root().join("script.json")},
            "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9/"},
        },
    }));
    place
}

#[test]
fn saved_selection_is_restored_without_writing() {
    let saved = selection("fixture", "two", "high");
    let place = place_with_selection(&saved);
    let settings = place.mc_home().join("settings.json");
    let files =
        || [&settings, &place.session_file(SESSION)].map(|path| std::fs::read(path).unwrap());
    let before = files();
    let mut agent = Agent::spawn(crate::client::launch().place(&place));
    assert_eq!(agent.initialize()["status"]["model"], "one");
    assert_eq!(open(&mut agent)["notices"], json!(["cwd_unverified"]));
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["provider"], &status["model"]),
        (&json!("fixture"), &json!("two"))
    );
    assert_eq!(files(), before, "opening wrote something");
    // A run tells the session what answers if that is new to it: nothing was, its thinking included.
    assert_eq!(agent.turn(SESSION, "go").outcome(), "completed");
    assert_eq!(selections(&place), [saved]);
    // A new session begins with what the settings select.
    agent.create();
    assert_eq!(agent.ok("status", json!({}))["model"], "one");
    agent.end();
}

#[test]
fn thinking_level_stays_where_the_saved_model_is_gone() {
    let saved = selection("fixture", "three", "max");
    let place = place_with_selection(&saved);
    let mut agent = Agent::ready(&place);
    assert_eq!(
        open(&mut agent)["notices"],
        json!(["cwd_unverified", "saved_selection_unavailable"])
    );
    assert_eq!(agent.turn(SESSION, "go").outcome(), "completed");
    assert_eq!(
        selections(&place),
        [saved, selection("fixture", "one", "max")]
    );
    agent.end();
}

#[test]
#[cfg(feature = "providers")]
fn selection_that_is_restored_in_part_gives_a_notice() {
    // This wire has no level beyond high.
    for (level, notices) in [
        ("high", json!(["cwd_unverified"])),
        ("max", json!(["cwd_unverified", "saved_selection_notice"])),
    ] {
        let place = place_with_selection(&selection("mine", "any", level));
        let before = std::fs::read(place.session_file(SESSION)).unwrap();
        let mut agent = Agent::ready(&place);
        assert_eq!(open(&mut agent)["notices"], notices, "{level}");
        assert_eq!(agent.ok("status", json!({}))["provider"], "mine");
        agent.end();
        assert_eq!(std::fs::read(place.session_file(SESSION)).unwrap(), before);
    }
}
