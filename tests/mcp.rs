//! MCP servers of the built binary: approved, started side by side, called, and ended, whatever they do. The server of
//! these tests misbehaves as it is told; those of others stand in `tests/real`.
#![cfg(all(
    feature = "local-agent",
    feature = "application-service",
    feature = "lifecycle",
    feature = "session",
    feature = "turn",
    feature = "approval",
    feature = "doctor",
    feature = "mcp",
    target_os = "linux"
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "local_agent/client.rs"]
#[allow(dead_code)]
mod client;
#[path = "local_agent/run.rs"]
#[allow(dead_code)]
mod run;

#[path = "mcp/approval.rs"]
mod approval;
#[path = "mcp/calls.rs"]
mod calls;
#[path = "mcp/deaths.rs"]
mod deaths;
#[path = "mcp/http.rs"]
mod http;
#[path = "mcp/outside.rs"]
mod outside;
#[path = "mcp/real.rs"]
mod real;
#[cfg(feature = "providers")]
#[path = "providers/server.rs"]
#[allow(dead_code)] // the tests of the wires use the rest
mod server;
#[path = "mcp/service.rs"]
mod service;
#[path = "mcp/setting.rs"]
mod setting;
#[path = "mcp/starts.rs"]
mod starts;
