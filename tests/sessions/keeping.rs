//! Which sessions there are, and how they end: the list, `rm`, `prune`.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::process::Stdio;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::json;

use crate::client::{Agent, launch};
use crate::support::Place;
use crate::written::{self, DAY, ID, now, short};
use crate::{command, listed, out, refused, sessions};

fn ids(place: &Place, args: &[&str]) -> Vec<String> {
    let listed = listed(place, args);
    listed
        .iter()
        .map(|session| session["id"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_newest_record_comes_first_and_the_rest_is_counted() {
    let place = Place::new();
    assert_eq!(out(&place, &["list"]), "there are no sessions\n");
    assert!(!place.mc_home().exists(), "looking makes nothing");
    let now = now();
    for n in 0..25 {
        short(
            &place,
            &format!("s{n:02}"),
            "/somewhere/else",
            &format!("question {n}"),
            now - n * 3_600_000,
        );
    }
    // Neither a file's time nor its name says how old a session is.
    let file = File::options()
        .write(true)
        .open(written::dir(&place).join("s20.jsonl"))
        .unwrap();
    file.set_modified(std::time::SystemTime::now()).unwrap();
    let text = out(&place, &["list"]);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines.len(), 22, "{text}");
    assert!(
        lines[0].starts_with("ID   AGE") && lines[0].ends_with("TITLE"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("s00  ") && lines[1].ends_with("/somewhere/else  question 0"),
        "{text}"
    );
    assert!(lines[4].contains("  3 h  "), "{text}");
    assert_eq!(lines[21], "… and 5 more; --all lists them");
    let newest: Vec<_> = (0..25).map(|n| format!("s{n:02}")).collect();
    assert_eq!(ids(&place, &["--all"]), newest);
    assert_eq!(ids(&place, &[]), newest[..20]);
    let here = place.work().canonicalize().unwrap();
    short(
        &place,
        "here",
        here.to_str().unwrap(),
        "mine",
        now - 90 * 3_600_000,
    );
    assert_eq!(ids(&place, &["--cwd"]), ["here"]);
    let first = &listed(&place, &["--cwd"])[0];
    assert_eq!(
        (&first["title"], &first["cwd"]),
        (&json!("mine"), &json!(here.to_str().unwrap()))
    );
    assert!(
        first["bytes"].as_u64().unwrap() > 100 && first["last_at"].as_str().unwrap().ends_with('Z')
    );
}

#[test]
fn a_removed_session_is_gone_with_everything_and_an_attached_one_stays() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    written::rich(&place);
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    let attached = agent.create();
    agent.turn(&attached, "hi");
    let why = refused(&place, &["rm", &attached]);
    assert!(why.contains("another writer holds the session"), "{why}");
    assert_eq!(out(&place, &["rm", ID]), format!("removed {ID}\n"));
    agent.end();
    let names = || -> Vec<_> {
        let names = fs::read_dir(written::dir(&place)).unwrap();
        names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    assert_eq!(names(), [format!("{attached}.jsonl")]);
    let why = refused(&place, &["rm", &attached[..8]]);
    assert!(why.contains("the whole id"), "{why}");
    out(&place, &["rm", &attached]);
    assert_eq!(names(), [""; 0]);
    let why = refused(&place, &["rm", &attached]);
    assert!(why.contains("there is no session"), "{why}");
}

#[test]
fn prune_removes_what_is_older_than_the_settings_of_its_directory_say() {
    let place = Place::new();
    let now = now();
    let here = place.work().canonicalize().unwrap();
    let here = here.to_str().unwrap();
    place.write_settings(&json!({"retention_days": 10}));
    fs::create_dir_all(place.work().join(".magi-code")).unwrap();
    fs::write(
        place.work().join(".magi-code/settings.json"),
        r#"{"retention_days": 50}"#,
    )
    .unwrap();
    short(&place, "fresh", "/gone", "x", now - 9 * DAY);
    short(&place, "old", "/gone", "x", now - 11 * DAY);
    short(&place, "old-here", here, "x", now - 11 * DAY);
    short(&place, "ancient-here", here, "x", now - 51 * DAY);
    // A copy of an old session is as old as its last record.
    let file = File::options()
        .write(true)
        .open(written::dir(&place).join("fresh.jsonl"))
        .unwrap();
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    let text = out(&place, &["prune", "--dry-run"]);
    assert_eq!(
        text,
        "would be removed: old\nwould be removed: ancient-here\nwould be removed: 2 sessions\n"
    );
    assert_eq!(ids(&place, &["--all"]).len(), 4);
    let text = out(&place, &["prune"]);
    assert_eq!(
        text,
        "removed: old\nremoved: ancient-here\nremoved: 2 sessions\n"
    );
    assert_eq!(ids(&place, &["--all"]), ["fresh", "old-here"]);
    // 0 is for ever.
    short(&place, "old", "/gone", "x", now - 4000 * DAY);
    place.write_settings(&json!({"retention_days": 0}));
    assert_eq!(out(&place, &["prune"]), "removed: 0 sessions\n");
    // Settings that can't be read remove nothing.
    place.write_settings(&json!({"retention_days": "all"}));
    let why = refused(&place, &["prune"]);
    assert!(why.contains("retention_days"), "{why}");
    assert_eq!(ids(&place, &["--all"]).len(), 3);
}

#[test]
fn prune_leaves_what_somebody_is_attached_to() {
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "Hello."}]}]}));
    short(
        &place,
        "old",
        place.work().canonicalize().unwrap().to_str().unwrap(),
        "x",
        now() - 90 * DAY,
    );
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    agent.ok("session.open", json!({"session_id": "old"}));
    let ran = sessions(&place, &["prune"]);
    assert_eq!(ran.status.code(), Some(0));
    assert_eq!(ran.stdout, b"removed: 0 sessions\n");
    let err = String::from_utf8(ran.stderr).unwrap();
    assert!(
        err.contains("1 session somebody is attached to stay"),
        "{err}"
    );
    agent.end();
    assert_eq!(
        out(&place, &["prune"]),
        "removed: old\nremoved: 1 session\n"
    );
}

/// Runs a command on a terminal, types `answer` at its question, and gives what it said there and its status.
fn on_a_terminal(place: &Place, args: &[&str], answer: &str) -> (String, i32) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap();
    let slave = File::options()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut child = command(place, args)
        .stdin(slave.try_clone().unwrap())
        .stderr(slave)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut terminal = File::from(master);
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(b"[y/N] ") {
        terminal.read_exact(&mut byte).unwrap();
        said.push(byte[0]);
    }
    writeln!(terminal, "{answer}").unwrap();
    let status = child.wait().unwrap().code().unwrap();
    (String::from_utf8(said).unwrap(), status)
}

#[test]
fn a_person_is_asked_before_anything_is_removed() {
    let place = Place::new();
    short(&place, "one-session", "/w", "What is it?", now() - 90 * DAY);
    for (args, answer) in [
        (&["rm", "one"][..], "n"),
        (&["rm", "one"], ""),
        (&["prune"], "no"),
    ] {
        let (_, status) = on_a_terminal(&place, args, answer);
        assert_eq!(status, 1, "{args:?}");
        assert_eq!(ids(&place, &[]), ["one-session"]);
    }
    let (said, status) = on_a_terminal(&place, &["rm", "one"], "y");
    assert_eq!(
        (said.as_str(), status),
        ("Remove the session one-session (What is it?)? [y/N] ", 0)
    );
    assert_eq!(ids(&place, &[]), [""; 0]);
}
