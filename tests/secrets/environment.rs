//! Secrets of the environment and of the settings: as values in a reply, in refused requests, in settings that do not load.

use super::*;

#[test]
fn in_the_environment() {
    // As a value alone, in words that say nothing of it.
    for group in all().chunks(TURNS) {
        let turns: Vec<Value> = group
            .iter()
            .flat_map(|canary| {
                let text = format!("It says {} there.", canary.secret);
                [1, 2, 500].map(|chunks| json!({"steps": [{"text": text, "chunks": chunks}]}))
            })
            .collect();
        let place = Place::with_script(&json!({ "turns": turns }));
        let launch =
            group
                .iter()
                .enumerate()
                .fold(launch().place(&place), |launch, (n, canary)| {
                    let kind = ["TOKEN", "API_KEY", "PASSWORD", "SECRET"][n % 4];
                    launch.env(&format!("SERVICE_{n}_{kind}"), canary.secret.clone())
                });
        let mut agent = Agent::spawn(launch);
        agent.initialize();
        let mut child = LocalAgent::of(agent);
        for canary in group {
            for _ in 0..3 {
                let shown = child.turn("go");
                assert_eq!(shown.leak(canary), None);
                assert!(
                    shown.holds("It says ") && shown.holds(" there."),
                    "{shown:?}"
                );
            }
        }
        let kept = child.kept();
        for canary in group {
            assert_eq!(kept.leak(canary), None);
        }
        child.end();
    }
}

/// application-service reads the selection anew for each turn, and what that names is a secret from then on.
#[cfg(feature = "application-service")]
#[test]
fn in_a_variable_that_settings_name_after_launch() {
    const VALUE: &str = "five quiet words of prose";
    let place = Place::with_script(&json!({"turns": [
        {"steps": [{"text": format!("It says {VALUE} there.")}]},
        {"steps": [
            {"tool": "read", "input": {"path": format!("{VALUE}.txt")}},
            {"tool": "glob", "input": {"pattern": "*"}},
            {"text": format!("It says {VALUE} there."), "chunks": 7},
        ]},
    ]}));
    place.write_file(&format!("{VALUE}.txt"), "content");
    let launch = service_client::launch().place(&place);
    let mut child = clients::Service::of(launch.env("GATEWAY_LOGIN", VALUE));
    assert!(child.turn("go").holds(VALUE), "nothing tells it yet");
    let mut settings: Value =
        serde_json::from_slice(&std::fs::read(place.mc_home().join("settings.json")).unwrap())
            .unwrap();
    settings["providers"]["gateway"] = json!({
        "api": "openai-chat", "base_url": "http://127.0.0.1:9", "api_key_env": "GATEWAY_LOGIN",
    });
    place.write_settings(&settings);
    let shown = child.turn("go on");
    assert!(!shown.holds("quiet words"), "{shown:?}");
    assert!(shown.holds("[redacted] there."), "{shown:?}");
    // Of the turn before as well.
    let kept = child.kept();
    assert!(!kept.holds("quiet words"), "{kept:?}");
    child.end();
}

#[test]
fn in_requests_that_are_refused() {
    let mut agent = Agent::start();
    let canaries = all();
    for canary in &canaries {
        let line = canary.line();
        let unknown = json!({"protocol": client::PROTOCOL, "version": 1, "id": agent.fresh_id(),
            "method": "status", "params": {line.clone(): line}});
        agent.server.send_json(&unknown);
        let frame = agent.frame();
        assert!(frame["error"].is_object(), "{frame}");
        assert_eq!(Shown::of_value(&frame).leak(canary), None);
        // As an identity and as bytes that are no request at all.
        let mut other = unknown.clone();
        other["id"] = json!(line);
        agent.server.send_json(&other);
        assert_eq!(Shown::of_value(&agent.frame()).leak(canary), None);
        agent.server.send(format!("{}\n", line.replace('\n', " ")));
        assert_eq!(Shown::of_value(&agent.frame()).leak(canary), None);
    }
    agent.end();
}

#[test]
fn in_settings_that_do_not_load() {
    for canary in all().iter().step_by(3) {
        for settings in [
            json!({"provider": canary.line()}),
            json!({"model": canary.line()}),
            json!({"providers": {canary.line(): {"api": "fixture"}}, "provider": "none"}),
            json!({"thinking_level": canary.line()}),
            json!({"providers": {"fixture": {"script": canary.line()}}}),
            json!({"permissions": {"read": canary.line()}}),
        ] {
            let place = Place::with_settings(&settings);
            let mut agent = Agent::spawn(launch().place(&place));
            let frame = agent.call("initialize", json!({"required_capabilities": []}));
            let status = agent.call("status", json!({}));
            for shown in [&frame, &status] {
                assert_eq!(Shown::of_value(shown).leak(canary), None, "{settings}");
            }
            agent.end();
        }
    }
}
