//! MCP servers: started under the guard or reached over HTTP, their tools as a tool set, all of them bounded.
//! No settings are read here, no policy is decided, and no protocol of ours is spoken.

mod authorize;
mod check;
mod client;
mod connection;
mod error;
mod folder;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod http;
mod lines;
mod login;
mod offer;
mod program;
mod result;
mod server;
mod servers;
mod setting;
mod stdio;
mod streams;
mod tool;
mod transport;

pub use authorize::{LoginError, log_in};
pub use check::check;
pub use error::{StartCause, StartError};
pub use servers::Servers;
pub use setting::Setting;
