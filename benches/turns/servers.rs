//! MCP servers: a start with three beside one with the slowest and one with none, what the host keeps of them, and a call
//! in a turn. Prints figures; judges none.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::agent::{Agent, Dialect, Place};
use crate::peer::{quantile, ratio};

const STARTS: usize = 15;
const TURNS: usize = 20;
/// Calls of one turn.
const CALLS: u32 = 20;

/// A server of ours that needs this long for its handshake.
fn slow(delay: Duration) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/turns/server.py");
    json!({"command": "python3", "args": [script, delay.as_millis().to_string()]})
}

/// Those of others that `tests/real/install-mcp` installs, if they are.
fn real() -> Option<Vec<(&'static str, Value)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/real/mcp");
    folder.join("installed").exists().then_some(())?;
    let node = folder.join("node/node_modules/.bin/mcp-server-filesystem");
    let python = |name: &str| folder.join("venv/bin").join(name);
    Some(vec![
        ("files", json!({"command": node, "args": ["."]})),
        (
            "time",
            json!({"command": python("mcp-server-time"), "args": ["--local-timezone", "UTC"]}),
        ),
        ("git", json!({"command": python("mcp-server-git")})),
    ])
}

/// A place with these servers, approved and trusted, whose turns play `steps`.
fn place(program: &Path, servers: &[(&str, Value)], steps: &Value) -> Place {
    let place = Place::with_script(&json!({"turns": [{"steps": steps}]}).to_string());
    let file = place.home().join("settings.json");
    let read = || serde_json::from_slice::<Value>(&std::fs::read(&file).unwrap()).unwrap();
    let mut settings = read();
    for (name, definition) in servers {
        settings["mcp_servers"][name] = definition.clone();
        settings["mcp_servers"][name]["trust"] = json!(true);
    }
    std::fs::write(&file, settings.to_string()).unwrap();
    for (name, _) in servers {
        let approved = Command::new(program)
            .args(["mcp", "approve", name])
            .env("MC_HOME", place.home())
            .current_dir(place.work())
            .output()
            .unwrap();
        assert!(approved.status.success(), "{approved:?}");
    }
    place
}

pub(crate) fn servers(program: &Path) {
    let ours = [100, 200, 300].map(|wait| slow(Duration::from_millis(wait)));
    let ours: Vec<_> = ["one", "two", "three"].into_iter().zip(ours).collect();
    starts(program, "servers that wait", &ours);
    match real() {
        Some(real) => starts(program, "files, time and git", &real),
        None => println!("no real servers: tests/real/install-mcp installs them"),
    }
    call(program);
}

/// Starts to the answer of `initialize`: without servers, with each alone, with all; and all by a bare client.
fn starts(program: &Path, what: &str, servers: &[(&str, Value)]) {
    let mut sets = vec![&servers[..0], servers];
    sets.extend(servers.chunks(1));
    let places: Vec<_> = sets
        .iter()
        .map(|set| place(program, set, &json!([{"text": "Done."}])))
        .collect();
    let mut times = vec![Vec::new(); sets.len()];
    let (mut bare, mut resident) = (Vec::new(), [0, 0]);
    for _ in 0..STARTS {
        for (at, place) in places.iter().enumerate() {
            let begun = Instant::now();
            let agent = Agent::bare(program, place, Dialect::LocalAgent);
            times[at].push(begun.elapsed());
            if let Some(resident) = resident.get_mut(at) {
                *resident = agent.peer.rss_kib();
            }
            agent.peer.end();
        }
        bare.push(by_bare_client(&places[0], servers));
    }
    let mut medians = times.iter_mut().map(|times| quantile(times, 0.5));
    let (none, all) = (medians.next().unwrap(), medians.next().unwrap());
    let slowest = medians.max().unwrap();
    let bare = quantile(&mut bare, 0.5);
    println!(
        "start with {what}: three {all:.2?}, {:.2}x of the slowest alone {slowest:.2?}, {:.2}x of a bare client's {bare:.2?}; none {none:.2?}; resident {} and {} KiB",
        ratio(all, slowest),
        ratio(all, bare),
        resident[1],
        resident[0],
    );
}

/// The same handshakes and lists of tools, of all servers at once, by the least that a client can do.
fn by_bare_client(place: &Place, servers: &[(&str, Value)]) -> Duration {
    let begun = Instant::now();
    let mut children: Vec<_> = servers
        .iter()
        .map(|(_, server)| {
            let args = server["args"].as_array().into_iter().flatten();
            Command::new(server["command"].as_str().unwrap())
                .args(args.map(|arg| arg.as_str().unwrap()))
                .current_dir(place.work())
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap()
        })
        .collect();
    std::thread::scope(|scope| {
        for child in &mut children {
            scope.spawn(|| handshake(child));
        }
    });
    let took = begun.elapsed();
    for mut child in children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    took
}

/// Up to the list of tools.
fn handshake(child: &mut Child) {
    let mut input = child.stdin.as_ref().unwrap();
    let mut output = BufReader::new(child.stdout.as_mut().unwrap());
    let params = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bare", "version": "1"}});
    for message in [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}),
    ] {
        let line = format!("{message}\n");
        input.write_all(line.as_bytes()).unwrap();
        let mut answer = Value::Null;
        while answer["id"] != message["id"] {
            let mut line = String::new();
            assert!(output.read_line(&mut line).unwrap() > 0);
            answer = serde_json::from_str(&line).unwrap();
        }
    }
}

/// A call in a turn, of a server's tool and of `list`: the model's next request, the records and the events included.
fn call(program: &Path) {
    let calls = [
        ("mcp__one__echo", json!({"text": "x"})),
        ("list", json!({})),
    ];
    let mut agents = calls.map(|(tool, input)| {
        let mut steps = vec![json!({"tool": tool, "input": input}); CALLS as usize];
        steps.push(json!({"text": "Done."}));
        let place = place(program, &[("one", slow(Duration::ZERO))], &json!(steps));
        let agent = Agent::start(program, &place, Dialect::LocalAgent);
        (place, agent, Vec::new())
    });
    for round in 0..=TURNS {
        for (_, agent, times) in &mut agents {
            let took = agent.turn().took;
            if round > 0 {
                times.push(took);
            }
        }
    }
    let [server, own] = agents.map(|(_, agent, mut times)| {
        agent.peer.end();
        quantile(&mut times, 0.5) / CALLS
    });
    println!("a call in a turn: of a server {server:.2?}, of `list` {own:.2?}");
}
