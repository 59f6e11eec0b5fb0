//! Launching: what `--app service` may be combined with, what a launch leaves behind (spec: "Launch and streams").
//! Every refusal is exit 2, decided before anything is read or written.

use serde_json::json;

use crate::client::{BIN, Service, record, version_1};
use crate::support::{Launch, Place, Server};

fn refused(args: &[&str]) {
    let place = Place::new();
    let mut server = Server::spawn(Launch::new(BIN, args).place(&place));
    // The client sends before it knows: the request must not be answered.
    let _ = server.try_send(record("i", "initialize", &version_1()));
    server.close_stdin();
    assert!(server.rest().is_empty(), "{args:?} wrote to stdout");
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(2), "{args:?}: {}", exit.stderr);
    assert!(!exit.stderr.is_empty(), "{args:?} says nothing");
    assert!(!place.mc_home().exists(), "{args:?} touched the home");
}

#[test]
fn combination_with_other_arguments_exits_2() {
    for extra in [
        &["--prompt", "hello"][..],
        &["--provider", "fixture"],
        &["--model", "fixture-model"],
        &["--api-key", "k"],
        &["--theme", "dark"],
        &["--session", "s-1"],
        &["--continue"],
        &["--resume"],
        &["--stdio"],
        &["try", "hello"],
        &["serve", "--stdio"],
        &["schema"],
        &["--", "x"],
        &["--app", "service"],
    ] {
        refused(&[&["--app", "service"], extra].concat());
    }
    refused(&["serve", "--stdio", "--app", "service"]);
    refused(&["--prompt", "hello", "--app", "service"]);
}

#[test]
fn unknown_app_exits_2() {
    for args in [
        &["--app", "daemon"][..],
        &["--app", "Service"],
        &["--app", ""],
        &["--app"],
    ] {
        refused(args);
    }
}

#[test]
fn equals_form_is_the_same_launch() {
    let mut service = Service::spawn(Launch::new(BIN, &["--app=service"]));
    service.initialize();
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn startup_creates_no_session() {
    let place = Place::new();
    let mut service = Service::ready_in(&place);
    service.ok("status", &json!({}));
    assert_eq!(service.finish().code, Some(0));
    let sessions = place.mc_home().join("sessions");
    let count = std::fs::read_dir(&sessions).map_or(0, Iterator::count);
    assert_eq!(count, 0, "a session file without a session");
    assert_eq!(
        std::fs::read_dir(place.work()).unwrap().count(),
        0,
        "the workspace was touched"
    );
}
