//! Black-box tests of what configures magi-code: what of a project's files counts before it is trusted, the commands
//! that trust it and select, and the reasons that `doctor` and `try` tell.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    feature = "providers",
    feature = "doctor",
    feature = "trust",
    feature = "try",
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
#[path = "providers/server.rs"]
#[allow(dead_code)]
mod server;

#[cfg(feature = "config")]
#[path = "configuration/config.rs"]
mod config;
#[path = "configuration/doctor.rs"]
mod doctor;
#[path = "configuration/trust.rs"]
mod trust;

use std::process::{Command, Output};

use support::Place;

/// Runs a command for people in the place's workspace, with a clean environment and `vars`.
fn magi_code(place: &Place, args: &[&str], vars: &[(&str, &str)]) -> Output {
    Command::new(client::BIN)
        .args(args)
        .current_dir(place.work())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .envs(vars.iter().copied())
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
