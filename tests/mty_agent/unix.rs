//! The Unix socket transport: framing, sessions, and what happens to the file (spec: "Unix socket").

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};

use rustix::process::Signal;

use crate::server::{UnixServer, socket_path};
use crate::support::{PATIENCE, Place};
use crate::wire::*;

/// One connection to the server.
struct Connection {
    stream: UnixStream,
    lines: std::io::Lines<BufReader<UnixStream>>,
}

impl Connection {
    fn open(server: &UnixServer) -> Self {
        let stream = UnixStream::connect(&server.path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let lines = BufReader::new(stream.try_clone().unwrap()).lines();
        Self { stream, lines }
    }

    fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    fn recv(&mut self) -> Option<Exchange> {
        Exchange::take(
            &mut self
                .lines
                .by_ref()
                .map(|line| line.expect("a line in time")),
        )
    }

    fn ask(&mut self, line: &str) -> Exchange {
        self.send(&format!("{line}\n"));
        self.recv().expect("the connection ended")
    }
}

#[test]
fn socket_speaks_the_stdio_format() {
    let server = UnixServer::start(&[]);
    let mut connection = Connection::open(&server);
    for request in [
        EXPLAIN,
        UNKNOWN_CODE,
        UNKNOWN_OP,
        "{",
        "[]",
        r#"{"op":"find","query":"x"}"#,
        HALT,
    ] {
        let (stdio, _) = run(launch(&[]), format!("{request}\n"));
        assert_eq!(
            connection.ask(request).lines,
            Exchange::one(&stdio).lines,
            "{request}"
        );
    }
}

#[test]
fn errors_have_the_stdio_shape() {
    let server = UnixServer::start(&[]);
    let mut connection = Connection::open(&server);
    assert!(
        connection
            .ask("{")
            .protocol_error()
            .starts_with("malformed JSON: ")
    );
    connection.ask("[]").protocol_error();
    connection.send("\n\r\n");
    assert_eq!(
        connection.ask(UNKNOWN_OP).protocol_error(),
        "unknown op: no-such-op"
    );
    // Too long a line: one error, and the loop goes on.
    let writer = connection.stream.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        let mut writer = writer;
        writer.write_all(&vec![b'x'; (8 << 20) + 1]).unwrap();
        writer.write_all(b"\n").unwrap();
    });
    connection.recv().unwrap().protocol_error();
    thread.join().unwrap();
    assert_eq!(connection.ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn connections_are_independent() {
    let server = UnixServer::start(&[]);
    let mut all: Vec<_> = (0..20).map(|_| Connection::open(&server)).collect();
    for (i, connection) in all.iter_mut().enumerate() {
        connection.send(&format!("{{\"op\":\"op-{i}\"}}\n{{\"op\":\"half"));
    }
    for (i, connection) in all.iter_mut().enumerate().rev() {
        assert_eq!(
            connection.recv().unwrap().protocol_error(),
            format!("unknown op: op-{i}")
        );
        connection.send("-line\"}\n");
        assert_eq!(
            connection.recv().unwrap().protocol_error(),
            "unknown op: half-line"
        );
    }
}

#[test]
fn many_idle_connections_take_no_place_from_others() {
    let server = UnixServer::start(&[]);
    let idle: Vec<_> = (0..150).map(|_| Connection::open(&server)).collect();
    let mut connection = Connection::open(&server);
    assert_eq!(connection.ask(EXPLAIN).exit_code(), 0);
    drop(idle);
}

#[test]
fn idle_connection_does_not_hold_up_others() {
    let server = UnixServer::start(&[]);
    let _idle = Connection::open(&server);
    let mut half = Connection::open(&server);
    half.send("{\"op\":");
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn halt_ends_only_its_connection() {
    let mut server = UnixServer::start(&[]);
    let mut other = Connection::open(&server);
    let mut halting = Connection::open(&server);
    halting.send(&format!("{HALT}\n{EXPLAIN}\n"));
    assert_eq!(halting.recv().unwrap().lines, [HALTED, DONE_0]);
    assert!(halting.recv().is_none(), "an answer after halt");
    assert_eq!(other.ask(EXPLAIN).exit_code(), 0);
    assert!(server.server.is_running());
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn client_eof_ends_the_connection_after_its_answers() {
    let server = UnixServer::start(&[]);
    let mut connection = Connection::open(&server);
    connection.send(&format!("{EXPLAIN}\n{EXPLAIN}"));
    connection.stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(connection.recv().unwrap().exit_code(), 0);
    assert_eq!(
        connection.recv().unwrap().exit_code(),
        0,
        "the unterminated last line is whole"
    );
    assert!(connection.recv().is_none());
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn client_that_vanishes_does_no_harm() {
    let server = UnixServer::start(&[]);
    for _ in 0..200 {
        let mut connection = Connection::open(&server);
        connection.send(&format!("{EXPLAIN}\n").repeat(20));
    }
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn three_thousand_pipelined_requests_are_all_answered() {
    let server = UnixServer::start(&[]);
    let mut connection = Connection::open(&server);
    let mut writer = connection.stream.try_clone().unwrap();
    let thread = std::thread::spawn(move || {
        let text: String = (0..3_000)
            .map(|i| format!("{{\"op\":\"op-{i}\"}}\n"))
            .collect();
        writer.write_all(text.as_bytes()).unwrap();
        writer.shutdown(Shutdown::Write).unwrap();
    });
    for i in 0..3_000 {
        assert_eq!(
            connection.recv().unwrap().protocol_error(),
            format!("unknown op: op-{i}")
        );
    }
    assert!(connection.recv().is_none());
    thread.join().unwrap();
}

/// As many clients as there are places ask and read nothing: others get their turn all the same.
#[test]
fn clients_that_do_not_read_are_let_go() {
    const PLACES: usize = 64;
    let server = UnixServer::start(&[]);
    let mut silent: Vec<_> = (0..PLACES)
        .map(|_| {
            let stream = UnixStream::connect(&server.path).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        })
        .collect();
    let request = format!("{EXPLAIN}\n").repeat(64);
    for stream in &mut silent {
        // Until its answers fill what lies between, and so its requests do.
        let mut quiet = 0;
        while quiet < 20 {
            let written = stream.write(request.as_bytes()).unwrap_or(0);
            quiet = if written > 0 { 0 } else { quiet + 1 };
            if written == 0 {
                std::thread::sleep(std::time::Duration::from_millis(5));
            }
        }
    }
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn socket_mode_is_0600() {
    let server = UnixServer::start(&[]);
    let metadata = std::fs::symlink_metadata(&server.path).unwrap();
    assert!(metadata.file_type().is_socket());
    assert_eq!(metadata.permissions().mode() & 0o7777, 0o600);
}

#[test]
fn socket_is_an_alias_of_listen() {
    let place = Place::new();
    let path = socket_path(&place);
    let launch = launch(&["--transport", "unix", "--socket", path.to_str().unwrap()]).place(&place);
    let server = UnixServer::wait(launch, &path);
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn listen_wins_over_socket() {
    let place = Place::new();
    let path = socket_path(&place);
    let other = place.root().join("other.sock");
    let launch = launch(&[
        "--transport",
        "unix",
        "--socket",
        other.to_str().unwrap(),
        "--listen",
        path.to_str().unwrap(),
    ]);
    let server = UnixServer::wait(launch.place(&place), &path);
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
    assert!(!other.exists());
}

#[test]
fn auth_token_is_ignored() {
    let server = UnixServer::start(&["--auth-token", "t"]);
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn stale_socket_is_replaced() {
    let place = Place::new();
    // A bound socket whose process is gone: the file stays, nobody answers.
    drop(UnixListener::bind(socket_path(&place)).unwrap());
    assert!(socket_path(&place).exists());
    let server = UnixServer::start_in(&place, &[]);
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
    assert_eq!(
        std::fs::symlink_metadata(&server.path)
            .unwrap()
            .permissions()
            .mode()
            & 0o7777,
        0o600
    );
}

#[test]
fn killed_server_leaves_a_socket_that_the_next_one_replaces() {
    let place = Place::new();
    let mut first = UnixServer::start_in(&place, &[]);
    first.server.signal(Signal::KILL);
    assert_eq!(first.server.wait_exit().code, None);
    assert!(
        socket_path(&place).exists(),
        "nothing can unlink on SIGKILL"
    );
    let second = UnixServer::start_in(&place, &[]);
    assert_eq!(Connection::open(&second).ask(EXPLAIN).exit_code(), 0);
}

#[test]
fn one_of_many_takes_over_a_stale_socket() {
    use crate::support::{Server, wait_for};
    for _ in 0..6 {
        let place = Place::new();
        let path = socket_path(&place);
        drop(UnixListener::bind(&path).unwrap());
        let mut servers: Vec<_> = (0..8)
            .map(|_| {
                let args = ["--transport", "unix", "--listen", path.to_str().unwrap()];
                Server::spawn(launch(&args).place(&place))
            })
            .collect();
        // Those that lose end; one that lost its socket unseen would go on.
        let mut left = 8;
        wait_for("all but one to end", || {
            left = servers
                .iter_mut()
                .filter_map(|s| s.is_running().then_some(()))
                .count();
            left <= 1
        });
        assert_eq!(left, 1);
        let mut stream = UnixStream::connect(&path).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(format!("{HALT}\n").as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(Exchange::one(&answer).lines, [HALTED, DONE_0]);
        for server in &mut servers {
            if !server.is_running() {
                assert_eq!(server.wait_exit().code, Some(2));
            }
        }
        let names: Vec<_> = std::fs::read_dir(place.root())
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .filter(|name| name.to_string_lossy().contains("sock"))
            .collect();
        assert_eq!(names, ["agent.sock"], "nothing is left lying about");
    }
}

#[test]
fn start_waits_for_another_start_in_its_directory() {
    use rustix::fs::{FlockOperation, flock};
    let place = Place::new();
    let lock = std::fs::File::open(place.root()).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    // Not for ever: the holder may be anything.
    refused(&place, &socket_path(&place));
    assert!(!socket_path(&place).exists());
    drop(lock);
    let server = UnixServer::start_in(&place, &[]);
    assert_eq!(Connection::open(&server).ask(EXPLAIN).exit_code(), 0);
    // A running server holds nothing.
    let lock = std::fs::File::open(place.root()).unwrap();
    flock(&lock, FlockOperation::NonBlockingLockExclusive).unwrap();
}

#[test]
fn long_path_keeps_its_end_and_the_reason() {
    let place = Place::new();
    let path = place.root().join("x".repeat(250)).join("agent.sock");
    let (out, exit) = run(
        launch(&["--transport", "unix", "--listen", path.to_str().unwrap()]).place(&place),
        "",
    );
    assert_eq!(exit.code, Some(2));
    let message = json(&out)["message"].as_str().unwrap().to_owned();
    assert!(message.contains("xx/agent.sock: "), "{message}");
    assert!(!message.ends_with('…'), "the reason is cut off: {message}");
}

/// The launch must fail with one `error` line and exit 2.
fn refused(place: &std::sync::Arc<Place>, path: &std::path::Path) {
    let (out, exit) = run(
        launch(&["--transport", "unix", "--listen", path.to_str().unwrap()]).place(place),
        "",
    );
    assert_eq!(exit.code, Some(2), "{out}{}", exit.stderr);
    let line = out.strip_suffix('\n').expect("one line");
    assert!(
        line.starts_with(r#"{"kind":"error","message":""#) && !line.contains('\n'),
        "{out}"
    );
    check_line(line);
}

#[test]
fn regular_file_is_never_unlinked() {
    let place = Place::new();
    let path = socket_path(&place);
    std::fs::write(&path, "precious").unwrap();
    refused(&place, &path);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
}

#[test]
fn directory_and_symlink_are_never_unlinked() {
    let place = Place::new();
    let path = socket_path(&place);
    std::fs::create_dir(&path).unwrap();
    refused(&place, &path);
    assert!(path.is_dir());
    std::fs::remove_dir(&path).unwrap();

    let target = place.root().join("precious");
    std::fs::write(&target, "precious").unwrap();
    symlink(&target, &path).unwrap();
    refused(&place, &path);
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "precious");
    assert!(
        std::fs::symlink_metadata(&path)
            .unwrap()
            .file_type()
            .is_symlink()
    );
}

#[test]
fn impossible_path_is_an_error_line_and_exit_2() {
    let place = Place::new();
    refused(&place, &place.root().join("no/such/folder/agent.sock"));
    refused(&place, &place.root().join("x".repeat(200)));
}

fn ends_by(signal: Signal) {
    let mut server = UnixServer::start(&[]);
    let mut open = Connection::open(&server);
    assert_eq!(open.ask(EXPLAIN).exit_code(), 0);
    server.server.signal(signal);
    let exit = server.server.wait_exit();
    assert!(!server.path.exists(), "the socket is still there");
    let listening = format!("listening on {}\n", server.path.display());
    assert_eq!(exit.stderr, listening);
    // An open connection is not left hanging.
    let mut rest = Vec::new();
    let _ = open.stream.read_to_end(&mut rest);
}

#[test]
fn sigterm_unlinks_the_socket() {
    ends_by(Signal::TERM);
}

#[test]
fn sigint_unlinks_the_socket() {
    ends_by(Signal::INT);
}

#[test]
fn exit_does_not_unlink_a_successor_s_socket() {
    let place = Place::new();
    let mut first = UnixServer::start_in(&place, &[]);
    // Somebody removes the file and another server binds the same path.
    std::fs::remove_file(&first.path).unwrap();
    let second = UnixServer::start_in(&place, &[]);
    first.server.signal(Signal::TERM);
    first.server.wait_exit();
    assert_eq!(
        Connection::open(&second).ask(EXPLAIN).exit_code(),
        0,
        "the successor lost its socket"
    );
}
