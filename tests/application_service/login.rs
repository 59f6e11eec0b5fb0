//! The login of `openai-codex` over the wire (spec: "Codex login"), with an issuer on the loopback.

use std::fs;
use std::sync::Arc;
use std::thread::spawn;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::auth::{CODEX, store, stored, tokens};
use crate::client::{Service, code, keys, launch, request};
use crate::issuer::{Issuer, Play, forged, visit};
use crate::support::{Place, wait_for};

const FUTURE: &str = "2100-01-01T00:00:00Z";

pub(crate) fn at(issuer: &Issuer) -> Arc<Place> {
    Place::with_settings(&json!({"providers": {CODEX: {"issuer_url": issuer.url()}}}))
}

/// A login under way.
pub(crate) struct Login {
    pub(crate) request: String,
    pub(crate) id: String,
    pub(crate) page: String,
}

/// Starts a login and takes its first two events.
pub(crate) fn begin(service: &mut Service) -> Login {
    let request_id = service.fresh_id();
    let started = service.exchange(&request(
        &request_id,
        "auth.login.start",
        &json!({"provider_id": CODEX}),
    ));
    assert_eq!(started["error"], Value::Null, "{started}");
    let payload = &started["payload"];
    assert_eq!(keys(payload), ["login_id", "provider_id", "status"]);
    assert_eq!(
        (&payload["provider_id"], &payload["status"]),
        (&json!(CODEX), &json!("started"))
    );
    let mut login = Login {
        request: request_id,
        id: payload["login_id"].as_str().unwrap().to_owned(),
        page: String::new(),
    };
    assert!((1..=128).contains(&login.id.len()));
    let event = login.event(service, "auth.login.progress");
    assert_eq!(
        keys(&event),
        ["login_id", "open_browser", "provider_id", "state", "url"]
    );
    assert_eq!(
        (&event["state"], &event["open_browser"]),
        (&json!("authorization_url"), &json!(true))
    );
    login.page = event["url"].as_str().unwrap().to_owned();
    login.progress(service, "waiting");
    login
}

impl Login {
    /// The payload of the next event, which is one of this login.
    fn event(&self, service: &mut Service, name: &str) -> Value {
        let event = service.event();
        assert_eq!(
            (&event["event"], &event["request_id"]),
            (&json!(name), &json!(self.request)),
            "{event}"
        );
        assert_eq!(event["session_id"], Value::Null);
        assert_eq!(event["payload"]["login_id"], json!(self.id));
        event["payload"].clone()
    }

    pub(crate) fn progress(&self, service: &mut Service, state: &str) {
        let event = self.event(service, "auth.login.progress");
        assert_eq!(keys(&event), ["login_id", "provider_id", "state"]);
        assert_eq!(
            (&event["provider_id"], &event["state"]),
            (&json!(CODEX), &json!(state))
        );
    }

    pub(crate) fn terminal(&self, service: &mut Service) -> String {
        let event = self.event(service, "auth.login.terminal");
        assert_eq!(keys(&event), ["cleanup_complete", "login_id", "state"]);
        assert_eq!(event["cleanup_complete"], true);
        event["state"].as_str().unwrap().to_owned()
    }

    pub(crate) fn submit(&self, service: &mut Service, input: &str) {
        let payload = json!({"login_id": self.id, "input": input});
        let told = service.ok("auth.login.callback", &payload);
        assert_eq!(told, json!({"status": "submitted"}));
    }

    fn cancel(&self, service: &mut Service) {
        let told = service.ok("auth.login.cancel", &json!({"login_id": self.id}));
        assert_eq!(told, json!({"status": "cancellation_requested"}));
    }

    /// Nothing of it is known any more, and its request id is free.
    fn is_over(&self, service: &mut Service) {
        let of = json!({"login_id": self.id});
        assert_eq!(service.code("auth.login.cancel", &of), "unknown_login");
        let late = json!({"login_id": self.id, "input": "x"});
        assert_eq!(service.code("auth.login.callback", &late), "unknown_login");
        let again = service.exchange(&request(&self.request, "status", &json!({})));
        assert_eq!(again["error"], Value::Null, "{again}");
    }
}

#[test]
fn a_browser_that_comes_back_logs_in() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    let login = begin(&mut service);
    let back = issuer.agree(&login.page);
    let (status, _) = visit(&forged(&back));
    assert_eq!(status, 400);
    // Whoever sent that has done no harm, and the service goes on meanwhile.
    service.ok("status", &json!({}));
    let browser = spawn(move || visit(&back));
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "exchange_succeeded");
    let (status, page) = browser.join().unwrap();
    assert!(status == 200 && !page.contains("canary"), "{page}");
    login.is_over(&mut service);
    let record = stored(&place)["providers"][CODEX].clone();
    assert_eq!(record["oauth"]["access_token"], "canary-access-2");
    assert_eq!(
        (&record["generation"], &record["oauth"]["account_id"]),
        (&json!(1), &json!("canary-account-2"))
    );
    let told = service.ok("auth.status", &json!({}));
    assert_eq!(told["providers"][0]["readiness"], "ready");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn what_a_person_submits_logs_in_and_is_accepted_once() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    for code_alone in [false, true] {
        issuer.plays([Play::Grant(Duration::from_millis(300))]);
        let login = begin(&mut service);
        let mut back = issuer.agree(&login.page);
        if code_alone {
            back = back.split(['=', '&']).nth(1).unwrap().to_owned();
        }
        login.submit(&mut service, &back);
        let again = json!({"login_id": login.id, "input": back});
        assert_eq!(service.code("auth.login.callback", &again), "auth_busy");
        login.progress(&mut service, "callback_received");
        login.progress(&mut service, "callback_accepted");
        assert_eq!(login.terminal(&mut service), "exchange_succeeded");
        login.is_over(&mut service);
    }
    assert_eq!(stored(&place)["providers"][CODEX]["generation"], 2);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn a_submission_behind_a_browser_is_busy() {
    let issuer = Issuer::start();
    issuer.plays([Play::Grant(Duration::from_millis(500))]);
    let mut service = Service::ready_in(&at(&issuer));
    let login = begin(&mut service);
    let back = issuer.agree(&login.page);
    let browser = spawn(move || visit(&back));
    login.progress(&mut service, "callback_received");
    let late = json!({"login_id": login.id, "input": "x"});
    assert_eq!(service.code("auth.login.callback", &late), "auth_busy");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "exchange_succeeded");
    assert_eq!(browser.join().unwrap().0, 200);
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn one_login_at_a_time_and_its_request_id_is_its_own() {
    let issuer = Issuer::start();
    let mut service = Service::ready_in(&at(&issuer));
    let login = begin(&mut service);
    let start = json!({"provider_id": CODEX});
    assert_eq!(service.code("auth.login.start", &start), "auth_busy");
    assert_eq!(
        service.code("auth.login.start", &json!({"provider_id": "anthropic"})),
        "provider_unavailable"
    );
    let again = service.exchange(&request(&login.request, "status", &json!({})));
    assert_eq!(code(&again), "duplicate_request_id");
    let other = json!({"login_id": "another"});
    assert_eq!(service.code("auth.login.cancel", &other), "unknown_login");
    login.cancel(&mut service);
    assert_eq!(login.terminal(&mut service), "cancelled");
    login.is_over(&mut service);
    // The next one has an id of its own.
    let next = begin(&mut service);
    assert_ne!(next.id, login.id);
    assert_ne!(next.page, login.page);
    let late = json!({"login_id": login.id, "input": "x"});
    assert_eq!(service.code("auth.login.callback", &late), "unknown_login");
    next.cancel(&mut service);
    assert_eq!(next.terminal(&mut service), "cancelled");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn a_callback_that_is_refused_ends_the_login() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    let first = begin(&mut service);
    let denied = issuer.deny(&first.page);
    let foreign = issuer.agree(&first.page);
    let foreign = forged(&foreign);
    first.cancel(&mut service);
    assert_eq!(first.terminal(&mut service), "cancelled");
    for input in ["two words", &denied, &foreign] {
        let login = begin(&mut service);
        login.submit(&mut service, input);
        login.progress(&mut service, "callback_received");
        assert_eq!(login.terminal(&mut service), "callback_failed", "{input}");
        login.is_over(&mut service);
    }
    // A browser that comes back with a refusal of this very login.
    let login = begin(&mut service);
    let back = issuer.deny(&login.page);
    let browser = spawn(move || visit(&back));
    login.progress(&mut service, "callback_received");
    assert_eq!(login.terminal(&mut service), "callback_failed");
    assert_eq!(browser.join().unwrap().0, 400);
    assert!(issuer.forms().is_empty());
    assert!(!place.mc_home().join("auth.json").exists());
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn an_exchange_that_fails_has_a_fixed_label() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    for play in [
        Play::Say(500, "<html>canary</html>".into()),
        Play::Say(
            400,
            json!({"error": "invalid_grant", "error_description": "canary"}).to_string(),
        ),
        Play::Say(200, "canary".into()),
        Play::Leave,
    ] {
        issuer.plays([play.clone()]);
        let login = begin(&mut service);
        let back = issuer.agree(&login.page);
        login.submit(&mut service, &back);
        login.progress(&mut service, "callback_received");
        login.progress(&mut service, "callback_accepted");
        assert_eq!(login.terminal(&mut service), "exchange_failed", "{play:?}");
        login.is_over(&mut service);
    }
    assert!(!place.mc_home().join("auth.json").exists());
    let exit = service.finish();
    assert_eq!((exit.code, exit.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_was_stored_meanwhile_is_kept() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    // Another process logs in.
    let login = begin(&mut service);
    let other = json!({"providers": {CODEX: tokens(FUTURE, json!("canary-refresh-0"))}});
    store(&place, &other);
    let back = issuer.agree(&login.page);
    login.submit(&mut service, &back);
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "auth_changed");
    assert_eq!(stored(&place), other);
    // Another process logs out.
    let mut second = Service::ready_in(&place);
    let login = begin(&mut service);
    let logout = json!({"provider_id": CODEX, "confirmed": true});
    assert_eq!(second.ok("auth.logout", &logout)["removed"], true);
    let back = issuer.agree(&login.page);
    login.submit(&mut service, &back);
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "auth_changed");
    assert_eq!(stored(&place)["providers"][CODEX], json!({"generation": 4}));
    assert_eq!(second.finish().code, Some(0));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn logout_cancels_a_login_wherever_it_is() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    let logout = json!({"provider_id": CODEX, "confirmed": true});
    // One of another provider does not.
    let login = begin(&mut service);
    service.ok(
        "auth.logout",
        &json!({"provider_id": "anthropic", "confirmed": true}),
    );
    assert_eq!(
        service.code("auth.login.start", &json!({"provider_id": CODEX})),
        "auth_busy"
    );
    assert_eq!(service.ok("auth.logout", &logout)["removed"], false);
    assert_eq!(login.terminal(&mut service), "cancelled");
    login.is_over(&mut service);
    // While tokens are asked for: those that come are not stored.
    issuer.plays([Play::Grant(Duration::from_millis(500))]);
    let login = begin(&mut service);
    let back = issuer.agree(&login.page);
    login.submit(&mut service, &back);
    wait_for("the exchange", || issuer.forms().len() == 1);
    assert_eq!(service.ok("auth.logout", &logout)["removed"], false);
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "cancelled");
    assert_eq!(stored(&place)["providers"][CODEX], json!({"generation": 2}));
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn what_cannot_be_stored_has_a_label() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::ready_in(&place);
    let login = begin(&mut service);
    fs::create_dir(place.mc_home().join("auth.lock")).unwrap();
    let back = issuer.agree(&login.page);
    login.submit(&mut service, &back);
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "storage_failed");
    assert!(issuer.forms().is_empty());
    let logout = json!({"provider_id": CODEX, "confirmed": true});
    assert_eq!(service.code("auth.logout", &logout), "internal_error");
    assert_eq!(service.finish().code, Some(0));
}

#[test]
fn the_end_of_input_cancels_a_login_and_tells_its_end() {
    for hangs in [false, true] {
        let issuer = Issuer::start();
        issuer.plays([Play::Hang]);
        let place = at(&issuer);
        let mut service = Service::ready_in(&place);
        let login = begin(&mut service);
        if hangs {
            let back = issuer.agree(&login.page);
            login.submit(&mut service, &back);
            login.progress(&mut service, "callback_received");
            login.progress(&mut service, "callback_accepted");
            wait_for("the exchange", || issuer.forms().len() == 1);
        }
        let began = Instant::now();
        service.server.close_stdin();
        assert_eq!(login.terminal(&mut service), "cancelled");
        assert!(service.server.rest().is_empty());
        assert_eq!(service.server.wait_exit().code, Some(0));
        // An issuer has thirty seconds otherwise.
        assert!(began.elapsed() < Duration::from_secs(9));
        assert!(!place.mc_home().join("auth.json").exists());
    }
}

#[test]
fn where_the_known_ports_are_taken_any_other_serves() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::spawn(launch().place(&place));
    service.initialize();
    // Both known ports are taken: any other serves.
    let taken: Vec<_> = [1455, 1457]
        .iter()
        .filter_map(|port| std::net::TcpListener::bind(("127.0.0.1", *port)).ok())
        .collect();
    let login = begin(&mut service);
    let back = issuer.agree(&login.page);
    assert!(
        !back.contains(":1455/") && !back.contains(":1457/"),
        "{back}"
    );
    let browser = spawn(move || visit(&back));
    login.progress(&mut service, "callback_received");
    login.progress(&mut service, "callback_accepted");
    assert_eq!(login.terminal(&mut service), "exchange_succeeded");
    assert_eq!(browser.join().unwrap().0, 200);
    drop(taken);
    assert_eq!(service.finish().code, Some(0));
}

/// Everything that a process wrote below its home, but for the credentials themselves.
fn written(place: &Place) -> String {
    let mut texts = String::new();
    let mut left = vec![place.home(), place.work()];
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(
                fs::read_dir(path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if path.file_name().unwrap() != "auth.json" {
            texts += &String::from_utf8_lossy(&fs::read(path).unwrap());
        }
    }
    texts
}

#[test]
fn nothing_secret_of_a_login_is_told_or_logged() {
    let issuer = Issuer::start();
    let place = at(&issuer);
    let mut service = Service::spawn(launch().place(&place).env("MC_LOG", "trace"));
    service.initialize();
    let mut told = String::new();
    let mut hidden = Vec::new();
    let echo = |what: &str| {
        let words = json!({"error": "canary-error", "error_description": what, "access": what});
        Play::Say(400, words.to_string())
    };
    for round in 0..6 {
        let login = begin(&mut service);
        let value = |of: &str, name: &str| {
            let (_, rest) = of.split_once(&format!("{name}=")).unwrap();
            rest.split('&').next().unwrap().to_owned()
        };
        let back = match round {
            1 => issuer.deny(&login.page),
            2 => forged(&issuer.agree(&login.page)),
            _ => issuer.agree(&login.page),
        };
        hidden.push(value(&login.page, "state"));
        hidden.push(value(&login.page, "code_challenge"));
        if round >= 3 {
            hidden.push(value(&back, "code"));
        }
        if round == 4 {
            // What was sent comes back.
            issuer.plays([echo(&value(&back, "code"))]);
        }
        let browser = match round {
            5 => {
                let back = back.clone();
                Some(spawn(move || visit(&back)))
            }
            _ => {
                login.submit(&mut service, &back);
                None
            }
        };
        loop {
            let event = service.event();
            told += &event.to_string();
            if event["event"] == "auth.login.terminal" {
                break;
            }
        }
        if let Some(browser) = browser {
            told += &browser.join().unwrap().1;
        }
        told += &service.ok("auth.status", &json!({})).to_string();
    }
    let payload = json!({"provider_id": CODEX, "confirmed": true});
    told += &service.ok("auth.logout", &payload).to_string();
    let exit = service.finish();
    assert_eq!(exit.code, Some(0));
    told += &exit.stderr;
    for form in issuer.forms() {
        let (_, verifier) = form.split_once("code_verifier=").unwrap();
        hidden.push(verifier.split('&').next().unwrap().to_owned());
    }
    let logged = written(&place);
    assert!(logged.contains("a login is stored") && logged.contains("a login stored nothing"));
    hidden.extend(
        [
            "canary-access",
            "canary-refresh",
            "canary-account",
            "canary-code",
            "canary-denial",
        ]
        .map(str::to_owned),
    );
    for secret in &hidden {
        assert!(!told.contains(secret.as_str()), "{secret} is told");
        let at = logged.find(secret.as_str());
        let around = at.map(|at| {
            logged[at.saturating_sub(200)..]
                .chars()
                .take(400)
                .collect::<String>()
        });
        assert_eq!(around, None, "{secret} is logged");
    }
}
