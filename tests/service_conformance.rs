//! The application-service scenario kit, one test a scenario: tests/fixtures/application_service/README.md says what it holds.
//! Nothing is asserted here that is not in a scenario's file.
#![cfg(all(
    feature = "application-service",
    feature = "lifecycle",
    feature = "session",
    feature = "turn",
    unix
))]
#![allow(clippy::unwrap_used)]

mod support;

#[path = "scenario/application_service.rs"]
mod dialect;
mod scenario;

fn play(id: &str) {
    scenario::play::<dialect::ApplicationService>(id);
}

#[test]
fn every_scenario_of_the_kit_is_played_and_listed() {
    scenario::assert_listed(
        "application_service",
        include_str!("service_conformance.rs"),
    );
}

// The scenarios of synthetic streams that drive the client.

#[test]
fn client_activity() {
    play("client_activity");
}

#[test]
fn client_bytes() {
    play("client_bytes");
}

#[test]
fn client_bytes_first() {
    play("client_bytes_first");
}

#[test]
fn client_envelope() {
    play("client_envelope");
}

#[test]
fn client_login() {
    play("client_login");
}

#[test]
fn client_no_activity() {
    play("client_no_activity");
}

#[test]
fn client_preflight() {
    play("client_preflight");
}

#[test]
fn client_row_1() {
    play("client_row_1");
}

#[test]
fn client_row_2() {
    play("client_row_2");
}

#[test]
fn client_row_3() {
    play("client_row_3");
}

#[test]
fn client_row_4() {
    play("client_row_4");
}

#[test]
fn client_row_5() {
    play("client_row_5");
}

#[test]
fn client_row_6() {
    play("client_row_6");
}

#[test]
fn client_row_7() {
    play("client_row_7");
}

#[test]
fn client_row_8() {
    play("client_row_8");
}

#[test]
fn client_row_9() {
    play("client_row_9");
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
fn client_turn() {
    play("client_turn");
}
