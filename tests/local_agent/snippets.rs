//! Code Mode in a run (decisions: "Runtime depth", "Code Mode"): calls of a snippet are decided, asked for and shown one by
//! one, and nothing of one outlives its run. What a snippet can do inside is the crate's own tests' business.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::Agent;
use crate::run::Run;
use crate::support::{Place, lives, wait_for};

/// A place where the offline provider makes these calls, one response each.
fn place(calls: &[Value], permissions: &Value) -> Arc<Place> {
    let steps = calls.iter().cloned().chain([json!({"text": "Done."})]);
    let place = Place::with_script(&json!({"turns": [{"steps": steps.collect::<Vec<_>>()}]}));
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}}, "permissions": permissions,
    }));
    place
}

fn code(source: &str) -> Value {
    json!({"tool": "code", "input": {"source": source}})
}

/// The activities as (name, state, summary).
fn activities(run: &Run) -> Vec<(&str, &str, &str)> {
    run.named("activity")
        .into_iter()
        .map(|data| {
            let member = |name: &str| data[name].as_str().unwrap();
            (member("name"), member("state"), member("summary"))
        })
        .collect()
}

/// What the model was told of each call, in the order in which they ended.
fn told(place: &Place, session: &str) -> Vec<String> {
    let records = place.records(session).into_iter();
    records
        .filter(|record| {
            record["type"] == "tool_finished" && record.get("parent").is_none_or(Value::is_null)
        })
        .map(|record| record["content"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_snippet_s_calls_show_beneath_it_and_its_result_goes_to_the_model() {
    let source = "const names = ['a.txt', 'b.txt'];\nconst texts = await Promise.all(names.map((path) => tools.read({path})));\n\
        console.log('read', texts.length);\nreturn texts.map((text) => /canary-\\d/.exec(text)[0])";
    let place = place(&[code(source)], &json!({}));
    place.write_file("a.txt", "canary-1\n");
    place.write_file("b.txt", "canary-2\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let shown = activities(&run);
    assert_eq!(shown[0], ("code", "started", "code 4 lines"));
    assert_eq!(
        *shown.last().unwrap(),
        ("code", "completed", "code 4 lines: 2 calls")
    );
    let mut beneath = shown[1..shown.len() - 1].to_vec();
    beneath.sort_unstable();
    assert_eq!(
        beneath,
        [
            ("read", "completed", "read a.txt: 1 line"),
            ("read", "completed", "read b.txt: 1 line"),
            ("read", "started", "read a.txt"),
            ("read", "started", "read b.txt"),
        ]
    );
    assert_eq!(
        told(&place, &session),
        ["read 2\n[\"canary-1\",\"canary-2\"]"]
    );
    assert!(
        !json!(run.events).to_string().contains("canary"),
        "a result on the wire"
    );
    agent.end();
}

#[test]
fn direct_and_snippets_permissions_are_independent() {
    let permissions = json!({
        "read": "deny", "list": "allow",
        "bash": {"default": "ask", "allow": ["echo"], "deny": ["git push"]},
        "code": {"read": "allow", "list": "deny", "bash": "allow", "write": "deny"},
    });
    let bash = |command: &str| {
        format!("await tools.bash({{command: '{command}'}}).catch((e) => e.message)")
    };
    let source = format!(
        "return [typeof tools.list, typeof tools.write, typeof tools.code, (await tools.read({{path: 'a.txt'}})).includes('text'), \
         {}, {}]",
        bash("printf ran"),
        bash("true; git push"),
    );
    let calls = [
        json!({"tool": "read", "input": {"path": "a.txt"}}),
        json!({"tool": "list", "input": {}}),
        code(&source),
    ];
    let place = place(&calls, &permissions);
    place.write_file("a.txt", "text\n");
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let told = told(&place, &session);
    assert!(
        told[0].contains("The settings deny this tool (permissions.read)"),
        "{told:?}"
    );
    assert!(told[1].contains("a.txt"), "{told:?}");
    let found: Value = serde_json::from_str(&told[2]).unwrap();
    assert_eq!(
        found.as_array().unwrap()[..4],
        [
            json!("undefined"),
            json!("undefined"),
            json!("undefined"),
            json!(true)
        ]
    );
    assert_eq!(found[4], json!("ran\n"));
    assert!(
        found[5].as_str().unwrap().contains("permissions.bash.deny"),
        "{found}"
    );
    agent.end();
}

/// Plays a run whose questions get these answers, and returns them with what the model was told.
#[cfg(feature = "approval")]
fn answered(source: &str, permissions: &Value, answers: &[bool]) -> (Vec<String>, String) {
    let place = place(&[code(source)], permissions);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run_id = agent.begin(&session, "go");
    let mut questions = Vec::new();
    loop {
        let event = agent.event();
        match event["event"].as_str().unwrap() {
            "approval.requested" => {
                let data = &event["data"];
                let answer = json!({"session_id": session, "run_id": run_id, "approval_id": data["approval_id"],
                    "allow": answers[questions.len()]});
                questions.push(data["summary"].as_str().unwrap().to_owned());
                agent.ok("approval.answer", answer);
            }
            "run.finished" => break,
            _ => {}
        }
    }
    let told = told(&place, &session).concat();
    agent.end();
    (questions, told)
}

#[cfg(feature = "approval")]
#[test]
fn each_call_of_a_snippet_is_asked_for_by_itself() {
    let source = "const said = []; for (const word of ['one', 'two']) \
        said.push(await tools.bash({command: 'printf ' + word}).catch((e) => e.message)); return said";
    let (questions, told) = answered(source, &json!({}), &[true, false]);
    assert_eq!(questions, ["bash: printf one", "bash: printf two"]);
    assert_eq!(told, r#"["one\n","The person did not allow this call."]"#);
    // The tool itself may be asked for or denied, like any other.
    let (questions, told) = answered("return 1 + 1", &json!({"code": "ask"}), &[true]);
    assert_eq!(
        (questions, told.as_str()),
        (vec!["code: return 1 + 1".to_owned()], "2")
    );
    let (questions, told) = answered("return 1 + 1", &json!({"code": "deny"}), &[]);
    assert!(
        questions.is_empty() && told.contains("permissions.code"),
        "{told}"
    );
}

/// The processes of snippets below a process.
fn snippets(host: u32) -> Vec<u32> {
    let all = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|pid| {
            let of = |file: &str| {
                std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default()
            };
            let parent = of("stat")
                .rsplit(')')
                .next()
                .and_then(|rest| rest.split_whitespace().nth(1)?.parse().ok());
            of("cmdline").contains("__snippet") && parent == Some(host)
        })
        .collect()
}

/// One operation of the engine that nothing inside can stop.
const STUCK: &str = "'a'.repeat(3e7).indexOf('a'.repeat(15e6) + 'b')";

#[test]
fn cancelling_ends_a_busy_snippet() {
    for source in ["for (;;);", STUCK] {
        let place = place(&[code(source)], &json!({}));
        let mut agent = Agent::ready(&place);
        let host = agent.server.pid();
        let session = agent.create();
        let run_id = agent.begin(&session, "go");
        agent.until("activity");
        wait_for("the snippet", || !snippets(host).is_empty());
        let busy = snippets(host);
        let asked = Instant::now();
        agent.ok(
            "turn.cancel",
            json!({"session_id": session, "run_id": run_id}),
        );
        let run = agent.finish(run_id);
        assert_eq!(run.outcome(), "cancelled");
        // The text asks for 100 ms and a second; a busy machine schedules late.
        assert!(
            asked.elapsed() < Duration::from_secs(3),
            "{source}: {:?}",
            asked.elapsed()
        );
        assert!(!busy.iter().any(|pid| lives(*pid)), "{source}");
        assert_eq!(activities(&run).last().unwrap().1, "failed");
        agent.end();
    }
}

#[test]
fn a_snippet_dies_with_its_host_and_the_session_can_be_read() {
    let source = format!("await tools.list({{}}); {STUCK}");
    let place = place(&[code(&source)], &json!({}));
    let mut agent = Agent::ready(&place);
    let host = agent.server.pid();
    let session = agent.create();
    agent.begin(&session, "go");
    for _ in 0..3 {
        agent.until("activity");
    }
    wait_for("the snippet", || !snippets(host).is_empty());
    let busy = snippets(host);
    agent.server.signal(Signal::KILL);
    agent.server.wait_exit();
    wait_for("the end of the snippet", || {
        !busy.iter().any(|pid| lives(*pid))
    });
    let mut later = Agent::ready(&place);
    let opened = later.ok("session.open", json!({"session_id": session}));
    let (entries, _) = later.history(&session, opened["revision"].as_str().unwrap());
    assert!(
        entries.iter().any(|entry| entry["kind"] == "activity"),
        "{entries:?}"
    );
    later.end();
}

#[test]
fn a_snippet_that_fails_fails_its_call_alone() {
    let place = place(&[code("console.log('kept');\nnull.x")], &json!({}));
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(
        (run.outcome(), run.reconciled().concat().as_str()),
        ("completed", "Done.")
    );
    assert_eq!(
        activities(&run).last().unwrap().2,
        "code 2 lines: an error, 0 calls"
    );
    assert!(told(&place, &session)[0].starts_with("kept\nTypeError: "));
    agent.end();
}
