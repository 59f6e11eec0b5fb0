//! What an application service says to the session of `checks::consumer_frames`.
//! Good answers of every operation, every event, and one broken rule each.

use checks::consumer_frames::SESSION;
use serde_json::{Value, json};

use super::{Seeds, stream};

pub fn seeds() -> Seeds {
    let response = |id: &str, session: Option<&str>, method: &str, payload: Value| {
        json!({"protocol_version": 1, "kind": "response", "request_id": id, "session_id": session,
            "method": method, "payload": payload, "error": null})
    };
    let refuse = |id: Value, method: Value, code: &str| {
        json!({"protocol_version": 1, "kind": "response", "request_id": id, "session_id": null,
            "method": method, "payload": null, "error": {"code": code, "message": "A fixed message."}})
    };
    let event = |id: &str, session: Option<&str>, name: &str, payload: Value| {
        json!({"protocol_version": 1, "kind": "event", "event_id": "e1", "request_id": id,
            "session_id": session, "event": name, "payload": payload})
    };
    let limits = json!({"max_record_bytes": 65536, "max_payload_bytes": 32768, "max_error_message_bytes": 512,
        "max_id_bytes": 128, "max_name_bytes": 64, "max_string_bytes": 16384, "max_json_depth": 32,
        "max_array_items": 64, "max_object_fields": 64, "max_negotiation_items": 8,
        "max_session_attachments": 16, "max_session_page_items": 32, "max_session_replay_page_bytes": 16384,
        "max_session_replay_window_bytes": 2097152, "max_session_list_scan_entries": 20000,
        "max_catalog_page_items": 32});
    let capabilities = json!({
        "protocol_versions": [1], "transports": ["stdio"], "limits": limits,
        "operations": ["initialize", "status", "capabilities", "session.list", "session.create",
            "session.open", "session.replay", "session.close", "turn.start", "turn.cancel", "auth.status",
            "auth.login.start", "auth.login.callback", "auth.login.cancel", "auth.logout",
            "catalog.providers", "catalog.models", "catalog.refresh", "config.get", "config.set"],
        "events": ["turn.started", "turn.assistant_delta", "turn.activity", "turn.terminal",
            "auth.login.progress", "auth.login.terminal"],
        "activity": {"events": true, "approvals": false, "steering": false, "mcp_server_lifecycle": false,
            "mcp_tool_activity": true, "subagents": true, "raw_tool_output": false, "activity_replay": false,
            "max_summary_bytes": 2048}});
    let init = response(
        "q1",
        None,
        "initialize",
        json!({"protocol_version": 1, "server_name": "magi-code",
        "server_version": "1.0.0", "limits": limits, "capabilities": capabilities}),
    );
    let s1 = Some(SESSION);
    let turn = response(
        "q9",
        s1,
        "turn.start",
        json!({"turn_id": "t1", "session_id": SESSION, "status": "accepted"}),
    );
    let started = event(
        "q9",
        s1,
        "turn.started",
        json!({"turn_id": "t1", "session_id": SESSION, "status": "started", "sequence": 0}),
    );
    let delta = |sequence: u64| {
        event(
            "q9",
            s1,
            "turn.assistant_delta",
            json!({"turn_id": "t1", "sequence": sequence, "text": "hi"}),
        )
    };
    let activity = |sequence: u64, activity: Value| {
        event(
            "q9",
            s1,
            "turn.activity",
            json!({"turn_id": "t1", "sequence": sequence, "activity": activity}),
        )
    };
    let terminal = event(
        "q9",
        s1,
        "turn.terminal",
        json!({"turn_id": "t1", "session_id": SESSION,
        "status": "completed", "assistant_text": "hi", "sequence": 9, "activity_dropped": 0,
        "activity_replay_available": false, "replay_required": true}),
    );
    let effective = json!({"selection": {"provider_id": "anthropic", "model_id": "m"}, "thinking_level": "high",
        "configured_thinking_level": "high", "available_thinking_levels": ["default", "high"], "fast": false,
        "precedence": ["environment", "project", "global"], "writable_scopes": ["global", "project"],
        "global_only": ["fast"]});
    let login = response(
        "q12",
        None,
        "auth.login.start",
        json!({"login_id": "l1", "provider_id": "openai-codex", "status": "started"}),
    );
    let progress = |state: &str| {
        event(
            "q12",
            None,
            "auth.login.progress",
            json!({"login_id": "l1", "provider_id": "openai-codex", "state": state}),
        )
    };
    let url = event(
        "q12",
        None,
        "auth.login.progress",
        json!({"login_id": "l1", "provider_id": "openai-codex",
        "state": "authorization_url", "url": "https://example.test/", "open_browser": true}),
    );
    let login_end = event(
        "q12",
        None,
        "auth.login.terminal",
        json!({"login_id": "l1", "provider_id": "openai-codex",
        "state": "exchange_succeeded", "cleanup_complete": true}),
    );
    let after = |name: &str, rest: &[Value]| {
        stream(
            &format!("service-{name}"),
            &[std::slice::from_ref(&init), rest].concat(),
        )
    };
    let running = |name: &str, rest: &[Value]| {
        after(name, &[&[turn.clone(), started.clone()], rest].concat())
    };
    let status = response(
        "q2",
        None,
        "status",
        json!({"service": "ready", "provider_auth_ready": false}),
    );
    vec![
        after("status", std::slice::from_ref(&status)),
        after(
            "capabilities-missing",
            &[response(
                "q3",
                None,
                "capabilities",
                json!({"protocol_versions": [1]}),
            )],
        ),
        after(
            "sessions",
            &[
                response(
                    "q4",
                    None,
                    "session.list",
                    json!({"sessions": [{"session_id": SESSION, "title": null,
                "updated_at": "2026-01-01T00:00:00Z"}], "next_after": null, "truncated": false, "incomplete": false}),
                ),
                response(
                    "q5",
                    Some("s2"),
                    "session.create",
                    json!({"session_id": "s2", "status": "open"}),
                ),
                response(
                    "q6",
                    s1,
                    "session.open",
                    json!({"session_id": SESSION, "status": "open"}),
                ),
                response(
                    "q8",
                    s1,
                    "session.close",
                    json!({"session_id": SESSION, "status": "closing"}),
                ),
            ],
        ),
        after(
            "replay",
            &[response(
                "q7",
                s1,
                "session.replay",
                json!({"events": [
            {"cursor": "c1", "kind": "message", "role": "user", "text": "Q", "part": 0, "last_part": true},
            {"cursor": "c2", "kind": "terminal", "status": "compaction_required"}],
            "next_cursor": "c2", "snapshot_cursor": "c2", "truncated": false, "gap": false, "resync_required": false}),
            )],
        ),
        running("turn", &[delta(1), delta(3), terminal.clone()]),
        running(
            "activity",
            &[
                activity(
                    1,
                    json!({"activity_id": "a", "kind": "tool", "tool_id": "x", "tool_name": "read", "server_id": null,
                "transport": "local", "status": "running", "timed_out": null, "details_omitted": true}),
                ),
                activity(
                    2,
                    json!({"activity_id": "a", "kind": "usage", "effective_input": 1, "output": 2, "cache_read": 0,
                "cache_known": true, "request_sequence": 1, "final_usage": true, "source": "provider_request"}),
                ),
            ],
        ),
        running("after-terminal", &[terminal, delta(10)]),
        running("sequence-repeats", &[delta(1), delta(1)]),
        after("event-before-answer", std::slice::from_ref(&started)),
        after(
            "login",
            &[login.clone(), url, progress("waiting"), login_end],
        ),
        after(
            "login-out-of-order",
            &[login, progress("callback_accepted"), progress("waiting")],
        ),
        after(
            "auth",
            &[
                response(
                    "q11",
                    None,
                    "auth.status",
                    json!({"providers": [{"provider_id": "anthropic", "auth_method": "api_key",
                "source": "none", "readiness": "missing", "ready": false}]}),
                ),
                response(
                    "q15",
                    None,
                    "auth.logout",
                    json!({"provider_id": "anthropic", "status": "logged_out",
                "removed": false, "environment_unchanged": true}),
                ),
            ],
        ),
        after(
            "catalog",
            &[
                response(
                    "q16",
                    None,
                    "catalog.providers",
                    json!({"entries": [{"provider_id": "anthropic", "label": "a"}],
                "next_offset": null, "refresh": "cache_only"}),
                ),
                response(
                    "q17",
                    None,
                    "catalog.models",
                    json!({"entries": [], "next_offset": 32, "state": "unavailable", "refresh": "cache_only"}),
                ),
                response(
                    "q18",
                    None,
                    "catalog.refresh",
                    json!({"provider_id": "anthropic", "state": "stale"}),
                ),
            ],
        ),
        after(
            "config",
            &[
                response("q19", None, "config.get", effective.clone()),
                response(
                    "q20",
                    None,
                    "config.set",
                    json!({"persisted": true, "scope": "global", "effective": effective}),
                ),
            ],
        ),
        after(
            "refusals",
            &[
                refuse(json!("q9"), json!("turn.start"), "session_busy"),
                refuse(json!("q10"), json!("turn.cancel"), "new_code"),
                refuse(Value::Null, Value::Null, "invalid_json"),
            ],
        ),
        after(
            "other-method",
            &[response(
                "q2",
                None,
                "session.create",
                json!({"session_id": "s2", "status": "open"}),
            )],
        ),
        after(
            "reserved-key",
            &[response(
                "q2",
                None,
                "status",
                json!({"service": "ready", "provider_auth_ready": false,
            "hint": {"$serde_json::private::RawValue": "[1,2]"}}),
            )],
        ),
        after(
            "capabilities",
            &[response("q3", None, "capabilities", capabilities.clone())],
        ),
        after(
            "capabilities-changed",
            &[response("q3", None, "capabilities", {
                let mut changed = capabilities.clone();
                changed["limits"]["max_array_items"] = json!(32);
                changed
            })],
        ),
        after(
            "cancel",
            &[
                response(
                    "q10",
                    None,
                    "turn.cancel",
                    json!({"status": "cancellation_requested"}),
                ),
                response(
                    "q13",
                    None,
                    "auth.login.callback",
                    json!({"status": "submitted"}),
                ),
            ],
        ),
        stream(
            "service-init-failed",
            &[refuse(
                json!("q1"),
                json!("initialize"),
                "unsupported_version",
            )],
        ),
        stream("service-response", &[status]),
        stream("service-event", &[started]),
    ]
}
