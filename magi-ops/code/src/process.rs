//! A snippet as the host sees it: a process that asks for calls, prints, and ends or is ended.
//! What the snippet means is its own matter; whether a call may be made is the caller's.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

use futures_util::{StreamExt, stream};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tools::{Caller, ToolOutcome};

use crate::bounds;
use crate::message::{self, Ended, Order, Report};

/// Sent when a process has used the time of the processor that it may have.
const SIGXCPU: i32 = 24;

/// What a snippet came to. Its process is gone, and none of its calls runs any more.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) printed: String,
    /// There was more than [`bounds::OUTPUT`].
    pub(crate) cut: bool,
    /// How many calls were begun.
    pub(crate) calls: u32,
    /// How many of them still ran at the end, and were ended.
    pub(crate) unawaited: usize,
    pub(crate) how: How,
}

#[derive(Debug)]
pub(crate) enum How {
    Ended(Ended),
    Cancelled,
    /// Killed in one operation of the engine, which took longer than the snippet may.
    Stuck,
    /// The process went away, or said what it should not: why.
    Lost(io::Error),
}

/// Runs `source` in a process of `program`, whose `main` must call [`crate::run`] when the first argument is
/// [`crate::SUBCOMMAND`]. The calls that it makes are those of `tools`, and go to `caller`.
///
/// Dropping the future kills the process.
///
/// # Errors
///
/// When the process can't be started.
pub(crate) async fn run(
    program: &Path,
    source: String,
    tools: Vec<String>,
    caller: &dyn Caller,
    cancel: &CancellationToken,
) -> io::Result<Finished> {
    let (mut child, socket) = start(program)?;
    let (reader, writer) = socket.into_split();
    let mut conversation = Conversation {
        writer,
        caller,
        running: JoinSet::new(),
        finished: Finished {
            printed: String::new(),
            cut: false,
            calls: 0,
            unawaited: 0,
            how: How::Cancelled,
        },
    };
    let how = tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(How::Cancelled),
        ended = conversation.hold(reader, source, &tools) => ended.map(How::Ended),
    };
    let Conversation {
        mut running,
        mut finished,
        ..
    } = conversation;
    finished.how = match how {
        Ok(how) => {
            // It is about to end by itself, or can't be asked to.
            child.kill().await?;
            how
        }
        Err(error) => lost(&mut child, error).await?,
    };
    finished.unawaited = running.len();
    running.shutdown().await;
    Ok(finished)
}

/// A process that waits for its snippet, away from the host's group, environment and directory.
fn start(program: &Path) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(program)
        .arg(crate::SUBCOMMAND)
        .env_clear()
        // What a date of the snippet is told in.
        .envs(std::env::var_os("TZ").map(|zone| ("TZ", zone)))
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    Ok((child, UnixStream::from_std(ours)?))
}

/// Why a process ended that did not say how.
async fn lost(child: &mut Child, error: io::Error) -> io::Result<How> {
    if error.kind() != io::ErrorKind::UnexpectedEof {
        child.kill().await?;
        return Ok(How::Lost(error));
    }
    let status = child.wait().await?;
    Ok(match status.signal() {
        Some(SIGXCPU) => How::Stuck,
        _ => How::Lost(io::Error::other(status.to_string())),
    })
}

struct Conversation<'a> {
    writer: OwnedWriteHalf,
    caller: &'a dyn Caller,
    running: JoinSet<(u32, ToolOutcome)>,
    finished: Finished,
}

impl Conversation<'_> {
    /// From the first order to the last report.
    async fn hold(
        &mut self,
        reader: OwnedReadHalf,
        source: String,
        tools: &[String],
    ) -> io::Result<Ended> {
        let start = Order::Start {
            source,
            tools: tools.to_vec(),
        };
        self.tell(&start).await?;
        let reports = stream::unfold(reader, |mut reader| async {
            let report = message::receive::<Report>(&mut reader).await;
            Some((report, reader))
        });
        let mut reports = std::pin::pin!(reports);
        loop {
            tokio::select! {
                Some(report) = reports.next() => match report? {
                    Report::Call { id, name, input } => {
                        self.finished.calls += 1;
                        let is_fine = tools.contains(&name)
                            && self.running.len() < bounds::AT_ONCE
                            && self.finished.calls <= bounds::CALLS;
                        if !is_fine {
                            return Err(io::ErrorKind::InvalidData.into());
                        }
                        let call = self.caller.call(name, input);
                        self.running.spawn(async move { (id, call.await) });
                    }
                    Report::Printed { text, cut } => self.print(&text, cut),
                    Report::Ended(ended) => return Ok(ended),
                },
                Some(called) = self.running.join_next() => {
                    let (id, outcome) = called.map_err(io::Error::other)?;
                    let ToolOutcome { content: text, is_error, .. } = outcome;
                    self.tell(&Order::Result { id, is_error, text }).await?;
                }
            }
        }
    }

    async fn tell(&mut self, order: &Order) -> io::Result<()> {
        self.writer.write_all(&message::frame(order)?).await
    }

    /// Keeps what fits, whatever the process says of it.
    fn print(&mut self, text: &str, cut: bool) {
        let printed = &mut self.finished.printed;
        let room = bounds::OUTPUT - printed.len();
        let fits = &text[..text.floor_char_boundary(room)];
        printed.push_str(fits);
        self.finished.cut |= cut || fits.len() < text.len();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    async fn ended_by(line: &str) -> How {
        let mut child = Command::new("/bin/sh").args(["-c", line]).spawn().unwrap();
        let gone = io::ErrorKind::UnexpectedEof.into();
        lost(&mut child, gone).await.unwrap()
    }

    #[tokio::test]
    async fn a_process_that_went_away_says_by_what() {
        assert!(matches!(ended_by("kill -XCPU $$").await, How::Stuck));
        for line in ["kill -ABRT $$", "kill -KILL $$", "exit 0"] {
            assert!(matches!(ended_by(line).await, How::Lost(_)), "{line}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_no_snippet_is_lost_and_one_that_is_none_can_t_be_run() {
        struct None;
        impl Caller for None {
            fn tools(&self) -> Vec<std::sync::Arc<tools::ToolSpec>> {
                Vec::new()
            }

            fn call(&self, _: String, _: serde_json::Value) -> tools::Calling {
                Box::pin(std::future::pending())
            }
        }
        let cancel = CancellationToken::new();
        let run = async |program: &str| {
            let source = "x".repeat(bounds::SOURCE);
            run(Path::new(program), source, Vec::new(), &None, &cancel).await
        };
        assert!(matches!(run("/bin/true").await.unwrap().how, How::Lost(_)));
        // Says something else.
        assert!(matches!(run("/bin/echo").await.unwrap().how, How::Lost(_)));
        assert!(run("/nowhere").await.is_err());
    }
}
