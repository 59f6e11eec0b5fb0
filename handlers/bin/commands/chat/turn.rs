//! One turn of a chat: its run is followed to its end, what happens is shown, and what is asked is answered by the person.
//! Which child it is, and what comes when that ends, is `talk`'s matter.

use std::io;
use std::time::Duration;

use consumer::local_agent::{ActivityState, CancelParams, Event, Incoming, Outcome, Request};
use tokio::sync::mpsc;
use tokio::time::{Instant, interval, sleep_until};

use super::ask::{self, Question};
use super::view::{About, View, short};
use crate::client::asker::Asker;
use crate::client::held::Held;
use crate::client::reasons::Tokens;
use crate::client::start::Started;
use crate::client::step::explain;

/// How often what goes on is told.
const TICK: Duration = Duration::from_millis(100);

/// How a turn ended.
pub(super) enum Watched {
    Ended,
    Left,
    Lost(String),
}

pub(super) struct Turn<'a> {
    pub(super) started: &'a mut Started,
    pub(super) interrupts: &'a mut mpsc::Receiver<()>,
    pub(super) rules: &'a mut Vec<String>,
    pub(super) cwd: Option<&'a std::path::Path>,
    pub(super) view: &'a mut dyn View,
    pub(super) asker: &'a mut Asker,
    pub(super) held: Held,
    /// Activities that run, and what of them is shown.
    pub(super) running: Vec<(String, String)>,
    pub(super) since: Instant,
    /// Tokens before this turn.
    pub(super) counted: Tokens,
    pub(super) cancelling: bool,
}

impl Turn<'_> {
    /// Follows the run to its terminal event, which has no deadline.
    pub(super) async fn watch(&mut self) -> io::Result<Watched> {
        let mut asking: Option<Question> = None;
        let mut ticks = interval(TICK);
        loop {
            let until = asking
                .as_ref()
                .map_or_else(Instant::now, |asked| asked.until);
            tokio::select! {
                incoming = self.started.child.client.next() => match incoming {
                    Ok(Some(Incoming::Event(Event::RunFinished(ended)))) => {
                        if asking.take().is_some() {
                            self.asker.forget();
                        }
                        self.release()?;
                        self.view.rest()?;
                        self.finished(ended.outcome, ended.error_code.map(|code| code.word()))?;
                        return Ok(Watched::Ended);
                    }
                    // Nothing comes between a question and its answer.
                    Ok(Some(Incoming::Event(event))) if asking.is_some() => self.held.keep(event),
                    Ok(Some(Incoming::Event(event))) => self.show(&event)?,
                    Ok(Some(Incoming::Refused { .. } | Incoming::Answered { .. })) => {}
                    Ok(None) => return Ok(Watched::Lost("The server ended before the turn did".to_owned())),
                    Err(error) => return Ok(Watched::Lost(explain("the turn was lost", error))),
                },
                Some(()) = self.interrupts.recv() => {
                    if self.cancelling || !self.cancel() {
                        self.view.rest()?;
                        return Ok(Watched::Left);
                    }
                    if asking.take().is_some() {
                        self.asker.forget();
                        self.release()?;
                    }
                },
                key = self.asker.line(), if asking.is_some() => {
                    let Some(asked) = asking.take() else { continue };
                    match self.decide(&asked, key.as_deref()) {
                        Some(said) => {
                            self.view.remark(&said)?;
                            self.release()?;
                        }
                        // No answer: the question stands on.
                        None => {
                            asking = self.asker.ready().await.then_some(asked);
                        }
                    }
                },
                () = sleep_until(until), if asking.is_some() => {
                    if let Some(asked) = asking.take() {
                        self.asker.forget();
                        if let Some(run) = self.started.child.client.transcript_mut() {
                            run.answered(&asked.approval_id);
                        }
                        self.view.remark("  no answer in time: denied")?;
                        self.release()?;
                    }
                },
                _ = ticks.tick(), if asking.is_none() => self.tell()?,
            }
            if asking.is_none() {
                asking = self.next_question().await?;
            }
        }
    }

    fn about(&mut self) -> (Tokens, Instant) {
        let all = self.started.reasons.tokens();
        let tokens = Tokens {
            input: all.input.saturating_sub(self.counted.input),
            output: all.output.saturating_sub(self.counted.output),
        };
        (tokens, self.since)
    }

    fn tell(&mut self) -> io::Result<()> {
        let (tokens, since) = self.about();
        self.view.status(&About {
            running: &self.running,
            since: since.into_std(),
            tokens,
            cancelling: self.cancelling,
        })
    }

    fn finished(&mut self, outcome: Outcome, code: Option<&str>) -> io::Result<()> {
        let (Tokens { input, output }, since) = self.about();
        let seconds = since.elapsed().as_secs_f32();
        let tokens = match (input, output) {
            (0, 0) => String::new(),
            _ => format!(" · tokens {} in, {} out", short(input), short(output)),
        };
        match (outcome, code) {
            (Outcome::Completed, _) => self.view.note(&format!("{seconds:.1} s{tokens}")),
            (outcome, Some(code)) => self
                .view
                .remark(&format!("turn {} ({code})", outcome.word())),
            (outcome, None) => self.view.remark(&format!("turn {}", outcome.word())),
        }
    }

    /// Asks the child to cancel the turn; whether that was possible.
    fn cancel(&mut self) -> bool {
        let client = &mut self.started.child.client;
        let Some(run) = client.transcript().filter(|_| client.offers("turn.cancel")) else {
            return false;
        };
        let cancel = Request::TurnCancel(CancelParams {
            session_id: run.session_id().into(),
            run_id: run.run_id().into(),
        });
        self.cancelling = client.send(cancel).is_ok();
        self.cancelling
    }

    /// Shows what came while a question stood.
    fn release(&mut self) -> io::Result<()> {
        let Held { events, lost } = std::mem::take(&mut self.held);
        if lost > 0 {
            self.view
                .remark(&format!("({lost} earlier lines are not shown)"))?;
        }
        events.iter().try_for_each(|event| self.show(event))
    }

    /// Shows one event.
    fn show(&mut self, event: &Event) -> io::Result<()> {
        let segment = match event {
            Event::MessageDelta(delta) => &delta.message_id,
            Event::MessageReconcile(piece) if piece.last_part => &piece.message_id,
            Event::ActivityEvent(activity) => {
                let (id, name) = (&activity.activity_id, &activity.name);
                match activity.state {
                    ActivityState::Started => {
                        let about = super::view::about_call(name, &activity.summary);
                        self.running.push((id.clone(), about));
                    }
                    _ => self.running.retain(|(known, _)| known != id),
                }
                self.view
                    .activity(activity.state, name, &activity.summary)?;
                if activity.state == ActivityState::Failed
                    && let Some(why) = self.started.reasons.of_call(id)
                {
                    self.view.remark(&format!("    {why}"))?;
                }
                return Ok(());
            }
            Event::Diagnostic(diagnostic) => return self.view.remark(&diagnostic.summary),
            _ => return Ok(()),
        };
        let run = self.started.child.client.transcript();
        match run.and_then(|run| run.segment(segment)) {
            Some(segment) => self.view.segment(segment),
            None => Ok(()),
        }
    }

    /// Asks about the oldest approval that waits; where there is nobody to ask, denies it.
    async fn next_question(&mut self) -> io::Result<Option<Question>> {
        loop {
            let run = self.started.child.client.transcript();
            let Some(approval) = run.and_then(|run| run.approvals().first().cloned()) else {
                return Ok(None);
            };
            let question = Question::of(&approval);
            if question.is_covered(self.rules) {
                self.answer(&question, true);
                continue;
            }
            if self.asker.ready().await {
                self.view
                    .question(&question.text(approval.summary.as_str()))?;
                return Ok(Some(question));
            }
            self.view.remark(&format!(
                "denied, since there is no terminal to ask at: {}",
                approval.summary
            ))?;
            self.answer(&question, false);
        }
    }

    /// What a key says to a question, in words; `None` for one that says nothing.
    fn decide(&mut self, asked: &Question, key: Option<&str>) -> Option<String> {
        // Where the terminal is gone nobody says anything any more.
        let key = ask::Key::of(key.unwrap_or("n"))?;
        let mut said = "  denied".to_owned();
        if key == ask::Key::Always {
            let rules = asked.rules.clone()?;
            said = match handlers::configuration::remember(self.cwd, &rules) {
                Ok(()) => {
                    self.rules.extend(rules);
                    "  allowed, and remembered".to_owned()
                }
                Err(reasons) => {
                    let lines: Vec<_> =
                        reasons.iter().map(handlers::configuration::lines).collect();
                    format!("  allowed, but not remembered:\n{}", lines.join("\n"))
                }
            };
        } else if key == ask::Key::Yes {
            said = "  allowed".to_owned();
        }
        self.answer(asked, key != ask::Key::No);
        Some(said)
    }

    fn answer(&mut self, asked: &Question, allow: bool) {
        let client = &mut self.started.child.client;
        let Some(run) = client.transcript_mut() else {
            return;
        };
        // Marked before the server's word, so that nobody is asked twice; it decides in any case.
        run.answered(&asked.approval_id);
        let request = asked.answer(run.session_id(), run.run_id(), allow);
        // What is not sent expires as denied; a connection that broke is met when it is read.
        let _ = client.send(request);
    }
}
