//! Invalid launches: exit 2 before any side effect (spec: "Invocation and implementation status",
//! "Bounds and failure policy"). Endpoints and flags only; what a served child does is elsewhere.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Stdio;

use crate::client::{Agent, BIN, launch, request_line};
use crate::support::{Launch, Server};

/// A pipe end that stays open and silent for as long as the other end is held.
fn silent_stdin() -> (Stdio, std::io::PipeWriter) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader.into(), writer)
}

fn unread_stdout() -> (std::io::PipeReader, Stdio) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader, writer.into())
}

/// Exit 2 while both pipes stay open, no storage, nothing on stdout.
#[track_caller]
fn assert_refused(launch: Launch) {
    let args = launch.args.clone();
    let mut server = Server::spawn(launch);
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(2), "{args:?}: {}", exit.stderr);
    assert!(server.rest().is_empty(), "{args:?}: stdout");
    assert!(
        !server.place.mc_home().exists(),
        "{args:?}: storage was created"
    );
}

#[track_caller]
fn assert_stdin_refused(stdin: Stdio) {
    let launch = launch();
    let (reader, stdout) = unread_stdout();
    let mut server = Server::spawn_on(&launch, stdin, stdout);
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(2), "{}", exit.stderr);
    assert_eq!(std::io::read_to_string(reader).unwrap(), "");
    assert!(!launch.place.mc_home().exists());
}

#[track_caller]
fn assert_stdout_refused(stdout: Stdio) {
    let launch = launch();
    let (stdin, _held) = silent_stdin();
    let mut server = Server::spawn_on(&launch, stdin, stdout);
    let exit = server.wait_exit();
    assert_eq!(exit.code, Some(2), "{}", exit.stderr);
    assert!(!launch.place.mc_home().exists());
}

fn socket() -> (OwnedFd, OwnedFd) {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    (ours.into(), theirs.into())
}

/// A terminal device: the master side of a pseudo terminal answers `isatty` like the slave.
#[cfg(target_os = "linux")]
fn terminal() -> File {
    let file = File::options()
        .read(true)
        .write(true)
        .open("/dev/ptmx")
        .unwrap();
    assert!(rustix::termios::isatty(&file));
    file
}

#[test]
fn pipes_are_served() {
    let mut agent = Agent::start();
    agent.initialize();
    agent.end();
}

/// Descriptors of a process without close-on-exec.
#[cfg(target_os = "linux")]
fn inheritable(pid: &str) -> Vec<u32> {
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    let flags = |path: std::path::PathBuf| {
        let info = std::fs::read_to_string(path).ok()?;
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"))?;
        u32::from_str_radix(flags.trim(), 8).ok()
    };
    std::fs::read_dir(format!("/proc/{pid}/fdinfo"))
        .unwrap()
        .flatten()
        .filter(|entry| flags(entry.path()).is_some_and(|flags| flags & CLOSE_ON_EXEC == 0))
        .map(|entry| entry.file_name().into_string().unwrap().parse().unwrap())
        .collect()
}

/// A stray print or a curious child must meet neither the requests nor the frames.
#[cfg(target_os = "linux")]
#[test]
fn standard_descriptors_belong_to_the_protocol() {
    // What the test process itself passes on is not the child's doing.
    let ours = inheritable("self");
    let mut agent = Agent::start();
    agent.initialize();
    let fds = format!("/proc/{}/fd", agent.server.pid());
    let target = |fd: u32| std::fs::read_link(format!("{fds}/{fd}")).unwrap();
    assert_eq!(target(0), std::path::Path::new("/dev/null"));
    assert_eq!(target(1), target(2), "stdout is stderr");
    let theirs = inheritable(&agent.server.pid().to_string());
    let added: Vec<_> = theirs
        .iter()
        .filter(|fd| **fd > 2 && !ours.contains(fd))
        .collect();
    assert!(added.is_empty(), "a child process would inherit {added:?}");
    agent.end();
}

#[test]
fn regular_file_as_stdin_is_refused() {
    let mut file = tempfile::tempfile().unwrap();
    let line = request_line(
        "r",
        "initialize",
        &serde_json::json!({"required_capabilities": []}),
    );
    std::io::Write::write_all(&mut file, line.as_bytes()).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    assert_stdin_refused(file.into());
}

#[test]
fn regular_file_as_stdout_is_refused() {
    let file = tempfile::tempfile().unwrap();
    assert_stdout_refused(file.try_clone().unwrap().into());
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn null_device_is_refused() {
    assert_stdin_refused(Stdio::null());
    assert_stdout_refused(Stdio::null());
}

#[test]
fn socket_endpoints_are_refused() {
    let (ours, theirs) = socket();
    assert_stdin_refused(theirs.into());
    drop(ours);
    let (ours, theirs) = socket();
    assert_stdout_refused(theirs.into());
    drop(ours);
}

#[cfg(target_os = "linux")]
#[test]
fn terminal_endpoints_are_refused() {
    assert_stdin_refused(terminal().into());
    assert_stdout_refused(terminal().into());
}

#[test]
fn directory_as_stdin_is_refused() {
    assert_stdin_refused(File::open("/").unwrap().into());
}

#[test]
fn other_flags_cannot_accompany_serve() {
    let others: [&[&str]; 8] = [
        &["serve", "--stdio", "--prompt", "hello"],
        &["--prompt", "hello", "serve", "--stdio"],
        &["serve", "--stdio", "--app", "service"],
        &["--app", "service", "serve", "--stdio"],
        &["serve", "--stdio", "--model", "x"],
        &["serve", "--stdio", "--stdio"],
        &["serve", "--stdio", "--frames"],
        &["serve", "--stdio", "--cwd", "/"],
    ];
    for args in others {
        assert_refused(Launch::new(BIN, args));
    }
}

#[test]
fn unknown_flags_and_arguments_are_refused() {
    let wrong: [&[&str]; 8] = [
        &["serve"],
        &["serve", "--nope"],
        &["serve", "--stdio", "--nope"],
        &["serve", "--stdio", "extra"],
        &["serve", "--stdio=true"],
        &["serve", "-s"],
        &["serve", "--", "--stdio"],
        &["server", "--stdio"],
    ];
    for args in wrong {
        assert_refused(Launch::new(BIN, args));
    }
}

#[test]
fn legacy_daemon_launch_is_refused() {
    assert_refused(Launch::new(BIN, &["daemon"]));
    assert_refused(Launch::new(BIN, &["--app", "daemon"]));
}

#[test]
fn default_and_prompt_launches_stay_refused_without_a_terminal() {
    let without_serve: [&[&str]; 4] = [
        &[],
        &["--prompt", "hello"],
        &["--prompt=hello"],
        &["-p", "hello"],
    ];
    for args in without_serve {
        assert_refused(Launch::new(BIN, args));
    }
}

#[test]
fn wrong_ends_of_pipes_are_refused() {
    let (reader, writer) = std::io::pipe().unwrap();
    assert_stdin_refused(writer.into());
    drop(reader);
    let (reader, _writer) = std::io::pipe().unwrap();
    assert_stdout_refused(reader.into());
}

/// A stderr whose other end is gone.
fn broken_stderr() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

#[test]
fn refusal_that_nobody_can_be_told_still_exits_2() {
    let launch = launch();
    let (errors, _) = std::io::pipe().unwrap();
    let (stdin, _held) = silent_stdin();
    let file = File::create(launch.place.work().join("out")).unwrap();
    let mut server = Server::spawn_with(&launch, stdin, file.into(), broken_stderr(), errors);
    assert_eq!(server.wait_exit().code, Some(2));
}

#[test]
#[cfg(target_os = "linux")]
fn pipes_shared_with_others_stay_blocking() {
    use rustix::fs::{OFlags, fcntl_getfl};
    let (child_in, to_child) = std::io::pipe().unwrap();
    let (from_child, child_out) = std::io::pipe().unwrap();
    // Copies of the child's own ends, as a shell's other commands have them.
    let (shared_in, shared_out) = (
        child_in.try_clone().unwrap(),
        child_out.try_clone().unwrap(),
    );
    let mut server = Server::spawn_on(&launch(), child_in.into(), child_out.into());
    let (mut to_child, mut from_child) = (to_child, std::io::BufReader::new(from_child));
    let request = request_line(
        "i",
        "initialize",
        &serde_json::json!({"required_capabilities": []}),
    );
    std::io::Write::write_all(&mut to_child, request.as_bytes()).unwrap();
    let mut answer = String::new();
    std::io::BufRead::read_line(&mut from_child, &mut answer).unwrap();
    assert!(answer.contains("ready"), "{answer}");
    for shared in [OwnedFd::from(shared_in), OwnedFd::from(shared_out)] {
        assert!(!fcntl_getfl(&shared).unwrap().contains(OFlags::NONBLOCK));
    }
    drop(to_child);
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
fn small_limits_and_closed_descriptors_are_refused() {
    let limits = [4, 6, 8, 10, 14, 20, 24, 32].map(|limit| format!("ulimit -n {limit}"));
    let closed = ["exec >&-", "exec <&-"].map(str::to_owned);
    for script in limits.into_iter().chain(closed) {
        let whole = format!("{script}; exec \"$0\" serve --stdio");
        let mut server = Server::spawn(Launch::new("/bin/sh", &["-c", &whole, BIN]));
        server.close_stdin();
        let exit = server.wait_exit();
        assert!(
            !exit.stderr.contains("panicked"),
            "{script}: {}",
            exit.stderr
        );
        match exit.code {
            Some(0) => assert!(!script.starts_with("exec"), "{script} is served"),
            Some(2 | 127) => assert!(!exit.stderr.is_empty(), "{script} says nothing"),
            other => panic!("{script}: {other:?}"),
        }
    }
}
