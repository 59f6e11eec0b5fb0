//! Who admits runs and is told of their course: the engine, and a run of those that work for it.

use std::sync::Arc;

use store::sessions::{Outcome, SessionId};

use super::active::ActiveRun;
use super::spec::RunSpec;
use super::stop::RunErrorCode;
use crate::attach::Transcript;
use crate::error::ErrorKind;

/// Who admitted a run and is told of its course.
pub(crate) trait Owner: std::fmt::Debug + Send + Sync {
    /// Whether this is the first run of the session in this process. True once.
    fn is_first_run(&self, session_id: &str) -> bool;

    /// The run's input is on the disk: the revision that shows it.
    fn input_stored(&self, active: &ActiveRun) -> String;

    /// The worker of a run is done. Returns the revision that shows the run, if the history is
    /// what the run says it is. `None` for a run that broke off.
    fn run_ended(&self, active: &ActiveRun, ended: Option<Ended>) -> Option<String>;

    /// The caller of a run takes no more events.
    fn events_drained(&self, active: &ActiveRun, gave_up: bool);

    /// Admits a run that works for another one, in the conversation `id`, which only it knows.
    ///
    /// # Errors
    /// [`ErrorKind::Cancelled`] at the end of the process, [`ErrorKind::UnknownRun`] when the other one is over.
    fn admit_beneath(&self, id: SessionId, spec: RunSpec) -> Result<Arc<ActiveRun>, ErrorKind>;
}

/// How a run left the conversation.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) transcript: Transcript,
    pub(super) outcome: Outcome,
    pub(super) error_code: Option<RunErrorCode>,
    /// The history on the disk is what the run says it is.
    pub(crate) durable: bool,
}
