//! The records of a session file: typed, versioned, one JSON line each. What is stored here is raw, for provider replay.
//! Nothing here is fit for showing: projections redact.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::de::IntoDeserializer as _;
use serde::de::value::Error as ValueError;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use super::SessionId;
use crate::settings::ThinkingLevel;

/// The version of the record schema that is written, and the only one that is read.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of a session file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// [`SCHEMA_VERSION`].
    pub v: u32,
    /// Strictly increasing within the file, which is one part of a session, from 1.
    pub n: u64,
    /// The session's id, so that a line in the wrong file is known.
    pub session: String,
    /// Milliseconds since the Unix epoch.
    pub at: u64,
    /// The turn or run that it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<String>,
    pub body: Body,
}

impl Record {
    /// Reads one line, without its LF. `None` unless it is a record of this schema and of the
    /// session `id`.
    pub(super) fn parse(line: &[u8], id: &SessionId) -> Option<Self> {
        serde_json::from_slice(line)
            .ok()
            .filter(|record: &Self| record.v == SCHEMA_VERSION && record.session == id.as_str())
    }
}

/// A level is a wish and no content: one that another version knows must not cost the session.
fn known_level<'de, D: Deserializer<'de>>(source: D) -> Result<ThinkingLevel, D::Error> {
    let word = String::deserialize(source)?;
    let level: Result<_, ValueError> = ThinkingLevel::deserialize(word.into_deserializer());
    Ok(level.unwrap_or_default())
}

/// What a record says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Body {
    /// First record of a file: where and with what the session began.
    Session {
        created_at: u64,
        /// Canonical working directory; empty if unknown.
        #[serde(default)]
        cwd: String,
        /// Only read, as is the model: which ones answer stands in records of their own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        provider: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// First record of every part but the first: what stands before it is in the part before this one, and is not read
    /// any more.
    Continuation {
        /// Number of this part, from 2.
        part: u32,
    },
    /// A summary in the place of older records: the conversation is this, the records that stay, and what follows.
    Checkpoint {
        activity_id: String,
        /// The last record that the summary stands for; 0 if all of them are in the part before.
        cutoff: u64,
        /// A [`Body::UserInput`] up to the cutoff that stays all the same: of the turn that went on meanwhile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        input: Option<u64>,
        /// Inputs of the session that the summary stands for.
        inputs: u64,
        /// Responses to the first input that stays which it stands for.
        responses: u64,
        /// As the model wrote it.
        summary: String,
        /// Tokens of the conversation before and after, as far as they could be told.
        tokens_before: u64,
        tokens_after: u64,
    },
    /// What the turns from here on are answered by.
    Selection {
        provider: String,
        model: String,
        /// A level that this version has no word for is the default.
        #[serde(default, deserialize_with = "known_level")]
        thinking: ThinkingLevel,
    },
    /// What the person asked; opens a turn.
    UserInput { message_id: String, text: String },
    /// A piece of a streamed answer, written as it is accepted; pieces of a message concatenate.
    AssistantText {
        message_id: String,
        /// Number of the provider response within the turn, from 0.
        response: u32,
        text: String,
    },
    /// A message is complete.
    AssistantMessage {
        message_id: String,
        response: u32,
        /// The whole text; `None` when the pieces before it are the text.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The provider did not finish it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        partial: bool,
    },
    /// A complete piece of reasoning.
    Reasoning {
        /// Identity within the turn; a later one of the same identity replaces it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        item_id: Option<String>,
        text: String,
        /// The provider itself made this summary for display. Absent means it did not.
        #[serde(default)]
        provider_summary: bool,
    },
    /// What the provider wants back with one of its responses, opaque to everybody but its wire; never
    /// shown, and sent to that provider only.
    ProviderState {
        /// Number of the provider response within the turn, from 0.
        response: u32,
        state: Value,
    },
    /// Thinking that the provider signed, as sessions had it before [`Body::ProviderState`]. Only read.
    Thought {
        response: u32,
        text: String,
        signature: String,
    },
    ToolStarted {
        activity_id: String,
        /// The provider's id of the call.
        call_id: String,
        response: u32,
        name: String,
        input: Value,
        /// What the call is about, as it was shown while it ran: redacted, one line that begins with the name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<String>,
        /// The activity that made this call. Such a one is none of the conversation.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    ToolFinished {
        activity_id: String,
        call_id: String,
        name: String,
        is_error: bool,
        /// One line for a person.
        summary: String,
        /// What the model is told; empty for a call that another one made.
        content: String,
        /// As the start has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<String>,
    },
    /// The most that this session gives to subagents of a profile: what its first delegation to one gave. Later ones,
    /// also in another process, give no tool that is not named here.
    Delegation {
        /// `None` stands for all of them: what the session's own agent could give.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
        tools: Vec<String>,
    },
    /// A task that a subagent was given is over; without it, it was interrupted.
    Task {
        /// The call that gave it.
        activity_id: String,
        /// Names its conversation ([`super::SessionLease::task`]).
        task: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<String>,
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
    /// What one request to the model cost, as the provider counted; nothing where it did not.
    Usage {
        /// Tokens of the request, those from the provider's cache among them.
        input: u64,
        output: u64,
        /// The part of `input` that came from the cache; `None` if the provider does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cache_read: Option<u64>,
        /// The part of `output` that was thinking; `None` if the provider does not say.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reasoning: Option<u64>,
    },
    /// Something a person should know about the turn.
    Diagnostic { code: String, summary: String },
    /// The turn is over; without it, it was interrupted.
    TurnFinished {
        outcome: Outcome,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error_code: Option<String>,
    },
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Completed,
    Cancelled,
    Failed,
}

impl Outcome {
    /// As records and the log have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }
}

/// Milliseconds since the Unix epoch.
pub fn now_ms() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        /// The provider gets back the very input that its model wrote, also after a restart.
        #[test]
        fn numbers_of_an_input_come_back_to_the_last_bit(
            numbers in prop::collection::vec(prop::num::f64::NORMAL | prop::num::f64::SUBNORMAL, 0..8),
        ) {
            let record = Record {
                v: SCHEMA_VERSION,
                n: 1,
                session: "s".into(),
                at: 7,
                turn: None,
                body: Body::ToolStarted {
                    activity_id: "a".into(),
                    call_id: "c".into(),
                    response: 0,
                    name: "n".into(),
                    input: json!({ "numbers": numbers }),
                    subject: None,
                    parent: None,
                },
            };
            let line = serde_json::to_vec(&record).unwrap();
            prop_assert_eq!(Record::parse(&line, &"s".parse().unwrap()), Some(record));
        }
    }

    fn read(thinking: Option<Value>) -> Option<ThinkingLevel> {
        let mut body = json!({"type": "selection", "provider": "p", "model": "m"});
        if let Some(thinking) = thinking {
            body["thinking"] = thinking;
        }
        let line = json!({"v": 1, "n": 1, "session": "s", "at": 7, "body": body}).to_string();
        match Record::parse(line.as_bytes(), &"s".parse().unwrap())?.body {
            Body::Selection { thinking, .. } => Some(thinking),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_thinking_level_of_another_version_is_the_default() {
        use ThinkingLevel::{Default, High, Low, Max, Medium, XHigh};
        assert_eq!(read(None), Some(Default));
        for unknown in ["", "ultra", "High", "x-high"] {
            assert_eq!(read(Some(json!(unknown))), Some(Default), "{unknown}");
        }
        for level in [Default, Low, Medium, High, XHigh, Max] {
            assert_eq!(read(Some(json!(level))), Some(level));
        }
        // What is no word at all is malformed as before.
        assert_eq!(read(Some(json!(3))), None);
        assert_eq!(read(Some(Value::Null)), None);
    }
}
