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

#[test]
fn a_home_that_cannot_be_prepared_is_named_on_stderr() {
    let place = Place::new();
    std::fs::write(place.root().join("file"), "").unwrap();
    let home = place.root().join("file/home");
    let launch = Launch::new(BIN, &["--app", "service"]).place(&place);
    let mut server = Server::spawn(launch.env("MC_HOME", home.to_str().unwrap()));
    server.close_stdin();
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(1), "{}", exit.stderr);
    let why = "this directory cannot be prepared: Not a directory";
    assert!(exit.stderr.contains(why), "{}", exit.stderr);
    assert!(exit.stderr.contains("file/home"), "{}", exit.stderr);
}

/// The service behind a shell that prepares its descriptors or limits.
fn behind_shell(script: &str) -> Launch {
    let script = format!("{script}; exec \"$0\" --app service");
    Launch::new("/bin/sh", &["-c", &script, BIN])
}

#[test]
fn closed_descriptors_are_refused() {
    for script in [
        "exec >&-",
        "exec <&-",
        "exec <&- >&-",
        "exec 1</dev/null",
        "exec 0>/dev/null",
    ] {
        let place = Place::new();
        let mut server = Server::spawn(behind_shell(script).place(&place));
        let _ = server.try_send(record("i", "initialize", &version_1()));
        server.close_stdin();
        let exit = server.wait_exit();
        assert_eq!(exit.code, Some(2), "{script}: {}", exit.stderr);
        assert_eq!(exit.stderr.lines().count(), 1, "{script}: {}", exit.stderr);
        assert!(!place.mc_home().exists(), "{script} touched the home");
    }
    // Whoever asks for that gets it.
    let mut server = Server::spawn(behind_shell("exec > /dev/null"));
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn too_few_descriptors_are_refused_with_a_reason() {
    for limit in [4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20, 24, 28, 32, 40] {
        let place = Place::new();
        let mut server = Server::spawn(behind_shell(&format!("ulimit -n {limit}")).place(&place));
        let _ = server.try_send(record("i", "initialize", &version_1()));
        server.close_stdin();
        let answers = server.rest().len();
        let exit = server.wait_exit();
        assert!(
            !exit.stderr.contains("panicked"),
            "{limit}: {}",
            exit.stderr
        );
        match exit.code {
            Some(0) => assert_eq!(answers, 1, "{limit}"),
            // 127 is the shell's or the loader's.
            Some(2 | 127) => assert!(!exit.stderr.is_empty(), "{limit} says nothing"),
            other => panic!("{limit}: {other:?}: {}", exit.stderr),
        }
        assert!(limit > 8 || exit.code != Some(0), "{limit} is served");
    }
}

#[test]
fn too_little_memory_is_refused_with_a_reason() {
    // From where the loader itself just lives.
    for kib in (12..64).step_by(4).map(|mib| mib * 1024) {
        let mut server = Server::spawn(behind_shell(&format!("ulimit -v {kib}")));
        let _ = server.try_send(record("i", "initialize", &version_1()));
        server.close_stdin();
        let exit = server.wait_exit();
        assert!(!exit.stderr.contains("panicked"), "{kib}: {}", exit.stderr);
        assert_ne!(exit.code, Some(101), "{kib}: {}", exit.stderr);
    }
}
