//! `cargo bench --bench configuration`: `config.get` and a page of `catalog.models` beside `status` of the same service, and
//! `config.set` beside one bare replacement of the same bytes: locked, flushed, in the same folder. Prints; asserts nothing.
//! `MAGI_CODE_BIN` names another build; `TMPDIR` says which file system is written.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use peer::{Peer, quantile, ratio, service};
use serde_json::{Value, json};

#[allow(dead_code)] // the other benchmarks use the rest
mod peer;

const READS: usize = 4000;
const WRITES: usize = 400;

fn start(home: &Path) -> Peer {
    let program = peer::program("MAGI_CODE_BIN", env!("CARGO_BIN_EXE_magi-code"));
    let mut command = Command::new(program);
    command
        .args(["--app", "service"])
        .env("MC_HOME", home)
        .current_dir(home.parent().unwrap());
    let mut peer = Peer::start(&mut command);
    let payload = r#"{"supported_protocol_versions":[1]}"#;
    peer.ask(&service(0, "initialize", None, payload));
    peer
}

fn asked(peer: &mut Peer, id: usize, method: &str, payload: &str) -> Duration {
    let request = service(id, method, None, payload);
    let begun = Instant::now();
    peer.ask(&request);
    begun.elapsed()
}

fn told(name: &str, times: &mut [Duration], beside: &mut [Duration]) {
    let at = |times: &mut [Duration], q| quantile(times, q);
    let [(p50, b50), (p99, b99)] = [0.5, 0.99].map(|q| (at(times, q), at(beside, q)));
    println!(
        "{name:<24} p50 {p50:>9.2?} {:.2}x  p99 {p99:>9.2?} {:.2}x  (beside {b50:.2?}, {b99:.2?})",
        ratio(p50, b50),
        ratio(p99, b99)
    );
}

/// In turns, so that whatever else the machine does meets all of them.
fn reads(peer: &mut Peer) {
    let (mut status, mut get, mut models) = (Vec::new(), Vec::new(), Vec::new());
    let page = r#"{"provider_id":"mine"}"#;
    for id in 1..READS {
        status.push(asked(peer, id, "status", "{}"));
        get.push(asked(peer, id, "config.get", "{}"));
        models.push(asked(peer, id, "catalog.models", page));
    }
    told("config.get", &mut get, &mut status);
    told("catalog.models, 32 of 100", &mut models, &mut status);
}

/// The least that a change needs which neither is lost nor loses another one.
fn replace(home: &Path, bytes: &[u8]) {
    let lock = File::create(home.join("bare.lock")).unwrap();
    lock.lock().unwrap();
    let fresh = home.join("bare.new");
    let mut file = File::create(&fresh).unwrap();
    file.write_all(bytes).unwrap();
    file.sync_all().unwrap();
    fs::rename(fresh, home.join("bare.json")).unwrap();
    File::open(home).unwrap().sync_all().unwrap();
}

fn writes(peer: &mut Peer, home: &Path) {
    let (mut set, mut bare) = (Vec::new(), Vec::new());
    for id in 1..WRITES {
        let level = ["low", "high"][id % 2];
        let payload = json!({"scope": "global", "thinking_level": level}).to_string();
        set.push(asked(peer, id, "config.set", &payload));
        let answer: Value = serde_json::from_str(&peer.line).unwrap();
        assert_eq!(answer["payload"]["persisted"], true, "{answer}");
        let bytes = fs::read(home.join("settings.json")).unwrap();
        let begun = Instant::now();
        replace(home, &bytes);
        bare.push(begun.elapsed());
    }
    told("config.set", &mut set, &mut bare);
}

fn main() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    fs::create_dir(&home).unwrap();
    let models: Vec<_> = (0..100)
        .map(|n| json!({"id": format!("family/model-{n}"), "thinking_levels": ["low", "high"]}))
        .collect();
    let settings = json!({"provider": "mine", "model": "family/model-7", "thinking_level": "low", "providers": {
        "mine": {"api": "openai-chat", "base_url": "http://127.0.0.1:9", "models": models},
    }});
    let text = serde_json::to_string_pretty(&settings).unwrap();
    println!("settings of {} bytes", text.len());
    fs::write(home.join("settings.json"), text).unwrap();
    let mut peer = start(&home);
    reads(&mut peer);
    writes(&mut peer, &home);
    println!("resident after all {:>6} KiB", peer.rss_kib());
    peer.end();
}
