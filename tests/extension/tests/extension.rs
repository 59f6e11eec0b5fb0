//! A third party's operations over real pipes, dialect by dialect: advertised, negotiated, dispatched, bounded.
//! What our own families do is tested elsewhere.
#![allow(clippy::unwrap_used)]

#[path = "../../support/mod.rs"]
mod support;

// Links the operations into this test too, so that it can read their registrations.
use extension::{REPEATS, TEXT_BYTES};
use handlers as _;
use host::Registry;
use host::dialect::{APPLICATION_SERVICE, LOCAL_AGENT, MTY_AGENT, Rules};
use serde_json::{Value, json};
use support::{Launch, Server};

const METHOD: &str = "thirdparty.echo";
const EVENT: &str = "thirdparty.echoed";

fn extended(dialect: &str) -> Server {
    Server::spawn(Launch::new(env!("CARGO_BIN_EXE_extended"), &[dialect]))
}

fn registry() -> Registry {
    Registry::collect().expect("no name is registered twice")
}

/// The registered example of an operation: params and answer.
fn example(dialect: &str, method: &str) -> (Value, Value) {
    let operation = registry()
        .find(dialect, method)
        .expect("a linked operation");
    let example = operation.examples.first().expect("an example");
    (
        serde_json::from_str(example.params).unwrap(),
        serde_json::from_str(example.answer).unwrap(),
    )
}

fn list(value: &Value) -> Vec<&str> {
    let items = value.as_array().expect("a list");
    items.iter().map(|item| item.as_str().unwrap()).collect()
}

mod local_agent {
    use super::*;

    fn request(id: &str, method: &str, params: &Value) -> Value {
        json!({"protocol": "magi-code.local-agent", "version": 1, "id": id, "method": method, "params": params})
    }

    fn call(server: &mut Server, id: &str, method: &str, params: &Value) -> Value {
        server.send_json(&request(id, method, params));
        let frame = server.recv();
        assert_eq!(
            (&frame["type"], &frame["id"]),
            (&json!("response"), &json!(id)),
            "{frame}"
        );
        frame
    }

    fn code(server: &mut Server, id: &str, params: &Value) -> Value {
        call(server, id, METHOD, params)["error"]["code"].clone()
    }

    fn ready() -> Server {
        let mut server = extended(LOCAL_AGENT);
        let frame = call(
            &mut server,
            "init",
            "initialize",
            &json!({"required_capabilities": [METHOD]}),
        );
        assert!(frame["result"].is_object(), "{frame}");
        server
    }

    fn finish(mut server: Server) {
        server.close_stdin();
        assert!(server.rest().is_empty());
        assert_eq!(server.wait_exit().code, Some(0));
    }

    #[test]
    fn the_operation_is_advertised_and_negotiated() {
        let mut server = extended(LOCAL_AGENT);
        let refused = call(
            &mut server,
            "a",
            "initialize",
            &json!({"required_capabilities": [METHOD, "thirdparty.other"]}),
        );
        assert_eq!(refused["error"]["code"], "unsupported_capability");
        let early = code(&mut server, "b", &json!({"text": "x"}));
        assert_eq!(early, "not_initialized");

        let accepted = call(
            &mut server,
            "c",
            "initialize",
            &json!({"required_capabilities": [METHOD]}),
        );
        let capabilities = list(&accepted["result"]["capabilities"]);
        // Ours come first: the position says where a method stands.
        assert_eq!(capabilities.last(), Some(&METHOD));
        assert_eq!(
            capabilities.iter().filter(|name| **name == METHOD).count(),
            1
        );
        assert_eq!(capabilities, registry().methods(LOCAL_AGENT));
        finish(server);
    }

    #[test]
    fn the_answer_precedes_the_events_in_order() {
        let mut server = ready();
        let (params, answer) = example(LOCAL_AGENT, METHOD);
        assert_eq!(call(&mut server, "echo", METHOD, &params)["result"], answer);
        for part in 1..=2 {
            let frame = server.recv();
            assert_eq!(
                (&frame["type"], &frame["event"]),
                (&json!("event"), &json!(EVENT))
            );
            assert_eq!(frame["data"], json!({"part": part, "bytes": 2}));
        }
        assert_eq!(code(&mut server, "echo", &params), "duplicate_id");
        finish(server);
    }

    #[test]
    fn an_answer_over_the_frame_is_content_limit_without_events() {
        let mut server = ready();
        let longest = "x".repeat(TEXT_BYTES);
        let fits = call(
            &mut server,
            "fits",
            METHOD,
            &json!({"text": longest, "repeat": 7}),
        );
        assert_eq!(
            fits["result"]["text"].as_str().map(str::len),
            Some(7 * TEXT_BYTES)
        );
        for part in 1..=7 {
            assert_eq!(server.recv()["data"]["part"], part);
        }
        // 8 · 8192 bytes are the frame's 65536 without its envelope.
        for (id, repeat) in [("over", 8), ("far", REPEATS)] {
            let over = code(&mut server, id, &json!({"text": longest, "repeat": repeat}));
            assert_eq!(over, "content_limit");
        }
        // No event of theirs is in between, and the connection lives.
        let (params, answer) = example(LOCAL_AGENT, METHOD);
        assert_eq!(
            call(&mut server, "after", METHOD, &params)["result"],
            answer
        );
        assert_eq!(
            [
                &server.recv()["data"]["part"],
                &server.recv()["data"]["part"]
            ],
            [1, 2]
        );
        finish(server);
    }

    #[test]
    fn params_out_of_type_or_range_are_refused() {
        let mut server = ready();
        let long = "x".repeat(TEXT_BYTES + 1);
        for (id, params, expected) in [
            ("1", json!({}), "invalid_params"),
            ("2", json!({"text": 5}), "invalid_params"),
            ("3", json!({"text": "x", "more": 1}), "invalid_params"),
            ("4", json!({"text": "x", "repeat": 0}), "invalid_params"),
            ("5", json!({"text": "x", "repeat": 256}), "invalid_params"),
            ("6", json!({"text": long}), "content_limit"),
        ] {
            assert_eq!(code(&mut server, id, &params), expected, "{id}");
        }
        let oversize = request("7", METHOD, &json!({"text": "x".repeat(65_536)}));
        server.send(format!("{oversize}\n"));
        let frame = server.recv();
        assert_eq!(
            (&frame["id"], &frame["error"]["code"]),
            (&Value::Null, &json!("frame_too_large"))
        );
        // That one closes the connection by itself.
        assert!(server.rest().is_empty());
        assert_eq!(server.wait_exit().code, Some(0));
    }
}

mod application_service {
    use super::*;

    fn request(id: &str, method: &str, payload: &Value) -> Value {
        json!({"protocol_version": 1, "kind": "request", "request_id": id, "method": method, "payload": payload})
    }

    fn call(server: &mut Server, id: &str, method: &str, payload: &Value) -> Value {
        server.send_json(&request(id, method, payload));
        let record = server.recv();
        assert_eq!(
            (&record["kind"], &record["request_id"]),
            (&json!("response"), &json!(id)),
            "{record}"
        );
        record
    }

    fn code(server: &mut Server, id: &str, payload: &Value) -> Value {
        call(server, id, METHOD, payload)["error"]["code"].clone()
    }

    fn versions(requested: &[&str]) -> Value {
        json!({"supported_protocol_versions": [1], "requested_capabilities": requested})
    }

    fn ready() -> Server {
        let mut server = extended(APPLICATION_SERVICE);
        let record = call(&mut server, "init", "initialize", &versions(&[METHOD]));
        assert_eq!(record["error"], Value::Null, "{record}");
        server
    }

    fn finish(mut server: Server) {
        server.close_stdin();
        assert!(server.rest().is_empty());
        assert_eq!(server.wait_exit().code, Some(0));
    }

    #[test]
    fn the_operation_is_advertised_and_negotiated() {
        let mut server = extended(APPLICATION_SERVICE);
        let refused = call(
            &mut server,
            "a",
            "initialize",
            &versions(&[METHOD, "thirdparty.other"]),
        );
        assert_eq!(refused["error"]["code"], "unsupported_capability");
        let early = code(&mut server, "b", &json!({"text": "x"}));
        assert_eq!(early, "not_initialized");

        let accepted = call(&mut server, "c", "initialize", &versions(&[METHOD]));
        let initialized = &accepted["payload"]["capabilities"];
        let discovered = call(&mut server, "d", "capabilities", &json!({}));
        for capabilities in [initialized, &discovered["payload"]] {
            let operations = list(&capabilities["operations"]);
            assert_eq!(operations.last(), Some(&METHOD));
            assert_eq!(operations, registry().methods(APPLICATION_SERVICE));
            assert_eq!(
                list(&capabilities["events"]),
                registry().event_names(APPLICATION_SERVICE)
            );
            assert!(list(&capabilities["events"]).contains(&EVENT));
        }
        finish(server);
    }

    #[test]
    fn the_answer_precedes_the_events_in_order() {
        let mut server = ready();
        let (payload, answer) = example(APPLICATION_SERVICE, METHOD);
        let record = call(&mut server, "echo", METHOD, &payload);
        assert_eq!(
            (&record["payload"], &record["method"]),
            (&answer, &json!(METHOD))
        );
        for part in 1..=2 {
            let record = server.recv();
            assert_eq!(
                (&record["kind"], &record["event"]),
                (&json!("event"), &json!(EVENT))
            );
            assert_eq!(record["request_id"], "echo");
            assert_eq!(record["payload"], json!({"part": part, "bytes": 2}));
        }
        finish(server);
    }

    #[test]
    fn an_answer_over_a_bound_stops_the_service_and_nothing_replaces_it() {
        let mut server = ready();
        let longest = "x".repeat(TEXT_BYTES);
        // Two are the string bound of 16384 bytes exactly.
        let fits = call(
            &mut server,
            "fits",
            METHOD,
            &json!({"text": longest, "repeat": 2}),
        );
        assert_eq!(
            fits["payload"]["text"].as_str().map(str::len),
            Some(2 * TEXT_BYTES)
        );
        assert_eq!(
            [
                &server.recv()["payload"]["part"],
                &server.recv()["payload"]["part"]
            ],
            [1, 2]
        );

        server.send_json(&request(
            "over",
            METHOD,
            &json!({"text": longest, "repeat": 3}),
        ));
        assert!(server.rest().is_empty(), "nothing is written for it");
        let exit = server.wait_exit();
        assert_eq!(exit.code, Some(1));
        assert!(exit.stderr.contains("protocol limit"), "{}", exit.stderr);
        assert!(!exit.stderr.contains("xxxx"), "diagnostics echo nothing");
    }

    #[test]
    fn params_out_of_type_or_range_are_refused() {
        let mut server = ready();
        let strings = |bytes: usize, count: usize| json!({"text": "x", "more": vec!["x".repeat(bytes); count]});
        for (id, payload, expected) in [
            ("1", json!({}), "invalid_payload"),
            ("2", json!({"text": 5}), "invalid_payload"),
            ("3", json!({"text": "x", "more": 1}), "invalid_payload"),
            ("4", json!({"text": "x", "repeat": 17}), "invalid_payload"),
            (
                "5",
                json!({"text": "x".repeat(TEXT_BYTES + 1)}),
                "limit_exceeded",
            ),
            ("6", json!({"text": "x".repeat(16_385)}), "limit_exceeded"),
            ("7", strings(16_000, 3), "payload_too_large"),
        ] {
            assert_eq!(code(&mut server, id, &payload), expected, "{id}");
        }
        let record = request("8", METHOD, &strings(16_000, 5));
        server.send_json(&record);
        let refused = server.recv();
        assert_eq!(
            (&refused["request_id"], &refused["error"]["code"]),
            (&Value::Null, &json!("record_too_large"))
        );
        // The loop goes on behind it.
        assert_eq!(code(&mut server, "9", &json!({})), "invalid_payload");
        finish(server);
    }
}

mod mty_agent {
    use super::*;

    const OP: &str = "thirdparty_echo";

    /// The lines of one request, `done` included.
    fn ask(server: &mut Server, request: &Value) -> Vec<Value> {
        server.send_json(request);
        server.recv_until(|line| line["kind"] == "done")
    }

    fn finish(mut server: Server, code: i32) {
        server.close_stdin();
        assert!(server.rest().is_empty());
        assert_eq!(server.wait_exit().code, Some(code));
    }

    #[test]
    fn the_op_is_found_by_name_and_others_are_not() {
        assert!(registry().methods(MTY_AGENT).contains(&OP));
        let mut server = extended(MTY_AGENT);
        let lines = ask(&mut server, &json!({"op": "thirdparty_other", "text": "x"}));
        let unknown = json!({"kind": "error", "message": "unknown op: thirdparty_other"});
        assert_eq!(lines, [unknown, json!({"kind": "done", "exit_code": 2})]);
        finish(server, 2);
    }

    #[test]
    fn its_lines_precede_the_result_and_done_is_last() {
        let mut server = extended(MTY_AGENT);
        let (request, answer) = example(MTY_AGENT, OP);
        let mut result = json!({"kind": "result", "op": OP, "ok": true});
        result
            .as_object_mut()
            .unwrap()
            .extend(answer.as_object().unwrap().clone());
        let expected = [
            json!({"kind": "thirdparty_log", "message": "taken"}),
            json!({"kind": "thirdparty_log", "message": "echoed"}),
            result,
            json!({"kind": "done", "exit_code": 0}),
        ];
        for _ in 0..3 {
            assert_eq!(ask(&mut server, &request), expected);
        }
        finish(server, 0);
    }

    #[test]
    fn requests_out_of_type_range_or_size_are_refused() {
        let mut server = extended(MTY_AGENT);
        let oversize = "x".repeat(8 * 1024 * 1024);
        for (request, message) in [
            (json!({"op": OP}), "malformed request: missing field `text`"),
            (json!({"op": OP, "text": 5}), "malformed request: `text`: "),
            (
                json!({"op": OP, "text": "x", "repeat": 0}),
                "`repeat` is not from 1 to 16",
            ),
            (
                json!({"op": OP, "text": "x".repeat(TEXT_BYTES + 1)}),
                "`text` is longer than 8192 bytes",
            ),
            (json!({"op": OP, "text": oversize}), "request too large"),
        ] {
            let lines = ask(&mut server, &request);
            let [error, done] = lines.as_slice() else {
                panic!("two lines: {lines:?}")
            };
            let told = error["message"].as_str().expect("an error line");
            assert!(told.starts_with(message), "{told}");
            assert_eq!(done, &json!({"kind": "done", "exit_code": 2}));
        }
        // The largest echo that the op's own bounds allow passes whole: lines have no bound of their own.
        let lines = ask(
            &mut server,
            &json!({"op": OP, "text": "x".repeat(TEXT_BYTES), "repeat": REPEATS}),
        );
        let echoed = lines[2]["text"].as_str().map(str::len);
        assert_eq!(echoed, Some(TEXT_BYTES * usize::from(REPEATS)));
        finish(server, 2);
    }
}

mod documents {
    use super::*;

    const DIALECTS: [&Rules; 3] = [
        &host::dialect::local_agent::RULES,
        &host::dialect::application_service::RULES,
        &host::dialect::mty_agent::RULES,
    ];

    /// Every `$ref` below `value`.
    fn references<'v>(value: &'v Value, found: &mut Vec<&'v str>) {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    found.push(target);
                }
                members
                    .values()
                    .for_each(|member| references(member, found));
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn the_schema_describes_exactly_what_is_linked() {
        for rules in DIALECTS {
            let registry = registry();
            let document = host::schema::document(&registry, rules);
            let operations = document["operations"].as_object().unwrap();
            let mut methods = registry.methods(rules.name);
            let mut events = registry.event_names(rules.name);
            methods.sort_unstable();
            events.sort_unstable();
            assert_eq!(operations.keys().collect::<Vec<_>>(), methods);
            assert_eq!(
                document["events"]
                    .as_object()
                    .unwrap()
                    .keys()
                    .collect::<Vec<_>>(),
                events
            );
            assert_eq!(
                document["errors"].as_object().unwrap().len(),
                rules.words.len()
            );
            assert_eq!(document["limits"], Value::Object(rules.limits_object()));
            for (method, operation) in operations {
                assert!(
                    !operation["description"].as_str().unwrap().is_empty(),
                    "{method}"
                );
                for word in list(&operation["errors"]) {
                    assert!(document["errors"][word].is_string(), "{method}: {word}");
                }
            }
            let mut found = Vec::new();
            references(&document, &mut found);
            assert!(!found.is_empty());
            for target in found {
                let pointer = target.strip_prefix('#').expect("a local reference");
                assert!(
                    document.pointer(pointer).is_some(),
                    "{target} leads nowhere"
                );
            }
        }
    }

    #[test]
    fn a_third_partys_types_are_described_like_ours() {
        let document = host::schema::document(&registry(), DIALECTS[0]);
        let operation = &document["operations"][METHOD];
        assert_eq!(operation["class"], "inline");
        assert_eq!(operation["needs"], "initialization");
        let params = document
            .pointer(
                operation["params"]["$ref"]
                    .as_str()
                    .unwrap()
                    .strip_prefix('#')
                    .unwrap(),
            )
            .unwrap();
        assert_eq!(params["additionalProperties"], false);
        assert_eq!(params["required"], json!(["text"]));
        assert_eq!(params["properties"]["repeat"]["maximum"], REPEATS);
        assert_eq!(document["events"][EVENT]["delivery"], "must arrive");
    }

    #[test]
    fn the_reference_page_is_stable_and_tidy() {
        for rules in DIALECTS {
            let registry = registry();
            let page = host::schema::reference(&registry, rules);
            assert_eq!(page, host::schema::reference(&registry, rules));
            assert!(page.ends_with('\n') && !page.ends_with("\n\n"));
            assert!(page.lines().all(|line| line.trim_end() == line));
            let headings: Vec<_> = page
                .lines()
                .filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
                .collect();
            let mut advertised = registry.methods(rules.name);
            advertised.extend(registry.event_names(rules.name));
            assert_eq!(headings[..advertised.len()], advertised);
            for (code, meaning) in rules.words {
                assert!(
                    page.contains(&format!("| `{code}` | {meaning} |")),
                    "{code}"
                );
            }
            // Every row of a table has as many cells as the table's head.
            let mut cells = 0;
            for line in page.lines() {
                let here = line.replace("\\|", "").matches('|').count();
                assert!(cells == 0 || here == 0 || here == cells, "{line}");
                cells = here;
            }
        }
        let page = host::schema::reference(&registry(), DIALECTS[0]);
        assert!(page.contains("| `repeat` (optional) | integer, 1 to 16 | How often to say it, once when left out. |"), "{page}");
        assert!(page.contains("| `text` | string | At most 8192 bytes of UTF-8. |"));
    }
}
