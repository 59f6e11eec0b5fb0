//! The output side under bad readers: deadline, overflow, broken pipe (spec: "Bounds and failure
//! policy"). Only cheap requests are used; runs under pressure are in pressure.rs.

#[cfg(target_os = "linux")]
use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::client::{Agent, assert_clean, assert_failed_silently, launch, request_line};
use crate::support::{Exit, Server, try_read};

const DEADLINE: Duration = Duration::from_millis(2000);
/// 1.9 s to 20 s: the spec's 2.0 s, and room for a busy machine; a child that stays is caught all the same.
const EARLIEST: Duration = Duration::from_millis(1900);
const LATEST: Duration = Duration::from_secs(20);

fn status(n: usize) -> String {
    request_line(&format!("s{n:05}"), "status", &json!({}))
}

/// Sends cheap requests one by one until an answer no longer fits the pipe that nobody reads.
/// Returns when the request that got stuck was sent.
fn fill(server: &Server) -> Instant {
    for n in 0.. {
        let before = server.unread();
        let sent = Instant::now();
        server.send(status(n));
        loop {
            if server.unread() > before {
                break;
            }
            // An answer takes microseconds; an eighth of the deadline without one is a full pipe.
            if sent.elapsed() > DEADLINE / 8 && before > 2048 {
                return sent;
            }
            assert!(
                sent.elapsed() < Duration::from_secs(20),
                "no answer to the first requests"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    unreachable!("a pipe is finite")
}

#[track_caller]
fn assert_deadline(exit: &Exit, stuck: Instant) {
    assert_failed_silently(exit);
    let took = exit.at.duration_since(stuck);
    assert!(took >= EARLIEST && took <= LATEST, "exit after {took:?}");
}

#[test]
fn stalled_reader_ends_the_child_at_the_deadline() {
    let mut server = Server::spawn(launch().stalled());
    let stuck = fill(&server);
    assert_deadline(&server.wait_exit(), stuck);
}

#[cfg(target_os = "linux")]
#[test]
fn stalled_reader_of_a_4_kib_pipe_ends_the_child_at_the_deadline() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    let stuck = fill(&server);
    assert_deadline(&server.wait_exit(), stuck);
}

#[cfg(target_os = "linux")]
#[test]
fn stalled_reader_costs_at_most_3_mib() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    server.send(status(99_999));
    crate::support::wait_for("the first answer", || server.unread() > 0);
    let before = server.rss_kib().unwrap();
    let stuck = fill(&server);
    let mut most = before;
    let exit = server.wait_exit_while(|server| {
        most = most.max(server.rss_kib().unwrap_or(0));
        let _ = server.try_send(format!("{{\"x\":\"{}\"}}\n", "y".repeat(60_000)));
    });
    assert_failed_silently(&exit);
    assert!(exit.at.duration_since(stuck) <= LATEST);
    assert!(
        most <= before + 3 * 1024,
        "{before} KiB before, {most} KiB while stalled"
    );
}

#[test]
fn trickling_reader_does_not_extend_the_deadline() {
    let mut server = Server::spawn(launch().stalled());
    let stuck = fill(&server);
    let mut reader = server.take_stdout();
    let mut byte = [0; 1];
    let mut last = Instant::now();
    // One byte each 20 ms: never enough for the frame that waits.
    let exit = server.wait_exit_while(|_| {
        if last.elapsed() > Duration::from_millis(20) {
            last = Instant::now();
            let _ = try_read(&mut reader, &mut byte);
        }
    });
    assert_deadline(&exit, stuck);
}

#[cfg(target_os = "linux")]
#[test]
fn flooding_a_stalled_child_ends_it() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    let sent = Instant::now();
    // 4 KiB of answers in the pipe and 32 in the queue: some of these have no place.
    let _ = server.try_send((0..2000).map(status).collect::<String>());
    // Not before the deadline: a reader that pauses for less loses nothing.
    assert_deadline(&server.wait_exit(), sent);
}

#[cfg(target_os = "linux")]
#[test]
fn reading_stays_enabled_while_output_stalls() {
    let launch = launch()
        .stalled()
        .stdout_capacity(4096)
        .stdin_capacity(4096);
    let mut server = Server::spawn(launch);
    let stuck = fill(&server);
    // A partial frame of 60 KB makes no answer and passes through a 4 KiB pipe only if it is read.
    server.send(vec![b' '; 60_000]);
    let took = stuck.elapsed();
    assert!(took < EARLIEST, "the input was taken after {took:?}");
    assert_deadline(&server.wait_exit(), stuck);
}

#[cfg(target_os = "linux")]
#[test]
fn reader_that_pauses_in_a_flood_gets_every_answer() {
    let mut agent = Agent::spawn(launch().stalled().stdout_capacity(4096));
    agent.server.send((0..300).map(status).collect::<String>());
    // Most of the deadline, which an overflow of the queue must not cut short.
    std::thread::sleep(DEADLINE * 3 / 4);
    agent.server.start_reading();
    for n in 0..300 {
        assert_eq!(agent.frame()["id"], format!("s{n:05}"));
    }
    agent.end();
}

#[cfg(target_os = "linux")]
#[test]
fn resumed_reader_gets_every_answer() {
    let mut agent = Agent::spawn(launch().stalled().stdout_capacity(4096));
    // More than the pipe takes, less than pipe and queue together.
    agent.server.send((0..40).map(status).collect::<String>());
    let mut last = 0;
    crate::support::wait_for("the pipe to fill", || {
        let now = agent.server.unread();
        let full = now > 2048 && now == last;
        last = now;
        full
    });
    agent.server.start_reading();
    for n in 0..40 {
        assert_eq!(agent.frame()["id"], format!("s{n:05}"));
    }
    agent.end();
}

#[cfg(target_os = "linux")]
#[test]
fn shutdown_during_a_stall_ends_within_its_bounds() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    fill(&server);
    let sent = Instant::now();
    server.send(request_line("stop", "shutdown", &json!({})));
    let exit = server.wait_exit();
    assert_failed_silently(&exit);
    // Draining and cleanup have 2000 ms each.
    assert!(exit.at.duration_since(sent) <= Duration::from_millis(4500));
}

#[cfg(target_os = "linux")]
#[test]
fn shutdown_during_a_stall_is_delivered_to_a_resumed_reader() {
    let mut agent = Agent::spawn(launch().stalled().stdout_capacity(4096));
    fill(&agent.server);
    agent
        .server
        .send(request_line("stop", "shutdown", &json!({})));
    agent.server.start_reading();
    let frames = agent.rest();
    assert_eq!(frames.last().unwrap()["id"], "stop");
    assert_eq!(frames.last().unwrap()["result"]["state"], "stopping");
    assert_clean(&agent.server.wait_exit());
}

#[cfg(target_os = "linux")]
#[test]
fn eof_during_a_stall_ends_with_1_within_the_closing_deadline() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    fill(&server);
    let closed = Instant::now();
    server.close_stdin();
    let exit = server.wait_exit();
    assert_failed_silently(&exit);
    assert!(exit.at.duration_since(closed) <= LATEST);
}

#[cfg(target_os = "linux")]
#[test]
fn undeliverable_frame_too_large_ends_with_1() {
    let mut server = Server::spawn(launch().stalled().stdout_capacity(4096));
    fill(&server);
    let sent = Instant::now();
    let _ = server.try_send(vec![b'x'; 65_537]);
    let exit = server.wait_exit();
    assert_failed_silently(&exit);
    assert!(exit.at.duration_since(sent) <= LATEST);
}

#[test]
fn closed_stdout_ends_the_child_at_the_next_answer() {
    let mut server = Server::spawn(launch().stalled());
    server.send(status(0));
    crate::support::wait_for("the first answer", || server.unread() > 0);
    drop(server.take_stdout());
    let _ = server.try_send(status(1));
    assert_failed_silently(&server.wait_exit());
}

#[test]
fn closed_stdout_ends_an_idle_child() {
    let mut server = Server::spawn(launch().stalled());
    server.send(status(0));
    crate::support::wait_for("the first answer", || server.unread() > 0);
    // No further request: the child has to notice by itself.
    drop(server.take_stdout());
    assert_failed_silently(&server.wait_exit());
}

#[test]
fn closed_stdout_ends_a_child_that_never_got_a_request() {
    let mut server = Server::spawn(launch().stalled());
    drop(server.take_stdout());
    assert_failed_silently(&server.wait_exit());
}

#[cfg(target_os = "linux")]
#[test]
fn full_stderr_pipe_does_not_delay_the_exit() {
    let launch = launch();
    let (stdin, to_child) = std::io::pipe().unwrap();
    let (from_child, stdout) = std::io::pipe().unwrap();
    // Stderr is a full pipe that nobody reads: one diagnostic would block for ever.
    let (held, mut stderr) = std::io::pipe().unwrap();
    crate::support::set_capacity(&stderr, 4096);
    stderr.write_all(&[b'x'; 4096]).unwrap();
    let (nothing, _) = std::io::pipe().unwrap();
    let mut server =
        Server::spawn_with(&launch, stdin.into(), stdout.into(), stderr.into(), nothing);
    drop(from_child);
    assert_eq!(server.wait_exit().code, Some(1));
    drop((held, to_child));
}
