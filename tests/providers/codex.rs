//! `openai-codex` with a stored login: what its servers are sent, and how the login lasts over processes and refreshes
//! (decisions, "Wires" and "Accounts"). The issuer and the model are servers of these tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use rustix::process::Signal;

use super::*;

const CODEX: &str = "openai-codex";
const ENDED: &str = "2020-01-01T00:00:00+00:00";
const LASTS: &str = "2100-01-01T00:00:00Z";

fn settings(model: &Model, issuer: &Model) -> Value {
    json!({
        "provider": CODEX,
        "model": "gpt-5-codex",
        "providers": {CODEX: {
            "base_url": format!("{}/backend-api/codex", model.base()), "issuer_url": issuer.base(),
        }},
    })
}

fn store(place: &Place, expires_at: &str, refresh: Value) {
    let stored = json!({"version": 1, "providers": {
        CODEX: {"generation": 1, "oauth": {
            "access_token": "canary-access-1", "refresh_token": refresh, "id_token": "canary-id-1",
            "account_id": "canary-account", "expires_at": expires_at,
        }},
        "anthropic": {"generation": 1, "api_key": "canary-anthropic"},
    }});
    fs::create_dir_all(place.mc_home()).unwrap();
    fs::write(place.mc_home().join("auth.json"), stored.to_string()).unwrap();
}

fn stored(place: &Place) -> Value {
    let bytes = fs::read(place.mc_home().join("auth.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

/// A login that the issuer renews.
fn granted() -> Answer {
    let tokens = json!({"access_token": "canary-access-2", "refresh_token": "canary-refresh-2", "expires_in": 3600});
    Answer::raw("application/json", tokens.to_string())
}

fn said(text: &str) -> Answer {
    let [_, last] = openai_responses(text);
    Answer::events(&last)
}

fn answered(agent: &mut Agent, text: &str) {
    let session = agent.create();
    let run = agent.turn(&session, "Go on.");
    assert_eq!(
        (run.outcome(), run.reconciled()),
        ("completed", vec![text.to_owned()]),
        "{run:?}"
    );
    assert!(!format!("{run:?}").contains("canary"));
}

#[test]
fn a_login_is_used_refreshed_and_kept() {
    let model = Model::answering(vec![said("One."), said("Two.")]);
    let issuer = Model::answering(vec![granted()]);
    let place = Place::with_settings(&settings(&model, &issuer));
    store(&place, ENDED, json!("canary-refresh-1"));
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    issuer.saw_nothing_more();
    answered(&mut agent, "One.");
    answered(&mut agent, "Two.");
    agent.end();
    let asked = issuer.asked();
    assert_eq!(asked.line, "POST /oauth/token");
    let form = asked.body.as_str().unwrap();
    assert!(
        form.contains("grant_type=refresh_token&")
            && form.contains("refresh_token=canary-refresh-1")
    );
    for _ in 0..2 {
        let asked = model.asked();
        assert_eq!(asked.line, "POST /backend-api/codex/responses");
        assert_eq!(
            asked.header("authorization"),
            Some("Bearer canary-access-2")
        );
        assert_eq!(asked.header("chatgpt-account-id"), Some("canary-account"));
        assert!(asked.header("originator").is_some() && asked.header("session_id").is_some());
        assert_eq!(
            (&asked.body["store"], &asked.body["stream"]),
            (&json!(false), &json!(true))
        );
        assert!(asked.body["instructions"].is_string());
    }
    let stored = stored(&place);
    assert_eq!(stored["providers"][CODEX]["generation"], 2);
    assert_eq!(
        stored["providers"][CODEX]["oauth"]["refresh_token"],
        "canary-refresh-2"
    );
    assert_eq!(
        stored["providers"]["anthropic"]["api_key"],
        "canary-anthropic"
    );
    let mode = fs::metadata(place.mc_home().join("auth.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o600);
}

#[test]
fn two_processes_redeem_a_refresh_token_once() {
    let model = Model::answering(vec![said("One."), said("One.")]);
    let issuer = Model::answering(vec![granted(), granted()]);
    let place = Place::with_settings(&settings(&model, &issuer));
    store(&place, ENDED, json!("canary-refresh-1"));
    let turns = [0, 1].map(|_| {
        let place = Arc::clone(&place);
        std::thread::spawn(move || {
            let mut agent = Agent::spawn(launch().place(&place));
            agent.initialize();
            answered(&mut agent, "One.");
            agent.end();
        })
    });
    for turn in turns {
        turn.join().unwrap();
    }
    issuer.asked();
    issuer.saw_nothing_more();
    for _ in 0..2 {
        assert_eq!(
            model.asked().header("authorization"),
            Some("Bearer canary-access-2")
        );
    }
}

#[test]
fn a_token_that_the_servers_refuse_is_replaced_and_the_request_repeated() {
    let refusal = Answer::refusal(401, r#"{"detail":"token canary-access-1 expired"}"#);
    let model = Model::answering(vec![refusal, said("One.")]);
    let issuer = Model::answering(vec![granted()]);
    let place = Place::with_settings(&settings(&model, &issuer));
    store(&place, LASTS, json!("canary-refresh-1"));
    let mut agent = Agent::spawn(launch().place(&place));
    agent.initialize();
    answered(&mut agent, "One.");
    agent.end();
    let (first, second) = (model.asked(), model.asked());
    assert_eq!(
        first.header("authorization"),
        Some("Bearer canary-access-1")
    );
    assert_eq!(
        second.header("authorization"),
        Some("Bearer canary-access-2")
    );
    assert_eq!(first.body, second.body);
}

#[test]
fn a_login_that_has_ended_is_told_at_the_start() {
    let model = Model::answering(vec![]);
    let mut answers = vec![Answer::refusal(503, "{}"); 4];
    answers.push(Answer::refusal(400, r#"{"error":"invalid_grant"}"#));
    let issuer = Model::answering(answers);
    let place = Place::with_settings(&settings(&model, &issuer));
    store(&place, ENDED, json!("canary-refresh-1"));
    // The first refusal passes, which is tried four times; the second one stays.
    for attempts in [4, 1] {
        let mut agent = Agent::spawn(launch().place(&place));
        agent.initialize();
        let session = agent.create();
        let run = agent.turn(&session, "Go on.");
        assert_eq!(run.outcome(), "failed");
        assert_eq!(run.end()["error_code"], "provider_unavailable");
        assert!(!format!("{run:?}").contains("canary"));
        agent.end();
        for _ in 0..attempts {
            issuer.asked();
        }
    }
    let refused = |place: &Arc<Place>| {
        let mut agent = Agent::spawn(launch().place(place));
        let refused = agent.err("initialize", json!({"required_capabilities": []}));
        assert_eq!(refused, "provider_unavailable");
        agent.ok("shutdown", json!({}));
        assert_clean(&agent.server.wait_exit());
    };
    refused(&place);
    issuer.saw_nothing_more();
    // Ended without a refresh token, and none at all.
    store(&place, ENDED, json!(null));
    refused(&place);
    fs::remove_file(place.mc_home().join("auth.json")).unwrap();
    refused(&place);
}

#[test]
fn tokens_that_were_asked_for_are_stored_however_the_process_ends() {
    type End = fn(&mut support::Server);
    let ends: [End; 2] = [support::Server::close_stdin, |server| {
        server.signal(Signal::TERM)
    }];
    for end in ends {
        for is_service in [false, true] {
            let model = Model::answering(vec![]);
            let late = Duration::from_millis(600);
            let issuer = Model::answering(vec![Answer { late, ..granted() }]);
            let place = Place::with_settings(&settings(&model, &issuer));
            store(&place, ENDED, json!("canary-refresh-1"));
            let mut server = if is_service {
                let mut service = service::Service::ready_in(&place);
                service.ok("turn.start", &json!({"prompt": "Go on."}));
                service.server
            } else {
                let mut agent = Agent::spawn(launch().place(&place));
                agent.initialize();
                let session = agent.create();
                agent.begin(&session, "Go on.");
                agent.server
            };
            issuer.asked();
            end(&mut server);
            server.wait_exit();
            let record = &stored(&place)["providers"][CODEX]["oauth"];
            assert_eq!(record["refresh_token"], "canary-refresh-2");
        }
    }
}

#[test]
fn why_an_issuer_gave_no_tokens_is_told_and_logged() {
    let model = Model::answering(vec![]);
    let refusal =
        r#"{"error":"invalid_request","error_description":"zz-reason of canary-refresh-1"}"#;
    let issuer = Model::answering(vec![Answer::refusal(400, refusal)]);
    let place = Place::with_settings(&settings(&model, &issuer));
    store(&place, ENDED, json!("canary-refresh-1"));
    let mut agent = Agent::spawn(launch().place(&place).env("MC_LOG", "info"));
    agent.initialize();
    let session = agent.create();
    let run = agent.turn(&session, "Go on.");
    agent.end();
    let told = run.named("diagnostic")[0]["summary"]
        .as_str()
        .unwrap()
        .to_owned();
    let words = "(HTTP 400): invalid_request: zz-reason of [redacted]";
    assert!(told.ends_with(words), "{told}");
    let logs = fs::read_dir(place.mc_home().join("logs")).unwrap();
    let log: String = logs
        .map(|file| fs::read_to_string(file.unwrap().path()).unwrap())
        .collect();
    let refresh = |line: &&str| line.contains(r#""span":"refresh""#) && line.contains("zz-reason");
    assert!(log.lines().any(|line| refresh(&line)), "{log}");
    assert!(!log.contains("canary"), "{log}");
}
