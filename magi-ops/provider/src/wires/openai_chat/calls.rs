//! The calls of one completion as their fragments come together.
//! Which server indexes, names and repeats them how is known here alone.

use serde::de::IgnoredAny;
use serde_json::{Map, Value};

use crate::error::ProviderError;
use crate::wires::halves::Joiner;
use crate::wires::json::{count, take, word};

/// Most tool calls of one response.
const MAX_CALLS: usize = 4096;
/// Members of a call that its server wants back.
const STATE: [&str; 3] = [
    "extra_content",
    "provider_specific_fields",
    "thought_signature",
];

/// Which call a fragment says it belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Place {
    /// None, or none that means anything.
    #[default]
    Unsaid,
    Index(u64),
    /// The one call of the legacy `function_call`.
    Legacy,
}

/// A call as far as it has come.
#[derive(Default)]
pub(super) struct Call {
    place: Place,
    pub(super) id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    /// What the server wants back with it, by its names.
    pub(super) state: Map<String, Value>,
    joiner: Joiner,
}

/// The calls in the order in which they began.
#[derive(Default)]
pub(super) struct Calls(pub(super) Vec<Call>);

impl Calls {
    /// Reads the `tool_calls` of a delta; with `whole`, of a message that holds whole calls.
    ///
    /// # Errors
    /// Beyond the bound.
    pub(super) fn read(
        &mut self,
        calls: Value,
        whole: bool,
        lone: bool,
    ) -> Result<(), ProviderError> {
        let calls = match calls {
            Value::Array(calls) => calls,
            Value::Null => return Ok(()),
            call => vec![call],
        };
        let mut began = 0;
        for mut call in calls {
            let place = match call.get("index").and_then(count) {
                Some(index) => Place::Index(index),
                None => Place::Unsaid,
            };
            // A tool whose input is text has a wrapper of its own.
            let mut wrappers = ["function", "custom"].into_iter();
            let function =
                wrappers.find_map(|name| Some(take(&mut call, name)).filter(Value::is_object));
            // Or there is none.
            let function = function.unwrap_or_else(|| call.clone());
            let mut state = Map::new();
            for name in STATE {
                let own = call.get_mut(name).map(Value::take);
                let own = own.or_else(|| function.get(name).cloned());
                if let Some(own) = own.filter(|own| !own.is_null()) {
                    state.insert(name.to_owned(), own);
                }
            }
            let own = whole || (place == Place::Unsaid && began > 0);
            let before = self.0.len();
            self.piece(place, word(call.get("id")), function, state, own, lone)?;
            began += self.0.len() - before;
        }
        Ok(())
    }

    /// Reads a legacy `function_call`.
    ///
    /// # Errors
    /// Beyond the bound.
    pub(super) fn read_legacy(&mut self, function: Value, lone: bool) -> Result<(), ProviderError> {
        if function.is_null() {
            return Ok(());
        }
        self.piece(
            Place::Legacy,
            String::new(),
            function,
            Map::new(),
            false,
            lone,
        )
    }

    fn piece(
        &mut self,
        place: Place,
        id: String,
        mut function: Value,
        state: Map<String, Value>,
        own: bool,
        lone: bool,
    ) -> Result<(), ProviderError> {
        let name = word(function.get("name"));
        let mut members = ["arguments", "input"].into_iter();
        let arguments = members.find_map(|name| match take(&mut function, name) {
            Value::Null => None,
            Value::String(piece) => Some(piece),
            whole => Some(whole.to_string()),
        });
        let arguments = arguments.unwrap_or_default();
        if id.is_empty() && name.is_empty() && arguments.is_empty() && state.is_empty() {
            return Ok(());
        }
        // Without an index, a piece belongs to the last call. Some servers give every call the same
        // index, some no id: another id with a name of its own is another call, and so is a name
        // after input that is whole.
        let known = self.0.iter().rposition(|call| {
            place == Place::Unsaid || call.place == Place::Unsaid || call.place == place
        });
        let continues = |call: &Call| match id.as_str() {
            _ if name.is_empty() => true,
            _ if own => false,
            _ if place == Place::Legacy => true,
            // The name comes behind the input.
            "" if call.name.is_empty() => true,
            // The same name again and no input yet: the server repeats itself.
            "" if call.name == name && call.arguments.is_empty() => true,
            "" => {
                // The cheap look first: pieces may be many.
                !call.arguments.trim_end().ends_with('}')
                    || serde_json::from_str::<IgnoredAny>(&call.arguments).is_err()
                    // The same whole call once more, at an index that says it is the same.
                    || (place != Place::Unsaid && call.name == name && call.arguments == arguments)
            }
            id => call.id.is_empty() || id == call.id,
        };
        let at = match known.filter(|&at| continues(&self.0[at])) {
            Some(at) => at,
            None if self.0.len() == MAX_CALLS => {
                return Err(ProviderError::malformed("too many calls"));
            }
            None => {
                self.0.push(Call {
                    place,
                    ..Call::default()
                });
                self.0.len() - 1
            }
        };
        let call = &mut self.0[at];
        if call.id.is_empty() {
            call.id = id;
        }
        // A name comes mostly before its arguments, at once, in pieces, or each time all of it so far.
        if call.arguments.is_empty() && call.name != name {
            match name.starts_with(&call.name) {
                true => call.name = name,
                false => call.name.push_str(&name),
            }
        } else if call.name.is_empty() {
            call.name = name;
        }
        call.state.extend(state);
        call.arguments.push_str(&call.joiner.join(arguments, lone));
        Ok(())
    }
}
