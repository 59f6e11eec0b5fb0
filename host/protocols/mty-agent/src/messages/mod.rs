//! The requests, result members and lines of mty-agent's ops, each once for whoever sends and whoever reads it. Keys that an
//! op does not know are ignored in requests too.

mod check;
mod edit;
mod lookup;

pub use check::{
    Alternative, CheckParams, CheckSummary, Envelope, Fix, Log, Severity, Source, Span, Stream,
};
pub use edit::{FixAnswer, FixParams, FmtAnswer, FmtParams, Patch};
pub use lookup::{ExplainParams, Explained, FindParams, Found, HaltParams, Halted, Hit};
