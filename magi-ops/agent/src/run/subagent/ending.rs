//! How a subagent ended, and what the agent that gave the task is told of it.

use provider::Message;
use store::Redacted;
use store::sessions::Outcome;
use tools::{Success, ToolOutcome};

use crate::run::RunErrorCode;

/// Longest text that it brings back, in bytes.
const MAX_TEXT_BYTES: usize = 256 * 1024;
const CUT: &str = "\n\n[cut here: the text is too long]";

/// How a subagent ended.
pub(super) struct Ending {
    pub(super) outcome: Outcome,
    pub(super) error_code: Option<RunErrorCode>,
    pub(super) reason: Option<Redacted>,
    /// What it wrote last.
    pub(super) text: String,
    /// It took too long.
    pub(super) late: bool,
}

impl Ending {
    /// What the agent that gave the task is told.
    pub(super) fn told(self) -> ToolOutcome {
        let why = match self.outcome {
            Outcome::Completed if self.text.is_empty() => {
                let content = "[the subagent ended without a word]".to_owned();
                return Success::text(content, "without a word".to_owned()).into();
            }
            Outcome::Completed => {
                let bytes = self.text.len();
                let unit = if bytes == 1 { "byte" } else { "bytes" };
                let summary = format!("{bytes} {unit}");
                let content = self.text;
                return Success::text(content, summary).into();
            }
            _ if self.late => "it took too long and was stopped".to_owned(),
            Outcome::Cancelled => "it was cancelled".to_owned(),
            Outcome::Failed => {
                let reason = self.reason.as_ref().map(Redacted::as_str);
                reason.unwrap_or("it stopped unexpectedly").to_owned()
            }
        };
        let code = self.error_code.map_or("cancelled", RunErrorCode::word);
        let mut content = format!("The subagent failed: {why} ({code}).");
        if !self.text.is_empty() {
            content.push_str(" What it wrote last:\n\n");
            content.push_str(&self.text);
        }
        ToolOutcome {
            timed_out: self.late,
            ..ToolOutcome::failed(content, code).because(why)
        }
    }
}

/// What a conversation's model wrote last.
pub(super) fn last_text(messages: &[Message]) -> String {
    let texts = messages.iter().rev().filter_map(|message| match message {
        Message::Assistant { text, .. } => Some(text),
        _ => None,
    });
    let text = texts
        .map(String::as_str)
        .find(|text| !text.trim().is_empty());
    cut(text.unwrap_or_default())
}

fn cut(text: &str) -> String {
    if text.len() <= MAX_TEXT_BYTES {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(MAX_TEXT_BYTES - CUT.len());
    format!("{}{CUT}", &text[..end])
}
