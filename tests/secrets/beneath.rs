//! Canaries through what happens beneath a turn: snippets, subagents, servers' tools, and summaries of what was said.

use serde_json::{Value, json};

use crate::shapes::{Canary, all};
use crate::support::Place;
use crate::{TURNS, allow_commands, go, play};

/// Changes the script of a place.
fn script(place: &Place, change: impl FnOnce(&mut Value)) {
    let path = place.root().join("script.json");
    let mut script = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut script);
    std::fs::write(path, script.to_string()).unwrap();
}

/// In what snippets say, return and throw, and in the calls that they make.
#[cfg(feature = "code-mode")]
#[test]
fn in_snippets() {
    let code = |source: String| json!({"tool": "code", "input": {"source": source}});
    let steps = |canary: &Canary| {
        let (line, file) = (json!(canary.line()), json!(format!("{}.txt", canary.name)));
        json!([
            code(format!("console.log(await tools.read({{path: {file}}})); return await tools.read({{path: {file}}})")),
            code(format!("throw new Error(await tools.read({{path: {file}}}) + {line})")),
            code(format!("await tools.read({{path: {line}}})")),
            code(format!("await tools.bash({{command: 'cat ' + {file}}}); tools.grep({{pattern: {line}}}); return {line}")),
            code(format!("{line} + ;")),
            {"text": "ok"}
        ])
    };
    let each = play(&all(), steps, go, |place| {
        allow_commands(place);
        for canary in all() {
            place.write_file(&format!("{}.txt", canary.name), &canary.line());
        }
    });
    for shown in &each {
        assert!(
            shown.holds("2 calls") && shown.holds("an error"),
            "{shown:?}"
        );
    }
}

/// In tasks, in what their subagents say, summarize, read, call and fail with.
#[test]
fn in_tasks() {
    let task = |canary: &Canary| format!("Task: {}", canary.line());
    let good = |canary: &Canary| format!("Good: {}", canary.line());
    let steps = |canary: &Canary| {
        json!([
            {"tool": "task", "input": {"prompt": task(canary), "profile": canary.line()}},
            {"tool": "task", "input": {"prompt": task(canary)}},
            {"tool": "task", "input": {"prompt": good(canary)}},
            {"text": "ok"}
        ])
    };
    let child = |canary: &Canary| {
        let (line, file) = (canary.line(), format!("{}.txt", canary.name));
        json!([
            {"reasoning": line, "provider_summary": true},
            {"text": line, "chunks": 5},
            {"tool": "read", "input": {"path": file}},
            {"tool": "read", "input": {"path": line}},
            {"tool": "bash", "input": {"command": format!("cat '{file}' >&2; exit 3")}},
            {"text": line},
            {"error": "malformed"}
        ])
    };
    let each = play(&all(), steps, go, |place| {
        allow_commands(place);
        let tasks = all().into_iter().flat_map(|canary| {
            place.write_file(&format!("{}.txt", canary.name), &canary.line());
            let whole = json!([{"text": canary.line(), "chunks": 3}]);
            [(task(&canary), child(&canary)), (good(&canary), whole)]
        });
        let tasks =
            tasks.map(|(prompt, steps)| json!({"prompt": prompt, "turns": [{"steps": steps}]}));
        script(place, |script| script["tasks"] = tasks.collect());
    });
    for shown in &each {
        let is_whole = shown.holds("subagent default: ") && shown.holds("completed");
        assert!(is_whole, "{shown:?}");
    }
}

/// In what a model makes of a conversation that is full of them, and in that conversation behind it.
#[test]
fn in_summaries_of_conversations() {
    let steps = |canary: &Canary| {
        let used = json!({"usage": {"input": 95_000, "output": 0}});
        json!([
            {"text": canary.line(), "chunks": 3},
            {"tool": "grep", "input": {"pattern": ".", "path": "a.txt"}},
            used, {"text": "ok"}, used
        ])
    };
    let canaries = all();
    let each = play(&canaries, steps, Canary::line, |place| {
        let lines: Vec<_> = all().iter().map(Canary::line).collect();
        place.write_file("a.txt", &lines.join("\n"));
        let summary = json!({"text": lines.join("\n"), "chunks": 100});
        script(place, |script| {
            script["compaction"] = json!({"steps": [summary]})
        });
        let path = place.root().join("script.json");
        let fixture = json!({"script": path, "context_window": 100_000});
        place.write_settings(&json!({"providers": {"fixture": fixture}}));
    });
    let summarized = each.iter().filter(|shown| shown.holds("compaction"));
    assert!(summarized.count() >= canaries.len() - canaries.len().div_ceil(TURNS));
}

/// The whole of a secret, where it can be a tool's name, and is known by itself.
#[cfg(feature = "mcp")]
fn name(canary: &Canary) -> Option<&str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let line = canary.line();
    let is_known = line
        .strip_prefix("The value is ")
        .is_some_and(|it| it.starts_with(&canary.secret));
    Some(canary.secret.as_str())
        .filter(|name| is_known && name.len() < 56 && name.chars().all(fits))
}

/// A place has a server whose tools are also called after secrets.
#[cfg(feature = "mcp")]
fn serve(place: &std::sync::Arc<Place>) {
    use crate::setting::{approve, define, misbehaving};
    let names: Vec<_> = all()
        .iter()
        .filter_map(|it| name(it).map(str::to_owned))
        .collect();
    assert!(names.len() > 10);
    place.write_file("names", &names.join("\n"));
    define(place, &json!({"s": misbehaving(&[])}));
    approve(place);
}

#[cfg(feature = "mcp")]
fn call(tool: &str, line: &str) -> Value {
    json!({"tool": format!("mcp__s__{tool}"), "input": {"n": 1, "text": line}})
}

/// In what servers are sent and answer, in their errors, their progress, their last words, and the names of their tools.
#[cfg(feature = "mcp")]
#[test]
fn in_calls_of_servers() {
    let steps = |canary: &Canary| {
        let tools = ["echo", "fail", "refuse", "progress"]
            .into_iter()
            .chain(name(canary));
        // It is started again for each.
        let crash = canary.secret.len().is_multiple_of(5).then_some("crash");
        let mut steps: Vec<_> = tools
            .chain(crash)
            .map(|tool| call(tool, &canary.line()))
            .collect();
        steps.push(json!({"text": "ok"}));
        steps.into()
    };
    let each = play(&all(), steps, go, serve);
    for shown in &each {
        assert!(
            shown.holds("mcp__s__progress") && shown.holds("failed"),
            "{shown:?}"
        );
    }
}

/// In the log of it, where it tells most, and in what is said about a server that ends with such words.
#[cfg(all(feature = "mcp", feature = "log"))]
#[test]
fn in_the_log_of_servers() {
    use crate::client::{Agent, launch};
    use crate::setting::{approve, define, log, magi_code, misbehaving};
    use crate::shown::Shown;
    let canaries = all();
    let steps: Vec<_> = canaries
        .iter()
        .flat_map(|canary| ["fail", "refuse", "progress"].map(|tool| call(tool, &canary.line())))
        .chain([json!({"text": "ok"})])
        .collect();
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    serve(&place);
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "debug"));
    agent.initialize();
    let session = agent.create();
    assert_eq!(agent.turn(&session, "go").outcome(), "completed");
    agent.end();
    let logged = log(&place);
    assert!(logged.contains("mcp__s__fail"), "{logged}");
    for canary in &canaries {
        assert_eq!(Shown::of_text(&logged).leak(canary), None);
    }
    // One that says it and does not start.
    let place = Place::with_script(&json!({"turns": [{"steps": [{"text": "ok"}]}]}));
    define(&place, &json!({"s": misbehaving(&["--exit"])}));
    for canary in canaries.iter().step_by(15) {
        place.write_file("names", &canary.line());
        approve(&place);
        let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "debug"));
        let answer = agent.call("initialize", json!({"required_capabilities": []}));
        assert_eq!(answer["error"]["code"], "mcp_unavailable");
        assert_eq!(Shown::of_value(&answer).leak(canary), None);
        agent.end();
        assert_eq!(Shown::of_text(&log(&place)).leak(canary), None);
        for arguments in [&["mcp", "test", "s"][..], &["doctor"]] {
            let done = magi_code(&place, arguments);
            let said = [done.stdout, done.stderr].concat();
            assert_eq!(
                Shown::of_text(&String::from_utf8_lossy(&said)).leak(canary),
                None
            );
        }
    }
}

/// In questions about calls of servers, and of snippets and subagents.
#[cfg(all(feature = "mcp", feature = "code-mode"))]
#[test]
fn in_questions_about_what_happens_beneath() {
    for group in all().chunks(TURNS) {
        let task = |canary: &Canary| format!("Task: {}", canary.line());
        let bash = |canary: &Canary| json!({"tool": "bash", "input": {"command": canary.line()}});
        let turns: Vec<Value> = group
            .iter()
            .map(|canary| {
                let source = format!("await tools.bash({{command: {}}})", json!(canary.line()));
                json!({"steps": [
                    call("echo", &canary.line()),
                    {"tool": "code", "input": {"source": source}},
                    {"tool": "task", "input": {"prompt": task(canary)}},
                    {"text": "ok"}
                ]})
            })
            .collect();
        let tasks: Vec<_> = group
            .iter()
            .map(|canary| json!({"prompt": task(canary), "turns": [{"steps": [bash(canary), {"text": "ok"}]}]}))
            .collect();
        let place = Place::with_script(&json!({"turns": turns, "tasks": tasks}));
        serve(&place);
        let mut settings = crate::setting::settings(&place);
        settings["mcp_servers"]["s"]["trust"] = json!(false);
        place.write_settings(&settings);
        crate::refuse_all(&place, group, 3);
    }
}
