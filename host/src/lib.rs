//! The wire, and nothing but the wire: frames, registration, the loops, byte transports.
//! No engine is imported here, and no dialect or method is named: those are crates of their own.

pub mod connection;
pub mod context;
pub mod correlate;
pub mod dialect;
pub mod event;
pub mod fault;
pub mod frame;
pub mod guide;
pub mod negotiate;
pub mod operation;
pub mod panics;
pub mod read;
pub mod registry;
pub mod reply;
pub mod resources;
pub mod scan;
pub mod schema;
pub mod serve;
pub mod signals;
pub mod transport;
pub mod vocabulary;
pub mod work;
pub mod writer;

pub use connection::Connection;
pub use context::{Cx, Engines, Gate, RawCx, Server};
pub use dialect::{Codec, Dialect, Rules};
pub use event::{Delivery, EventKind, EventSink, MayDrop, Undelivered, WireEvent};
pub use fault::{Failure, Fault};
pub use operation::{
    Class, Declared, Engine, Example, HandlerFuture, Needs, Operation, Refused, SessionField,
    before, engine_of, start, start_inline,
};
pub use registry::{MissingEngine, Registry};
pub use reply::{After, Answer, Outcome, Reply};
pub use work::{Interrupted, Workers};

// The macros of this crate name it, so that an operation's crate needs no dependency line for it.
#[doc(hidden)]
pub use {inventory, schemars, serde};
