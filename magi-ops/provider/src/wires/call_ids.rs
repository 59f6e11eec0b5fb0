//! Ids of tool calls: unique in the conversation, and as each server takes them.
//! A server gets its own ids back as it gave them; those of others are rewritten, always alike.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::message::Message;

/// Longest id that is taken over from a server, in bytes.
const MAX_OWN_BYTES: usize = 512;
/// Longest id of another server that is sent, in bytes: OpenAI takes no more.
const MAX_FOREIGN_BYTES: usize = 40;
/// The one length that some servers take.
const SHORT_BYTES: usize = 9;

/// How a server wants the ids of calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum IdForm {
    #[default]
    Any,
    /// Nine letters and digits, as Mistral's models demand.
    Short,
}

/// The id `id` as a server takes it; `own` if that server gave it.
pub(crate) fn wire_id(id: &str, own: bool, form: IdForm) -> Cow<'_, str> {
    let alphanumeric = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
    match form {
        IdForm::Short if alphanumeric && id.len() == SHORT_BYTES => id.into(),
        IdForm::Short => short(id).into(),
        IdForm::Any if own => id.into(),
        IdForm::Any => {
            let plain = plain(id);
            if plain.len() <= MAX_FOREIGN_BYTES {
                return plain.into();
            }
            let head = &plain[..MAX_FOREIGN_BYTES - SHORT_BYTES - 1];
            format!("{head}_{}", short(id)).into()
        }
    }
}

/// `id` with nothing but letters, digits, `_` and `-`, which every server takes.
pub(crate) fn plain(id: &str) -> String {
    let passes = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    id.chars()
        .map(|c| if passes(c) { c } else { '_' })
        .collect()
}

/// Nine letters and digits, for one id always the same (FNV-1a): 36^9 is 10^14.
fn short(id: &str) -> String {
    let mut rest = id.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let digits = b"0123456789abcdefghijklmnopqrstuvwxyz";
    (0..SHORT_BYTES)
        .map(|_| {
            let digit = digits[(rest % 36) as usize];
            rest /= 36;
            char::from(digit)
        })
        .collect()
}

/// The ids of a conversation's calls: no two alike, whatever the server sends.
#[derive(Debug, Default)]
pub(crate) struct CallIds(HashSet<String>);

impl CallIds {
    pub(crate) fn of(messages: &[Message]) -> Self {
        let calls = messages.iter().flat_map(|message| match message {
            Message::Assistant { tool_calls, .. } => tool_calls.as_slice(),
            _ => &[],
        });
        Self(calls.map(|call| plain(&call.id)).collect())
    }

    /// The server's id, or one of our own if that is empty, too long or taken.
    pub(crate) fn claim(&mut self, id: &str) -> String {
        let fits = (1..=MAX_OWN_BYTES).contains(&id.len());
        if fits && self.0.insert(plain(id)) {
            return id.to_owned();
        }
        let own = format!("call_{}", uuid::Uuid::new_v4().simple());
        self.0.insert(own.clone());
        own
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::{ProviderState, ToolCall};

    #[test]
    fn ids_pass_every_wire() {
        let any = |id: &'static str, own| wire_id(id, own, IdForm::Any);
        assert_eq!(any("toolu_01-A", false), "toolu_01-A");
        assert_eq!(any("functions.read:0", false), "functions_read_0");
        assert_eq!(any("functions.read:0", true), "functions.read:0");
        let long = "x".repeat(60);
        let sent = wire_id(&long, false, IdForm::Any);
        assert_eq!(sent.len(), MAX_FOREIGN_BYTES);
        assert_ne!(sent, wire_id(&"x".repeat(61), false, IdForm::Any));
    }

    #[test]
    fn short_ids_are_always_the_same() {
        assert_eq!(wire_id("a1B2c3D4e", true, IdForm::Short), "a1B2c3D4e");
        let mut all = HashSet::new();
        for id in ["", "call_1", "call_2", "toolu_abcdefgh", "a1B2c3D4e5"] {
            let sent = wire_id(id, true, IdForm::Short).into_owned();
            assert!(sent.len() == 9 && sent.bytes().all(|byte| byte.is_ascii_alphanumeric()));
            assert_eq!(sent, wire_id(id, false, IdForm::Short));
            assert!(all.insert(sent));
        }
    }

    #[test]
    fn ids_are_unique_in_the_conversation() {
        let old = Message::Assistant {
            state: ProviderState::default(),
            text: String::new(),
            tool_calls: vec![ToolCall {
                id: "old".into(),
                name: "read".into(),
                input: json!({}),
            }],
        };
        let mut ids = CallIds::of(&[old]);
        assert_eq!(ids.claim("new"), "new");
        let mut all = HashSet::from(["old".to_owned(), "new".to_owned()]);
        for taken in ["new", "old", "", "", &"x".repeat(MAX_OWN_BYTES + 1)] {
            assert!(all.insert(ids.claim(taken)));
        }
        // Alike on the wire is alike.
        assert_eq!(ids.claim("a.b"), "a.b");
        assert!(ids.claim("a_b").starts_with("call_"));
    }
}
