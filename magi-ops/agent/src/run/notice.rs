//! What calls tell their run of what they do beneath themselves: the messages and the way.
//! The run alone stores and shows it (`beneath`, `tasks`).

use provider::ToolCall;
use store::sessions::Outcome;
use tokio::sync::{mpsc, oneshot};
use tools::ToolOutcome;

use super::call::Ran;
use crate::ceilings::Ceilings;

/// Notices that wait for the run.
const WAITING: usize = 64;

/// The answer to whoever was too late.
const OVER: &str = "The run is over.";

pub(super) enum Notice {
    /// A call is about to be made for the activity `parent`. The answer is its own activity, or why it is not made.
    Begin {
        parent: String,
        call: ToolCall,
        activity: oneshot::Sender<Result<String, &'static str>>,
    },
    /// It has ended. The answer follows when that is told.
    End {
        activity_id: String,
        ran: Ran,
        told: oneshot::Sender<()>,
    },
    /// The task of the activity `parent` waits for a place.
    TaskWaits { parent: String },
    /// A task begins. The answer is what may be given to it, once that is stored, or why it is not begun.
    TaskBegins {
        parent: String,
        task: Task,
        /// What it would be given.
        tools: Vec<String>,
        ceilings: oneshot::Sender<Result<Ceilings, &'static str>>,
    },
    /// It has ended. The answer follows when that is stored and told.
    TaskEnds {
        parent: String,
        outcome: Outcome,
        error_code: Option<&'static str>,
        told: oneshot::Sender<()>,
    },
}

/// What is stored of a task.
#[derive(Clone)]
pub(super) struct Task {
    pub(super) profile: Option<String>,
    /// Names its conversation.
    pub(super) id: String,
}

/// The way from calls to their run.
#[derive(Clone)]
pub(super) struct Notices(mpsc::Sender<Notice>);

pub(super) fn notices() -> (Notices, mpsc::Receiver<Notice>) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (Notices(sender), receiver)
}

impl Notices {
    pub(super) async fn begin(
        &self,
        parent: String,
        call: ToolCall,
    ) -> Result<String, &'static str> {
        let begin = |activity| Notice::Begin {
            parent,
            call,
            activity,
        };
        self.asked(begin).await.unwrap_or(Err(OVER))
    }

    pub(super) async fn end(&self, activity_id: String, ran: Ran) -> ToolOutcome {
        let outcome = ran.outcome.clone();
        let end = |told| Notice::End {
            activity_id,
            ran,
            told,
        };
        self.asked(end).await;
        outcome
    }

    pub(super) async fn task_waits(&self, parent: &str) {
        let parent = parent.to_owned();
        // Whoever is not heard any more belongs to a run that has ended.
        let _ = self.0.send(Notice::TaskWaits { parent }).await;
    }

    pub(super) async fn task_begins(
        &self,
        parent: &str,
        task: Task,
        tools: Vec<String>,
    ) -> Result<Ceilings, &'static str> {
        let begins = |ceilings| Notice::TaskBegins {
            parent: parent.to_owned(),
            task,
            tools,
            ceilings,
        };
        self.asked(begins).await.unwrap_or(Err(OVER))
    }

    pub(super) async fn task_ends(
        &self,
        parent: &str,
        outcome: Outcome,
        error_code: Option<&'static str>,
    ) {
        let ends = |told| Notice::TaskEnds {
            parent: parent.to_owned(),
            outcome,
            error_code,
            told,
        };
        self.asked(ends).await;
    }

    /// Tells the run something and waits for its answer; `None` from a run that has ended.
    async fn asked<T>(&self, notice: impl FnOnce(oneshot::Sender<T>) -> Notice) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.0.send(notice(answer)).await.ok()?;
        answered.await.ok()
    }
}
