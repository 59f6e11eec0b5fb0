//! A connection with a server: what calls are made on, whether it goes on, and how it is ended.
//! When there is one, and what is asked on it, is decided in `server`.

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use rmcp::service::{Peer, RoleClient, RunningService};
use tokio::time::timeout;

use crate::client::Client;
use crate::error::{End, StartCause};
use crate::program::{Ended, Program};

/// How long a server may take to end by itself when its input has ended, before it is killed.
const LEAVE_TIME: Duration = Duration::from_millis(300);
/// How long it is waited for to be gone in all.
pub(crate) const END_TIME: Duration = Duration::from_millis(1_500);
/// How long the end of a program is waited for whose output has ended.
pub(crate) const EXIT_TIME: Duration = Duration::from_millis(700);

/// A server that runs.
pub(crate) struct Connection {
    /// Of this server, in the order of its connections.
    number: u64,
    running: RunningService<RoleClient, Client>,
    /// `None` of one over HTTP.
    program: Option<Program>,
}

/// The connection that a call is made on: there may be another one by the time that the call is lost.
pub(crate) struct Used {
    pub(crate) peer: Peer<RoleClient>,
    number: u64,
    /// The end of its program; `None` of one over HTTP.
    ended: Option<Ended>,
}

impl Used {
    /// How its program ended, if it did just now.
    pub(crate) async fn end(self) -> Option<End> {
        timeout(EXIT_TIME, self.ended?).await.ok()
    }
}

impl Connection {
    /// One whose handshake came about; errs for a revision that is not known here.
    pub(crate) fn begun(
        number: u64,
        running: RunningService<RoleClient, Client>,
        program: Option<Program>,
    ) -> Result<Self, StartCause> {
        let info = running.peer().peer_info();
        let revision = info.map(|info| info.protocol_version.clone());
        match revision.filter(|revision| !ProtocolVersion::KNOWN_VERSIONS.contains(revision)) {
            Some(other) => Err(StartCause::Revision(other.as_str().to_owned())),
            None => Ok(Self {
                number,
                running,
                program,
            }),
        }
    }

    pub(crate) fn peer(&self) -> &Peer<RoleClient> {
        self.running.peer()
    }

    /// For a call.
    pub(crate) fn used(&self) -> Used {
        Used {
            peer: self.peer().clone(),
            number: self.number,
            ended: self.program.as_ref().map(|program| program.ended.clone()),
        }
    }

    pub(crate) fn is(&self, used: &Used) -> bool {
        self.number == used.number
    }

    /// Whether nothing more comes of it once a call was lost on it: over HTTP each request stands for itself.
    pub(crate) fn is_over(&self) -> bool {
        self.program.is_some() || self.peer().is_transport_closed()
    }

    /// How its program ended, if it did just now.
    pub(crate) async fn program_end(&self) -> Option<End> {
        self.program.as_ref()?.end_within(EXIT_TIME).await
    }

    /// Ends it. What its program said last.
    pub(crate) async fn end(mut self) -> Option<String> {
        let leaving = async {
            // Ends the program's input, or the session of one over HTTP.
            let _ = self.running.close_with_timeout(END_TIME).await;
        };
        let Some(program) = &self.program else {
            leaving.await;
            return None;
        };
        let gone = async {
            leaving.await;
            if let Some(end) = program.end_within(LEAVE_TIME).await {
                return end;
            }
            program.kill.cancel();
            program.ended.clone().await
        };
        let gone = timeout(END_TIME, gone).await;
        if gone.is_err() {
            tracing::warn!("a server takes long to end");
        }
        gone.ok().map(|end| end.words)
    }
}
