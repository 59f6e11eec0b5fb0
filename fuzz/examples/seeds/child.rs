//! What a local-agent child says to the session of `checks::consumer_frames`.
//! Good answers of every operation, every event, and one broken rule each.

use checks::consumer_frames::{REVISION, RUN, SESSION};
use serde_json::{Value, json};

use super::{Seeds, padded, stream};

const CHILD: &str = "6f0f6a52-1f7c-4a8e-9b2f-0d5f3f0c2b11";

/// A child's frames, numbered from 1.
fn child(name: &str, bodies: &[Value]) -> (String, Vec<u8>) {
    let frames: Vec<Value> = (1..)
        .zip(bodies)
        .map(|(seq, body)| {
            let mut frame = json!({"protocol": "magi-code.local-agent", "version": 1,
                "instance_id": CHILD, "seq": seq});
            let fields = body.as_object().expect("a body").clone();
            frame.as_object_mut().expect("a frame").extend(fields);
            frame
        })
        .collect();
    stream(&format!("child-{name}"), &frames)
}

pub fn seeds() -> Seeds {
    let result = |id: &str, result: Value| json!({"type": "response", "id": id, "result": result});
    let refuse =
        |id: Value, code: &str| json!({"type": "response", "id": id, "error": {"code": code}});
    let event = |name: &str, mut data: Value| {
        data["session_id"] = json!(SESSION);
        data["run_id"] = json!(RUN);
        json!({"type": "event", "event": name, "data": data})
    };
    let status = json!({"state": "idle", "readiness": "ready", "provider": "fixture", "model": "fixture-model",
        "context_id": "abc", "session_id": null, "run_id": null});
    let init = result(
        "r1",
        json!({
            "capabilities": ["initialize", "status", "shutdown", "session.create", "session.open",
                "history.page", "turn.start", "turn.cancel", "approval.answer"],
            "limits": {"frame_bytes": 65536, "json_depth": 32, "id_bytes": 64, "prompt_bytes": 16384,
                "history_page_bytes": 32768, "history_page_entries": 100, "content_chunk_bytes": 16384,
                "pending_responses": 32, "requests_per_child": 4096, "output_deadline_ms": 2000},
            "status": status,
        }),
    );
    let attached = |durable: bool| json!({"session_id": SESSION, "durable": durable, "revision": REVISION, "notices": []});
    let entry = json!({"message_id": "m1", "kind": "user", "text": "hi", "partial": false, "part": 0, "last_part": true});
    let page = json!({"session_id": SESSION, "revision": REVISION, "entries": [entry], "next_cursor": null, "complete": true});
    let admitted = result("r6", json!({"run_id": RUN, "accepted": true}));
    let persisted = event(
        "input.persisted",
        json!({"message_id": "m1", "durable": true, "revision": "v2"}),
    );
    let delta = |part: u64, text: &str| {
        event(
            "message.delta",
            json!({"message_id": "m2", "part": part, "text": text}),
        )
    };
    let settle = |part: u64, last: bool| {
        event(
            "message.reconcile",
            json!({"message_id": "m2", "part": part, "text": "hello", "last_part": last, "partial": false}),
        )
    };
    let activity = |state: &str| {
        event(
            "activity",
            json!({"activity_id": "a1", "kind": "tool", "state": state, "name": "read", "summary": "README"}),
        )
    };
    let finished = |outcome: &str, persistence: &str| {
        event(
            "run.finished",
            json!({"outcome": outcome, "persistence": persistence, "revision": "v3", "error_code": null}),
        )
    };
    let approval = event(
        "approval.requested",
        json!({"approval_id": RUN, "summary": "bash", "expires_in_ms": 60000}),
    );
    let run =
        |rest: &[Value]| [&[init.clone(), admitted.clone(), persisted.clone()], rest].concat();
    let mut seeds = vec![
        child("initialized", std::slice::from_ref(&init)),
        child("status", &[init.clone(), result("r2", status.clone())]),
        child(
            "sessions",
            &[
                init.clone(),
                result("r3", attached(false)),
                result("r4", attached(true)),
            ],
        ),
        child("history", &[init.clone(), result("r5", page.clone())]),
        child(
            "turn",
            &run(&[
                delta(0, "hel"),
                delta(1, "lo"),
                settle(0, true),
                finished("completed", "durable"),
            ]),
        ),
        child(
            "two-part-reconcile",
            &run(&[
                delta(0, "a"),
                settle(0, false),
                settle(1, true),
                finished("completed", "durable"),
            ]),
        ),
        child(
            "delta-gap",
            &run(&[delta(0, "a"), delta(2, "c"), settle(0, true)]),
        ),
        child(
            "activity",
            &run(&[
                activity("started"),
                activity("completed"),
                event("diagnostic", json!({"code": "note", "summary": "s"})),
            ]),
        ),
        child(
            "approval",
            &run(&[approval, result("r8", json!({"recorded": true}))]),
        ),
        child(
            "cancelled",
            &run(&[
                result("r7", json!({"cancellation_requested": true})),
                finished("cancelled", "degraded"),
            ]),
        ),
        child(
            "second-run-early",
            &run(&[result("r9", json!({"run_id": CHILD, "accepted": true}))]),
        ),
        child(
            "shutdown",
            &[init.clone(), result("r10", json!({"state": "stopping"}))],
        ),
        child(
            "refusals",
            &[
                init.clone(),
                refuse(json!("r6"), "busy"),
                refuse(json!("r8"), "stale_approval"),
                refuse(Value::Null, "invalid_request"),
            ],
        ),
        child(
            "init-failed",
            &[refuse(json!("r1"), "provider_unavailable")],
        ),
        child(
            "not-persisted",
            &[
                init.clone(),
                admitted.clone(),
                finished("failed", "not_started"),
            ],
        ),
        child(
            "unknown-event",
            &run(&[event("message.thought", json!({}))]),
        ),
        child("event-without-run", &[init.clone(), delta(0, "x")]),
        child(
            "after-the-end",
            &run(&[finished("cancelled", "durable"), delta(0, "x")]),
        ),
        child(
            "unreconciled",
            &run(&[delta(0, "x"), finished("completed", "durable")]),
        ),
        child("answer-twice", &[init.clone(), init.clone()]),
        child("unknown-code", &[refuse(json!("r1"), "too_busy")]),
        child(
            "steering-text",
            &run(&[delta(0, "\u{1b}[2J\u{202e}\r\n"), settle(0, true)]),
        ),
        child(
            "reserved-key",
            &[
                init.clone(),
                result(
                    "r2",
                    json!({"state": {"$serde_json::private::RawValue": "[[[1]]]"}}),
                ),
            ],
        ),
        child(
            "reserved-key-no-text",
            &[
                init.clone(),
                result(
                    "r10",
                    json!({"state": "stopping", "hint": {"$serde_json::private::RawValue": 1}}),
                ),
            ],
        ),
    ];
    let text = String::from_utf8(child("x", &[init]).1).expect("text");
    for (name, change) in [
        ("other-version", ("\"version\":1", "\"version\":2")),
        ("sequence", ("\"seq\":1", "\"seq\":2")),
        ("duplicate-key", ("\"seq\":1", "\"seq\":1,\"s\\u0065q\":1")),
        (
            "unknown-members",
            ("\"seq\":1", "\"seq\":1,\"future\":{\"a\":[null,1.5]}"),
        ),
    ] {
        seeds.push((
            format!("child-{name}"),
            text.replace(change.0, change.1).into_bytes(),
        ));
    }
    seeds.push(("child-endless".into(), padded("@", 70_000)));
    // Both sides of every bound of the small set that `checks::consumer_frames` holds lines to.
    let items = |count: usize| format!("{{\"a\":[{}]}}", vec!["0"; count].join(","));
    let fields = |count: usize| {
        let fields: Vec<_> = (0..count).map(|at| format!("\"{at}\":0")).collect();
        format!("{{{}}}", fields.join(","))
    };
    let lines = [
        items(8),
        items(9),
        fields(8),
        fields(9),
        format!("{{\"a\":\"{}\"}}", "\\u00e9".repeat(32)),
        format!("{{\"a\":\"{}x\"}}", "\\u00e9".repeat(32)),
        "{\"a\":[[[]]]}".to_owned(),
        "{\"a\":[[[{}]]]}".to_owned(),
        "{\"a\":1e400}".to_owned(),
    ];
    for (name, bytes) in [("tail-below-small-bound", 39), ("tail-at-small-bound", 40)] {
        seeds.push((name.into(), [&b"{}\n"[..], &vec![b'x'; bytes]].concat()));
    }
    seeds.push((
        "lines-at-small-bounds".into(),
        lines.join("\n").into_bytes(),
    ));
    seeds.push((
        "child-incomplete".into(),
        text.trim_end().as_bytes().to_vec(),
    ));
    let wide = text
        .trim_end()
        .replace("\"seq\":1", "\"seq\":1,\"pad\":\"@\"");
    for (name, total) in [
        ("child-frame-at-bound", 65_535),
        ("child-frame-beyond-bound", 65_536),
    ] {
        seeds.push((name.into(), [padded(&wide, total), b"\n".to_vec()].concat()));
    }
    seeds
}
