//! How many tokens a conversation is about: what its provider counted last, and a count without a tokenizer of what came
//! since. No window and no threshold.

use provider::Message;
use serde_json::Value;

/// What surrounds a message, in tokens.
const MESSAGE_OVERHEAD: u64 = 4;

/// An image, in tokens: what most models count for one of the size that they look at.
const IMAGE_TOKENS: u64 = 1500;

/// How many times less than what is counted here a provider's number may be: images cost some models a sixth of what they
/// count here, and no text an eighth. Some gateways tell nothing but zeros.
const LEAST_OF_COUNTED: u64 = 8;

/// Where a number of tokens comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// All of it was counted here.
    Counted,
    /// The provider counted the most of it.
    Told,
}

/// About how many tokens a text is: a quarter of its ASCII characters, and every other character one.
pub(crate) fn tokens(text: &str) -> u64 {
    let (mut ascii, mut others) = (0, 0);
    for byte in text.bytes() {
        ascii += u64::from(byte.is_ascii());
        // The first byte of a character that is none.
        others += u64::from(byte >= 0xc0);
    }
    ascii.div_ceil(4) + others
}

/// The length of one conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Length {
    /// Tokens of its messages as they are counted here.
    counted: u64,
    /// What the provider counted last, everything around the messages included, and what was counted here then.
    told: Option<(u64, u64)>,
}

impl Length {
    pub(crate) fn of(messages: &[Message]) -> Self {
        Self {
            counted: messages.iter().map(of_message).sum(),
            told: None,
        }
    }

    /// Tokens of its messages as they are counted here.
    pub(crate) fn counted(self) -> u64 {
        self.counted
    }

    /// The conversation is longer by a message.
    pub(crate) fn add(&mut self, message: &Message) {
        self.counted += of_message(message);
    }

    /// The provider counted the conversation as it is.
    pub(crate) fn tell(&mut self, tokens: u64) {
        self.told = Some((tokens, self.counted));
    }

    /// The same conversation, shortened to `messages`.
    #[must_use]
    pub(crate) fn shortened(self, messages: &[Message]) -> Self {
        Self {
            told: self.told,
            ..Self::of(messages)
        }
    }

    /// About how many tokens its next request has; `around` are those of what stands around the messages.
    pub(crate) fn tokens(self, around: u64) -> (u64, Basis) {
        match self.told {
            Some((told, then)) if told.saturating_mul(LEAST_OF_COUNTED) >= then => (
                told.saturating_add(self.counted).saturating_sub(then),
                Basis::Told,
            ),
            _ => (around.saturating_add(self.counted), Basis::Counted),
        }
    }
}

/// About how many tokens a message is.
pub(super) fn of_message(message: &Message) -> u64 {
    MESSAGE_OVERHEAD
        + match message {
            Message::Summary { text, .. } | Message::User { text } => tokens(text),
            Message::Assistant {
                state,
                text,
                tool_calls,
            } => {
                let calls = tool_calls
                    .iter()
                    .map(|call| MESSAGE_OVERHEAD + tokens(&call.name) + of_value(&call.input));
                let state = state.items.iter().map(of_value);
                tokens(text) + calls.chain(state).sum::<u64>()
            }
            Message::ToolResult {
                content, images, ..
            } => tokens(content) + images.len() as u64 * IMAGE_TOKENS,
        }
}

fn of_value(value: &Value) -> u64 {
    match value {
        Value::String(text) => 1 + tokens(text),
        Value::Array(items) => 1 + items.iter().map(of_value).sum::<u64>(),
        Value::Object(members) => {
            let members = members.iter();
            1 + members
                .map(|(name, value)| tokens(name) + of_value(value))
                .sum::<u64>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(text: &str) -> Message {
        Message::User { text: text.into() }
    }

    #[test]
    fn characters_are_counted_by_their_kind() {
        for (text, count) in [
            ("", 0),
            ("abcd", 1),
            ("abcde", 2),
            ("日本語", 3),
            ("aé", 2),
            ("🙂", 1),
        ] {
            assert_eq!(tokens(text), count, "{text}");
        }
    }

    #[test]
    fn what_a_provider_counted_is_the_base_of_what_follows() {
        let mut messages = vec![user(&"x".repeat(400)), user(&"y".repeat(400))];
        let mut length = Length::of(&messages);
        assert_eq!(length.tokens(50), (50 + 208, Basis::Counted));
        length.tell(1000);
        assert_eq!(length.tokens(50), (1000, Basis::Told));
        messages.push(user("abcd"));
        length.add(&messages[2]);
        assert_eq!(length.tokens(50).0, 1005);
        // Shorter by as much as is counted here, and never less than nothing.
        assert_eq!(length.shortened(&messages[1..]).tokens(50).0, 901);
        length.tell(30);
        assert_eq!(length.shortened(&[]).tokens(50).0, 0);
        // What is far less than any count of it can be is no count.
        for told in [0, 1, 26] {
            length.tell(told);
            assert_eq!(length.tokens(50), (50 + 213, Basis::Counted));
        }
    }
}
