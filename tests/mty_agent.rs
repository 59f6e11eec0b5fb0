//! Black-box tests of `mty agent` (dialect mty-agent 1.0), one module per area.
//! Everything goes through the built binary's pipes and sockets; no type of the implementation is used here.
#![cfg(all(
    feature = "mty-agent",
    feature = "explain",
    feature = "find",
    feature = "halt",
    unix
))]
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

#[cfg(feature = "http")]
#[path = "support/http.rs"]
mod client;

#[cfg(feature = "http")]
#[path = "mty_agent/auth.rs"]
mod auth;
#[cfg(feature = "check")]
#[path = "mty_agent/check.rs"]
mod check;
#[path = "mty_agent/explain.rs"]
mod explain;
#[path = "mty_agent/find.rs"]
mod find;
// `fix` is tried on what `check` said before.
#[cfg(all(feature = "fix", feature = "check"))]
#[path = "mty_agent/fix.rs"]
mod fix;
#[cfg(feature = "fmt")]
#[path = "mty_agent/fmt.rs"]
mod fmt;
#[cfg(feature = "http")]
#[path = "mty_agent/http.rs"]
mod http;
#[cfg(feature = "http")]
#[path = "mty_agent/http_load.rs"]
mod http_load;
#[path = "mty_agent/launch.rs"]
mod launch;
#[path = "mty_agent/record.rs"]
mod record;
#[path = "mty_agent/replay.rs"]
mod replay;
#[cfg(any(feature = "http", feature = "unix"))]
#[path = "mty_agent/server.rs"]
mod server;
#[path = "mty_agent/single_shot.rs"]
mod single_shot;
#[path = "mty_agent/stdio.rs"]
mod stdio;
#[cfg(feature = "unix")]
#[path = "mty_agent/unix.rs"]
mod unix;
#[path = "mty_agent/wire.rs"]
mod wire;
