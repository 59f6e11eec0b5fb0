//! `cargo bench --bench accounts`: `auth.status` beside `status` of the same service, and the service's memory over 1,000
//! logins with an issuer on the loopback. Prints; asserts nothing. `MAGI_CODE_BIN` names another build.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use peer::{Peer, quantile, ratio, service};
use serde_json::{Value, json};

#[path = "../tests/support/issuer.rs"]
mod issuer;
#[allow(dead_code)] // the other benchmarks use the rest
mod peer;

const CODEX: &str = r#"{"provider_id":"openai-codex"}"#;
const LOGINS: usize = 1000;

fn start(home: &Path) -> Peer {
    let program = peer::program("MAGI_CODE_BIN", env!("CARGO_BIN_EXE_magi-code"));
    let mut command = Command::new(program);
    command
        .args(["--app", "service"])
        .env("MC_HOME", home)
        .env_remove("ANTHROPIC_API_KEY")
        .current_dir(home);
    let mut peer = Peer::start(&mut command);
    let payload = r#"{"supported_protocol_versions":[1]}"#;
    peer.ask(&service(0, "initialize", None, payload));
    peer
}

fn said(peer: &Peer) -> Value {
    serde_json::from_str(&peer.line).unwrap()
}

/// In turns, so that whatever else the machine does meets both.
fn status(peer: &mut Peer) {
    let (mut status, mut auth) = (Vec::new(), Vec::new());
    for id in 1..4000 {
        let begun = Instant::now();
        peer.ask(&service(id, "status", None, "{}"));
        status.push(begun.elapsed());
        let begun = Instant::now();
        peer.ask(&service(id, "auth.status", None, "{}"));
        auth.push(begun.elapsed());
    }
    for q in [0.5, 0.99] {
        let (of_status, of_auth) = (quantile(&mut status, q), quantile(&mut auth, q));
        println!(
            "round trip, p{:<3} status {of_status:>9.2?}  auth.status {of_auth:>9.2?}  {:.2}x",
            q * 100.0,
            ratio(of_auth, of_status)
        );
    }
}

fn logins(peer: &mut Peer, issuer: &issuer::Issuer) {
    let begun = Instant::now();
    for round in 1..=LOGINS {
        peer.ask(&service(round, "auth.login.start", None, CODEX));
        let login = said(peer)["payload"]["login_id"]
            .as_str()
            .unwrap()
            .to_owned();
        peer.read();
        let page = said(peer)["payload"]["url"].as_str().unwrap().to_owned();
        // `waiting`.
        peer.read();
        let payload = json!({"login_id": login, "input": issuer.agree(&page)}).to_string();
        peer.ask(&service(
            LOGINS + round,
            "auth.login.callback",
            None,
            &payload,
        ));
        while said(peer)["event"] != "auth.login.terminal" {
            peer.read();
        }
        assert_eq!(said(peer)["payload"]["state"], "exchange_succeeded");
        if [10, 100, LOGINS].contains(&round) {
            println!("resident after {round:>5} logins {:>9} KiB", peer.rss_kib());
        }
    }
    println!(
        "a login, from its start to its end    {:>9.2?}",
        begun.elapsed() / 1000
    );
}

fn main() {
    let home = tempfile::tempdir().unwrap();
    let issuer = issuer::Issuer::start();
    let settings = json!({"providers": {"openai-codex": {"issuer_url": issuer.url()}}});
    std::fs::write(home.path().join("settings.json"), settings.to_string()).unwrap();
    let mut peer = start(home.path());
    println!("resident after initialize    {:>9} KiB", peer.rss_kib());
    logins(&mut peer, &issuer);
    status(&mut peer);
    peer.end();
}
