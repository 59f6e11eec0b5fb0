//! One bounded step of `magi-code try`: a deadline, an interrupt, and words for why it gave nothing.
//! No step itself, and no output.

use std::time::Duration;

use consumer::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Why a bounded step gave nothing.
pub(super) enum Failure {
    Client(Error),
    Late(Duration),
    Interrupted,
}

pub(super) async fn step<T>(
    interrupts: &mut mpsc::Receiver<()>,
    within: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = timeout(within, work) => match done {
            Ok(done) => done.map_err(Failure::Client),
            Err(_) => Err(Failure::Late(within)),
        },
        Some(()) = interrupts.recv() => Err(Failure::Interrupted),
    }
}

pub(super) trait Reason {
    fn text(&self) -> String;
}

impl Reason for Error {
    fn text(&self) -> String {
        let hint = match self {
            Self::Refused("unsupported_capability") => {
                "; this build of the server lacks what a turn needs"
            }
            Self::Refused("mcp_unavailable") => "; an enabled MCP server does not start",
            _ => "",
        };
        format!("{self}{hint}")
    }
}

impl Reason for Failure {
    fn text(&self) -> String {
        match self {
            Self::Client(error) => error.text(),
            Self::Late(within) => format!("no answer within {} s", within.as_secs()),
            Self::Interrupted => "interrupted".to_owned(),
        }
    }
}

pub(super) fn explain(what: &str, why: &impl Reason) -> String {
    format!("{what}: {}", why.text())
}
