//! One conversation with a child of its own, which it outlives: turns, what is asked in them, another model, and a child that
//! ended when nobody meant it to.
//! Where it is shown, and who types, is the caller's matter.

use std::io;

use consumer::local_agent::{Answer, History, Request, StartParams, Status};
use handlers::configuration::Chosen;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::turn::{Turn, Watched};
use super::view::View;
use crate::client::asker::Asker;
use crate::client::held::Held;
use crate::client::reasons::Tokens;
use crate::client::start::{ANSWER, Refused, Started, Wanted};
use crate::client::step::{Failure, explain, step};

/// How a turn ended, for who decides what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The person may say the next thing.
    GoOn,
    /// The person wants to leave, now.
    Leave,
}

/// A session, which may not be on the disk yet.
struct Session {
    id: String,
    durable: bool,
    /// The child that runs has it.
    attached: bool,
}

pub(super) struct Talk {
    pub(super) wanted: Wanted,
    started: Option<Started>,
    session: Option<Session>,
    interrupts: mpsc::Receiver<()>,
    /// Rules that the person had written down here: the child read the settings before.
    rules: Vec<String>,
    /// Of children that are gone.
    tokens: Tokens,
}

/// Why something did not come about; it was told already, unless it can't be shown.
pub(super) enum Stopped {
    Told,
    Screen(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Self::Screen(error)
    }
}

type Done<T> = Result<T, Stopped>;

impl Talk {
    pub(super) fn new(wanted: Wanted, interrupts: mpsc::Receiver<()>) -> Self {
        Self {
            wanted,
            started: None,
            session: None,
            interrupts,
            rules: Vec::new(),
            tokens: Tokens::default(),
        }
    }

    /// Goes on with a stored session.
    pub(super) fn of_session(&mut self, id: String) {
        self.session = Some(Session {
            id,
            durable: true,
            attached: false,
        });
    }

    pub(super) fn session(&self) -> Option<&str> {
        self.session
            .as_ref()
            .filter(|session| session.durable)
            .map(|session| &*session.id)
    }

    /// Starts the child and opens the session, if there is one.
    pub(super) async fn begin(&mut self, view: &mut dyn View) -> Done<Status> {
        self.start(view).await?;
        if self.session.is_some() {
            self.attach(view).await?;
        }
        self.status(view).await
    }

    async fn start(&mut self, view: &mut dyn View) -> Done<()> {
        if self.started.is_some() {
            return Ok(());
        }
        match self.wanted.start(&mut self.interrupts).await {
            Ok(started) => {
                self.started = Some(started);
                Ok(())
            }
            Err(Refused { why, more, .. }) => {
                view.remark(&why)?;
                for line in more {
                    view.remark(&line)?;
                }
                Err(Stopped::Told)
            }
        }
    }

    /// Starts a child where there is none, and gives it the session, or a new one. Its id.
    async fn attach(&mut self, view: &mut dyn View) -> Done<String> {
        self.start(view).await?;
        if let Some(session) = self.session.as_ref().filter(|session| session.attached) {
            return Ok(session.id.clone());
        }
        let known = self.session.as_ref().filter(|session| session.durable);
        let known = known.map(|session| session.id.clone());
        let Some(started) = &mut self.started else {
            return Err(Stopped::Told);
        };
        match started.attach(known.as_deref(), &mut self.interrupts).await {
            Ok(attached) => {
                for notice in &attached.notices {
                    view.remark(&format!("session: {notice}"))?;
                }
                let id = attached.session_id;
                self.session = Some(Session {
                    id: id.clone(),
                    durable: known.is_some(),
                    attached: true,
                });
                Ok(id)
            }
            Err(failure) => {
                view.remark(&explain("the session cannot be opened", failure))?;
                Err(Stopped::Told)
            }
        }
    }

    /// What the child says of itself, once it is sure that there is one.
    pub(super) async fn status(&mut self, view: &mut dyn View) -> Done<Status> {
        for _ in 0..2 {
            self.start(view).await?;
            let Some(started) = &mut self.started else {
                break;
            };
            let asked = started.child.client.call(Request::Status);
            match step(&mut self.interrupts, ANSWER, asked).await {
                Ok(Answer::Status(status)) => return Ok(*status),
                Ok(_) => break,
                Err(failure) => {
                    self.lose(&explain("the server is gone", failure), view)
                        .await?;
                }
            }
        }
        Err(Stopped::Told)
    }

    /// The child is of no use any more: says so, and goes on with another one.
    async fn lose(&mut self, why: &str, view: &mut dyn View) -> Done<()> {
        view.rest()?;
        view.remark(why)?;
        if let Some(mut lost) = self.started.take() {
            let Tokens { input, output } = lost.reasons.tokens();
            self.tokens.input += input;
            self.tokens.output += output;
            for line in lost.abandon().await {
                view.remark(&line)?;
            }
        }
        let Some(session) = &mut self.session else {
            return self.start(view).await;
        };
        session.attached = false;
        let (id, durable) = (session.id.clone(), session.durable);
        self.attach(view).await?;
        match durable {
            true => view.remark(&format!(
                "A new server has opened session {id} again: go on."
            ))?,
            false => {
                view.remark("Nothing of the session was on the disk yet: a new one begins.")?
            }
        }
        Ok(())
    }

    /// Tokens of all turns.
    pub(super) fn tokens(&mut self) -> Tokens {
        let newest = self
            .started
            .as_mut()
            .map(|started| started.reasons.tokens());
        let Tokens { input, output } = newest.unwrap_or_default();
        Tokens {
            input: self.tokens.input + input,
            output: self.tokens.output + output,
        }
    }

    /// From now on this model answers, also what is stored.
    pub(super) async fn choose(&mut self, chosen: Chosen, view: &mut dyn View) -> Done<Status> {
        let before = self.wanted.model.replace(chosen);
        self.leave(view).await?;
        let begun = self.begin(view).await;
        if matches!(begun, Err(Stopped::Told)) {
            self.leave(view).await?;
            self.wanted.model = before;
            let status = self.begin(view).await?;
            view.remark("The model stays as it was.")?;
            return Ok(status);
        }
        begun
    }

    /// Says goodbye to the child.
    pub(super) async fn leave(&mut self, view: &mut dyn View) -> Done<()> {
        if let Some(session) = &mut self.session {
            session.attached = false;
        }
        if let Some(mut started) = self.started.take() {
            let Tokens { input, output } = started.reasons.tokens();
            self.tokens.input += input;
            self.tokens.output += output;
            if let Err(why) = started.leave(&mut self.interrupts).await {
                view.remark(&why)?;
            }
        }
        Ok(())
    }

    /// All that was said, as the server tells it; `None` before anything was.
    pub(super) async fn history(&mut self, view: &mut dyn View) -> Done<Option<History>> {
        let Some(id) = self.session().map(str::to_owned) else {
            return Ok(None);
        };
        // The revision after a turn is told once only; opening tells it again.
        if let Some(session) = &mut self.session {
            session.attached = false;
        }
        self.start(view).await?;
        let Some(started) = &mut self.started else {
            return Err(Stopped::Told);
        };
        let mut read = async || -> Result<History, Failure> {
            let revision = started
                .attach(Some(&id), &mut self.interrupts)
                .await?
                .revision;
            let mut history = History::new(id.clone(), revision);
            while let Some(request) = history.request() {
                let page = started.child.client.call(request);
                if let Answer::HistoryPage(page) = step(&mut self.interrupts, ANSWER, page).await? {
                    history.accept(page).map_err(consumer::Error::from)?;
                }
            }
            Ok(history)
        };
        match read().await {
            Ok(history) => {
                if let Some(session) = &mut self.session {
                    session.attached = true;
                }
                Ok(Some(history))
            }
            Err(failure) => {
                view.remark(&explain("the history cannot be read", failure))?;
                Err(Stopped::Told)
            }
        }
    }

    /// One turn.
    pub(super) async fn turn(
        &mut self,
        prompt: String,
        view: &mut dyn View,
        asker: &mut Asker,
    ) -> Done<Ended> {
        while self.interrupts.try_recv().is_ok() {}
        // A child that ended meanwhile is noticed before it is asked: nothing is ever sent twice.
        self.status(view).await?;
        let session_id = self.attach(view).await?;
        view.begin()?;
        let Some(started) = &mut self.started else {
            return Err(Stopped::Told);
        };
        let counted = started.reasons.tokens();
        let start = Request::TurnStart(StartParams { session_id, prompt });
        if let Err(failure) = step(
            &mut self.interrupts,
            ANSWER,
            started.child.client.call(start),
        )
        .await
        {
            let interrupted = matches!(failure, Failure::Interrupted);
            let why = explain("the turn could not be started", failure);
            self.lose(&why, view).await?;
            return Ok(if interrupted {
                Ended::Leave
            } else {
                Ended::GoOn
            });
        }
        let mut turn = Turn {
            started,
            interrupts: &mut self.interrupts,
            rules: &mut self.rules,
            cwd: self.wanted.cwd.as_deref(),
            view,
            asker,
            held: Held::default(),
            running: Vec::new(),
            since: Instant::now(),
            counted,
            cancelling: false,
        };
        let watched = turn.watch().await;
        let is_persisted = started
            .child
            .client
            .transcript()
            .is_some_and(|run| run.is_persisted());
        if let Some(session) = &mut self.session {
            session.durable |= is_persisted;
        }
        match watched? {
            Watched::Ended => Ok(Ended::GoOn),
            Watched::Left => Ok(Ended::Leave),
            Watched::Lost(why) => {
                self.lose(&format!("{why}; what this turn did is not known"), view)
                    .await?;
                Ok(Ended::GoOn)
            }
        }
    }
}
