//! Everything a frontend could read of a run or a history: each string of each frame, and what the pieces
//! of a message make together.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::run::Run;
use crate::shapes::Canary;

#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Separate texts; the search never crosses from one to the next.
    texts: Vec<String>,
}

impl Shown {
    pub(crate) fn of_text(text: &str) -> Self {
        Self {
            texts: vec![text.to_owned()],
        }
    }

    pub(crate) fn of_value(value: &Value) -> Self {
        let mut shown = Self::default();
        shown.take(value);
        shown
    }

    pub(crate) fn of_run(run: &Run) -> Self {
        let mut shown = Self::default();
        let mut joined: BTreeMap<(String, String), String> = BTreeMap::new();
        for event in &run.events {
            shown.take(event);
            let data = &event["data"];
            if let (Some(id), Some(text)) = (data["message_id"].as_str(), data["text"].as_str()) {
                let key = (event["event"].to_string(), id.to_owned());
                *joined.entry(key).or_default() += text;
            }
        }
        shown.texts.extend(joined.into_values());
        shown
    }

    /// Frames of a turn whose deltas are of one message and have no name for it.
    pub(crate) fn of_frames(frames: &[Value]) -> Self {
        let mut shown = Self::default();
        let mut joined = String::new();
        for frame in frames {
            shown.take(frame);
            if frame["event"] == "turn.assistant_delta" {
                joined += frame["payload"]["text"].as_str().expect("text");
            }
        }
        shown.texts.push(joined);
        shown
    }

    /// Entries or items that are parts of messages.
    pub(crate) fn of_parts(parts: &[Value]) -> Self {
        let mut shown = Self::default();
        let mut joined = String::new();
        for part in parts {
            shown.take(part);
            joined += part["text"].as_str().unwrap_or_default();
            if part["last_part"] == true {
                shown.texts.push(std::mem::take(&mut joined));
            }
        }
        shown
    }

    /// Every string, keys too.
    pub(crate) fn take(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.texts.push(text.clone()),
            Value::Array(items) => items.iter().for_each(|item| self.take(item)),
            Value::Object(members) => {
                for (key, member) in members {
                    self.texts.push(key.clone());
                    self.take(member);
                }
            }
            _ => {}
        }
    }

    pub(crate) fn holds(&self, text: &str) -> bool {
        self.texts.iter().any(|shown| shown.contains(text))
    }

    /// What shows of `canary`, or `None`.
    pub(crate) fn leak(&self, canary: &Canary) -> Option<String> {
        let pieces = canary.pieces();
        let leaks = |text: &&String| pieces.iter().any(|piece| text.contains(piece.as_str()));
        let text = self.texts.iter().find(leaks)?;
        let at = text.find(pieces.iter().find(|p| text.contains(p.as_str()))?)?;
        let from = text.floor_char_boundary(at.saturating_sub(60));
        let to = text.floor_char_boundary(at + 60);
        Some(format!("{}: {:?}", canary.name, &text[from..to]))
    }
}
