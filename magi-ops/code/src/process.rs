//! A snippet as the host sees it: a process that asks for calls, prints, and ends or is ended.
//! What the snippet means is its own matter; whether a call may be made is the caller's.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tools::{Caller, ToolOutcome};

use crate::bounds;
use crate::message::{self, End, Ended, Order, Report};

/// Sent when a process has used the time of the processor that it may have.
const SIGXCPU: i32 = 24;
/// What the process may work while none of its calls is open. It looks at its own clock, but only between steps, and a
/// step may be long.
const HOST_TIME: Duration = bounds::OWN_TIME.saturating_add(Duration::from_secs(2));
/// How long one may take to be gone that has closed its socket.
const GONE_TIME: Duration = Duration::from_secs(1);

/// What a snippet came to. Its process is gone, and none of its calls runs any more.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) printed: String,
    /// There was more than [`bounds::OUTPUT`].
    pub(crate) cut: bool,
    /// How many calls were begun.
    pub(crate) calls: u32,
    /// How many the snippet did not wait for, as it says itself; else how many still ran, and were ended.
    pub(crate) unawaited: usize,
    /// See [`End::unhandled`].
    pub(crate) unhandled: String,
    pub(crate) how: How,
}

#[derive(Debug)]
pub(crate) enum How {
    Ended(Ended),
    Cancelled,
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
    let mut conversation = Conversation::new(writer, caller);
    let how = tokio::select! {
        biased;
        () = cancel.cancelled() => Ok(How::Cancelled),
        ended = conversation.hold(reader, source, &tools) => ended.map(How::Ended),
    };
    let Conversation {
        mut running,
        printed,
        cut,
        calls,
        open,
        unhandled,
        ..
    } = conversation;
    let how = match how {
        Ok(how) => {
            // It is about to end by itself, or can't be asked to.
            child.kill().await?;
            how
        }
        Err(error) => lost(&mut child, error).await?,
    };
    // What has come to its end was not ended.
    while running.try_join_next().is_some() {}
    let unawaited = open.unwrap_or(running.len());
    running.shutdown().await;
    Ok(Finished {
        printed,
        cut,
        calls,
        unawaited,
        unhandled,
        how,
    })
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
    // Reset, where something that it was told was still unread.
    let is_gone = matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset
    );
    if is_gone && let Ok(status) = timeout(GONE_TIME, child.wait()).await {
        let status = status?;
        return Ok(match status.signal() {
            Some(SIGXCPU) => How::Ended(Ended::OutOfTime(None)),
            _ => How::Lost(io::Error::other(status.to_string())),
        });
    }
    child.kill().await?;
    Ok(How::Lost(error))
}

struct Conversation<'a> {
    writer: OwnedWriteHalf,
    caller: &'a dyn Caller,
    running: JoinSet<(u32, ToolOutcome)>,
    /// These are [`Finished`]'s.
    printed: String,
    cut: bool,
    calls: u32,
    unhandled: String,
    /// Calls without a result, as the snippet's end says.
    open: Option<usize>,
}

impl<'a> Conversation<'a> {
    fn new(writer: OwnedWriteHalf, caller: &'a dyn Caller) -> Self {
        Self {
            writer,
            caller,
            running: JoinSet::new(),
            printed: String::new(),
            cut: false,
            calls: 0,
            unhandled: String::new(),
            open: None,
        }
    }

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
        let mut left = HOST_TIME;
        loop {
            let (since, works) = (Instant::now(), self.running.is_empty());
            tokio::select! {
                Some(report) = reports.next() => match report? {
                    Report::Call { id, name, input } => {
                        self.calls += 1;
                        let is_fine = tools.contains(&name)
                            && self.running.len() < bounds::AT_ONCE
                            && self.calls <= bounds::CALLS;
                        if !is_fine {
                            return Err(io::ErrorKind::InvalidData.into());
                        }
                        let call = self.caller.call(name, input);
                        self.running.spawn(async move { (id, call.await) });
                    }
                    Report::Printed { text, cut } => self.print(&text, cut),
                    Report::Ended(End { how, open, unhandled }) => {
                        self.open = usize::try_from(open.min(bounds::CALLS)).ok();
                        self.unhandled = unhandled;
                        return Ok(how);
                    }
                },
                Some(called) = self.running.join_next() => {
                    let (id, outcome) = called.map_err(io::Error::other)?;
                    let ToolOutcome { content: text, is_error, .. } = outcome;
                    self.tell(&Order::Result { id, is_error, text }).await?;
                }
                () = sleep(left), if works => return Ok(Ended::OutOfTime(None)),
            }
            if works {
                left = left.saturating_sub(since.elapsed());
            }
        }
    }

    /// Errs for an order that can't be told at all. A process that takes no more has ended, or is about to: how, it says
    /// in what is still to be read of it.
    async fn tell(&mut self, order: &Order) -> io::Result<()> {
        let frame = message::frame(order)?;
        if let Err(error) = self.writer.write_all(&frame).await {
            tracing::debug!(%error, "a snippet takes no more orders");
        }
        Ok(())
    }

    /// Keeps what fits, whatever the process says of it.
    fn print(&mut self, text: &str, cut: bool) {
        let room = bounds::OUTPUT - self.printed.len();
        let fits = &text[..text.floor_char_boundary(room)];
        self.printed.push_str(fits);
        self.cut |= cut || fits.len() < text.len();
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

    /// A caller without tools, all of whose calls are answered at once.
    struct Answering;

    impl Caller for Answering {
        fn tools(&self) -> Vec<std::sync::Arc<tools::ToolSpec>> {
            Vec::new()
        }

        fn call(&self, _: String, _: serde_json::Value) -> tools::Calling {
            Box::pin(std::future::ready(ToolOutcome::failed("none", "missing")))
        }
    }

    /// Its socket stays open, so that it has no reason of its own to end.
    #[tokio::test]
    async fn a_process_that_nobody_waits_for_any_more_is_killed() {
        let (child, _socket) = start(Path::new("/usr/bin/yes")).unwrap();
        let about = format!("/proc/{}/stat", child.id().unwrap());
        let runs = || {
            let about = std::fs::read_to_string(&about).unwrap_or_default();
            // A dead one that nobody has waited for has a line too.
            let state = about.rsplit_once(") ").map(|(_, behind)| behind);
            state.is_some_and(|state| !state.starts_with(['Z', 'X']))
        };
        assert!(runs());
        drop(child);
        let gone = async {
            while runs() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(Duration::from_secs(60), gone).await.unwrap();
    }

    #[tokio::test]
    async fn what_a_process_no_longer_reads_costs_it_no_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let theirs = theirs.into_std().unwrap();
        theirs.set_nonblocking(false).unwrap();
        theirs.shutdown(std::net::Shutdown::Read).unwrap();
        let (reader, writer) = ours.into_split();
        let mut conversation = Conversation::new(writer, &Answering);
        let tools = ["t".to_owned()];
        let (name, input) = (tools[0].clone(), serde_json::json!({}));
        let (id, ended) = (1, Ended::Returned(Some("42".to_owned())));
        message::write(&mut &theirs, &Report::Call { id, name, input }).unwrap();
        let report = Report::Ended(End {
            how: ended.clone(),
            open: 0,
            unhandled: String::new(),
        });
        let later = async {
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
            message::write(&mut &theirs, &report).unwrap();
        };
        let held = conversation.hold(reader, String::new(), &tools);
        let (held, ()) = tokio::join!(held, later);
        assert!(
            matches!(held, Ok(how) if how == ended),
            "the call's result could not be told"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn one_that_only_works_is_ended_by_the_host_and_one_that_waits_for_a_call_is_not() {
        for (calls, expected) in [(false, true), (true, false)] {
            let (ours, theirs) = UnixStream::pair().unwrap();
            let theirs = theirs.into_std().unwrap();
            let (reader, writer) = ours.into_split();
            struct Waiting;
            impl Caller for Waiting {
                fn tools(&self) -> Vec<std::sync::Arc<tools::ToolSpec>> {
                    Vec::new()
                }

                fn call(&self, _: String, _: serde_json::Value) -> tools::Calling {
                    Box::pin(std::future::pending())
                }
            }
            let mut conversation = Conversation::new(writer, &Waiting);
            let (id, name, input) = (1, "t".to_owned(), serde_json::json!({}));
            if calls {
                message::write(&mut &theirs, &Report::Call { id, name, input }).unwrap();
            }
            let tools = ["t".to_owned()];
            let held = conversation.hold(reader, String::new(), &tools);
            let held = tokio::time::timeout(HOST_TIME * 2, held).await;
            assert_eq!(matches!(held, Ok(Ok(Ended::OutOfTime(None)))), expected);
            drop(theirs);
        }
    }

    #[tokio::test]
    async fn a_process_that_went_away_says_by_what() {
        let stuck = ended_by("kill -XCPU $$").await;
        assert!(matches!(stuck, How::Ended(Ended::OutOfTime(None))));
        for line in ["kill -ABRT $$", "kill -KILL $$", "exit 0"] {
            assert!(matches!(ended_by(line).await, How::Lost(_)), "{line}");
        }
    }

    #[tokio::test]
    async fn a_program_that_is_no_snippet_is_lost_and_one_that_is_none_can_t_be_run() {
        let cancel = CancellationToken::new();
        let run = async |program: &str| {
            let source = "x".repeat(bounds::SOURCE);
            run(Path::new(program), source, Vec::new(), &Answering, &cancel).await
        };
        assert!(matches!(run("/bin/true").await.unwrap().how, How::Lost(_)));
        // Says something else.
        assert!(matches!(run("/bin/echo").await.unwrap().how, How::Lost(_)));
        assert!(run("/nowhere").await.is_err());
    }
}
