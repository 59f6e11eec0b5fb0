//! The local-agent scenario kit, one test a scenario: tests/fixtures/local_agent/README.md says what it holds.
//! Nothing is asserted here that is not in a scenario's file.
#![cfg(all(
    feature = "local-agent",
    feature = "lifecycle",
    feature = "session",
    feature = "history",
    feature = "turn",
    feature = "approval",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "scenario/local_agent.rs"]
mod dialect;
mod scenario;

fn play(id: &str) {
    scenario::play::<dialect::LocalAgent>(id);
}

#[test]
fn every_scenario_of_the_kit_is_played_and_listed() {
    scenario::assert_listed("local_agent", include_str!("local_agent_conformance.rs"));
}

// The scenarios that drive the server.

#[test]
fn approval() {
    play("approval");
}

#[test]
fn compaction() {
    play("compaction");
}

#[test]
fn end_of_input() {
    play("end_of_input");
}

#[test]
fn frame_bounds() {
    play("frame_bounds");
}

#[test]
fn frames() {
    play("frames");
}

#[test]
fn history_paging() {
    play("history_paging");
}

#[test]
fn identities() {
    play("identities");
}

#[test]
fn initialize() {
    play("initialize");
}

#[test]
fn preflight() {
    play("preflight");
}

#[test]
fn protocol_mismatch() {
    play("protocol_mismatch");
}

#[test]
fn request_limit() {
    play("request_limit");
}

#[test]
fn session_busy() {
    play("session_busy");
}

#[test]
fn session_create() {
    play("session_create");
}

#[test]
fn session_cwd() {
    play("session_cwd");
}

#[test]
fn session_errors() {
    play("session_errors");
}

#[test]
fn session_files() {
    play("session_files");
}

#[test]
fn session_killed() {
    play("session_killed");
}

#[test]
fn session_lazy_is_lost() {
    play("session_lazy_is_lost");
}

#[test]
fn session_reopen() {
    play("session_reopen");
}

#[test]
fn shutdown_first() {
    play("shutdown_first");
}

#[test]
fn shutdown_pending() {
    play("shutdown_pending");
}

#[test]
fn startup_configuration() {
    play("startup_configuration");
}

#[test]
fn startup_provider() {
    play("startup_provider");
}

#[test]
fn subagents() {
    play("subagents");
}

#[test]
fn turn_busy() {
    play("turn_busy");
}

#[test]
fn turn_cancel() {
    play("turn_cancel");
}

#[test]
fn turn_end_of_input() {
    play("turn_end_of_input");
}

#[test]
fn turn_failed() {
    play("turn_failed");
}

#[test]
fn turn_long() {
    play("turn_long");
}

#[test]
fn turn_params() {
    play("turn_params");
}

#[test]
fn turn_reasoning() {
    play("turn_reasoning");
}

#[test]
fn turn_shutdown() {
    play("turn_shutdown");
}

#[test]
fn turn_mcp() {
    play("turn_mcp");
}

#[test]
fn turn_code() {
    play("turn_code");
}

#[test]
fn turn_text() {
    play("turn_text");
}

#[test]
fn turn_tools() {
    play("turn_tools");
}

// The scenarios of synthetic streams that drive the client.

#[test]
fn client_bytes() {
    play("client_bytes");
}

#[test]
fn client_envelope() {
    play("client_envelope");
}

#[test]
fn client_events() {
    play("client_events");
}

#[test]
fn client_first_frame() {
    play("client_first_frame");
}

#[test]
fn client_history() {
    play("client_history");
}

#[test]
fn client_negotiation() {
    play("client_negotiation");
}

#[test]
fn client_no_run() {
    play("client_no_run");
}

#[test]
fn client_run() {
    play("client_run");
}

#[test]
fn client_sends() {
    play("client_sends");
}

#[test]
fn client_sessions() {
    play("client_sessions");
}

#[test]
fn client_text() {
    play("client_text");
}
