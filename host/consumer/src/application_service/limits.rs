//! The server's advertised limits: the sixteen that must be there, and whatever came later.
//! No envelope; what a client does about them is `preflight`'s.

use std::collections::BTreeMap;

use crate::Violation;
use crate::decode::Bounds;
use crate::fields::{Fields, MAX_COUNT};

/// The keys every version 1 server advertises, with the most of each that this client can consume.
/// What the client's own requests control (pages, negotiation) or what never reaches it (scan and
/// replay windows, attachments) has no local ceiling but that of a number.
const REQUIRED: [(&str, u64); 16] = [
    ("max_record_bytes", LOCAL.record_bytes as u64),
    ("max_payload_bytes", LOCAL.record_bytes as u64),
    ("max_error_message_bytes", LOCAL.string_bytes as u64),
    ("max_id_bytes", 1024),
    ("max_name_bytes", 1024),
    ("max_string_bytes", LOCAL.string_bytes as u64),
    ("max_json_depth", LOCAL.depth as u64),
    ("max_array_items", LOCAL.array_items as u64),
    ("max_object_fields", LOCAL.object_fields as u64),
    ("max_negotiation_items", MAX_COUNT),
    ("max_session_attachments", MAX_COUNT),
    ("max_session_page_items", MAX_COUNT),
    ("max_session_replay_page_bytes", MAX_COUNT),
    ("max_session_replay_window_bytes", MAX_COUNT),
    ("max_session_list_scan_entries", MAX_COUNT),
    ("max_catalog_page_items", MAX_COUNT),
];

/// What this client decodes before it knows the server: four times version 1's values.
pub const LOCAL: Bounds = Bounds {
    record_bytes: 262_144,
    depth: 64,
    array_items: 256,
    object_fields: 256,
    string_bytes: 65_536,
};

/// A valid limits object. Bytes are UTF-8 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    known: [u64; 16],
    /// Limits this client has no name for, each a positive integer.
    pub extensions: BTreeMap<String, u64>,
}

macro_rules! getters {
    ($($name:ident = $at:literal),+ $(,)?) => {
        impl Limits {
            $(
                /// The limit of this name.
                #[must_use]
                pub fn $name(&self) -> usize {
                    usize::try_from(self.known[$at]).unwrap_or(usize::MAX)
                }
            )+
        }
    };
}
getters!(
    max_record_bytes = 0,
    max_payload_bytes = 1,
    max_error_message_bytes = 2,
    max_id_bytes = 3,
    max_name_bytes = 4,
    max_string_bytes = 5,
    max_json_depth = 6,
    max_array_items = 7,
    max_object_fields = 8,
    max_negotiation_items = 9,
    max_session_attachments = 10,
    max_session_page_items = 11,
    max_session_replay_page_bytes = 12,
    max_session_replay_window_bytes = 13,
    max_session_list_scan_entries = 14,
    max_catalog_page_items = 15,
);

impl Limits {
    /// Reads a limits object: all sixteen present, every value a positive integer this client can
    /// represent, none of the sixteen beyond what it can consume. New keys are taken, never counted.
    ///
    /// # Errors
    /// [`Violation::UnsafeBound`] with the limit's name (`limits` for one without a name here).
    pub fn read(fields: Fields<'_>) -> Result<Self, Violation> {
        let mut known = [0; 16];
        for (slot, (name, most)) in known.iter_mut().zip(REQUIRED) {
            *slot = match fields.count(name) {
                Ok(value) if (1..=most).contains(&value) => value,
                _ => return Err(Violation::UnsafeBound(name)),
            };
        }
        let mut extensions = BTreeMap::new();
        for (name, value) in fields.map() {
            if REQUIRED.iter().any(|(known, _)| known == name) {
                continue;
            }
            match value.as_u64() {
                Some(value @ 1..=MAX_COUNT) => extensions.insert(name.clone(), value),
                _ => return Err(Violation::UnsafeBound("limits")),
            };
        }
        Ok(Self { known, extensions })
    }

    /// Whether two limits objects of one server say the same.
    #[must_use]
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.known == other.known
            && self
                .extensions
                .iter()
                .all(|(name, value)| other.extensions.get(name).is_none_or(|same| same == value))
    }

    /// The decoding bounds these limits stand for. They were checked to be within [`LOCAL`].
    #[must_use]
    pub fn bounds(&self) -> Bounds {
        Bounds {
            record_bytes: self.max_record_bytes(),
            depth: self.max_json_depth(),
            array_items: self.max_array_items(),
            object_fields: self.max_object_fields(),
            string_bytes: self.max_string_bytes(),
        }
    }
}
