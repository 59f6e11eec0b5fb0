//! `initialize`, `status`, `shutdown`, ends of a child (spec: "Implemented
//! operations", "Shared startup and effects"). Runs and sessions are tested elsewhere.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::client::{Agent, assert_clean, keys, launch, request_line};
use crate::support::Place;

/// The spec's list in its order, reduced to what this build links.
fn linked() -> Vec<&'static str> {
    let all = [
        ("initialize", cfg!(feature = "lifecycle")),
        ("status", cfg!(feature = "lifecycle")),
        ("shutdown", cfg!(feature = "lifecycle")),
        ("session.create", cfg!(feature = "session")),
        ("session.open", cfg!(feature = "session")),
        ("history.page", cfg!(feature = "history")),
        ("turn.start", cfg!(feature = "turn")),
        ("turn.cancel", cfg!(feature = "turn")),
        ("approval.answer", cfg!(feature = "approval")),
    ];
    all.into_iter()
        .filter(|(_, linked)| *linked)
        .map(|(name, _)| name)
        .collect()
}

fn require(names: &Value) -> Value {
    json!({"required_capabilities": names})
}

pub(crate) fn is_digest(value: &Value) -> bool {
    value.as_str().is_some_and(|text| {
        text.len() == 64
            && text
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
    })
}

#[test]
fn initialize_advertises_what_is_linked_in_the_spec_s_order() {
    let mut agent = Agent::start();
    let ready = agent.initialize();
    assert_eq!(keys(&ready), ["capabilities", "limits", "status"]);
    let advertised: Vec<_> = ready["capabilities"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    assert_eq!(advertised, linked());
    agent.end();
}

#[test]
fn what_is_not_advertised_is_not_served_nor_negotiable() {
    let everything = [
        "initialize",
        "status",
        "shutdown",
        "session.create",
        "session.open",
        "history.page",
        "turn.start",
        "turn.cancel",
        "approval.answer",
    ];
    let mut agent = Agent::start();
    for name in everything.iter().filter(|name| !linked().contains(*name)) {
        assert_eq!(
            agent.err("initialize", require(&json!([name]))),
            "unsupported_capability"
        );
        assert_eq!(agent.err(name, json!({})), "unsupported_method");
    }
    agent.ok("initialize", require(&json!(linked())));
    agent.end();
}

#[test]
fn initialize_publishes_the_limits() {
    let mut agent = Agent::start();
    let ready = agent.initialize();
    let expected = json!({
        "frame_bytes": 65536, "json_depth": 32, "id_bytes": 64, "prompt_bytes": 16384,
        "history_page_bytes": 32768, "history_page_entries": 100, "content_chunk_bytes": 16384,
        "pending_responses": 32, "requests_per_child": 4096, "output_deadline_ms": 2000
    });
    assert_eq!(ready["limits"], expected);
    agent.end();
}

#[test]
fn initialize_returns_the_ready_status() {
    let mut agent = Agent::start();
    let ready = agent.initialize();
    assert_eq!(
        keys(&ready["status"]),
        [
            "context_id",
            "model",
            "provider",
            "readiness",
            "run_id",
            "session_id",
            "state"
        ]
    );
    assert!(is_digest(&ready["status"]["context_id"]), "{ready}");
    let mut rest = ready["status"].clone();
    rest["context_id"] = Value::Null;
    assert_eq!(
        rest,
        json!({
            "state": "idle", "readiness": "ready", "provider": "fixture", "model": "fixture-model",
            "context_id": null, "session_id": null, "run_id": null
        })
    );
    assert_eq!(agent.ok("status", json!({})), ready["status"]);
    agent.end();
}

#[test]
fn initialize_params_are_exact() {
    let mut agent = Agent::start();
    let sixteen_known: Vec<_> = std::iter::repeat_n("status", 16).collect();
    let seventeen: Vec<_> = std::iter::repeat_n("status", 17).collect();
    let bad = [
        json!({}),
        json!({"required_capabilities": null}),
        json!({"required_capabilities": "status"}),
        json!({"required_capabilities": {}}),
        json!({"required_capabilities": [1]}),
        json!({"required_capabilities": [null]}),
        json!({"required_capabilities": ["status", ["shutdown"]]}),
        json!({"required_capabilities": [], "extra": 1}),
        json!({"required_capabilities": [""]}),
        json!({"required_capabilities": ["a b"]}),
        json!({"required_capabilities": ["x".repeat(65)]}),
        require(&json!(seventeen)),
    ];
    for params in bad {
        assert_eq!(
            agent.err("initialize", params.clone()),
            "invalid_params",
            "{params}"
        );
    }
    let sixteen: Vec<_> = (0..16).map(|n| format!("future.{n}")).collect();
    assert_eq!(
        agent.err("initialize", require(&json!(sixteen))),
        "unsupported_capability"
    );
    agent.ok("initialize", require(&json!(sixteen_known)));
    agent.end();
}

#[test]
fn unsupported_capability_has_no_side_effect_and_allows_another_try() {
    let mut agent = Agent::start();
    // Settings that startup would refuse: preflight must not even read them.
    agent
        .server
        .place
        .write_settings(&json!({"provider": "no-such-provider"}));
    let before = entries(&agent.server.place.mc_home());
    for names in [
        json!(["time.travel"]),
        json!(["status", "x".repeat(64)]),
        json!(["STATUS"]),
    ] {
        assert_eq!(
            agent.err("initialize", require(&names)),
            "unsupported_capability"
        );
    }
    assert_eq!(agent.err("status", json!({})), "not_initialized");
    assert_eq!(entries(&agent.server.place.mc_home()), before);
    std::fs::remove_dir_all(agent.server.place.mc_home()).unwrap();
    agent.initialize();
    agent.end();
}

fn entries(folder: &std::path::Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    names
}

#[test]
fn initialize_again_is_already_initialized() {
    let mut agent = Agent::start();
    agent.initialize();
    for required in [json!([]), json!(["no.such.capability"])] {
        assert_eq!(
            agent.err("initialize", require(&required)),
            "already_initialized"
        );
    }
    // Nor does it matter whether its params are any.
    for params in [
        json!({}),
        json!({"required_capabilities": null}),
        json!({"required_capabilities": ["not a name"]}),
        json!({"required_capabilities": [], "more": 1}),
        json!([]),
    ] {
        let code = agent.err("initialize", params.clone());
        assert_eq!(code, "already_initialized", "{params}");
    }
    assert_eq!(agent.ok("status", json!({}))["readiness"], "ready");
    agent.end();
}

#[test]
fn initialize_creates_the_runtime_directories() {
    let mut agent = Agent::start();
    assert!(!agent.server.place.mc_home().exists());
    agent.initialize();
    let home = agent.server.place.mc_home();
    assert_eq!(home.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let sessions = home.join("sessions");
    assert!(
        !sessions.exists() || entries(&sessions).is_empty(),
        "startup made a session"
    );
    agent.end();
}

#[test]
fn default_home_is_below_the_home_directory() {
    let place = Place::new();
    let mut agent = Agent::spawn(launch().place(&place).env("MC_HOME", ""));
    // An empty variable counts as unset or is refused; it never means the working directory.
    let frame = agent.call("initialize", require(&json!([])));
    assert!(entries(&place.work()).is_empty(), "{frame}");
    agent.end();
}

#[test]
fn broken_settings_fail_startup_with_configuration_invalid() {
    let place = Place::new();
    place.write_settings(&json!({}));
    for text in ["{", "[]", "{\"provider\": 1}"] {
        std::fs::write(place.mc_home().join("settings.json"), text).unwrap();
        let mut agent = Agent::spawn(launch().place(&place));
        assert_eq!(
            agent.err("initialize", require(&json!([]))),
            "configuration_invalid",
            "{text}"
        );
        agent.end();
    }
}

#[test]
fn failed_startup_needs_a_restart() {
    let place = Place::new();
    place.write_settings(&json!({"provider": "no-such-provider"}));
    let mut agent = Agent::spawn(launch().place(&place));
    assert_eq!(
        agent.err("initialize", require(&json!([]))),
        "provider_unavailable"
    );
    let status = agent.ok("status", json!({}));
    assert_eq!(status["state"], "failed");
    assert_eq!(status["readiness"], "provider_unavailable");
    assert!(status["session_id"].is_null() && status["run_id"].is_null());
    assert_eq!(
        agent.err("initialize", require(&json!([]))),
        "already_initialized"
    );
    if cfg!(feature = "session") {
        assert_eq!(
            agent.err("session.create", json!({})),
            "provider_unavailable"
        );
    }
    agent.ok("shutdown", json!({}));
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn status_needs_an_admitted_initialization() {
    let mut agent = Agent::start();
    assert_eq!(agent.err("status", json!({})), "not_initialized");
    agent.initialize();
    agent.ok("status", json!({}));
    agent.end();
}

#[test]
fn status_while_initialization_is_pending_is_starting() {
    let mut agent = Agent::start();
    let first = agent.fresh_id();
    let second = agent.fresh_id();
    agent.server.send(
        request_line(&first, "initialize", &require(&json!([])))
            + &request_line(&second, "status", &json!({})),
    );
    // Either order is allowed; the status must fit the moment it was taken.
    let status = agent.answer(&second)["result"].clone();
    if status["state"] == "starting" {
        assert_eq!(status["readiness"], "initializing");
        for key in ["provider", "model", "context_id", "session_id", "run_id"] {
            assert!(status[key].is_null(), "{status}");
        }
    } else {
        assert_eq!(
            (&status["state"], &status["readiness"]),
            (&json!("idle"), &json!("ready"))
        );
    }
    assert!(agent.answer(&first)["result"].is_object());
    agent.end();
}

#[test]
fn settings_are_one_snapshot_per_child() {
    let place = Place::new();
    place.write_settings(&json!({}));
    let mut agent = Agent::ready(&place);
    let before = agent.ok("status", json!({}));
    place.write_settings(&json!({"provider": "no-such-provider", "model": "other"}));
    assert_eq!(agent.ok("status", json!({})), before);
    agent.end();
}

#[test]
fn shutdown_is_allowed_before_initialization() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.ok("shutdown", json!({})),
        json!({"state": "stopping"})
    );
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
    assert!(!agent.server.place.mc_home().exists());
}

#[test]
fn shutdown_ends_a_ready_child_though_stdin_stays_open() {
    let mut agent = Agent::start();
    agent.initialize();
    assert_eq!(
        agent.ok("shutdown", json!({})),
        json!({"state": "stopping"})
    );
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn nothing_is_admitted_after_shutdown() {
    let mut agent = Agent::start();
    let lines = ["shutdown", "status", "initialize"].map(|method| {
        let params = if method == "initialize" {
            require(&json!([]))
        } else {
            json!({})
        };
        request_line(&format!("id.{method}"), method, &params)
    });
    agent.server.send(lines.concat() + "\n{\n");
    assert_eq!(agent.frame()["id"], "id.shutdown");
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
    assert!(!agent.server.place.mc_home().exists());
}

#[test]
fn shutdown_with_params_is_refused_and_stops_nothing() {
    let mut agent = Agent::start();
    assert_eq!(
        agent.err("shutdown", json!({"force": true})),
        "invalid_params"
    );
    agent.initialize();
    agent.end();
}

#[test]
fn shutdown_resolves_a_pending_startup() {
    let mut agent = Agent::start();
    let (start, stop) = (agent.fresh_id(), agent.fresh_id());
    agent.server.send(
        request_line(&start, "initialize", &require(&json!([])))
            + &request_line(&stop, "shutdown", &json!({})),
    );
    let started = agent.answer(&start);
    let outcome = started["error"]["code"].as_str().unwrap_or("ready");
    assert!(
        outcome == "ready" || outcome == "startup_cancelled",
        "{started}"
    );
    assert_eq!(agent.answer(&stop)["result"], json!({"state": "stopping"}));
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn eof_ends_a_ready_child_with_0() {
    let mut agent = Agent::start();
    agent.initialize();
    agent.server.close_stdin();
    assert_eq!(agent.rest(), Vec::<Value>::new());
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn requests_before_eof_are_answered() {
    let mut agent = Agent::start();
    agent.initialize();
    let lines: String = (0..20)
        .map(|n| request_line(&format!("e{n}"), "status", &json!({})))
        .collect();
    agent.server.send(lines);
    agent.server.close_stdin();
    let answers = agent.rest();
    assert_eq!(answers.len(), 20);
    assert!(
        answers
            .iter()
            .all(|frame| frame["result"]["readiness"] == "ready")
    );
    assert_clean(&agent.server.wait_exit());
}

#[test]
fn termination_signals_act_like_eof() {
    for signal in [Signal::TERM, Signal::INT] {
        for initialized in [false, true] {
            let mut agent = Agent::start();
            if initialized {
                agent.initialize();
            } else {
                // An answer proves that the child is past its start.
                agent.err("status", json!({}));
            }
            agent.server.signal(signal);
            assert_eq!(agent.rest(), Vec::<Value>::new());
            assert_clean(&agent.server.wait_exit());
        }
    }
}

#[test]
fn instance_id_is_fresh_in_every_child() {
    let ids: Vec<String> = (0..3)
        .map(|_| {
            let mut agent = Agent::start();
            agent.err("status", json!({}));
            // The client checks that it stays the same in all later frames.
            agent.initialize();
            let id = agent.instance_id().to_owned();
            agent.end();
            id
        })
        .collect();
    assert!(
        ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2],
        "{ids:?}"
    );
}

#[test]
fn seq_counts_every_frame_from_1() {
    let mut agent = Agent::start();
    for expected in 1..=20u64 {
        let text = if expected % 2 == 0 {
            "\n".to_owned()
        } else {
            request_line(&format!("s{expected}"), "status", &json!({}))
        };
        agent.server.send(text);
        assert_eq!(agent.frame()["seq"], expected);
    }
    agent.end();
}
