//! The items of one response as their events come together: messages, reasoning, calls.
//! Which event of which item is meant is known here alone; what they become is `response`'s.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::error::ProviderError;
use crate::wires::halves::Joiner;
use crate::wires::json::{count, take, word};

/// Most items of one response.
const MAX_ITEMS: usize = 4096;
/// Most parts of one item.
const MAX_PARTS: usize = 4096;

/// What an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Reasoning,
    Call,
    /// Of tools that run at the provider, which nobody asked for.
    Other,
}

impl Kind {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "reasoning" => Self::Reasoning,
            // The second one's input is text: nobody asked for such a tool, but a model means one that it has.
            "function_call" | "custom_tool_call" => Self::Call,
            _ => Self::Other,
        }
    }
}

/// A text as far as it has come.
#[derive(Default)]
pub(super) struct Text {
    pub(super) said: String,
    joiner: Joiner,
    /// It has been told as a whole.
    told: bool,
}

impl Text {
    /// Adds a piece. Gives what is new of it, whole characters.
    pub(super) fn add(&mut self, piece: String, lone: bool) -> String {
        let piece = self.joiner.join(piece, lone);
        self.said.push_str(&piece);
        piece
    }

    /// What `whole` has beyond what has come. Nothing where it says something else: what was said is said.
    pub(super) fn rest(&mut self, whole: String, lone: bool) -> String {
        let mut joiner = Joiner::default();
        let mut whole = joiner.join(whole, lone);
        whole.extend(joiner.finish());
        let Some(rest) = whole.strip_prefix(&self.said) else {
            tracing::debug!("a text ends otherwise than it came");
            return String::new();
        };
        // A half that waits is in the rest.
        self.joiner = Joiner::default();
        self.said.push_str(rest);
        rest.to_owned()
    }

    /// What is left when the text has ended.
    pub(super) fn finish(&mut self) -> Option<char> {
        let rest = self.joiner.finish();
        self.said.extend(rest);
        rest
    }

    /// Takes a whole text in the place of its pieces, unless it has been told; an empty one takes no place.
    pub(super) fn replace(&mut self, whole: String, lone: bool) {
        if !whole.is_empty() && !self.told {
            *self = Self::default();
            self.add(whole, lone);
        }
    }

    /// The text, which is complete, if it says something and has not been told.
    pub(super) fn tell(&mut self) -> Option<String> {
        let _ = self.finish();
        let is_new = !std::mem::replace(&mut self.told, true);
        (is_new && !self.said.trim().is_empty()).then(|| self.said.clone())
    }
}

/// An item as far as it has come.
pub(super) struct Item {
    pub(super) kind: Kind,
    index: Option<u64>,
    id: String,
    /// Nothing of it follows.
    pub(super) done: bool,
    /// The server says that it is whole, which it may be where the response is not.
    pub(super) whole: bool,
    /// The server says that it is not whole.
    pub(super) broken: bool,
    /// Bytes of text and calls of the response before it.
    pub(super) place: (usize, usize),
    /// Of a message its parts, of reasoning its raw text.
    pub(super) parts: BTreeMap<u64, Text>,
    /// Of reasoning.
    pub(super) summaries: BTreeMap<u64, Text>,
    /// Of a call.
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) arguments: Text,
}

impl Item {
    /// The part `index` of a message or of raw reasoning.
    ///
    /// # Errors
    /// Beyond the bound.
    pub(super) fn part(&mut self, index: u64) -> Result<&mut Text, ProviderError> {
        at(&mut self.parts, index)
    }

    /// # Errors
    /// Beyond the bound.
    pub(super) fn summary(&mut self, index: u64) -> Result<&mut Text, ProviderError> {
        at(&mut self.summaries, index)
    }

    /// Takes the id of an item that had none: pieces may come before it.
    pub(super) fn name_once(&mut self, id: String) {
        if self.id.is_empty() {
            self.id = id;
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether nothing was said of a call but that a piece of one came.
    pub(super) fn is_nothing(&self) -> bool {
        self.name.is_empty() && self.call_id.is_empty() && self.arguments.said.trim().is_empty()
    }
}

fn at(texts: &mut BTreeMap<u64, Text>, index: u64) -> Result<&mut Text, ProviderError> {
    if texts.len() >= MAX_PARTS && !texts.contains_key(&index) {
        return Err(ProviderError::malformed("an item has too many parts"));
    }
    Ok(texts.entry(index).or_default())
}

/// The items in the order in which they began.
#[derive(Default)]
pub(super) struct Items(pub(super) Vec<Item>);

impl Items {
    /// Begins an item.
    ///
    /// # Errors
    /// Beyond the bound.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        index: Option<u64>,
        id: String,
        text: usize,
    ) -> Result<usize, ProviderError> {
        if self.0.len() == MAX_ITEMS {
            return Err(ProviderError::malformed("too many items"));
        }
        let calls = self.0.iter().filter(|item| item.kind == Kind::Call);
        let place = (text, calls.count());
        self.0.push(Item {
            kind,
            index,
            id,
            done: false,
            whole: false,
            broken: false,
            place,
            parts: BTreeMap::new(),
            summaries: BTreeMap::new(),
            call_id: String::new(),
            name: String::new(),
            arguments: Text::default(),
        });
        Ok(self.0.len() - 1)
    }

    /// The item of `kind` that an event is about which says an `output_index`, an `item_id`, both or neither. Some
    /// servers give every item the same index, some one item several ids: of those that are open the id decides, then
    /// the index, then which came last.
    pub(super) fn find(&self, kind: Kind, index: Option<u64>, id: &str) -> Option<usize> {
        let open = |wanted: &dyn Fn(&Item) -> bool| {
            let own = |item: &Item| item.kind == kind && !item.done && wanted(item);
            self.0.iter().rposition(own)
        };
        let by_id = || open(&|item| !id.is_empty() && item.id == id);
        let by_index = || open(&|item| index.is_some() && item.index == index);
        let unsaid = || {
            open(&|item| {
                (index.is_none() || item.index.is_none()) && (id.is_empty() || item.id.is_empty())
            })
        };
        by_id().or_else(by_index).or_else(unsaid)
    }

    /// Whether an item has ended that `id` names.
    pub(super) fn has_ended(&self, id: &str) -> bool {
        let ended = |item: &Item| item.done && item.id == id;
        !id.is_empty() && self.0.iter().any(ended)
    }

    /// The `nth` item of `kind`.
    pub(super) fn nth(&self, kind: Kind, nth: usize) -> Option<usize> {
        let own = self.0.iter().enumerate();
        let own = own.filter(|(_, item)| item.kind == kind);
        own.map(|(at, _)| at).nth(nth)
    }

    /// Whether something that was said or asked for is not whole, as the server says.
    pub(super) fn is_broken(&self) -> bool {
        let said = |item: &Item| matches!(item.kind, Kind::Message | Kind::Call);
        self.0.iter().any(|item| item.broken && said(item))
    }

    pub(super) fn has_calls(&self) -> bool {
        let is_call = |item: &Item| item.kind == Kind::Call && !item.is_nothing();
        self.0.iter().any(is_call)
    }
}

/// All arguments of a call, by the name that its kind has for them.
pub(super) fn whole_arguments(call: &mut Value) -> String {
    let own = take(call, "arguments");
    arguments(match own.is_null() {
        true => take(call, "input"),
        false => own,
    })
}

/// Arguments of a call, as text or as the object itself.
pub(super) fn arguments(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Null => String::new(),
        whole => whole.to_string(),
    }
}

/// What an event says of the item that it is about: its index and its id.
pub(super) fn named(event: &Value) -> (Option<u64>, String) {
    let index = event.get("output_index").and_then(count);
    (index, word(event.get("item_id")))
}
