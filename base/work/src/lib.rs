//! Work that may take long: until when it may go on (`Deadline`), and how much of it blocks at once (`Pool`).
//! No work itself, and nothing of an engine.

mod deadline;
mod pool;

pub use deadline::{Deadline, Expired};
pub use pool::{Interrupted, Pool};
