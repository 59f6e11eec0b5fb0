//! One bounded step of a client: a deadline, an interrupt, and words for why it gave nothing.
//! No step itself, and no output.

use std::time::Duration;

use consumer::Error;
use tokio::sync::mpsc;
use tokio::time::timeout;

/// Why it stopped early: the exit status (2 before a turn could start, else 1) and what to say.
#[cfg(feature = "try")]
pub(crate) struct Stop {
    pub(crate) status: i32,
    pub(crate) why: String,
}

#[cfg(feature = "try")]
impl Stop {
    pub(crate) fn before(why: impl Into<String>) -> Self {
        Self {
            status: 2,
            ..Self::during(why)
        }
    }

    pub(crate) fn during(why: impl Into<String>) -> Self {
        Self {
            status: 1,
            why: why.into(),
        }
    }
}

#[cfg(feature = "try")]
impl From<std::io::Error> for Stop {
    fn from(error: std::io::Error) -> Self {
        Self::during(format!("the answer cannot be written: {error}"))
    }
}

/// Why a bounded step gave nothing.
pub(crate) enum Failure {
    Client(Error),
    Late(Duration),
    Interrupted,
}

pub(crate) async fn step<T>(
    interrupts: &mut mpsc::Receiver<()>,
    within: Duration,
    work: impl Future<Output = Result<T, Error>>,
) -> Result<T, Failure> {
    tokio::select! {
        done = timeout(within, work) => match done {
            Ok(done) => Ok(done?),
            Err(_) => Err(Failure::Late(within)),
        },
        Some(()) = interrupts.recv() => Err(Failure::Interrupted),
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Client(error)
    }
}

/// What did not succeed, and why.
pub(crate) fn explain(what: &str, why: impl Into<Failure>) -> String {
    match why.into() {
        Failure::Client(error) => {
            let hint = match error {
                Error::Refused("unsupported_capability") => {
                    "; this build of the server lacks what a turn needs"
                }
                Error::Refused("mcp_unavailable") => "; an enabled MCP server does not start",
                _ => "",
            };
            format!("{what}: {error}{hint}")
        }
        Failure::Late(within) => format!("{what}: no answer within {} s", within.as_secs()),
        Failure::Interrupted => format!("{what}: interrupted"),
    }
}
