//! The server's advertised limits: the sixteen that must be there, and whatever came later.
//! No envelope; what a client does about them is `preflight`'s.

use std::collections::BTreeMap;
use std::ops::Deref;

use application_service::Limits as Known;

use crate::Violation;
use crate::decode::Bounds;
use crate::fields::{Fields, MAX_COUNT};
use crate::violation::ensure;

/// What this client decodes before it knows the server: four times version 1's values.
pub const LOCAL: Bounds = Bounds {
    record_bytes: 262_144,
    depth: 64,
    array_items: 256,
    object_fields: 256,
    string_bytes: 65_536,
};

/// The most of a limit that this client can consume. What its own requests control (pages, negotiation) or what never
/// reaches it (scan and replay windows, attachments) has no local ceiling but that of a number.
fn most(name: &str) -> usize {
    match name {
        "max_record_bytes" | "max_payload_bytes" => LOCAL.record_bytes,
        "max_error_message_bytes" | "max_string_bytes" => LOCAL.string_bytes,
        "max_id_bytes" | "max_name_bytes" => 1024,
        "max_json_depth" => LOCAL.depth,
        "max_array_items" => LOCAL.array_items,
        "max_object_fields" => LOCAL.object_fields,
        _ => usize::MAX,
    }
}

/// Identities within the bound in force.
pub(super) fn ids(max: usize, ids: &[(&'static str, &str)]) -> Result<(), Violation> {
    match ids.iter().find(|(_, id)| id.len() > max) {
        None => Ok(()),
        Some((name, _)) => Err(Violation::OutOfBounds(name)),
    }
}

/// A valid limits object. Bytes are UTF-8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    known: Known,
    /// Limits this client has no name for, each a positive integer.
    pub extensions: BTreeMap<String, u64>,
}

impl Deref for Limits {
    type Target = Known;

    fn deref(&self) -> &Known {
        &self.known
    }
}

impl Limits {
    /// Reads a limits object: all sixteen present, every value a positive integer this client can
    /// represent, none of the sixteen beyond what it can consume. New keys are taken, never counted.
    ///
    /// # Errors
    /// [`Violation::UnsafeBound`] with the limit's name (`limits` for one without a name here).
    pub fn read(fields: Fields<'_>) -> Result<Self, Violation> {
        let known: Known = fields.whole("limits").map_err(Violation::of_limit)?;
        for (name, value) in known.each() {
            ensure(value <= most(name), Violation::UnsafeBound(name))?;
        }
        let mut extensions = BTreeMap::new();
        let further = |name: &&String| !Known::NAMES.contains(&name.as_str());
        for name in fields.map().keys().filter(further) {
            match fields.map()[name].as_u64() {
                Some(value @ 1..=MAX_COUNT) => extensions.insert(name.clone(), value),
                _ => return Err(Violation::UnsafeBound("limits")),
            };
        }
        Ok(Self { known, extensions })
    }

    /// Whether two limits objects of one server say the same.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        let agrees = |(name, value): (&String, &u64)| {
            let same = other.extensions.get(name);
            same.is_none_or(|same| same == value)
        };
        self.known == other.known && self.extensions.iter().all(agrees)
    }

    /// The decoding bounds these limits stand for. They were checked to be within [`LOCAL`].
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds {
            record_bytes: self.max_record_bytes,
            depth: self.max_json_depth,
            array_items: self.max_array_items,
            object_fields: self.max_object_fields,
            string_bytes: self.max_string_bytes,
        }
    }
}
