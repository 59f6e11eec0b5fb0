//! `magi-code chat`: over pipes, and in a real terminal (tmux) by keys and captures. Only the built binary is used.
#![cfg(all(
    feature = "chat",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

#[path = "chat/lines.rs"]
mod lines;
mod person;
#[path = "chat/screen.rs"]
mod screen;
#[path = "chat/tmux.rs"]
mod tmux;

/// The children of a process.
fn children(of: u32) -> Vec<u32> {
    let path = format!("/proc/{of}/task/{of}/children");
    let listed = std::fs::read_to_string(path).unwrap_or_default();
    listed
        .split_whitespace()
        .map(|pid| pid.parse().unwrap())
        .collect()
}

fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
}
