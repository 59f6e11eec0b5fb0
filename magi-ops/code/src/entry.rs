//! A snippet's process: what it gives up before it begins, and how it ends with its host.
//! Single-purpose: it opens no file, starts nothing and knows nothing but what it is told on one socket.

use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};

use rustix::process::{Resource, Rlimit, Signal, getpid, kill_process, setrlimit};

use crate::message::{self, Order, Report};
use crate::{bounds, engine};

/// What the process may map beside its realm: the program, threads, what the host told.
const ADDRESS_SPACE: u64 = 1024 * 1024 * 1024;
/// Over its own time, a snippet is stopped between two steps; this is for an operation of the engine that
/// has none.
const CPU_GRACE_SECONDS: u64 = 2;

/// The whole life of a snippet's process, for the `main` of a program that was started with
/// [`SUBCOMMAND`](crate::SUBCOMMAND): `control` is its standard input. Returns the exit status: 0 when the host was
/// told how the snippet ended, 2 when it was not started by a host.
#[must_use]
pub fn run(control: OwnedFd) -> i32 {
    if give_up_what_is_not_needed().is_err() {
        return 2;
    }
    // One descriptor, whoever reads and writes.
    let socket = Arc::new(UnixStream::from(control));
    let Ok(Order::Start { source, tools }) = message::read(&mut &*socket) else {
        return 2;
    };
    let (orders, results) = mpsc::channel();
    let from = Arc::clone(&socket);
    std::thread::spawn(move || {
        while let Ok(order) = message::read(&mut &*from) {
            if orders.send(order).is_err() {
                break;
            }
        }
        // The host is gone or has had enough. The engine may be where nothing else can stop it.
        let _ = kill_process(getpid(), Signal::KILL);
    });
    let to = Arc::clone(&socket);
    let tell = Box::new(move |report: &Report| message::write(&mut &*to, report));
    let end = engine::run(&source, &tools, bounds::OWN_TIME, tell, &results);
    match message::write(&mut &*socket, &Report::Ended(end)) {
        Ok(()) => 0,
        Err(_) => 2,
    }
}

/// Keeps what the snippet can't need from the whole process: an engine has errors, and this one is written in C.
fn give_up_what_is_not_needed() -> rustix::io::Result<()> {
    let limit = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)
    };
    limit(Resource::As, ADDRESS_SPACE)?;
    limit(
        Resource::Cpu,
        bounds::OWN_TIME.as_secs() + CPU_GRACE_SECONDS,
    )?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)
}
