//! What a run is asked to do and by which rules: data that whoever starts it gives.
//! Nothing here runs, and no rule is made up here.

use std::time::Duration;

use store::sessions::SessionId;

/// A run as it is asked for.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// What the person asks.
    pub prompt: String,
    /// The run that this one works for; `None` of a person's own.
    pub parent: Option<ParentRun>,
    /// Who asks, as hooks are told.
    pub invocation: &'static str,
    pub policy: RunPolicy,
}

/// The run that a subagent works for: its cancellation ends the subagent's too, and it is asked for both.
#[derive(Clone, Debug)]
pub struct ParentRun {
    pub run_id: String,
    /// The session that the person sees.
    pub session: SessionId,
    /// How many runs stand above the subagent's, from 1.
    pub depth: u32,
    /// What the subagent is called: its profile.
    pub name: String,
}

/// The rules of a run: every bound, and what becomes of it when its caller lags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunPolicy {
    /// How the run is named.
    pub ids: RunIds,
    /// Longest prompt, in UTF-8 bytes. A blank one is refused too.
    pub max_prompt_bytes: usize,
    /// How long a question waits for its answer before it counts as denied; `None` where nobody can be
    /// asked: what would ask is denied at once.
    pub approval_expiry: Option<Duration>,
    pub delivery: DeliveryPolicy,
    pub text: TextPolicy,
    /// Most activities: tool calls and summaries of reasoning.
    pub max_activities: usize,
    /// Most responses of the provider.
    pub max_responses: u32,
    /// Longest summary of an activity, an approval or a diagnostic, in bytes after redaction.
    pub max_summary_bytes: usize,
    /// Longest summary of reasoning that is shown, in bytes.
    pub max_reasoning_bytes: usize,
    /// Longest summary of reasoning that is looked at, in bytes; of a longer one nothing is shown.
    pub max_reasoning_input_bytes: usize,
    /// Most bytes of what a model gives besides text: summaries of its reasoning and inputs of tools.
    pub max_unshown_bytes: usize,
    /// Most bytes of tool results: they stay in memory for the next requests.
    pub max_result_bytes: usize,
}

/// How runs are named. Each event of a run repeats its id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunIds {
    /// A UUID of 36 bytes.
    Uuid,
    /// Ten digits and small letters, drawn by lot from as many as 51 bits tell.
    Short,
}

impl RunIds {
    pub(crate) fn next(self) -> String {
        match self {
            Self::Uuid => crate::new_id(),
            Self::Short => {
                let mut lot = uuid::Uuid::new_v4().as_u128();
                let letters = std::iter::repeat_with(|| {
                    let digit = u32::try_from(lot % 36).unwrap_or_default();
                    lot /= 36;
                    char::from_digit(digit, 36).unwrap_or('0')
                });
                letters.take(10).collect()
            }
        }
    }
}

/// How events reach the caller, and what may be missing among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryPolicy {
    /// Events between the run and its caller.
    pub queue: usize,
    /// How many of them may be deltas.
    pub queued_deltas: usize,
    /// How long an event that must arrive waits for room before the run is given up; `None` for as long
    /// as it takes.
    pub wait: Option<Duration>,
    /// Deltas of a caller that lags grow together and then leave a gap; else they wait.
    pub deltas_may_drop: bool,
    /// Activities that find no room are counted; else they must arrive.
    pub activities_may_drop: bool,
}

/// The bounds of the assistant's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextPolicy {
    /// Most bytes of all of it.
    pub max_bytes: usize,
    /// Most bytes of the same as one JSON string, where it must be one.
    pub max_json_bytes: Option<usize>,
    /// Most messages: text between tool calls.
    pub max_messages: usize,
    /// Longest text of one event, in bytes.
    pub max_event_bytes: usize,
    pub authoritative: Authoritative,
}

/// Where the text stands that replaces what was shown of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authoritative {
    /// Behind each message ([`crate::MustArrive::Reconcile`]).
    ByMessage,
    /// In the terminal event, all of it.
    AtTheEnd,
    /// No event has any of the text: it is for whoever gets the conversation.
    Nowhere,
}

impl RunPolicy {
    /// Whether a run may begin with this prompt.
    #[must_use]
    pub fn admits(&self, prompt: &str) -> bool {
        prompt.len() <= self.max_prompt_bytes && !prompt.trim().is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_ids_are_ids_and_differ() {
        let ids: std::collections::BTreeSet<_> = (0..1000).map(|_| RunIds::Short.next()).collect();
        assert_eq!(ids.len(), 1000);
        assert!(ids.iter().all(|id| id.len() == 10 && crate::is_id(id)));
    }
}
