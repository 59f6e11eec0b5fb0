//! `magi-code exec`: one turn for a script: the last response's text, or every event as a line of JSON.
//! Nobody is asked anything: what would ask is denied.

mod report;

use std::fs::File;
use std::io;
use std::path::PathBuf;

use consumer::Error;
use consumer::local_agent::{
    AnswerParams, CancelParams, Event, Incoming, Outcome, Request, StartParams,
};
use handlers::configuration;
use host::transport::Stdio;
use tokio::sync::mpsc;

use crate::client::input;
use crate::client::start::{ANSWER, Refused, Started, Wanted};
use crate::client::step::{Failure, explain, step};
use crate::program::{Run, complain, misuse, open_output};
use report::Report;

/// Hold one turn for a script, which asks nobody anything
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code exec \"What is in this project?\"
  magi-code exec - < README.md
  magi-code exec --json --max-turns 20 \"What is in this project?\"

Standard output is the text of the last response, and nothing where the turn did not complete. What would ask a person is
denied; rules in the settings say what may run (docs/configuration.md).

Exit status: 0 the turn completed, 1 it failed or could not start, 2 the command line is wrong, 3 it would have needed more
responses than --max-turns, 130 it was interrupted.")]
pub(crate) struct Exec {
    /// One event a line as JSON; the last line has `outcome`
    #[arg(long)]
    json: bool,
    /// Go on with this session
    #[arg(long, value_name = "ID")]
    session: Option<String>,
    /// Most responses of the model
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Where the turn works; the current directory by default
    #[arg(long)]
    cwd: Option<PathBuf>,
    /// What answers, as MODEL or PROVIDER/MODEL
    #[arg(long)]
    model: Option<String>,
    /// What to ask; `-` reads it from standard input
    prompt: String,
}

/// A turn completed, failed, had no responses left, or was interrupted.
const COMPLETED: i32 = 0;
const FAILED: i32 = 1;
const NONE_LEFT: i32 = 3;
const INTERRUPTED: i32 = 130;

impl Run for Exec {
    const NAME: &'static str = "exec";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        open_output()?;
        let prompt = match input::prompt(self.prompt, stdio.input) {
            Ok(prompt) => prompt,
            Err(why) => return Ok(misuse::<Self>(why)),
        };
        if let Some(why) = self.cwd.as_deref().and_then(input::unusable) {
            return Ok(misuse::<Self>(why));
        }
        let mut wanted = Wanted {
            cwd: self.cwd,
            max_turns: self.max_turns,
            model: None,
        };
        let mut report = Report::new(File::from(stdio.output), self.json);
        if let Some(model) = self.model {
            match configuration::choose(wanted.cwd.as_deref(), &model) {
                Ok(chosen) => wanted.model = Some(chosen),
                Err(reasons) => {
                    let reasons: Vec<_> = reasons.iter().map(configuration::lines).collect();
                    return Ok(report.refused("no model can be chosen", &reasons, FAILED)?);
                }
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok(runtime.block_on(hold(&wanted, self.session.as_deref(), prompt, &mut report))?)
    }
}

/// Holds the turn. The exit status.
///
/// # Errors
/// When standard output can't be written.
async fn hold(
    wanted: &Wanted,
    session: Option<&str>,
    prompt: String,
    report: &mut Report,
) -> io::Result<i32> {
    let (interrupted, mut interrupts) = mpsc::channel(1);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && interrupted.send(()).await.is_ok() {}
    });
    let mut started = match wanted.start(&mut interrupts).await {
        Ok(started) => started,
        Err(Refused {
            why,
            more,
            interrupted,
        }) => {
            let status = if interrupted { INTERRUPTED } else { FAILED };
            return report.refused(&why, &more, status);
        }
    };
    let mut turn = Turn {
        started: &mut started,
        interrupts: &mut interrupts,
        report,
    };
    match turn.hold(session, prompt).await? {
        Ok(status) => {
            // The turn is over and told; how its server leaves changes nothing of it.
            if let Err(why) = started.leave(&mut interrupts).await {
                complain(&format!("magi-code exec: {why}"));
            }
            Ok(status)
        }
        Err(Stopped { why, status }) => {
            let more = started.abandon().await;
            report.refused(&why, &more, status)
        }
    }
}

/// Why a turn has no end that its server told.
struct Stopped {
    why: String,
    status: i32,
}

impl Stopped {
    fn new(what: &str, failure: impl Into<Failure>) -> Self {
        let failure = failure.into();
        let status = match failure {
            Failure::Interrupted => INTERRUPTED,
            _ => FAILED,
        };
        Self {
            why: explain(what, failure),
            status,
        }
    }
}

struct Turn<'a> {
    started: &'a mut Started,
    interrupts: &'a mut mpsc::Receiver<()>,
    report: &'a mut Report,
}

impl Turn<'_> {
    async fn hold(
        &mut self,
        session: Option<&str>,
        prompt: String,
    ) -> io::Result<Result<i32, Stopped>> {
        let attached = match self.started.attach(session, self.interrupts).await {
            Ok(attached) => attached,
            Err(failure) => return Ok(Err(Stopped::new("there is no session", failure))),
        };
        self.report.attached(&attached, &self.started.status)?;
        let start = Request::TurnStart(StartParams {
            session_id: attached.session_id,
            prompt,
        });
        let admitted = self.started.child.client.call(start);
        if let Err(failure) = step(self.interrupts, ANSWER, admitted).await {
            return Ok(Err(Stopped::new("the turn could not be started", failure)));
        }
        self.watch().await
    }

    /// Follows the run to its terminal event, which has no deadline.
    async fn watch(&mut self) -> io::Result<Result<i32, Stopped>> {
        let mut cancelling = false;
        loop {
            let client = &mut self.started.child.client;
            tokio::select! {
                incoming = client.next() => match incoming {
                    Ok(Some(Incoming::Event(Event::RunFinished(ended)))) => {
                        let status = match ended.outcome {
                            Outcome::Completed => COMPLETED,
                            Outcome::Cancelled if cancelling => INTERRUPTED,
                            _ if self.started.reasons.has_no_responses_left() => NONE_LEFT,
                            _ => FAILED,
                        };
                        let tokens = self.started.reasons.tokens();
                        let run = self.started.child.client.transcript();
                        self.report.finished(&ended, run, tokens, status)?;
                        return Ok(Ok(status));
                    }
                    Ok(Some(Incoming::Event(event))) => {
                        self.report.event(&event)?;
                        if let Err(error) = self.deny() {
                            return Ok(Err(Stopped::new("an approval could not be denied", error)));
                        }
                    }
                    Ok(Some(Incoming::Refused { .. } | Incoming::Answered { .. })) => {}
                    Ok(None) => return Ok(Err(Stopped {
                        why: "the server ended before the turn did; what it did is not known".to_owned(),
                        status: FAILED,
                    })),
                    Err(error) => return Ok(Err(Stopped::new("the turn was lost", error))),
                },
                Some(()) = self.interrupts.recv() => {
                    let run = client.transcript().filter(|_| !cancelling);
                    let cancel = run.map(|run| Request::TurnCancel(CancelParams {
                        session_id: run.session_id().into(),
                        run_id: run.run_id().into(),
                    }));
                    let sent = cancel.filter(|_| client.offers("turn.cancel")).map(|cancel| client.send(cancel));
                    if !matches!(sent, Some(Ok(_))) {
                        return Ok(Err(Stopped::new("the server is killed", Failure::Interrupted)));
                    }
                    cancelling = true;
                },
            }
        }
    }

    /// Denies what waits for a person.
    fn deny(&mut self) -> Result<(), Error> {
        let client = &mut self.started.child.client;
        let Some(run) = client.transcript_mut() else {
            return Ok(());
        };
        let Some(approval) = run.approvals().first().cloned() else {
            return Ok(());
        };
        run.answered(&approval.approval_id);
        let answer = Request::ApprovalAnswer(AnswerParams {
            session_id: run.session_id().to_owned(),
            run_id: run.run_id().to_owned(),
            approval_id: approval.approval_id,
            allow: false,
        });
        match client.send(answer) {
            // Left alone it expires as denied.
            Ok(_) | Err(Error::NotSent(_)) => {}
            Err(error) => return Err(error),
        }
        complain(&format!(
            "magi-code exec: denied, since nobody is asked: {}",
            consumer::display::plain(&approval.summary)
        ));
        Ok(())
    }
}
