//! Tests of the twenty operations: what each sends and which answers it takes.
//! Turns and logins in progress are elsewhere.

use application_service::messages::*;
use application_service::words::Scope;

use super::*;

#[test]
fn every_operation_has_an_answer_it_accepts_and_a_missing_field_it_refuses() {
    let effective = json!({"selection": {"provider_id": "anthropic", "model_id": "m"}, "thinking_level": "high",
        "configured_thinking_level": "high", "available_thinking_levels": ["default", "high"], "fast": false,
        "precedence": ["environment", "project", "global"], "writable_scopes": ["global", "project"],
        "global_only": ["fast"]});
    let model = json!({"provider_id": "anthropic", "model_id": "m", "label": "M", "available": true,
        "context_window": null, "max_output_tokens": null, "available_thinking_levels": ["default"]});
    let s1 = || "s1".to_owned();
    let anthropic = || "anthropic".to_owned();
    let auth = json!({"provider_id": "anthropic", "auth_method": "api_key", "source": "none", "readiness": "missing",
        "ready": false});
    let message = json!({"cursor": "c1", "kind": "message", "role": "user", "text": "Q", "part": 0, "last_part": true});
    let end = json!({"cursor": "c2", "kind": "terminal", "status": "compaction_required"});
    let cases = [
        (
            Request::SessionList(PagePayload {
                after: None,
                limit: 32,
            }),
            json!({"sessions": [{"session_id": "s1", "title": null,
            "updated_at": "2026-01-01T00:00:00Z"}], "next_after": null, "truncated": false, "incomplete": false}),
        ),
        (
            Request::SessionCreate,
            json!({"session_id": "s1", "status": "open"}),
        ),
        (
            Request::SessionReplay {
                session_id: s1(),
                page: PagePayload {
                    after: None,
                    limit: 32,
                },
            },
            json!({"events": [message, end],
            "next_cursor": "c2", "snapshot_cursor": "c2", "truncated": false, "gap": false, "resync_required": false}),
        ),
        (
            Request::SessionClose { session_id: s1() },
            json!({"session_id": "s1", "status": "closing"}),
        ),
        (
            Request::TurnCancel(CancelPayload {
                turn_id: "t".into(),
            }),
            json!({"status": "cancellation_requested"}),
        ),
        (Request::AuthStatus, json!({"providers": [auth]})),
        (
            Request::AuthLoginCallback(CallbackPayload {
                login_id: "l".into(),
                input: Transient::new("c".into()),
            }),
            json!({"status": "submitted"}),
        ),
        (
            Request::AuthLoginCancel(LoginPayload {
                login_id: "l".into(),
            }),
            json!({"status": "cancellation_requested"}),
        ),
        (
            Request::AuthLogout(LogoutPayload {
                provider_id: anthropic(),
                confirmed: true,
            }),
            json!({"provider_id": "anthropic", "status": "logged_out",
            "removed": false, "environment_unchanged": true}),
        ),
        (
            Request::CatalogProviders(ProvidersPayload {
                offset: 0,
                limit: 32,
            }),
            json!({"entries": [{"provider_id": "anthropic",
            "label": "anthropic"}], "next_offset": null, "refresh": "cache_only"}),
        ),
        (
            Request::CatalogModels(ModelsPayload {
                provider_id: anthropic(),
                offset: 0,
                limit: 32,
            }),
            json!({"entries": [model], "next_offset": 32, "state": "fresh_cache", "refresh": "cache_only"}),
        ),
        (
            Request::CatalogRefresh(ProviderPayload {
                provider_id: anthropic(),
            }),
            json!({"provider_id": "anthropic", "state": "stale"}),
        ),
        (Request::ConfigGet, effective.clone()),
        (
            Request::ConfigSet(ConfigPayload {
                scope: Some(Scope::Global),
                selection: None,
                thinking_level: None,
                fast: Some(true),
            }),
            json!({"persisted": true, "scope": "global", "effective": effective}),
        ),
        (Request::Capabilities, capabilities()),
    ];
    for (request, payload) in cases {
        let answer = |payload: Value| {
            let mut tracker = ready();
            let (id, record) = tracker.send(request.clone()).unwrap();
            let sent: Value = serde_json::from_slice(&record).unwrap();
            assert_eq!(sent["method"], request.method());
            assert_eq!(
                sent.get("session_id").and_then(Value::as_str),
                request.session_id()
            );
            take(
                &mut tracker,
                &response(&id, request.session_id(), request.method(), payload),
            )
            .map(drop)
        };
        assert_eq!(answer(payload.clone()), Ok(()), "{}", request.method());
        for name in payload.as_object().unwrap().keys() {
            if name == "activity" {
                continue;
            }
            let mut less = payload.clone();
            remove(&mut less, name);
            assert!(answer(less).is_err(), "{} without {name}", request.method());
        }
    }
}

#[test]
fn what_the_server_would_have_to_refuse_stays_here() {
    let mut tracker = ready();
    let turn = |prompt: String| Request::turn(None, prompt);
    for (request, why) in [
        (turn(" \n".into()), NotSent::BlankPrompt),
        (turn("x".repeat(16_385)), NotSent::PromptTooLong),
        (turn("\u{1}".repeat(16_384)), NotSent::TooLarge),
        (
            Request::SessionOpen {
                session_id: "x".repeat(129),
            },
            NotSent::BadIdentity,
        ),
        (
            Request::SessionList(PagePayload {
                after: None,
                limit: 33,
            }),
            NotSent::BadArgument,
        ),
        (
            Request::CatalogProviders(ProvidersPayload {
                offset: 100_001,
                limit: 32,
            }),
            NotSent::BadArgument,
        ),
        (
            Request::AuthLogout(LogoutPayload {
                provider_id: "a b".into(),
                confirmed: true,
            }),
            NotSent::BadIdentity,
        ),
        (
            Request::ConfigSet(ConfigPayload {
                scope: Some(Scope::Project),
                selection: None,
                thinking_level: None,
                fast: Some(false),
            }),
            NotSent::BadArgument,
        ),
    ] {
        assert_eq!(tracker.send(request), Err(why));
    }
    for _ in 0..32 {
        tracker.send(Request::Status).unwrap();
    }
    assert_eq!(tracker.send(Request::Status), Err(NotSent::TooManyInFlight));
}
