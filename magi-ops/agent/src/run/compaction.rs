//! When a run makes its conversation shorter, and what becomes of it: a checkpoint with the summary, in the session or in
//! another part of it. How long a conversation is and what of it goes stands in `compaction`.

use std::sync::Arc;

use provider::{Message, ProviderError};
use store::Redacted;
use store::sessions::{AppendError, Body, Flush};
use tracing::{Instrument, info, info_span};

use super::event::{Activity, CompactionState, ContextSource};
use super::report::ASSUMED_WINDOW;
use super::{RunErrorCode, Stop, Worker};
use crate::compaction::{self, Basis, Cut, Length, tokens};
use crate::conversation::summary_message;
use crate::error::EngineError;
use crate::startup::Selected;

mod part;
mod summary;

use part::renumber;
use summary::{NoSummary, failed};

/// Part of its window that stays of a conversation, at most, and of the conversation itself.
const KEEP_OF_WINDOW: u64 = 5;
const KEEP_OF_ALL: u64 = 4;
/// Most records that an input comes with, and most bytes around its text, of which JSON makes at most six for one.
const INPUT_RECORDS: u64 = 4;
const INPUT_OVERHEAD: u64 = 16 * 1024;

/// What a run knows of the length of its conversation.
#[derive(Default)]
pub(super) struct Shortening {
    /// It was of no use, or failed: not tried again by itself.
    pub(super) given_up: bool,
    /// It failed: not tried again at all.
    failed: bool,
    /// What is told once the input is stored; `Some` while nothing may be told before that.
    pub(super) held: Option<Vec<Activity>>,
}

/// How a try to make the conversation shorter ended.
enum Shortened {
    Done,
    /// There is nothing that a summary could stand for.
    Nothing,
    /// Whose failure it is, and why, for a person.
    Failed(RunErrorCode, Redacted),
}

impl Worker {
    /// Before a request: makes the conversation shorter if it would fill more than its share of the model's window, and
    /// goes on in another part of the session if this one is nearly full.
    pub(super) async fn make_room(&mut self, selected: &Selected) -> Result<(), Stop> {
        let full = !self.persist.failed() && self.persist.extent().is_nearly_full();
        if full && self.carry(selected).await {
            return Ok(());
        }
        if self.shortening.given_up {
            return Ok(());
        }
        let window = selected.provider.context_window(&selected.choice.model);
        let (before, _) = self.length();
        let most = window.map(|window| window as f64 * selected.compaction_threshold);
        let long = |length: u64| most.is_some_and(|most| length as f64 > most);
        if !long(before) && !full {
            return Ok(());
        }
        let limit = window.unwrap_or(ASSUMED_WINDOW.max(before));
        match self.shorten(selected, limit, true).await? {
            Shortened::Done => self.shortening.given_up = long(self.length().0),
            // More may come that a summary can stand for.
            Shortened::Nothing => {}
            Shortened::Failed(code, why) => {
                self.shortening.given_up = true;
                self.shortening.failed = true;
                if window.is_some_and(|window| before >= window) {
                    return Err(Stop::Failed(RunErrorCode::CompactionRequired, why));
                }
                self.diagnose_for_good(code, why).await?;
            }
        }
        Ok(())
    }

    /// After a request that was refused for its length: makes the conversation shorter, or ends the run.
    pub(super) async fn shorten_refused(
        &mut self,
        error: &ProviderError,
        selected: &Selected,
    ) -> Result<(), Stop> {
        info!(kind = %error.kind(), status = error.status(), "the conversation is refused for its length");
        if self.shortening.failed {
            return Err(self.too_long(error));
        }
        let window = selected.provider.context_window(&selected.choice.model);
        let (before, _) = self.length();
        // What was refused is longer than the window, whatever is known of that.
        let limit = window.unwrap_or(ASSUMED_WINDOW).min(before);
        let why = match self.shorten(selected, limit, true).await? {
            Shortened::Done => return Ok(()),
            Shortened::Nothing => return Err(self.too_long(error)),
            Shortened::Failed(_, why) => why,
        };
        Err(Stop::Failed(RunErrorCode::CompactionRequired, why))
    }

    /// The end of a run whose conversation can't be made short enough.
    pub(super) fn too_long(&self, error: &ProviderError) -> Stop {
        let summary = self.reason_of(error).summary(self.policy.max_summary_bytes);
        Stop::Failed(RunErrorCode::CompactionRequired, summary)
    }

    /// Before the input is stored: makes room for it in a session that has none. Nothing is told of it before the input is
    /// stored, so that its acknowledgement stays the first thing that a client learns of the run.
    pub(super) async fn make_room_for_input(&mut self) -> Result<(), Stop> {
        let extent = self.writer.with(|writer| writer.extent());
        self.persist.begin(extent);
        let bytes = self.active.spec.prompt.len() as u64 * 6 + INPUT_OVERHEAD;
        if extent.records == 0 || extent.has_room(INPUT_RECORDS, bytes) {
            return Ok(());
        }
        if !extent.may_go_on() {
            let why = "the session is full: it has as many parts as a session may have, and its last one has no room; \
                begin a new session";
            self.diagnose(RunErrorCode::PersistenceFailed, Redacted::fixed(why))
                .await?;
            return Err(Stop::NotStarted);
        }
        let selected = self.select().await?;
        if self.carry(&selected).await {
            return Ok(());
        }
        let window = selected.provider.context_window(&selected.choice.model);
        let limit = window.unwrap_or(ASSUMED_WINDOW.max(self.length().0));
        self.shortening.held = Some(Vec::new());
        let (code, why) = match self.shorten(&selected, limit, false).await? {
            Shortened::Done => return Ok(()),
            Shortened::Nothing => {
                let why = Redacted::fixed("the session is full");
                (RunErrorCode::PersistenceFailed, why)
            }
            Shortened::Failed(code, why) => (code, why),
        };
        self.shortening.held = None;
        // Whoever wrote the input has it still, and may try again.
        self.diagnose(code, why).await?;
        Err(Stop::NotStarted)
    }

    /// Tells what was held back until the input was stored.
    pub(super) async fn tell_held(&mut self) -> Result<(), Stop> {
        for activity in self.shortening.held.take().unwrap_or_default() {
            self.activity(activity).await?;
        }
        Ok(())
    }

    async fn tell(&mut self, activity: Activity) -> Result<(), Stop> {
        match &mut self.shortening.held {
            Some(held) => held.push(activity),
            None => self.activity(activity).await?,
        }
        Ok(())
    }

    /// About how many tokens the next request has.
    fn length(&self) -> (u64, Basis) {
        self.transcript.length.tokens(self.equipment.around())
    }

    /// Puts a summary in the place of older messages; `goes_on`: a turn is under way. `limit` is the model's window.
    async fn shorten(
        &mut self,
        selected: &Selected,
        limit: u64,
        goes_on: bool,
    ) -> Result<Shortened, Stop> {
        let messages = Arc::clone(&self.transcript.messages);
        let all = self.transcript.length.counted();
        let keep = (limit / KEEP_OF_WINDOW).min(all / KEEP_OF_ALL);
        let Some(cut) = compaction::plan(&messages, keep, limit / 2, goes_on) else {
            return Ok(Shortened::Nothing);
        };
        if !self.activities.take() {
            return Err(Stop::limit("the run has too many activities"));
        }
        let id = crate::new_id();
        let span = info_span!("compaction", activity = id);
        let (before, basis) = self.length();
        let begun = Begun { id, before, limit };
        self.report_context(before, limit, basis).await?;
        self.report_compaction(&begun, CompactionState::Triggered, Some(before), "")
            .await?;
        self.report_compaction(&begun, CompactionState::Running, None, "")
            .await?;
        let work = self.summarize_and_store(selected, &messages, cut, &begun);
        let done = work.instrument(span).await;
        match done {
            Ok(()) => {
                let (after, basis) = self.length();
                let words = match after < before {
                    true => format!("about {before} tokens became about {after}"),
                    // Of a few words a summary with what it comes in is longer, and the turn may need it all the same.
                    false => format!(
                        "a summary stands in place of what was before; about {after} tokens"
                    ),
                };
                let state = CompactionState::Completed;
                self.report_compaction(&begun, state, Some(after), &words)
                    .await?;
                self.report_context(after, limit, basis).await?;
                Ok(Shortened::Done)
            }
            Err(NoSummary::Stop(stop)) => {
                let state = CompactionState::Cancelled;
                self.report_compaction(&begun, state, None, "cancelled")
                    .await?;
                Err(stop)
            }
            Err(NoSummary::Failed(code, why)) => {
                let mut words = Redacted::fixed("the conversation could not be made shorter: ");
                words.push(&why);
                let words = words.summary(self.policy.max_summary_bytes);
                info!(reason = words.as_str(), "no summary");
                let state = CompactionState::Failed;
                self.report_compaction(&begun, state, None, "no summary")
                    .await?;
                Ok(Shortened::Failed(code, words))
            }
        }
    }

    async fn report_compaction(
        &mut self,
        begun: &Begun,
        state: CompactionState,
        tokens: Option<u64>,
        words: &str,
    ) -> Result<(), Stop> {
        self.tell(Activity::Compaction {
            id: begun.id.clone(),
            state,
            tokens: tokens.map(|tokens| (tokens, begun.limit)),
            summary: self.summary(words),
        })
        .await
    }

    async fn report_context(
        &mut self,
        current_tokens: u64,
        max_tokens: u64,
        basis: Basis,
    ) -> Result<(), Stop> {
        self.tell(Activity::Context {
            current_tokens,
            max_tokens,
            reasoning_tokens: None,
            request: self.requests + 1,
            source: match basis {
                Basis::Counted => ContextSource::FallbackEstimate,
                Basis::Told => ContextSource::FallbackProjection,
            },
        })
        .await
    }

    async fn summarize_and_store(
        &mut self,
        selected: &Selected,
        messages: &[Message],
        cut: Cut,
        begun: &Begun,
    ) -> Result<(), NoSummary> {
        // What is shortened is what is stored.
        if !self.persist.settle(Flush::Written).await {
            return Err(unstored());
        }
        let summary = self.summarize(selected, messages, cut, begun.limit).await?;
        let (users, responses) = stands_for(messages, cut);
        let mut stay = vec![summary_message(&summary, users, responses)];
        let mut starts = vec![0];
        for at in cut.input.into_iter().chain(cut.at..messages.len()) {
            stay.push(messages[at].clone());
            starts.push(self.transcript.starts[at]);
        }
        let full = self.persist.extent().is_nearly_full();
        let gone = self.transcript.length.counted() - Length::of(&stay[1..]).counted();
        // In a full session a short conversation may make room for a summary that is a little longer.
        let most = if full {
            gone.max(begun.limit / KEEP_OF_WINDOW)
        } else {
            gone
        };
        if tokens(&summary) >= most {
            return Err(failed("the summary is no shorter than what it stands for"));
        }
        let behind = self.transcript.starts.get(cut.at).copied();
        let first = behind.unwrap_or_else(|| self.persist.next_number());
        let input = cut.input.map(|at| self.transcript.starts[at]);
        let length = self.transcript.length.shortened(&stay);
        let (tokens_after, _) = length.tokens(self.equipment.around());
        let checkpoint = Body::Checkpoint {
            activity_id: begun.id.clone(),
            // Never beyond what is stored: who reads it would refuse it.
            cutoff: (first - 1).min(self.persist.next_number() - 1),
            input,
            inputs: users,
            responses,
            summary,
            tokens_before: begun.before,
            tokens_after,
        };
        if full {
            let kept = self.begin_part(selected, checkpoint, first, input).await;
            let kept = kept.map_err(|error| {
                if self.active.cancel.is_cancelled() {
                    return Stop::Cancelled.into();
                }
                let why = unwritten(&error);
                EngineError::from(error).log("persistence_failed");
                NoSummary::Failed(RunErrorCode::PersistenceFailed, Redacted::fixed(why))
            })?;
            renumber(&mut starts, &kept);
        } else {
            self.persist.push(checkpoint.clone());
            if !self.persist.settle(Flush::Durable).await {
                return Err(unstored());
            }
            self.transcript.checkpoint = Some(checkpoint);
        }
        self.transcript.messages = Arc::new(stay);
        self.transcript.starts = starts;
        self.transcript.length = length;
        // What a wire wrote is of what was before.
        self.transcript.written = provider::Written::default();
        Ok(())
    }
}

/// A compaction that began.
struct Begun {
    id: String,
    /// Tokens of the conversation.
    before: u64,
    /// Tokens that its window has.
    limit: u64,
}

const UNWRITTEN: &str = "the session file cannot be written";

fn unstored() -> NoSummary {
    NoSummary::Failed(RunErrorCode::PersistenceFailed, Redacted::fixed(UNWRITTEN))
}

/// Why a session does not go on in another part, for a person.
fn unwritten(error: &AppendError) -> &'static str {
    match error {
        AppendError::Changed => "the session was changed by someone else",
        AppendError::Full => {
            "what stays of the conversation is more than another part of the session may hold"
        }
        _ => UNWRITTEN,
    }
}

/// How many inputs a summary of what goes stands for, and how many responses to the first input that stays.
fn stands_for(messages: &[Message], cut: Cut) -> (u64, u64) {
    let is_user = |message: &Message| matches!(message, Message::User { .. });
    let is_response = |message: &&Message| matches!(message, Message::Assistant { .. });
    let (before, answered) = match messages.first() {
        Some(Message::Summary {
            users, responses, ..
        }) => (*users, *responses),
        _ => (0, 0),
    };
    let gone = messages[..cut.at].iter().filter(|it| is_user(it)).count() as u64;
    let users = before + gone - u64::from(cut.input.is_some());
    let Some(input) = cut.input else {
        return (users, 0);
    };
    let own = messages[input..cut.at].iter().filter(is_response).count() as u64;
    // An earlier summary stands for responses to the first input behind it.
    let is_first = messages.iter().position(is_user) == Some(input);
    (users, own + if is_first { answered } else { 0 })
}
