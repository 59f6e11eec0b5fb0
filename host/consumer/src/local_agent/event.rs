//! The events of a run, as the protocol's own crate reads them. Their order and sums are `assemble`'s.
//! No request, no response.

use serde_json::Value;

pub use local_agent::messages::RunEvent as Event;
pub use local_agent::messages::{
    ActivityEvent, ApprovalRequested, Diagnostic, InputPersisted, MessageDelta, MessageReconcile,
    RunFinished,
};

use crate::Violation;
use crate::reader::Reader;

/// Reads the event `name` with its `data`.
///
/// # Errors
/// [`Violation::UnknownEvent`], or the first rule its data breaks.
pub(super) fn read(name: &str, data: &Value) -> Result<Event, Violation> {
    match Event::read(name, Reader::new(data, "data")) {
        None => Err(Violation::UnknownEvent),
        Some(Err(Violation::UnknownWord("error_code"))) => Err(Violation::UnknownErrorCode),
        Some(read) => read,
    }
}
