//! Servers start side by side within `initialize`, all or none (spec: local-agent, "Shared startup and effects").

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::client::{Agent, launch};
use crate::setting::{heard, log, magi_code, misbehaving, place, results, said, steps};
use crate::support::wait_for;

#[test]
fn their_tools_are_called_in_a_turn() {
    let servers = json!({"one": misbehaving(&["--noise"]), "two": misbehaving(&["--pages"])});
    let calls = [
        ("mcp__one__echo", json!({"text": "a"})),
        ("mcp__two__structured", json!({})),
    ];
    let place = place(&servers, &steps(&calls));
    let results = results(&place);
    assert_eq!(results[0]["content"], "echo: a");
    assert_eq!(results[1]["content"], r#"{"sum":7}"#);
}

#[test]
fn the_request_that_started_them_is_over_before_they_are() {
    let place = place(&json!({"s": misbehaving(&[])}), &steps(&[]));
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "debug"));
    agent.initialize();
    agent.create();
    agent.end();
    let log = log(&place);
    let lines: Vec<Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let ends = |span: &str, member: &str, value: &str| {
        let of = |line: &Value| {
            let own = line["spans"].as_array().and_then(|spans| spans.last());
            line["ends"] == span && own.is_some_and(|own| own[member] == value)
        };
        lines.iter().position(of).unwrap()
    };
    let initialized = ends("request", "method", "initialize");
    assert!(initialized < ends("request", "method", "session.create"));
    assert!(initialized < ends("mcp server", "server", "s"));
}

#[test]
fn a_doctor_that_starts_servers_ends_them() {
    let place = place(&json!({"s": misbehaving(&["--spawn"])}), &json!([]));
    let (code, text) = said(&magi_code(&place, &["doctor", "--servers"]));
    assert!(code == 0 && text.ends_with("notices 0.\n"), "{text}");
    let pids = std::fs::read_to_string(place.work().join("pids")).unwrap();
    for pid in pids.lines() {
        assert!(!std::path::Path::new("/proc").join(pid).exists(), "{pid}");
    }
}

#[test]
fn they_start_side_by_side() {
    // None of them answers before all are greeted.
    let server = misbehaving(&["--together"]);
    let place = place(&json!({"a": server, "b": server, "c": server}), &steps(&[]));
    let mut agent = Agent::ready(&place);
    agent.create();
    agent.end();
}

#[test]
fn one_that_fails_fails_the_start_and_the_others_are_gone() {
    let servers = json!({"good": misbehaving(&["--spawn"]), "bad": misbehaving(&["--after-others", "--exit"])});
    let place = place(&servers, &json!([]));
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "info"));
    assert_eq!(
        agent.err("initialize", json!({"required_capabilities": []})),
        "mcp_unavailable"
    );
    let status = agent.ok("status", json!({}));
    assert_eq!(
        (&status["state"], &status["readiness"]),
        (&json!("failed"), &json!("mcp_unavailable"))
    );
    let pids = std::fs::read_to_string(place.work().join("pids")).unwrap();
    assert_eq!(pids.lines().count(), 3, "the good one was there");
    for pid in pids.lines() {
        assert!(
            !std::path::Path::new("/proc").join(pid).exists(),
            "{pid} is left"
        );
    }
    assert_eq!(agent.err("session.create", json!({})), "mcp_unavailable");
    agent.server.close_stdin();
    assert_eq!(agent.server.wait_exit().code, Some(0));
    let log = log(&place);
    for word in [
        "startup is refused",
        "the MCP server `bad` does not start",
        "exit code 7",
        "cannot open the frobnicator",
    ] {
        assert!(log.contains(word), "{word}: {log}");
    }
}

#[test]
fn one_that_cannot_be_executed_says_so() {
    let place = place(
        &json!({"none": {"command": "/no/such/program"}}),
        &json!([]),
    );
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "info"));
    assert_eq!(
        agent.err("initialize", json!({"required_capabilities": []})),
        "mcp_unavailable"
    );
    drop(agent);
    let log = log(&place);
    assert!(log.contains("can't be started: No such file"), "{log}");
}

#[test]
fn one_that_refuses_the_handshake_is_told_with_its_words() {
    for (flag, why) in [
        ("--refuse", "it refused: license expired"),
        ("--odd-answer", "its answer to `initialize` is none"),
    ] {
        // It ends by itself when its input does, as a good one does: that is not why.
        let place = place(&json!({"s": misbehaving(&[flag])}), &json!([]));
        let (code, text) = said(&magi_code(&place, &["mcp", "test", "s"]));
        assert!(code == 1 && text.contains(why), "{text}");
        assert!(!text.contains("exit code"), "{text}");
    }
}

#[test]
fn one_of_an_unknown_revision_is_told() {
    let place = place(&json!({"s": misbehaving(&["--old"])}), &json!([]));
    let done = magi_code(&place, &["mcp", "test", "s"]);
    assert_eq!(done.status.code(), Some(1), "{done:?}");
    let told = String::from_utf8(done.stderr).unwrap();
    assert!(
        told.contains("it speaks the revision `1999-01-01`"),
        "{told}"
    );
}

#[test]
fn a_flood_of_blank_lines_delays_nothing() {
    let servers =
        json!({"s": misbehaving(&["--blank", "--spawn"]), "t": misbehaving(&["--blank"])});
    let calls = [("mcp__s__echo", json!({"text": "through it"}))];
    let place = place(&servers, &steps(&calls));
    assert_eq!(results(&place)[0]["content"], "echo: through it");
    let pids = std::fs::read_to_string(place.work().join("pids")).unwrap();
    for pid in pids.lines() {
        assert!(
            !std::path::Path::new("/proc").join(pid).exists(),
            "{pid} is left"
        );
    }
}

#[test]
fn one_that_never_answers_costs_ten_seconds_and_can_be_cancelled() {
    for flag in ["--hang", "--hang-list"] {
        let place = place(&json!({"s": misbehaving(&[flag])}), &json!([]));
        let mut agent = Agent::spawn(launch().place(&place));
        let began = Instant::now();
        let pending = agent.send("initialize", json!({"required_capabilities": []}));
        wait_for("the server", || !heard(&place).is_empty());
        if flag == "--hang" {
            let status = agent.ok("status", json!({}));
            assert_eq!(status["state"], "starting");
            agent.ok("shutdown", json!({}));
            assert_eq!(agent.answer(&pending)["error"]["code"], "startup_cancelled");
            agent.server.close_stdin();
            agent.server.wait_exit();
            assert!(began.elapsed() < Duration::from_secs(8));
        } else {
            assert_eq!(agent.answer(&pending)["error"]["code"], "mcp_unavailable");
            let took = began.elapsed();
            assert!((9..16).contains(&took.as_secs()), "{took:?}");
        }
    }
    let place = place(&json!({"s": misbehaving(&["--hang"])}), &json!([]));
    let (_, text) = said(&magi_code(&place, &["mcp", "test", "s"]));
    assert!(
        text.contains("within 10 s; it said: waiting for the frobnicator"),
        "{text}"
    );
}

#[test]
fn a_list_without_an_end_is_bounded() {
    let place = place(&json!({"s": misbehaving(&["--endless"])}), &steps(&[]));
    let mut agent = Agent::ready(&place);
    agent.create();
    agent.end();
    let lists = heard(&place);
    let lists = lists
        .iter()
        .filter(|message| message["method"] == "tools/list");
    assert_eq!(lists.count(), 64);
}

#[test]
fn a_list_that_goes_nowhere_and_none_are_told_once() {
    for (flag, why) in [
        ("--same-page", "names the same page again"),
        ("--no-list", "it does not know `tools/list`"),
    ] {
        let place = place(&json!({"s": misbehaving(&[flag])}), &json!([]));
        let (code, text) = said(&magi_code(&place, &["mcp", "test", "s"]));
        assert_eq!((code, text.matches(why).count()), (0, 1), "{text}");
        let lists = heard(&place);
        let lists = lists
            .iter()
            .filter(|message| message["method"] == "tools/list");
        assert!(lists.count() <= 2, "{flag}");
    }
}

#[test]
fn a_server_gets_the_workspace_and_its_environment_without_keys() {
    let mut server = misbehaving(&[]);
    server["env"] = json!({"OWN": "value", "OWN_TOKEN": "canary-token-1234567"});
    let place = place(
        &json!({"s": server}),
        &steps(&[("mcp__s__environment", json!({}))]),
    );
    let mut agent = Agent::spawn(
        launch()
            .place(&place)
            .env("ANTHROPIC_API_KEY", "sk-canary-123456789"),
    );
    agent.initialize();
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert!(!json!(run.events).to_string().contains("canary"));
    agent.end();
    let content = crate::setting::finished(&place, &session)[0]["content"].clone();
    let environment: Value = serde_json::from_str(content.as_str().unwrap()).unwrap();
    assert_eq!(environment["OWN"], "value");
    assert_eq!(environment["ANTHROPIC_API_KEY"], Value::Null);
    // It stands where it works.
    assert!(!heard(&place).is_empty());
}
