//! A child of this program with an initialized connection, and why there is none; and how it is left again.
//! What is asked of it is the caller's matter.

use std::path::PathBuf;
use std::time::Duration;

use consumer::local_agent::{
    Answer, Child, Launch, OpenParams, REQUIRED_FOR_TURNS, Request, Status,
};
use handlers::configuration::{self, Chosen};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::reasons::Reasons;
use super::step::{Failure, explain, step};

const STARTUP: Duration = Duration::from_secs(30);
/// How long an answer that starts no model's work may take.
pub(crate) const ANSWER: Duration = Duration::from_secs(10);
const SHUTDOWN: Duration = Duration::from_secs(5);

/// How the child is to be started.
#[derive(Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) cwd: Option<PathBuf>,
    /// What answers instead of what the settings and a stored session say.
    pub(crate) model: Option<Chosen>,
    /// Most responses of a turn.
    pub(crate) max_turns: Option<u32>,
}

/// Why there is nothing to work with.
pub(crate) struct Refused {
    pub(crate) why: String,
    /// What else is known of it, most important first.
    pub(crate) more: Vec<String>,
    /// The person gave up waiting.
    #[cfg_attr(
        not(feature = "exec"),
        allow(dead_code, reason = "only exec asks for it")
    )]
    pub(crate) interrupted: bool,
}

/// A child that is ready.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) reasons: Reasons,
    #[cfg_attr(
        not(feature = "exec"),
        allow(dead_code, reason = "only exec asks for it")
    )]
    pub(crate) status: Status,
}

impl Wanted {
    fn launch(&self) -> std::io::Result<Launch> {
        // Not relative, since the child starts in a directory of its own.
        let mut launch = Launch::new(std::env::current_exe()?);
        launch.cwd.clone_from(&self.cwd);
        if let Some(Chosen { provider, model }) = &self.model {
            if let Some(provider) = provider {
                launch.env.push(("MC_PROVIDER".into(), provider.into()));
            }
            launch.env.push(("MC_MODEL".into(), model.into()));
            launch.args.push("--insist".into());
        }
        if let Some(most) = self.max_turns {
            launch.args.push("--max-responses".into());
            launch.args.push(most.to_string().into());
        }
        Ok(launch)
    }

    /// Starts a child and initializes it.
    ///
    /// # Errors
    /// Why it can't be, with what the configuration and the child say of it.
    pub(crate) async fn start(
        &self,
        interrupts: &mut mpsc::Receiver<()>,
    ) -> Result<Started, Refused> {
        let unstarted = |error: &dyn std::fmt::Display| Refused {
            why: format!("the server could not be started: {error}"),
            more: Vec::new(),
            interrupted: false,
        };
        let mut launch = self.launch().map_err(|error| unstarted(&error))?;
        let mut reasons = Reasons::begin(&mut launch);
        let mut child = Child::spawn(launch).map_err(|error| unstarted(&error))?;
        let negotiated = child.client.negotiate(REQUIRED_FOR_TURNS);
        match step(interrupts, STARTUP, negotiated).await {
            Ok(initialized) => Ok(Started {
                child,
                reasons,
                status: initialized.status,
            }),
            Err(failure) => {
                let interrupted = matches!(failure, Failure::Interrupted);
                let why = explain("the server did not start", failure);
                // It is told in the file before it is told on the wire.
                let mut more = reasons.of_the_start();
                if more.is_empty() && !interrupted {
                    more = self.problems();
                }
                more.extend(last_words(&mut child).await);
                Err(Refused {
                    why,
                    more,
                    interrupted,
                })
            }
        }
    }

    /// What is wrong with the configuration, as `doctor` tells it.
    fn problems(&self) -> Vec<String> {
        let found = configuration::examine(self.cwd.as_deref());
        let problems = found.map(|found| found.problems).unwrap_or_default();
        problems.iter().map(configuration::lines).collect()
    }
}

impl Started {
    /// Opens a session, or makes one. Returns its id, whether it is on the disk, and what is to be said of it.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) async fn attach(
        &mut self,
        session: Option<&str>,
        interrupts: &mut mpsc::Receiver<()>,
    ) -> Result<consumer::local_agent::answer::Attached, Failure> {
        let request = match session {
            Some(id) => Request::SessionOpen(OpenParams {
                session_id: id.to_owned(),
            }),
            None => Request::SessionCreate,
        };
        match step(interrupts, ANSWER, self.child.client.call(request)).await? {
            Answer::SessionOpened(session) | Answer::SessionCreated(session) => Ok(session),
            _ => Err(Failure::Client(consumer::Error::Closed)),
        }
    }

    /// Says goodbye and waits for the child, which is killed if that takes too long.
    ///
    /// # Errors
    /// What went wrong with its end.
    pub(crate) async fn leave(mut self, interrupts: &mut mpsc::Receiver<()>) -> Result<(), String> {
        let deadline = Instant::now() + SHUTDOWN;
        let goodbye = step(
            interrupts,
            SHUTDOWN,
            self.child.client.call(Request::Shutdown),
        )
        .await;
        let left = deadline.saturating_duration_since(Instant::now());
        let ended = self.child.finish(left).await;
        goodbye.map_err(|failure| explain("the server did not say goodbye", failure))?;
        match ended {
            Ok(Some(status)) if status.success() => Ok(()),
            Ok(Some(_)) => Err("the server ended with an error status".to_owned()),
            Ok(None) => Err("the server did not end in time and was killed".to_owned()),
            Err(error) => Err(explain("the server did not end well", error)),
        }
    }

    /// Ends a child that is of no use any more; what it said on its standard error.
    pub(crate) async fn abandon(mut self) -> Vec<String> {
        last_words(&mut self.child).await
    }
}

async fn last_words(child: &mut Child) -> Vec<String> {
    let mut words = Vec::new();
    if child.kill().await.is_err() {
        words.push("the server could not be ended".to_owned());
    }
    let said = child.stderr();
    if !said.trim().is_empty() {
        words.push(format!("The server's stderr:\n{}", said.trim_end()));
    }
    words
}
