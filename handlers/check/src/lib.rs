//! `check` of mty-agent, and the wire form of diagnostics that the command line prints too. The checking itself
//! lives in `toolchain`.

mod document;
mod envelope;
mod mty_agent;

pub use document::Document;
pub use envelope::line;
