//! Nothing of a server lives a second after any end of the process (spec: "Bounds and failure policy").

use std::io::{BufRead, BufReader};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;

use crate::client::{Agent, launch};
use crate::setting::{misbehaving, place};
use crate::support::{lives, wait_for};

#[derive(Clone, Copy, Debug)]
enum Death {
    EndOfInput,
    Shutdown,
    ClosedOutput,
    Signal(Signal),
}

#[test]
fn no_process_of_a_server_outlives_its_host() {
    for death in [
        Death::EndOfInput,
        Death::Shutdown,
        Death::ClosedOutput,
        Death::Signal(Signal::TERM),
        Death::Signal(Signal::KILL),
    ] {
        // It stays when its input ends, and so do two that it started and left.
        let servers = json!({"a": misbehaving(&["--spawn", "--stay"]), "b": misbehaving(&[])});
        let place = place(&servers, &json!([]));
        let path = place.work().join("pids");
        let mut agent = Agent::spawn(match death {
            Death::ClosedOutput => launch().place(&place).stalled(),
            _ => launch().place(&place),
        });
        let mut output = None;
        if let Death::ClosedOutput = death {
            let mut lines = BufReader::new(agent.server.take_stdout());
            agent.send("initialize", json!({"required_capabilities": []}));
            let mut answer = String::new();
            lines.read_line(&mut answer).unwrap();
            assert!(answer.contains("\"ready\""), "{answer}");
            output = Some(lines);
        } else {
            agent.initialize();
        }
        let told = || std::fs::read_to_string(&path).unwrap_or_default();
        wait_for("the processes", || told().lines().count() >= 3);
        let pids: Vec<u32> = told().lines().map(|pid| pid.parse().unwrap()).collect();
        assert!(pids.iter().all(|pid| lives(*pid)), "{pids:?}");
        match death {
            Death::EndOfInput => agent.server.close_stdin(),
            Death::Shutdown => drop(agent.send("shutdown", json!({}))),
            Death::ClosedOutput => {
                drop(output);
                agent.send("status", json!({}));
            }
            Death::Signal(signal) => agent.server.signal(signal),
        }
        let exit = agent.server.wait_exit();
        let ended = Instant::now();
        while pids.iter().any(|pid| lives(*pid)) {
            assert!(
                ended.elapsed() < Duration::from_secs(1),
                "{death:?} leaves something"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        assert_eq!(exit.stderr, "", "{death:?}");
        if let Death::EndOfInput | Death::Shutdown = death {
            assert_eq!(exit.code, Some(0), "{death:?}");
        }
    }
}

#[test]
fn all_are_told_before_any_is_waited_for() {
    // None of them goes by itself, so that each is waited for.
    let names = ["a", "b", "c", "d", "e"];
    let servers = names.map(|name| (name.to_owned(), misbehaving(&["--stay"])));
    let place = place(&serde_json::Map::from_iter(servers).into(), &json!([]));
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    agent.end();
    let told = std::fs::read_to_string(place.work().join("told")).unwrap();
    let mut told: Vec<f64> = told.lines().map(|line| line.parse().unwrap()).collect();
    told.sort_by(f64::total_cmp);
    assert_eq!(told.len(), names.len());
    // A server is waited for 300 ms: one after the other they would be told within 1,200.
    let took = told[told.len() - 1] - told[0];
    assert!(took < 0.6, "{told:?}");
}
