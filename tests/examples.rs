//! Every registered example, run against the built binary. A method without one is a failure too.
//! `<name>` in an example is an opaque value, bound where it first appears; `…` stands for any rest.
#![cfg(unix)]
#![allow(clippy::unwrap_used)]
// A slim build has some of the dialects.
#![allow(dead_code)]

mod support;

use std::collections::BTreeMap;
use std::process::Command;
use std::sync::Arc;

use serde_json::{Value, json};
use support::{Launch, Place, Server};

/// Params and answer of each example, by method.
type Examples = BTreeMap<String, Vec<(Value, Value)>>;

/// What the schema command of a build says.
fn registered(program: &str, args: &[&str]) -> Examples {
    let out = Command::new(program).args(args).output().unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let operations = document["operations"].as_object().unwrap();
    operations
        .iter()
        .map(|(name, operation)| {
            let examples = operation["examples"].as_array().unwrap();
            assert!(!examples.is_empty(), "{name} has no example");
            let pairs = examples
                .iter()
                .map(|example| (example["params"].clone(), example["answer"].clone()));
            (name.clone(), pairs.collect())
        })
        .collect()
}

#[derive(Default)]
struct Bindings(BTreeMap<String, Value>);

impl Bindings {
    fn name(value: &Value) -> Option<&str> {
        value.as_str()?.strip_prefix('<')?.strip_suffix('>')
    }

    fn bind(&mut self, name: &str, value: &Value) {
        self.0.insert(name.to_owned(), value.clone());
    }

    fn fill(&self, params: &Value) -> Value {
        if let Some(name) = Self::name(params) {
            return self.0.get(name).expect("a bound name").clone();
        }
        match params {
            Value::Object(members) => members
                .iter()
                .map(|(key, value)| (key.clone(), self.fill(value)))
                .collect(),
            other => other.clone(),
        }
    }

    /// Compares an answer with its example and binds the names in it.
    fn check(&mut self, at: &str, want: &Value, got: &Value) {
        if let Some(name) = Self::name(want) {
            assert!(
                got.as_str().is_some_and(|got| !got.is_empty()),
                "{at}: {got}"
            );
            self.bind(name, got);
            return;
        }
        match (want, got) {
            (Value::Object(want), Value::Object(got)) => {
                let open = want.contains_key("…");
                let exact = want.len() - usize::from(open);
                assert!(
                    got.len() == exact || open && got.len() > exact,
                    "{at}: {got:?}"
                );
                for (key, want) in want.iter().filter(|(key, _)| *key != "…") {
                    self.check(
                        &format!("{at}.{key}"),
                        want,
                        got.get(key).unwrap_or(&Value::Null),
                    );
                }
            }
            (Value::Array(want), Value::Array(got)) => {
                let open = want.last().is_some_and(|last| last == "…");
                let exact = want.len() - usize::from(open);
                assert!(
                    got.len() == exact || open && got.len() > exact,
                    "{at}: {got:?}"
                );
                for (index, (want, got)) in want[..exact].iter().zip(got).enumerate() {
                    self.check(&format!("{at}[{index}]"), want, got);
                }
            }
            (Value::String(want), Value::String(got)) if want.ends_with('…') => {
                assert!(got.starts_with(want.trim_end_matches('…')), "{at}: {got}");
            }
            _ => assert_eq!(want, got, "{at}"),
        }
    }
}

/// Runs the examples in `order`, which must name every method, through `exchange`.
fn run_all(
    mut examples: Examples,
    order: &[&str],
    mut exchange: impl FnMut(&mut Bindings, &str, &Value) -> Value,
) {
    let mut bindings = Bindings::default();
    for method in order {
        for (params, want) in examples.remove(*method).into_iter().flatten() {
            let got = exchange(&mut bindings, method, &params);
            bindings.check(method, &want, &got);
        }
    }
    assert!(examples.is_empty(), "not run: {:?}", examples.keys());
}

/// A workspace whose turns ask for permission, then wait.
fn place() -> Arc<Place> {
    let asking = json!([
        {"tool": "read", "input": {"path": "a.txt"}}, {"wait_ms": 60_000}, {"text": "Done."}
    ]);
    let place = Place::with_script(&json!({"turns": [{"steps": asking}]}));
    place.write_file("a.txt", "content\n");
    let project = json!({"permissions": {"read": "ask"}}).to_string();
    place.write_file(".magi-code/settings.json", &project);
    place
}

#[test]
#[cfg(feature = "local-agent")]
fn local_agent_examples_hold() {
    const BIN: &str = env!("CARGO_BIN_EXE_magi-code");
    let order = [
        "initialize",
        "status",
        "session.create",
        "session.open",
        "history.page",
        "turn.start",
        "approval.answer",
        "turn.cancel",
        "shutdown",
    ];
    let mut server = Server::spawn(Launch::new(BIN, &["serve", "--stdio"]).place(&place()));
    let examples = registered(BIN, &["schema", "local-agent"]);
    run_all(examples, &order, |bindings, method, params| {
        if method == "approval.answer" {
            let asked = server.recv_until(|frame| frame["event"] == "approval.requested");
            bindings.bind("approval_id", &asked.last().unwrap()["data"]["approval_id"]);
        }
        server.send_json(
            &json!({"protocol": "magi-code.local-agent", "version": 1, "id": method,
            "method": method, "params": bindings.fill(params)}),
        );
        let seen = server.recv_until(|frame| frame["type"] == "response");
        seen.last().unwrap()["result"].clone()
    });
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
#[cfg(feature = "application-service")]
fn application_service_examples_hold() {
    const BIN: &str = env!("CARGO_BIN_EXE_magi-code");
    let order = [
        "initialize",
        "status",
        "capabilities",
        "session.create",
        "session.list",
        "session.open",
        "session.replay",
        "session.close",
        "turn.start",
        "turn.cancel",
        "auth.status",
        "auth.logout",
        "auth.login.start",
        "auth.login.cancel",
        "auth.login.callback",
        "catalog.providers",
        "catalog.models",
        "catalog.refresh",
        "config.get",
        "config.set",
    ];
    let place = place();
    let key =
        json!({"providers": {"anthropic": {"generation": 1, "api_key": "not-a-key"}}}).to_string();
    std::fs::write(place.mc_home().join("auth.json"), key).unwrap();
    // Whatever comes back, nobody of the public is asked: there no issuer listens.
    place.write_settings(&json!({"providers": {
        "fixture": {"script": place.root().join("script.json")},
        "openai-codex": {"issuer_url": "http://127.0.0.1:9"},
    }}));
    let mut server = Server::spawn(Launch::new(BIN, &["--app", "service"]).place(&place));
    let examples = registered(BIN, &["schema", "application-service"]);
    let mut ended = false;
    run_all(examples, &order, |bindings, method, payload| {
        let session = match method {
            "session.open" | "session.replay" | "session.close" => json!("<session_id>"),
            _ => Value::Null,
        };
        if method == "auth.login.callback" {
            // The example before has cancelled its login: this one needs another.
            if !ended {
                server.recv_until(|record| record["event"] == "auth.login.terminal");
            }
            server.send_json(
                &json!({"protocol_version": 1, "kind": "request", "request_id": "again",
                "session_id": null, "method": "auth.login.start", "payload": {"provider_id": "openai-codex"}}),
            );
            let seen = server.recv_until(|record| record["kind"] == "response");
            bindings.bind("login_id", &seen.last().unwrap()["payload"]["login_id"]);
        }
        server.send_json(
            &json!({"protocol_version": 1, "kind": "request", "request_id": method,
            "session_id": bindings.fill(&session), "method": method, "payload": bindings.fill(payload)}),
        );
        let seen = server.recv_until(|record| record["kind"] == "response");
        ended |= seen
            .iter()
            .any(|record| record["event"] == "auth.login.terminal");
        seen.last().unwrap()["payload"].clone()
    });
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
}

#[test]
#[cfg(feature = "mty-agent")]
fn mty_agent_examples_hold() {
    const BIN: &str = env!("CARGO_BIN_EXE_mty");
    let order = ["check", "explain", "find", "fix", "fmt", "halt"];
    let place = place();
    place.write_file("hello.mty", "fn main() {\n  log(\"hello\")\n}\n");
    place.write_file("long.mty", "fn main() {\n  let n = 10_\n}\n");
    let mut server = Server::spawn(Launch::new(BIN, &["agent"]).place(&place));
    run_all(registered(BIN, &["schema"]), &order, |_, op, request| {
        server.send_json(request);
        let mut lines = server.recv_until(|line| line["kind"] == "done");
        assert_eq!(
            lines.pop().unwrap(),
            json!({"kind": "done", "exit_code": 0})
        );
        let result = lines.pop().unwrap();
        assert_eq!(
            (&result["kind"], &result["op"], &result["ok"]),
            (&json!("result"), &json!(op), &json!(true))
        );
        let mut body = result.as_object().unwrap().clone();
        for envelope in ["kind", "op", "ok"] {
            body.remove(envelope);
        }
        Value::Object(body)
    });
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
}

/// What the schema of application-service says of null and of numbers is what the service does: a client may be
/// generated from it.
#[test]
#[cfg(feature = "full")]
fn application_service_params_are_what_their_schema_says() {
    const BIN: &str = env!("CARGO_BIN_EXE_magi-code");
    let out = Command::new(BIN)
        .args(["schema", "application-service"])
        .output()
        .unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut server = Server::spawn(Launch::new(BIN, &["--app", "service"]).place(&place()));
    let mut n = 0;
    let mut code = |method: &str, session: &Value, payload: &Value| {
        n += 1;
        server.send_json(
            &json!({"protocol_version": 1, "kind": "request", "request_id": n.to_string(),
            "session_id": session, "method": method, "payload": payload}),
        );
        server.recv()["error"]["code"].clone()
    };
    let (mut nulls, mut numbers) = (0, 0);
    for (method, operation) in document["operations"].as_object().unwrap() {
        // Before initialization every good payload is refused as early, and nothing is done.
        if method == "initialize" {
            continue;
        }
        let example = &operation["examples"][0]["params"];
        let session = match method.as_str() {
            "session.open" | "session.replay" | "session.close" => json!("s-1"),
            _ => Value::Null,
        };
        assert_eq!(
            code(method, &session, example),
            "not_initialized",
            "{method}"
        );
        let params = match operation["params"]["$ref"].as_str() {
            Some(name) => document.pointer(name.trim_start_matches('#')).unwrap(),
            None => &operation["params"],
        };
        for (name, schema) in params["properties"].as_object().into_iter().flatten() {
            let with = |value: Value| {
                let mut payload = example.clone();
                payload[name] = value;
                payload
            };
            let takes_null = schema.to_string().contains("null");
            let expected = ["invalid_payload", "not_initialized"][usize::from(takes_null)];
            let got = code(method, &session, &with(Value::Null));
            assert_eq!(got, expected, "{method} {name} null");
            nulls += 1;
            if schema["type"] == "integer" {
                let (low, high) = (&schema["minimum"], &schema["maximum"]);
                let (low, high) = (low.as_i64().unwrap(), high.as_i64().unwrap());
                for (value, fits) in [
                    (low - 1, false),
                    (low, true),
                    (high, true),
                    (high + 1, false),
                ] {
                    let got = code(method, &session, &with(value.into()));
                    assert_eq!(
                        got == "not_initialized",
                        fits,
                        "{method} {name} {value} {got}"
                    );
                    numbers += 1;
                }
            }
        }
    }
    assert!(nulls > 10 && numbers > 10, "{nulls} {numbers}");
    server.close_stdin();
    assert_eq!(server.wait_exit().code, Some(0));
}
