//! The wire, and nothing but the wire: frames, dialects, registration, the loops, transports.
//! No engine is imported here and no method is named.

pub mod context;
pub mod correlate;
pub mod dialect;
pub mod event;
pub mod frame;
pub mod negotiate;
pub mod operation;
pub mod panics;
#[cfg(feature = "mty-agent")]
pub mod record;
pub mod registry;
pub mod scan;
pub mod schema;
pub mod serve;
pub mod transport;
pub mod work;
pub mod writer;

pub use context::{Connection, Cx, Engines, Gate, RawCx, Server};
pub use event::{Delivery, EventKind, EventSink, Undelivered, WireEvent};
pub use operation::{
    After, Class, Example, Failure, Fault, HandlerFuture, Needs, Operation, Outcome, Refused,
    Reply, SessionField, before, start,
};
pub use registry::Registry;
pub use work::{Interrupted, Workers};

// The macros of this crate name it, so that an operation's crate needs no dependency line for it.
#[doc(hidden)]
pub use inventory;
