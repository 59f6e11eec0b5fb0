//! Black-box tests of `magi-code sessions`: the list, what is shown and exported of a session, and its end. Only the built
//! binary is used.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    feature = "sessions",
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

#[path = "sessions/browser.rs"]
mod browser;
#[path = "sessions/export.rs"]
mod export;
#[path = "sessions/keeping.rs"]
mod keeping;
#[path = "sessions/written.rs"]
mod written;

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use support::Place;

fn command(place: &Place, args: &[&str]) -> Command {
    let mut command = Command::new(client::BIN);
    command
        .arg("sessions")
        .args(args)
        .current_dir(place.work())
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", place.home())
        .env("MC_HOME", place.mc_home())
        .stdin(Stdio::null());
    command
}

fn sessions(place: &Place, args: &[&str]) -> Output {
    command(place, args).output().unwrap()
}

/// What it prints, where it succeeds.
fn out(place: &Place, args: &[&str]) -> String {
    let ran = sessions(place, args);
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && err.is_empty(), "{args:?}: {err}");
    String::from_utf8(ran.stdout).unwrap()
}

/// What it says, where it fails with 1.
fn refused(place: &Place, args: &[&str]) -> String {
    let ran = sessions(place, args);
    assert_eq!(ran.status.code(), Some(1), "{args:?}");
    String::from_utf8(ran.stderr).unwrap()
}

fn listed(place: &Place, args: &[&str]) -> Vec<Value> {
    let args = [&["list", "--json"], args].concat();
    let list: Value = serde_json::from_str(&out(place, &args)).unwrap();
    list["sessions"].as_array().unwrap().clone()
}
