//! The application-service scenario kit, one test a scenario: tests/fixtures/application_service/README.md says what it holds.
//! Nothing is asserted here that is not in a scenario's file.
#![cfg(all(
    feature = "application-service",
    feature = "config",
    feature = "lifecycle",
    feature = "session",
    feature = "turn",
    unix
))]
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use serde_json::Value;

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

/// A service that lacks an operation is told so by name, and only in scenarios that use it.
#[test]
fn what_a_scenario_needs_is_what_its_steps_use() {
    fn used(value: &Value, methods: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                for (name, inner) in members {
                    let sent = ["request", "send"].contains(&name.as_str());
                    if let Some(method) = inner["method"].as_str().filter(|_| sent) {
                        methods.insert(method.to_owned());
                    }
                    used(inner, methods);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| used(item, methods)),
            _ => {}
        }
    }
    let kit = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/fixtures/application_service"
    );
    let mut seen = 0;
    for entry in std::fs::read_dir(kit).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        let Ok(scenario) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        // `advertised` is about what is served, whoever uses it.
        if scenario["drives"] != "server" || scenario["id"] == "advertised" {
            continue;
        }
        let mut methods = BTreeSet::new();
        used(&scenario, &mut methods);
        methods.retain(|method| dialect::OPERATIONS.contains(&method.as_str()));
        let needs = scenario["needs"].as_array().unwrap().iter();
        let needs: BTreeSet<_> = needs
            .map(|need| need.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(needs, methods, "{}", scenario["id"]);
        seen += 1;
    }
    assert!(seen > 30, "{seen}");
}

// The scenarios that drive the server.

#[test]
fn activity() {
    play("activity");
}

#[test]
fn activity_code() {
    play("activity_code");
}

#[test]
fn activity_denied() {
    play("activity_denied");
}

#[test]
fn activity_mcp() {
    play("activity_mcp");
}

#[test]
fn advertised() {
    play("advertised");
}

#[test]
fn attachments() {
    play("attachments");
}

#[test]
fn attachments_sixteen() {
    play("attachments_sixteen");
}

#[cfg(feature = "auth")]
#[test]
fn auth_login() {
    play("auth_login");
}

#[cfg(feature = "auth")]
#[test]
fn auth_login_refused() {
    play("auth_login_refused");
}

#[cfg(feature = "auth")]
#[test]
fn auth_login_whole() {
    play("auth_login_whole");
}

#[cfg(feature = "auth")]
#[test]
fn auth_logout() {
    play("auth_logout");
}

#[cfg(feature = "auth")]
#[test]
fn auth_params() {
    play("auth_params");
}

#[cfg(feature = "auth")]
#[test]
fn auth_status() {
    play("auth_status");
}

#[test]
fn catalog() {
    play("catalog");
}

#[test]
fn catalog_asked() {
    play("catalog_asked");
}

#[test]
fn close() {
    play("close");
}

#[test]
fn compaction() {
    play("compaction");
}

#[test]
fn config() {
    play("config");
}

#[test]
fn config_broken() {
    play("config_broken");
}

#[cfg(feature = "auth")]
#[test]
fn config_environment() {
    play("config_environment");
}

#[test]
fn config_refused() {
    play("config_refused");
}

#[test]
fn config_scopes() {
    play("config_scopes");
}

#[test]
fn end_of_input() {
    play("end_of_input");
}

#[test]
fn framing() {
    play("framing");
}

#[test]
fn initialize() {
    play("initialize");
}

#[test]
fn replay_cursors() {
    play("replay_cursors");
}

#[test]
fn replay_gap() {
    play("replay_gap");
}

#[test]
fn replay_paging() {
    play("replay_paging");
}

#[test]
fn replay_resync() {
    play("replay_resync");
}

#[test]
fn session_create() {
    play("session_create");
}

#[test]
fn session_envelope() {
    play("session_envelope");
}

#[test]
fn session_list() {
    play("session_list");
}

#[test]
fn subagents() {
    play("subagents");
}

#[test]
fn turn() {
    play("turn");
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
fn turn_explicit() {
    play("turn_explicit");
}

#[test]
fn turn_failed() {
    play("turn_failed");
}

#[test]
fn turn_ids() {
    play("turn_ids");
}

#[test]
fn turn_killed() {
    play("turn_killed");
}

#[test]
fn turn_new_session() {
    play("turn_new_session");
}

#[test]
fn turn_params() {
    play("turn_params");
}

#[test]
fn turn_sixteen() {
    play("turn_sixteen");
}

#[test]
fn turn_text_bound() {
    play("turn_text_bound");
}

// The scenarios of synthetic streams that drive the client.

#[test]
fn client_accounts() {
    play("client_accounts");
}

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
fn client_catalog() {
    play("client_catalog");
}

#[test]
fn client_config() {
    play("client_config");
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
