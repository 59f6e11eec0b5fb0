//! What a guard tells of its command, line by line.

use rustix::process::Pid;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader, Lines, Take};

use crate::guard::{MAX_REPORT_BYTES, Report, Status};

/// What a guard told.
#[derive(Default)]
pub(super) struct Reports {
    pub(super) group: Option<Pid>,
    pub(super) status: Option<Status>,
    pub(super) failure: Option<String>,
    /// Nothing of the command lives.
    pub(super) gone: bool,
    /// The guard ended, or has nothing more to say.
    pub(super) complete: bool,
}

impl Reports {
    /// The command is not running any more, or never was.
    pub(super) fn has_ended(&self) -> bool {
        self.status.is_some() || self.failure.is_some()
    }

    fn take(&mut self, line: &str) {
        match serde_json::from_str(line) {
            Ok(Report::Started(pid)) if pid > 0 => self.group = Pid::from_raw(pid),
            Ok(Report::Failed(why)) => self.failure = Some(why),
            Ok(Report::Ended(status)) => self.status = Some(status),
            Ok(Report::Gone) => self.gone = true,
            Ok(Report::Started(_)) | Err(_) => {}
        }
    }
}

/// The receiving half of the conversation with a guard.
pub(super) struct Listener<R> {
    lines: Lines<BufReader<Take<R>>>,
    pub(super) reports: Reports,
}

impl<R: AsyncRead + Unpin> Listener<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            lines: BufReader::new(from.take(MAX_REPORT_BYTES)).lines(),
            reports: Reports::default(),
        }
    }

    /// Listens until the command ended.
    pub(super) async fn command_end(&mut self) {
        while !self.reports.has_ended() && self.next().await {}
    }

    /// Listens until the guard ended.
    pub(super) async fn guard_end(&mut self) {
        while self.next().await {}
    }

    async fn next(&mut self) -> bool {
        match self.lines.next_line().await {
            Ok(Some(line)) => self.reports.take(&line),
            Ok(None) | Err(_) => self.reports.complete = true,
        }
        !self.reports.complete
    }
}
