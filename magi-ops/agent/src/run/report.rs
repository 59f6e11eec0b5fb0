//! What a run tells of itself beside text and tools: reasoning summaries, token counts, retries.
//! Only bounded, redacted text leaves here.

use provider::{ErrorKind, ProviderError, Retry, Usage};
use store::Redacted;
use store::sessions::Body;

use super::event::{Activity, ActivityState, Category, ContextSource, MustArrive, UsageSource};
use super::respond::Turn;
use super::{RunErrorCode, Stop, Worker};
use crate::startup::Selected;

/// Tokens that a model's context is taken to have when its provider does not know.
pub(super) const ASSUMED_WINDOW: u64 = 128_000;
/// Longest words of a provider or of the system that a reason repeats, in bytes.
const MAX_SAID_BYTES: usize = 300;

impl Worker {
    pub(super) async fn activity(&self, activity: Activity) -> Result<(), Stop> {
        Ok(self.sink.activity(activity).await?)
    }

    /// A text as the run may show it.
    pub(super) fn summary(&self, text: &str) -> Redacted {
        let whole = self.workspace.redactor().redact(text);
        whole.summary(self.policy.max_summary_bytes)
    }

    /// A summary of its reasoning that the provider made for display, whole: stored and shown as an
    /// item of its own.
    pub(super) async fn accept_summary(
        &mut self,
        text: String,
        turn: &mut Turn,
    ) -> Result<(), Stop> {
        if text.is_empty() {
            return Ok(());
        }
        // Summaries have identities of the run as tool calls do, and there are only so many.
        let is_allowed = self.activities.has_room_for(turn.calls.len() + 1);
        if !is_allowed || !self.activities.take() {
            return Err(Stop::limit("the run has too many activities"));
        }
        let id = format!("{}.{}", turn.response, turn.summaries);
        turn.summaries += 1;
        let activity = self.reasoning_summary(id.clone(), &text);
        self.persist.push(Body::Reasoning {
            item_id: Some(id),
            text,
            provider_summary: true,
        });
        self.activity(activity).await
    }

    fn reasoning_summary(&self, id: String, text: &str) -> Activity {
        if text.len() > self.policy.max_reasoning_input_bytes {
            return Activity::ReasoningSummary {
                id,
                text: Redacted::default(),
                redacted: false,
                truncated: true,
            };
        }
        let whole = self.workspace.redactor().redact(text);
        let end = whole
            .as_str()
            .floor_char_boundary(self.policy.max_reasoning_bytes);
        Activity::ReasoningSummary {
            id,
            redacted: whole.as_str() != text,
            truncated: end < whole.len(),
            text: whole.part(0..end),
        }
    }

    /// What a request cost, which is stored too.
    pub(super) fn usage(&mut self, usage: &Usage) -> Activity {
        self.persist.push(Body::Usage {
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            reasoning: usage.reasoning,
        });
        Activity::Usage {
            effective_input: usage.input.saturating_sub(usage.cache_read.unwrap_or(0)),
            output: usage.output,
            cache_read: usage.cache_read,
            request: self.requests,
            source: UsageSource::Request,
        }
    }

    /// What the response cost and how full the context is, if the provider said.
    pub(super) async fn report_usage(
        &mut self,
        turn: &Turn,
        selected: &Selected,
    ) -> Result<(), Stop> {
        let Some(usage) = turn.usage else {
            return Ok(());
        };
        // A person's client on a wire without counts reads them here.
        tracing::info!(
            input = usage.input,
            output = usage.output,
            "a response was counted"
        );
        let activity = self.usage(&usage);
        self.activity(activity).await?;
        let window = selected.provider.context_window(&selected.choice.model);
        self.activity(Activity::Context {
            current_tokens: usage.input.saturating_add(usage.output),
            max_tokens: window.unwrap_or(ASSUMED_WINDOW),
            reasoning_tokens: usage.reasoning,
            request: self.requests,
            source: if window.is_some() {
                ContextSource::LastProviderUsage
            } else {
                ContextSource::ProviderPartial
            },
        })
        .await
    }

    /// That the person's instructions stand before the conversation.
    pub(super) async fn report_instructions(&self) -> Result<(), Stop> {
        if !self.workspace.guidance.has_instructions() {
            return Ok(());
        }
        let id = self.sink.begin(Category::ContextInjection).await?;
        let state = ActivityState::Completed;
        self.activity(Activity::Ended { id, state }).await
    }

    /// One diagnostic for each attempt that failed.
    pub(super) async fn report_retry(&mut self, retry: &Retry) -> Result<(), Stop> {
        let redactor = self.workspace.redactor();
        let mut summary = self.reason_of(&retry.why);
        summary.push(&redactor.redact(&format!(
            "; attempt {} failed, the next one follows in {} ms",
            retry.attempt,
            retry.wait.as_millis()
        )));
        let summary = summary.summary(self.policy.max_summary_bytes);
        self.diagnose(RunErrorCode::ProviderUnavailable, summary)
            .await
    }

    /// What the run goes on without, and a person should know.
    pub(super) async fn report_notice(&mut self, error: &ProviderError) -> Result<(), Stop> {
        let summary = self.reason_of(error).summary(self.policy.max_summary_bytes);
        self.diagnose(RunErrorCode::ProviderUnavailable, summary)
            .await
    }

    /// The end of a run whose response failed. This is where the reason becomes a code.
    pub(super) fn provider_failed(&self, error: &ProviderError) -> Stop {
        let summary = self.reason_of(error).summary(self.policy.max_summary_bytes);
        tracing::info!(
            kind = %error.kind(),
            status = error.status(),
            reason = summary.as_str(),
            "the provider gave no answer"
        );
        Stop::Failed(code_of(error), summary)
    }

    /// Why a response failed, in words for a person: what it was, and what the server or the system said.
    pub(super) fn reason_of(&self, error: &ProviderError) -> Redacted {
        let redactor = self.workspace.redactor();
        let mut reason = redactor.redact(&error.to_string());
        let said = error.message().map(str::to_owned).or_else(|| error.cause());
        if let Some(said) = said {
            reason.push(&Redacted::fixed(": "));
            // Redacted whole and then cut.
            reason.push(&redactor.redact(&said).summary(MAX_SAID_BYTES));
        }
        reason
    }

    /// That the model was cut off. The run goes on with what came; whoever reads the answer, now or
    /// from the history, must not take it for a whole one.
    pub(super) async fn report_cut(&mut self) -> Result<(), Stop> {
        let summary =
            Redacted::fixed("the model reached the limit of its output; what it wrote ends there");
        self.diagnose_for_good(RunErrorCode::ContentLimit, summary)
            .await
    }

    /// As [`Self::diagnose`], and in the history too.
    pub(super) async fn diagnose_for_good(
        &mut self,
        code: RunErrorCode,
        summary: Redacted,
    ) -> Result<(), Stop> {
        self.persist.push(Body::Diagnostic {
            code: code.word().to_owned(),
            summary: summary.as_str().to_owned(),
        });
        self.diagnose(code, summary).await
    }

    /// Tells a person something: as words, and as an activity without details.
    pub(super) async fn diagnose(&self, code: RunErrorCode, summary: Redacted) -> Result<(), Stop> {
        let id = self.sink.begin(Category::Diagnostic).await?;
        self.send(MustArrive::Diagnostic { code, summary }).await?;
        let state = ActivityState::Completed;
        self.activity(Activity::Ended { id, state }).await
    }
}

/// Whose failure it is that a response failed.
pub(super) fn code_of(error: &ProviderError) -> RunErrorCode {
    match error.kind() {
        // Everything else is the provider's.
        ErrorKind::ScriptInvalid => RunErrorCode::ExecutionFailed,
        _ => RunErrorCode::ProviderUnavailable,
    }
}
