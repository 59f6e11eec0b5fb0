//! Commands that a model runs, in the built binary: they see nothing of the protocol, and nothing of them is
//! left, however the call or the process ends. What the guard does inside is the tools' own tests' business.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "turn",
    target_os = "linux"
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;

use client::{Agent, BIN, launch};
use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Place, lives, wait_for};

/// What a person may find running after a call: a child that ignores SIGTERM, a grandchild in a session of
/// its own whose parent is gone, one that is stopped. Each tells its number in `pids`.
const TREE: &str = r#"
sh -c 'trap "" TERM INT HUP; echo $$ >> pids; while :; do sleep 1000; done' &
(setsid sh -c 'echo $$ >> pids; exec sleep 1000' &)
sh -c 'echo $$ >> pids; kill -STOP $$; sleep 1000' &
trap "" TERM; echo $$ >> pids; while :; do sleep 1000; done
"#;
const TREE_SIZE: usize = 4;
/// Before the tree: stops its guard, which is the first number that is told.
const STOPS_GUARD: &str = "echo $PPID >> pids; kill -STOP $PPID";
/// Stops it again whenever it goes on; two numbers more than the tree's.
const KEEPS_GUARD_STOPPED: &str = "echo $PPID >> pids
sh -c 'trap \"\" TERM; echo $$ >> pids; while kill -STOP $0; do :; done' $PPID &";

/// A place where the offline provider calls `bash` with each of `commands`, and is allowed to.
fn place(commands: &[&str]) -> Arc<Place> {
    let calls = commands
        .iter()
        .map(|command| json!({"tool": "bash", "input": {"command": command}}));
    let steps: Vec<Value> = calls.chain([json!({"text": "Done."})]).collect();
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}));
    place.write_settings(&json!({
        "providers": {"fixture": {"script": place.root().join("script.json")}},
        "permissions": {"bash": "allow"},
    }));
    place
}

/// The numbers that the tree told, once there are `size` of them.
fn tree(place: &Place, size: usize) -> Vec<u32> {
    let path = place.work().join("pids");
    let told = || std::fs::read_to_string(&path).unwrap_or_default();
    wait_for("the tree", || told().matches('\n').count() >= size);
    told().lines().map(|line| line.parse().unwrap()).collect()
}

fn wait_until_dead(pids: &[u32]) {
    wait_for("the end of the tree", || {
        !pids.iter().any(|pid| lives(*pid))
    });
}

/// A request and its answer, for a test that holds the output itself so that it can close it.
fn ask(agent: &mut Agent, output: &mut impl BufRead, method: &str, params: Value) -> Value {
    let id = agent.send(method, params);
    let mut lines = output.lines();
    loop {
        let line = lines.next().expect("an answer").unwrap();
        let frame: Value = serde_json::from_str(&line).unwrap();
        if frame["id"] == id.as_str() {
            return frame["result"].clone();
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Death {
    EndOfInput,
    ClosedOutput,
    Shutdown,
    Signal(Signal),
}

/// Lets the process end that way while `command` runs, which tells `size` numbers, and waits until nothing
/// is left. Gives the exit code.
fn die(death: Death, command: &str, size: usize) -> Option<i32> {
    let place = place(&[command]);
    let mut agent = Agent::spawn(match death {
        Death::ClosedOutput => launch().place(&place).stalled(),
        _ => launch().place(&place),
    });
    let pids;
    match death {
        Death::ClosedOutput => {
            let mut output = BufReader::new(agent.server.take_stdout());
            let mut ask = |method, params| ask(&mut agent, &mut output, method, params);
            ask("initialize", json!({"required_capabilities": []}));
            let session = ask("session.create", json!({}))["session_id"].clone();
            ask("turn.start", json!({"session_id": session, "prompt": "go"}));
            pids = tree(&place, size);
            drop(output);
        }
        Death::EndOfInput | Death::Shutdown | Death::Signal(_) => {
            agent.initialize();
            let session = agent.create();
            agent.begin(&session, "go");
            pids = tree(&place, size);
            match death {
                Death::Signal(signal) => agent.server.signal(signal),
                Death::Shutdown => drop(agent.send("shutdown", json!({}))),
                _ => agent.server.close_stdin(),
            }
        }
    }
    let exit = agent.server.wait_exit();
    wait_until_dead(&pids);
    assert_eq!(exit.stderr, "", "{death:?}");
    exit.code
}

const DEATHS: [Death; 5] = [
    Death::EndOfInput,
    Death::ClosedOutput,
    Death::Shutdown,
    Death::Signal(Signal::TERM),
    Death::Signal(Signal::KILL),
];

#[test]
fn nothing_is_left_after_any_death() {
    for death in DEATHS {
        let code = die(death, TREE, TREE_SIZE);
        match death {
            Death::EndOfInput | Death::Shutdown => assert_eq!(code, Some(0), "{death:?}"),
            Death::ClosedOutput => assert_eq!(code, Some(1), "{death:?}"),
            Death::Signal(_) => {}
        }
    }
}

#[test]
fn a_stopped_guard_outlives_no_death() {
    for death in DEATHS {
        die(death, &format!("{STOPS_GUARD}\n{TREE}"), TREE_SIZE + 1);
    }
}

#[test]
fn a_guard_that_is_kept_stopped_is_replaced_after_any_death() {
    for death in DEATHS {
        let command = format!("{KEEPS_GUARD_STOPPED}\n{TREE}");
        die(death, &command, TREE_SIZE + 2);
    }
}

/// What detaches into a session of its own, and ends its guard and then the host, leaves nobody above it.
#[test]
fn a_killed_guard_and_a_killed_host_leave_nothing() {
    // The ancestors of the command up to this process, in either order; the test itself is spared.
    for (order, size) in [("$guard $host", 2), ("$host $guard", 2)] {
        let command = format!(
            "guard=$PPID; host=$(cut -d' ' -f4 /proc/$guard/stat)
            setsid sh -c 'trap \"\" TERM; echo $$ >> pids; sleep 0.3; kill -9 '\"{order}\"'; sleep 1000' &
            echo $$ >> pids; sleep 1000"
        );
        let place = place(&[&command]);
        let mut agent = Agent::spawn(launch().place(&place));
        agent.initialize();
        let session = agent.create();
        agent.begin(&session, "go");
        let pids = tree(&place, size);
        agent.server.wait_exit();
        wait_until_dead(&pids);
    }
}

/// The sentinel is no ancestor of a command; one that finds and kills it first meets another one.
#[test]
fn a_killed_sentinel_is_replaced() {
    let command = "guard=$PPID; host=$(cut -d' ' -f4 /proc/$guard/stat)
        setsid sh -c 'trap \"\" TERM; echo $$ >> pids; for p in $(ls /proc | grep ^[0-9]); do
            if tr \"\\0\" \" \" < /proc/$p/cmdline 2>/dev/null | grep -q \"__guard sentinel\" &&
               [ $(cut -d\" \" -f4 /proc/$p/stat) = $1 ]; then kill -9 $p; fi; done
            sleep 1; kill -9 $0 $1; sleep 1000' $guard $host &
        echo $$ >> pids; sleep 1000";
    let place = place(&[command]);
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    let session = agent.create();
    agent.begin(&session, "go");
    let pids = tree(&place, 2);
    agent.server.wait_exit();
    wait_until_dead(&pids);
}

#[test]
fn nothing_is_left_after_a_cancelled_run() {
    for (turns, size) in [("", 0), (STOPS_GUARD, 1), (KEEPS_GUARD_STOPPED, 2)] {
        let place = place(&[&format!("{turns}\n{TREE}")]);
        let mut agent = Agent::ready(&place);
        let session = agent.create();
        let run_id = agent.begin(&session, "go");
        let pids = tree(&place, TREE_SIZE + size);
        let run = json!({"session_id": session, "run_id": run_id});
        agent.ok("turn.cancel", run);
        assert_eq!(agent.finish(run_id).outcome(), "cancelled");
        // At the end of the run, not some time later.
        let alive: Vec<_> = pids.iter().filter(|pid| lives(**pid)).collect();
        assert!(alive.is_empty(), "{alive:?} {turns}");
        agent.end();
    }
}

#[test]
fn a_command_that_kills_its_guard_fails_and_leaves_nothing() {
    let place = place(&[
        "(setsid sh -c 'echo $$ >> pids; exec sleep 1000' >/dev/null 2>&1 &)
        echo $$ >> pids; until [ $(wc -l < pids) = 2 ]; do sleep 0.01; done
        kill -9 $PPID; sleep 1000",
    ]);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    assert_eq!(run.named("activity").last().unwrap()["state"], "failed");
    let alive: Vec<_> = tree(&place, 2)
        .into_iter()
        .filter(|pid| lives(*pid))
        .collect();
    assert!(alive.is_empty(), "{alive:?}");
    agent.end();
}

#[test]
fn commands_see_no_protocol_and_people_no_output() {
    let place = place(&[
        "cat > stolen; echo frame-canary | tee /proc/self/fd/1 /proc/self/fd/2",
        "ls /proc/self/fd > descriptors; kill -9 $$",
    ]);
    let mut agent = Agent::ready(&place);
    let session = agent.create();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let ended: Vec<_> = run
        .named("activity")
        .into_iter()
        .filter(|data| data["state"] != "started")
        .map(|data| (data["state"].clone(), data["summary"].clone()))
        .collect();
    assert_eq!(
        ended,
        [
            (
                json!("completed"),
                json!("bash cat, echo, tee: exit 0, 3 lines")
            ),
            (json!("failed"), json!("bash ls, kill: signal 9, 0 lines")),
        ]
    );
    assert!(!json!(run.events).to_string().contains("frame-canary"));
    let written = |name: &str| std::fs::read_to_string(place.work().join(name)).unwrap();
    assert_eq!(written("stolen"), "");
    assert_eq!(written("descriptors"), "0\n1\n2\n3\n");
    // The model gets it all.
    let stored = std::fs::read_to_string(place.session_file(&session)).unwrap();
    assert!(stored.contains("frame-canary") && stored.contains("ended by signal 9"));
    agent.end();
}

#[test]
fn a_flood_of_output_costs_no_memory() {
    let mut agent = Agent::ready(&place(&["head -c 100000000 /dev/zero"]));
    let session = agent.create();
    let before = agent.server.rss_kib().unwrap();
    let run = agent.turn(&session, "go");
    assert_eq!(run.outcome(), "completed");
    let summary = &run.named("activity").last().unwrap()["summary"];
    assert_eq!(summary, "bash head: exit 0, 1 line");
    let grown = agent.server.peak_rss_kib().unwrap() - before;
    assert!(grown < 16 * 1024, "{grown} KiB");
    agent.end();
}

#[test]
fn the_guard_is_nobodys_command() {
    let help = Command::new(BIN).arg("--help").output().unwrap();
    assert!(!String::from_utf8_lossy(&help.stdout).contains("guard"));
    let alone = Command::new(BIN)
        .arg("__guard")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(alone.status.code(), Some(2));
    assert!(alone.stdout.is_empty() && alone.stderr.is_empty());
}
