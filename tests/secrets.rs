//! Secret canaries through everything that the wire shows of a session: prompt, reply in any pieces, tools, their
//! errors, names of files, approvals, the environment, history. None of them comes out.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)] // the strict client of local_agent.rs, of which this crate uses its own share
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;

#[cfg(feature = "application-service")]
#[path = "application_service/client.rs"]
#[allow(dead_code)]
mod service_client;

#[path = "secrets/beneath.rs"]
mod beneath;
#[path = "secrets/clients.rs"]
mod clients;
#[path = "secrets/environment.rs"]
mod environment;
#[cfg(feature = "providers")]
#[path = "secrets/recordings.rs"]
mod recordings;
#[path = "secrets/shapes.rs"]
mod shapes;
#[path = "secrets/shown.rs"]
mod shown;
#[path = "secrets/unshowable.rs"]
mod unshowable;

#[cfg(feature = "providers")]
#[path = "providers/server.rs"]
#[allow(dead_code)] // the tests of the wires use the rest
mod server;
#[cfg(feature = "mcp")]
#[path = "mcp/setting.rs"]
#[allow(dead_code)] // the tests of servers use the rest
mod setting;

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::clients::{Client, LocalAgent};
use crate::shapes::{Canary, all};
use crate::shown::Shown;
use crate::support::Place;

/// Turns of one session: its history is read once, at the end.
const TURNS: usize = 40;

/// Plays one turn for each canary, in as few sessions as may be, with a child of each dialect; what it shows must
/// not hold the canary. Returns what local-agent showed of each turn.
fn play(
    canaries: &[Canary],
    steps: impl Fn(&Canary) -> Value,
    prompt: impl Fn(&Canary) -> String,
    prepare: impl Fn(&Arc<Place>),
) -> Vec<Shown> {
    let mut each = Vec::new();
    for group in canaries.chunks(TURNS) {
        let turns: Vec<Value> = group
            .iter()
            .map(|canary| json!({ "steps": steps(canary) }))
            .collect();
        let place = Place::with_script(&json!({ "turns": turns }));
        prepare(&place);
        #[cfg(feature = "application-service")]
        hold::<clients::Service>(group, &place, &prompt);
        each.extend(hold::<LocalAgent>(group, &place, &prompt));
    }
    each
}

/// One session with a turn for each canary.
fn hold<C: Client>(
    canaries: &[Canary],
    place: &Arc<Place>,
    prompt: impl Fn(&Canary) -> String,
) -> Vec<Shown> {
    let mut child = C::ready(place);
    let mut leaks = Vec::new();
    let mut each = Vec::new();
    for canary in canaries {
        let shown = child.turn(&prompt(canary));
        leaks.extend(shown.leak(canary));
        each.push(shown);
    }
    let kept = child.kept();
    for canary in canaries {
        leaks.extend(kept.leak(canary).map(|leak| format!("kept, {leak}")));
    }
    child.end();
    assert!(leaks.is_empty(), "{} leaks: {leaks:#?}", leaks.len());
    each
}

fn say(canary: &Canary, chunks: usize) -> Value {
    json!([{"text": canary.line(), "chunks": chunks}])
}

fn nothing(_: &Arc<Place>) {}

fn go(_: &Canary) -> String {
    "go".to_owned()
}

#[test]
fn there_are_forty_shapes_and_more() {
    let canaries = all();
    let names: HashSet<_> = canaries.iter().map(|canary| canary.name).collect();
    assert_eq!(names.len(), canaries.len(), "a name twice");
    let secrets: HashSet<_> = canaries.iter().map(|canary| &canary.secret).collect();
    assert_eq!(secrets.len(), canaries.len(), "a secret twice");
    assert!(canaries.len() >= 40, "{}", canaries.len());
    // The search finds what is there.
    for canary in &canaries {
        let shown = Shown::of_text(&canary.line());
        assert!(shown.leak(canary).is_some(), "{}", canary.name);
        assert!(!canary.pieces().is_empty(), "{}", canary.name);
    }
}

#[test]
fn in_a_prompt() {
    play(&all(), |_| json!([{"text": "ok"}]), Canary::line, nothing);
}

#[test]
fn in_a_reply() {
    play(&all(), |canary| say(canary, 1), go, nothing);
}

#[test]
fn in_a_reply_of_two_deltas_or_many() {
    for chunks in [2, 7, 500] {
        play(&all(), |canary| say(canary, chunks), go, nothing);
    }
}

#[test]
fn in_a_reply_that_is_cut_anywhere_in_the_secret() {
    // Each cut of each shape is the redactor's own test.
    for tenth in [1, 5, 9] {
        let steps = |canary: &Canary| {
            let line = canary.line();
            let start = line.find(&canary.secret).unwrap();
            let border = line.floor_char_boundary(start + canary.secret.len() * tenth / 10);
            json!([{"text": line[..border]}, {"text": line[border..]}])
        };
        play(&all(), steps, go, nothing);
    }
}

#[test]
fn in_a_long_reply_and_across_its_chunks() {
    // Live chunks end at 4,000 bytes, stored ones at 16,384, those of a replay at 2,048. A turn of the
    // service has no more than 16,384 in all.
    for border in [2_040, 3_990] {
        play(&all(), |canary| long(canary, border), go, nothing);
    }
    for group in all().chunks(TURNS / 2) {
        let turns: Vec<Value> = group
            .iter()
            .map(|canary| json!({"steps": long(canary, 16_370)}))
            .collect();
        let place = Place::with_script(&json!({ "turns": turns }));
        hold::<LocalAgent>(group, &place, go);
    }
}

/// So many bytes of harmless text before the canary.
fn long(canary: &Canary, border: usize) -> Value {
    let text = "word ".repeat(border / 5) + &canary.line();
    json!([{"text": text, "chunks": 3}])
}

#[test]
fn in_summaries_of_thoughts() {
    let steps = |canary: &Canary| {
        json!([
            {"reasoning": canary.line(), "provider_summary": true},
            {"reasoning": canary.line(), "provider_summary": false},
            {"text": "ok"}
        ])
    };
    play(&all(), steps, go, nothing);
}

#[test]
fn in_files_that_tools_read() {
    let steps = |canary: &Canary| {
        let file = format!("{}.txt", canary.name);
        json!([
            {"tool": "read", "input": {"path": file}},
            {"tool": "grep", "input": {"pattern": ".", "path": file}},
            {"tool": "read", "input": {"path": ".env"}},
            {"tool": "list", "input": {}},
            {"tool": "write", "input": {"path": format!("out/{file}"), "content": canary.line()}},
            {"tool": "edit", "input": {"path": format!("out/{file}"), "old": canary.line(), "new": "gone"}},
            {"tool": "bash", "input": {"command": format!("cat '{file}' .env")}},
            {"text": "ok"}
        ])
    };
    let canaries = all();
    let each = play(&canaries, steps, go, |place| {
        allow_commands(place);
        let lines: Vec<String> = all().iter().map(Canary::line).collect();
        place.write_file(".env", &lines.join("\n"));
        for canary in all() {
            place.write_file(&format!("{}.txt", canary.name), &canary.line());
        }
    });
    // The tools did find what they were asked for.
    for (shown, canary) in each.iter().zip(&canaries) {
        assert!(shown.holds(&format!("{}.txt", canary.name)), "{shown:?}");
        assert!(!shown.holds("failed"), "{shown:?}");
    }
}

/// Lets commands run unasked: here they only print what they are given.
fn allow_commands(place: &Arc<Place>) {
    let project = json!({"permissions": {"bash": "allow"}}).to_string();
    place.write_file(".magi-code/settings.json", &project);
    place.trust();
}

#[test]
fn in_commands_that_fail() {
    let steps = |canary: &Canary| {
        let file = format!("{}.txt", canary.name);
        json!([
            {"tool": "bash", "input": {"command": format!("cat '{file}' >&2; exit 3")}},
            {"tool": "bash", "input": {"command": format!("cat <<'end'\n{}\nend\nabsent-command", canary.line())}},
            {"tool": "edit", "input": {"path": file, "old": format!("{} and more", canary.line()), "new": "x"}},
            {"tool": "write", "input": {"path": format!("{file}/{}", canary.line()), "content": "x"}},
            {"tool": "skill", "input": {"name": canary.line()}},
            {"text": "ok"}
        ])
    };
    let canaries = all();
    let each = play(&canaries, steps, go, |place| {
        allow_commands(place);
        for canary in all() {
            place.write_file(&format!("{}.txt", canary.name), &canary.line());
        }
    });
    for shown in &each {
        assert!(shown.holds("failed"), "{shown:?}");
    }
}

#[test]
fn in_inputs_names_and_errors_of_tools() {
    let steps = |canary: &Canary| {
        let line = canary.line();
        json!([
            {"tool": "read", "input": {"path": line}},
            {"tool": "list", "input": {"path": format!("/absent/{line}")}},
            {"tool": "grep", "input": {"pattern": line, "path": "a.txt"}},
            {"tool": "grep", "input": {"pattern": format!("(({line}")}},
            {"tool": "glob", "input": {"pattern": format!("**/{line}")}},
            {"tool": "read", "input": {line.clone(): line}},
            {"tool": line, "input": {}},
            {"text": "ok"}
        ])
    };
    play(&all(), steps, go, |place| {
        place.write_file("a.txt", "text\n")
    });
}

#[test]
fn in_names_of_files() {
    // What can be a name; the shape must be known without its line's end.
    let named: Vec<Canary> = all()
        .into_iter()
        .filter(|canary| !canary.line().contains(['/', '\n', '\\']) && canary.line().len() < 200)
        .collect();
    assert!(named.len() >= 40, "{}", named.len());
    let file = |canary: &Canary| format!("{} .txt", canary.line());
    let steps = |canary: &Canary| {
        json!([
            {"tool": "read", "input": {"path": file(canary)}},
            {"tool": "glob", "input": {"pattern": "*.txt"}},
            {"tool": "grep", "input": {"pattern": "content"}},
            {"tool": "list", "input": {}},
            {"text": "ok"}
        ])
    };
    let each = play(&named, steps, go, |place| {
        for canary in &named {
            place.write_file(&file(canary), "content\n");
        }
    });
    // They were found: their names were on their way out.
    for shown in &each {
        assert!(!shown.holds("failed"), "{shown:?}");
    }
}

#[test]
fn in_the_demonstration_s_words_about_files() {
    let canaries = all();
    let named = canaries
        .iter()
        .filter(|c| !c.line().contains(['/', '\n', '\\']));
    for canary in named.step_by(4) {
        let place = Place::new();
        place.write_file(&format!("{} .txt", canary.line()), &canary.line());
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        let run = agent.turn(&session, "go");
        let shown = Shown::of_run(&run);
        assert!(shown.holds("The listing has 1 entry"), "{shown:?}");
        assert_eq!(shown.leak(canary), None);
        agent.end();
    }
}

#[test]
fn in_what_a_person_is_asked_to_allow() {
    let canaries = all();
    for group in canaries.chunks(TURNS) {
        let turns: Vec<Value> = group
            .iter()
            .map(|canary| {
                json!({"steps": [
                    {"tool": "read", "input": {"path": canary.line()}},
                    {"tool": "bash", "input": {"command": canary.line()}},
                    {"tool": "bash", "input": {"command": format!("{}{}", "true; ".repeat(200), canary.line())}},
                    {"tool": "write", "input": {"path": "../out", "content": canary.line()}},
                    {"text": "ok"}
                ]})
            })
            .collect();
        let place = Place::with_script(&json!({ "turns": turns }));
        let project = json!({"permissions": {"read": "ask"}}).to_string();
        place.write_file(".magi-code/settings.json", &project);
        refuse_all(&place, group, 4);
    }
}

/// Plays a turn for each canary and allows nothing of what is asked for, so many times a turn.
fn refuse_all(place: &Arc<Place>, canaries: &[Canary], questions: usize) {
    let mut agent = Agent::ready(place);
    let session = agent.create();
    for canary in canaries {
        agent.begin(&session, "go");
        let (mut shown, mut asked) = (Shown::default(), 0);
        loop {
            let event = agent.event();
            shown.take(&event);
            if event["event"] == "run.finished" {
                break;
            }
            if event["event"] == "approval.requested" {
                asked += 1;
                let mut answer = event["data"].clone();
                let members = answer.as_object_mut().unwrap();
                members.retain(|key, _| key.ends_with("_id"));
                answer["allow"] = json!(false);
                agent.ok("approval.answer", answer);
            }
        }
        assert_eq!(asked, questions, "{shown:?}");
        assert_eq!(shown.leak(canary), None);
    }
    agent.end();
}
