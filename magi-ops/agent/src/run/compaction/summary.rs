//! The request for a summary of what goes: bounded, cancellable, and repeated with less when it is refused for its length.

use std::sync::Arc;

use provider::{Chunk, ErrorKind, Message, ProviderError, Purpose, Request};
use store::Redacted;

use crate::compaction::{self, Cut, is_blank, tokens};
use crate::run::report::code_of;
use crate::run::{RunErrorCode, Stop, Worker};
use crate::startup::Selected;

/// Most bytes of a summary.
const MAX_SUMMARY_BYTES: usize = 64 * 1024;
/// Most tokens of a summary, and the least that are asked for.
const SUMMARY_TOKENS: std::ops::RangeInclusive<u64> = 256..=4096;
/// How often a request for a summary that is refused for its length is followed by one of half of it.
const HALVINGS: u32 = 4;

/// Why there is no summary.
pub(super) enum NoSummary {
    Stop(Stop),
    /// Whose failure it is, and why, for a person.
    Failed(RunErrorCode, Redacted),
}

impl From<Stop> for NoSummary {
    fn from(stop: Stop) -> Self {
        Self::Stop(stop)
    }
}

impl Worker {
    /// Asks the model for a summary of what goes.
    pub(super) async fn summarize(
        &mut self,
        selected: &Selected,
        messages: &[Message],
        cut: Cut,
        limit: u64,
    ) -> Result<String, NoSummary> {
        let (least, most) = SUMMARY_TOKENS.into_inner();
        let output = (limit / 8).clamp(least, most);
        let mut bound = Some(output);
        // Less than fits: the count is none of a tokenizer.
        let mut room = (limit / 4 * 3).saturating_sub(output).max(least);
        let input = cut.input.and_then(|at| match &messages[at] {
            Message::User { text } => Some(text.as_str()),
            _ => None,
        });
        let redactor = self.workspace.redactor().clone();
        let asked = compaction::Request::new(&messages[..cut.at], input, &redactor);
        let mut halvings = 0;
        loop {
            let text = asked.text(room);
            let length = tokens(&text);
            let answer = self.ask_for_summary(selected, text, bound).await?;
            match answer {
                // Some models think within the same bound.
                Ok(Answer { cut: true, .. }) if bound.is_some() => bound = None,
                Ok(Answer { cut: true, .. }) => return Err(failed("the summary is cut off")),
                Ok(Answer { text, .. }) if is_blank(&text) => {
                    return Err(failed("the model gave no summary"));
                }
                Ok(Answer { text, .. }) => return Ok(text),
                Err(error)
                    if error.kind() == ErrorKind::ContextLength
                        && halvings < HALVINGS
                        // Of less there is nothing left to be told.
                        && length / 2 >= least =>
                {
                    halvings += 1;
                    room = length / 2;
                }
                Err(error) => {
                    return Err(NoSummary::Failed(code_of(&error), self.reason_of(&error)));
                }
            }
        }
    }

    /// What the model answers, or how its provider failed.
    async fn ask_for_summary(
        &mut self,
        selected: &Selected,
        text: String,
        max_output: Option<u64>,
    ) -> Result<Result<Answer, ProviderError>, NoSummary> {
        self.requests += 1;
        let cancel = self.active.cancel.child_token();
        let request = Request {
            session: self.active.session.to_string(),
            model: selected.choice.model.clone(),
            system: compaction::SYSTEM.into(),
            fast: selected.fast,
            messages: Arc::new(vec![Message::User { text }]),
            workspace: self.workspace.cwd.clone(),
            max_output,
            purpose: Purpose::Summary,
            ..Request::default()
        };
        let mut stream = selected.provider.respond(request, cancel.clone());
        let _stop_with_us = cancel.drop_guard();
        let mut answer = Answer::default();
        let mut usage = None;
        while let Some(chunk) = self.next(&mut stream).await? {
            match chunk {
                Ok(Chunk::Text(text)) => answer.text.push_str(&text),
                Ok(Chunk::Cut) => answer.cut = true,
                Ok(Chunk::Usage(counts)) => usage = Some(counts),
                Ok(Chunk::Retry(retry)) if self.shortening.held.is_none() => {
                    self.report_retry(&retry).await?;
                }
                Ok(Chunk::Notice(error)) => self.report_notice(&error).await?,
                // It was offered no tools, and what it thinks is no summary.
                Ok(_) => {}
                Err(error) if error == ErrorKind::Cancelled => {
                    return Err(Stop::Cancelled.into());
                }
                Err(error) => return Ok(Err(error)),
            }
            if answer.text.len() > MAX_SUMMARY_BYTES {
                return Err(failed("the summary is too long"));
            }
        }
        if let Some(usage) = usage {
            let activity = self.usage(&usage);
            self.tell(activity).await?;
        }
        Ok(Ok(answer))
    }
}

#[derive(Default)]
struct Answer {
    text: String,
    /// The model reached the limit of its output.
    cut: bool,
}

/// What the model said is no summary.
pub(super) fn failed(why: &'static str) -> NoSummary {
    NoSummary::Failed(RunErrorCode::ProviderUnavailable, Redacted::fixed(why))
}
