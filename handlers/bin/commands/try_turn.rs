//! `magi-code try`: one real turn with a child of its own, for a newcomer's first minute and a frontend author's debugging.
//! A client, which reads no sessions and no credentials; why a start is refused it asks as `doctor` does.

mod screen;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use consumer::Error;
use consumer::local_agent::{
    ActivityState, Answer, AnswerParams, CancelParams, Child, Client, Event, History, Incoming,
    Launch, OpenParams, Outcome, Persistence, REQUIRED_FOR_TURNS, Request, StartParams, Transcript,
};
use host::transport::Stdio;
use screen::{Remarks, Screen, Terminals};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::client::asker::{Asker, read_terminal};
use crate::client::held::Held;
use crate::client::input;
use crate::client::reasons::Reasons;
use crate::client::step::{Failure, Stop, explain, step};
use crate::program::{Run, complain, open_output};

const STARTUP: Duration = Duration::from_secs(30);
const ANSWER: Duration = Duration::from_secs(10);
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Hold one turn with a child of its own and show what happens
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code try \"What is in this project?\"
  echo \"What is in this project?\" | magi-code try --frames -

Exit status: 0 the turn completed, 1 it failed or was cancelled, 2 no turn could start or the command line is wrong.")]
pub(crate) struct Try {
    /// Where the turn works; the current directory by default
    #[arg(long)]
    cwd: Option<PathBuf>,
    /// Show every frame both ways on stderr
    #[arg(long)]
    frames: bool,
    /// What to ask; `-` reads it from standard input
    prompt: String,
}

impl Run for Try {
    const NAME: &'static str = "try";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        run(self, stdio)
    }
}

/// Runs the turn: words to standard output, everything else to stderr. Returns the exit status: 0 completed,
/// 1 failed, cancelled or a broken protocol, 2 when no turn could start.
fn run(mut args: Try, stdio: Stdio) -> anyhow::Result<i32> {
    open_output()?;
    args.prompt = match input::prompt(args.prompt, stdio.input) {
        Ok(prompt) => prompt,
        Err(why) => {
            complain(&format!("magi-code try: {why}"));
            return Ok(2);
        }
    };
    // Not relative, since the child starts in a directory of its own.
    let program = std::env::current_exe()?;
    let mut output = std::fs::File::from(stdio.output);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let terminals = Terminals {
        joined: input::is_stderr(&output),
        remarks: std::io::stderr().is_terminal(),
    };
    let remarks: Remarks = Arc::new(Mutex::new(std::io::stderr()));
    let mut screen = Screen::new(&mut output, remarks, terminals, args.frames);
    let launch = Launch::new(program);
    Ok(runtime.block_on(attempt(args, launch, &mut screen, terminals.remarks)))
}

/// No turn could start. The exit status.
fn refuse(screen: &mut Screen<'_>, why: &str) -> i32 {
    screen.remark(&format!("magi-code try: {why}"));
    2
}

async fn attempt(args: Try, mut launch: Launch, screen: &mut Screen<'_>, at_terminal: bool) -> i32 {
    let (interrupted, mut interrupts) = mpsc::channel(1);
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() && interrupted.send(()).await.is_ok() {}
    });
    if let Some(cwd) = args.cwd {
        if let Some(why) = input::unusable(&cwd) {
            return refuse(screen, &why);
        }
        launch.cwd = Some(cwd);
    }
    let place = launch.cwd.clone();
    // The same files that the child reads: what they come to is told here, since the wire tells no reasons.
    let configuration = match handlers::configuration::examine(launch.cwd.as_deref()) {
        Ok(configuration) => configuration,
        Err(error) => {
            let why = format!("the current directory cannot be used: {error}");
            return refuse(screen, &why);
        }
    };
    for notice in &configuration.notices {
        screen.remark(&handlers::configuration::lines(notice));
    }
    for odd in crate::log::odd() {
        screen.remark(&odd);
    }
    let mut reasons = Reasons::begin(&mut launch);
    let mut child = match Child::spawn(launch) {
        Ok(child) => child,
        Err(error) => {
            // A directory that may not be entered is first noticed here.
            let place = place.map(|cwd| format!(" in {}", cwd.display()));
            let place = place.unwrap_or_default();
            let why = format!("the server could not be started{place}: {error}");
            return refuse(screen, &why);
        }
    };
    if args.frames {
        child.client.set_tap(screen.tap());
    }
    let mut asker = Asker::new(if at_terminal { read_terminal } else { || None });
    let mut turn = Turn {
        client: &mut child.client,
        screen,
        interrupts: &mut interrupts,
        asker: &mut asker,
        held: Held::default(),
        reasons: &mut reasons,
    };
    let ended = turn.converse(&args.prompt).await;
    // Whatever happened, the line of words that stands open is ended before the last remarks.
    let flushed = screen.end_line();
    let status = match (ended, flushed) {
        (Ok(status), Ok(())) => {
            farewell(&mut child, screen, &mut interrupts).await;
            return status;
        }
        (Ok(_), Err(error)) => Stop::from(error),
        (Err(stop), _) => stop,
    };
    screen.remark(&format!("magi-code try: {}", status.why));
    for problem in &configuration.problems {
        screen.remark(&handlers::configuration::lines(problem));
    }
    if configuration.problems.is_empty() {
        // What only a start can find, such as servers that don't start.
        for reason in reasons.of_the_start() {
            screen.remark(&reason);
        }
    }
    if child.kill().await.is_err() {
        screen.remark("magi-code try: the server could not be ended");
    }
    let said = child.stderr();
    if !said.trim().is_empty() {
        screen.remark(&format!("The server's stderr:\n{}", said.trim_end()));
    }
    status.status
}

/// One turn over any streams: with whom, what is shown of it, and who interrupts it or answers.
struct Turn<'a, 'w, R, W> {
    client: &'a mut Client<R, W>,
    screen: &'a mut Screen<'w>,
    interrupts: &'a mut mpsc::Receiver<()>,
    asker: &'a mut Asker,
    held: Held,
    reasons: &'a mut Reasons,
}

impl<R: AsyncRead + Unpin, W: AsyncWrite + Unpin> Turn<'_, '_, R, W> {
    /// Negotiate, create, start, watch, read back. The exit status of a turn
    /// that came to its end.
    async fn converse(&mut self, prompt: &str) -> Result<i32, Stop> {
        let initialized = step(
            self.interrupts,
            STARTUP,
            self.client.negotiate(REQUIRED_FOR_TURNS),
        )
        .await
        .map_err(|failure| Stop::before(explain("the server did not start", failure)))?;
        introduce(self.screen, &initialized.status);
        let created = self
            .call(Request::SessionCreate)
            .await
            .map_err(|error| Stop::before(explain("no session could be created", error)))?;
        let Answer::SessionCreated(session) = created else {
            return Err(Stop::before("no session was created"));
        };
        let session_id = session.session_id;
        let start = Request::TurnStart(StartParams {
            session_id: session_id.clone(),
            prompt: prompt.to_owned(),
        });
        self.call(start)
            .await
            .map_err(|error| Stop::before(explain("the turn could not be started", error)))?;
        self.watch().await?;
        self.screen.end_line()?;
        let transcript = self.client.transcript().cloned();
        let Some((transcript, ended)) = transcript
            .as_ref()
            .and_then(|run| run.ended().map(|ended| (run, ended)))
        else {
            return Err(Stop::during("the run has no end"));
        };
        let outcome = match (ended.outcome, ended.error_code) {
            (Outcome::Completed, _) => "completed".to_owned(),
            (outcome, Some(code)) => format!("{} ({})", outcome.word(), code.word()),
            (outcome, None) => outcome.word().to_owned(),
        };
        let stored = match ended.persistence {
            Persistence::Durable => "durable: it is on disk",
            Persistence::Degraded => "degraded: not all of it is on disk",
            Persistence::NotStarted => "not stored",
        };
        self.screen.remark(&format!("turn {outcome}; {stored}"));
        if !transcript.is_settled() {
            self.screen
                .remark("The text above is incomplete: its authoritative copy never came.");
        }
        self.read_back(transcript, ended.revision.clone()).await?;
        self.screen.remark(&format!("session {session_id}"));
        Ok(i32::from(ended.outcome != Outcome::Completed))
    }

    /// One request of this turn, answered in time.
    async fn call(&mut self, request: Request) -> Result<Answer, Failure> {
        step(self.interrupts, ANSWER, self.client.call(request)).await
    }

    /// Follows the run to its terminal event, which has no deadline.
    async fn watch(&mut self) -> Result<(), Stop> {
        let mut cancelling = false;
        // The approval being asked about, and until when.
        let mut asking: Option<(String, Instant)> = None;
        loop {
            let until = asking
                .as_ref()
                .map_or_else(Instant::now, |(_, until)| *until);
            tokio::select! {
                incoming = self.client.next() => match incoming {
                    Ok(Some(Incoming::Event(event))) => {
                        let is_last = matches!(event, Event::RunFinished(_));
                        // Nothing comes between a question and its answer.
                        if asking.is_some() && !is_last {
                            self.held.keep(event);
                        } else {
                            if asking.take().is_some() {
                                self.screen.remark("\n(the turn ended: there is nothing to answer any more)");
                                self.release()?;
                            }
                            self.show(&event)?;
                            if is_last {
                                return Ok(());
                            }
                        }
                    }
                    Ok(Some(Incoming::Refused { code, .. })) => self.screen.remark(&format!("the server refused: {}", code.word())),
                    Ok(Some(Incoming::Answered { .. })) => {}
                    Ok(None) => return Err(Stop::during("the server ended before the turn did; what it did is not known")),
                    Err(error) => return Err(Stop::during(explain("the turn was lost", error))),
                },
                Some(()) = self.interrupts.recv() => {
                    let run = self.client.transcript().filter(|_| !cancelling);
                    let Some(run) = run else { return Err(Stop::during("interrupted; the server is killed")) };
                    let cancel = Request::TurnCancel(CancelParams { session_id: run.session_id().into(), run_id: run.run_id().into() });
                    if !self.client.offers("turn.cancel") || self.client.send(cancel).is_err() {
                        return Err(Stop::during("interrupted; the server cannot cancel and is killed"));
                    }
                    cancelling = true;
                    self.screen.remark("cancelling the turn; interrupt again to kill the server");
                },
                line = self.asker.line(), if asking.is_some() => {
                    let Some((id, _)) = asking.take() else { continue };
                    let allow = line.is_some_and(|line| matches!(line.trim().to_lowercase().as_str(), "y" | "yes"));
                    self.answer(&id, allow)?;
                    self.release()?;
                },
                () = sleep_until(until), if asking.is_some() => {
                    let Some((id, _)) = asking.take() else { continue };
                    self.screen.remark("\nno answer in time: denied");
                    self.asker.forget();
                    if let Some(run) = self.client.transcript_mut() {
                        run.answered(&id);
                    }
                    self.release()?;
                },
            }
            if asking.is_none() {
                asking = self.next_question().await?;
            }
        }
    }

    /// Shows what came while a question stood.
    fn release(&mut self) -> Result<(), Stop> {
        let Held { events, lost } = std::mem::take(&mut self.held);
        if lost > 0 {
            self.screen
                .remark(&format!("({lost} earlier remarks are not shown)"));
        }
        events.iter().try_for_each(|event| self.show(event))
    }

    /// Shows one event.
    fn show(&mut self, event: &Event) -> Result<(), Stop> {
        let segment = match event {
            Event::MessageDelta(delta) => &delta.message_id,
            Event::MessageReconcile(piece) if piece.last_part => &piece.message_id,
            Event::ActivityEvent(activity) => {
                self.screen
                    .activity(activity.state, &activity.name, &activity.summary);
                if activity.state == ActivityState::Failed
                    && let Some(why) = self.reasons.of_call(&activity.activity_id)
                {
                    self.screen.remark(&format!("    {why}"));
                }
                return Ok(());
            }
            Event::Diagnostic(diagnostic) => {
                let (code, summary) = (&diagnostic.code, &diagnostic.summary);
                self.screen.remark(&format!("[{code}] {summary}"));
                return Ok(());
            }
            Event::RunFinished(_)
            | Event::InputPersisted(_)
            | Event::MessageReconcile(_)
            | Event::ApprovalRequested(_) => return Ok(()),
        };
        if let Some(segment) = self
            .client
            .transcript()
            .and_then(|run| run.segment(segment))
        {
            self.screen.segment(segment)?;
        }
        Ok(())
    }

    /// Asks about the oldest approval that waits; where there is nobody to ask, denies it.
    async fn next_question(&mut self) -> Result<Option<(String, Instant)>, Stop> {
        loop {
            let Some(approval) = self
                .client
                .transcript()
                .and_then(|run| run.approvals().first().cloned())
            else {
                return Ok(None);
            };
            if self.asker.ready().await {
                self.screen
                    .question(&format!("Allow this? {} [y/N] ", approval.summary));
                let until = Instant::now() + Duration::from_millis(approval.expires_in_ms);
                return Ok(Some((approval.approval_id, until)));
            }
            self.screen.remark(&format!(
                "denied, since there is no terminal to ask at: {}",
                approval.summary
            ));
            self.answer(&approval.approval_id, false)?;
        }
    }

    fn answer(&mut self, approval_id: &str, allow: bool) -> Result<(), Stop> {
        let Some(run) = self.client.transcript_mut() else {
            return Ok(());
        };
        // Marked before the server's word, so that nobody is asked twice; it decides in any case.
        run.answered(approval_id);
        let request = Request::ApprovalAnswer(AnswerParams {
            session_id: run.session_id().to_owned(),
            run_id: run.run_id().to_owned(),
            approval_id: approval_id.to_owned(),
            allow,
        });
        match self.client.send(request) {
            Ok(_) => Ok(()),
            // Left alone an approval expires as denied, which is what a lost "no" means.
            Err(Error::NotSent(why)) if !allow => {
                self.screen
                    .remark(&format!("the denial was not sent ({why}); it will expire"));
                Ok(())
            }
            Err(error) => Err(Stop::during(explain(
                "the approval could not be answered",
                error,
            ))),
        }
    }

    /// Reads the session's history back, page by page, as any frontend would after a restart.
    async fn read_back(&mut self, run: &Transcript, revision: Option<String>) -> Result<(), Stop> {
        let session_id = run.session_id().to_owned();
        let failed = |error: Failure| Stop::during(explain("the history could not be read", error));
        let revision = match revision {
            Some(revision) => revision,
            // A null revision means: open it again to read it (spec: "Turns, approvals and events").
            None if run.is_persisted() && self.client.offers("session.open") => {
                let open = Request::SessionOpen(OpenParams {
                    session_id: session_id.clone(),
                });
                match self.call(open).await.map_err(failed)? {
                    Answer::SessionOpened(session) => session.revision,
                    _ => return Ok(()),
                }
            }
            None => {
                self.screen.remark("no history to read back");
                return Ok(());
            }
        };
        let mut history = History::new(session_id, revision);
        while let Some(request) = history.request() {
            if let Answer::HistoryPage(page) = self.call(request).await.map_err(failed)? {
                history
                    .accept(page)
                    .map_err(|violation| failed(Failure::Client(violation.into())))?;
            }
        }
        let count = |count: usize, one: &str, more: &str| {
            format!("{count} {}", if count == 1 { one } else { more })
        };
        self.screen.remark(&format!(
            "history: {} on {}, {}",
            count(history.messages().len(), "entry", "entries"),
            count(history.pages(), "page", "pages"),
            if history.is_complete() {
                "complete"
            } else {
                "incomplete"
            },
        ));
        Ok(())
    }
}

fn introduce(screen: &mut Screen<'_>, status: &consumer::local_agent::Status) {
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| "(not shown)".to_owned());
    screen.remark(&format!(
        "provider {}, model {}",
        name(&status.provider),
        name(&status.model)
    ));
    if status.provider.as_deref() == Some("fixture") {
        screen.remark(
            "This is the offline demonstration: no model is asked, but the process, the pipes, the tools and the \
             session are real. docs/configuration.md shows the settings of real models.",
        );
    }
}

/// Says goodbye and waits for the child; kills it when that takes too long.
async fn farewell(child: &mut Child, screen: &mut Screen<'_>, interrupts: &mut mpsc::Receiver<()>) {
    let deadline = Instant::now() + SHUTDOWN;
    if let Err(error) = step(interrupts, SHUTDOWN, child.client.call(Request::Shutdown)).await {
        screen.remark(&explain("the server did not say goodbye", error));
    }
    match child
        .finish(deadline.saturating_duration_since(Instant::now()))
        .await
    {
        Ok(Some(status)) if status.success() => {}
        Ok(Some(_)) => screen.remark("the server ended with an error status"),
        Ok(None) => screen.remark("the server did not end in time and was killed"),
        Err(error) => screen.remark(&explain("the server did not end well", error)),
    }
}

#[cfg(test)]
mod tests;
