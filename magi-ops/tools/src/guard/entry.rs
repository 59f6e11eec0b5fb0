//! The guard as a process: starts one command, waits for its end or the host's, leaves nothing behind.
//! Writes nothing of its own where the command writes; single-threaded and without any state of the host.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::Pid;
use tokio::io::{AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

use super::tree::Tree;
use super::{Input, Report, Request, sentinel};

/// How long what a command left running may still work after its end: enough for the readers of its
/// output, such as `tee` in a process substitution, to write what they hold.
const SETTLE: Duration = Duration::from_millis(200);

/// The whole life of a guard or, when its second argument says so, of the sentinel, for the `main` of a
/// program that was started with [`SUBCOMMAND`](super::SUBCOMMAND): `control` is its standard input, `output`
/// its standard output. Returns the exit status: 0 when nothing of the command lives any more, 2 when it was
/// not started by a host, 1 when something could not be ended.
#[must_use]
pub fn run(control: OwnedFd, output: OwnedFd) -> i32 {
    // Away from the host's group and terminal, and the session that all of the command stays in or below.
    // Fails for the leader of a group, which is what a person's shell makes of a command, but no host.
    if rustix::process::setsid().is_err() {
        return 2;
    }
    go_on_without_host();
    close_on_exec();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build();
    let is_sentinel = std::env::args_os()
        .nth(2)
        .is_some_and(|role| role == sentinel::ROLE);
    let work = async {
        heed_no_signals()?;
        match is_sentinel {
            true => sentinel::watch(control).await,
            false => guard(control, output).await,
        }
    };
    match runtime.map(|runtime| runtime.block_on(work)) {
        Ok(Ok(true)) => 0,
        Ok(Ok(false)) => 1,
        Ok(Err(_)) | Err(_) => 2,
    }
}

/// Lets the kernel wake this process when the host dies: the command may have stopped it, and nobody else
/// would know. Also sent when only the thread that started this ends, which does no harm.
fn go_on_without_host() {
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::CONT));
}

/// Keeps from the command what this process inherited itself. The host opens nothing that its children
/// get, but whoever started the host may have left something open.
fn close_on_exec() {
    let open = std::fs::read_dir("/dev/fd").into_iter().flatten().flatten();
    let numbers: Vec<i32> = open
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|number| *number > 2)
        .collect();
    for number in numbers {
        // The one through which they were listed.
        if std::fs::symlink_metadata(format!("/dev/fd/{number}")).is_err() {
            continue;
        }
        // SAFETY: it is open, and stays so while it is borrowed: this is the only thread, and it closes
        // nothing here. Only a flag is changed.
        #[allow(unsafe_code)]
        let descriptor = unsafe { BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

/// A registered handler takes the place of the default action for good. What the host's terminal or the
/// command sends to end processes must not end the one that cleans up.
fn heed_no_signals() -> io::Result<()> {
    for kind in [
        SignalKind::terminate(),
        SignalKind::interrupt(),
        SignalKind::hangup(),
        SignalKind::quit(),
        SignalKind::user_defined1(),
        SignalKind::user_defined2(),
        SignalKind::alarm(),
    ] {
        drop(signal(kind)?);
    }
    Ok(())
}

/// Whether everything ended.
async fn guard(control: OwnedFd, output: OwnedFd) -> io::Result<bool> {
    let mut tree = Tree::adopt()?;
    let control = StdStream::from(control);
    control.set_nonblocking(true)?;
    let mut control = UnixStream::from_std(control)?;
    let Some(request) = Request::read(&mut control).await else {
        tell(&mut control, &Report::Gone).await;
        return Err(io::ErrorKind::InvalidInput.into());
    };
    let (mut host, mut reports) = control.into_split();
    match start(request, output) {
        Ok(command) => {
            tree.grow(command);
            tell(
                &mut reports,
                &Report::Started(command.as_raw_nonzero().get()),
            )
            .await;
        }
        Err(error) => {
            tell(&mut reports, &Report::Failed(error.to_string())).await;
            tell(&mut reports, &Report::Gone).await;
            return Ok(true);
        }
    }

    // The end of the host's sending half, an error and a byte that nobody sends mean the same.
    let let_go = async { drop(host.read(&mut [0]).await) };
    tokio::pin!(let_go);
    let ended = tokio::select! {
        biased;
        () = &mut let_go => None,
        ended = tree.ended() => Some(ended),
    };
    if let Some(status) = ended {
        tell(&mut reports, &Report::Ended(status)).await;
        tokio::select! {
            biased;
            () = &mut let_go => {}
            _ = timeout(SETTLE, tree.gone()) => {}
        }
    }
    let gone = tree.end().await;
    if gone {
        tell(&mut reports, &Report::Gone).await;
    }
    Ok(gone)
}

/// Starts the command in a process group of its own. Nothing but the three standard descriptors reaches
/// it: everything that this process opens is closed on exec.
fn start(request: Request, output: OwnedFd) -> io::Result<Pid> {
    let Some((program, args)) = request.argv.split_first() else {
        return Err(io::Error::other("no program is named"));
    };
    let mut command = Command::new(program);
    command.args(args).process_group(0);
    let mut feed = None;
    match request.input {
        Input::Output => {
            command.stdin(output.try_clone()?);
        }
        Input::Bytes(bytes) if bytes.is_empty() => {
            command.stdin(Stdio::null());
        }
        Input::Bytes(bytes) => {
            let (reader, writer) = io::pipe()?;
            command.stdin(reader);
            feed = Some((pipe::Sender::from_owned_fd(writer.into())?, bytes));
        }
    }
    let child = command.stdout(output).spawn()?;
    if let Some((mut feed, bytes)) = feed {
        // In the background: a command need not read its input.
        tokio::spawn(async move { drop(feed.write_all(&bytes).await) });
    }
    Ok(Pid::from_child(&child))
}

/// A host that is gone can't be told; it is noticed where it is waited for.
async fn tell(to: &mut (impl AsyncWrite + Unpin), report: &Report) {
    if let Ok(mut line) = serde_json::to_vec(report) {
        line.push(b'\n');
        let _ = to.write_all(&line).await;
    }
}
