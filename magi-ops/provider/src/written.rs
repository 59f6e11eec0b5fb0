//! What a wire has written of a conversation, so that what no longer changes is written once however many requests
//! repeat it. How a message looks is the wire's matter.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

/// Most bytes that are kept; a longer conversation is written anew from there on.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The beginning of one conversation as it was written last; clones share it. It stands for messages that are never
/// changed: whoever does not only append begins with a new one.
#[derive(Debug, Clone, Default)]
pub struct Written {
    last: Arc<Mutex<Prefix>>,
}

#[derive(Debug, Default)]
struct Prefix {
    /// By what it was written: whose wire, and what that had learned of its server.
    by: String,
    /// So many messages, all of them settled.
    messages: usize,
    /// Them as elements of a JSON array, without its brackets.
    json: Vec<u8>,
}

impl Written {
    /// The conversation as elements of a JSON array, without its brackets. `settled` says how many of some messages
    /// nothing that is appended changes the writing of; `write` gives the elements of a part, the last one or not.
    pub(crate) fn elements<M>(
        &self,
        by: String,
        messages: &[M],
        settled: impl Fn(&[M]) -> usize,
        write: impl Fn(&[M], bool) -> Vec<Value>,
    ) -> Vec<u8> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if last.by != by || last.messages > messages.len() {
            *last = Prefix {
                by,
                ..Prefix::default()
            };
        }
        let settled = settled(&messages[last.messages..]);
        if settled > 0 && last.json.len() < MAX_BYTES {
            let part = &messages[last.messages..][..settled];
            append(&mut last.json, &write(part, false));
            last.messages += settled;
        }
        let mut all = last.json.clone();
        append(&mut all, &write(&messages[last.messages..], true));
        all
    }
}

fn append(json: &mut Vec<u8>, elements: &[Value]) {
    for element in elements {
        if !json.is_empty() {
            json.push(b',');
        }
        // Keys are strings and values are JSON already: writing to memory cannot fail.
        json.extend(serde_json::to_vec(element).unwrap_or_default());
    }
}
