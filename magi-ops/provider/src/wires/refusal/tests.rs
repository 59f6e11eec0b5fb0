//! Tests of what a server's refusal is taken for.
#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

#[test]
fn every_status_has_its_meaning() {
    use ErrorKind::*;
    let long = r#"{"error":{"message":"prompt is too long: 9 > 8"}}"#;
    for (status, body, expected) in [
        (429, "", RateLimited),
        (429, r#"{"error":{"code":"insufficient_quota"}}"#, Quota),
        (429, r#"{"error":{"type":"usage_limit_reached"}}"#, Quota),
        (
            402,
            r#"{"error":{"message":"Insufficient Balance"}}"#,
            Quota,
        ),
        (529, "", Overloaded),
        (503, "", Overloaded),
        (408, "", Overloaded),
        (501, "", Refused),
        (
            501,
            r#"{"error":{"code":"server_error","message":"no tools here"}}"#,
            Refused,
        ),
        (505, "", Refused),
        (521, "", Overloaded),
        (401, "", Unauthorized),
        (403, "", Unauthorized),
        (400, long, ContextLength),
        (500, long, ContextLength),
        (
            400,
            r#"{"error":{"message":"litellm.ContextWindowExceededError: x","code":"400"}}"#,
            ContextLength,
        ),
        // What is not there is not too long.
        (
            404,
            r#"{"error":{"message":"model 'maximum context length' not found"}}"#,
            UnknownModel,
        ),
        (404, long, NotFound),
        (
            400,
            r#"{"error":{"code":"context_length_exceeded","message":"x"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}"#,
            Unauthorized,
        ),
        (400, "", Refused),
        (404, "", NotFound),
        (
            404,
            r#"{"error":{"message":"The model `x` does not exist"}}"#,
            UnknownModel,
        ),
        (
            404,
            r#"{"error":"model 'x' not found, try pulling it first"}"#,
            UnknownModel,
        ),
        (
            400,
            r#"{"error":{"message":"Unsupported parameter: 'temperature' is not supported with this model.","code":"unsupported_parameter","param":"temperature"}}"#,
            Refused,
        ),
        (
            400,
            r#"{"error":{"message":"'tools' is not supported by model m"}}"#,
            Refused,
        ),
        (
            400,
            r#"{"error":{"message":"The model m is not supported"}}"#,
            UnknownModel,
        ),
        (
            400,
            "unknown field `tools`, expected one of `messages`, `model`",
            Refused,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid JSON payload received. Unknown name \"tools\": Cannot find field. The model's request is not valid"}}"#,
            Refused,
        ),
        (
            422,
            r#"{"error":"json: unknown property tools in the model's request"}"#,
            Refused,
        ),
        (
            400,
            r#"{"error":{"message":"Unknown model: m"}}"#,
            UnknownModel,
        ),
        (
            404,
            r#"{"type":"error","error":{"type":"not_found_error","message":"model: m"}}"#,
            UnknownModel,
        ),
        (413, "", ContextLength),
        (
            413,
            r#"{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":400,"message":"Request payload size exceeds the limit: 20971520 bytes.","status":"INVALID_ARGUMENT"}}"#,
            ContextLength,
        ),
        (
            422,
            r#"{"error":"Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`","error_type":"validation"}"#,
            ContextLength,
        ),
        (
            422,
            r#"{"error":"Input validation error: `inputs` must have less than 1024 tokens. Given: 2000","error_type":"validation"}"#,
            ContextLength,
        ),
        (
            429,
            r#"{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000.","type":"tokens","code":"rate_limit_exceeded"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081"}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":"invalid_parameter_error","message":"Range of input length should be [1, 30720]"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"error":{"code":"1261","message":"Prompt exceeds max length"}}"#,
            ContextLength,
        ),
        (
            400,
            r#"{"object":"error","message":"The decoder prompt (length 9000) is longer than the maximum model length of 8192.","code":400}"#,
            ContextLength,
        ),
        (
            429,
            r#"{"error":{"message":"too many requests, slow down"}}"#,
            RateLimited,
        ),
        (
            422,
            r#"{"detail":"max_new_tokens must be a number"}"#,
            Refused,
        ),
        (422, "", Refused),
        (302, "", Redirected),
    ] {
        let failure = refused(status, body.as_bytes());
        assert_eq!(failure.kind(), expected, "{status} {body}");
        assert_eq!(failure.status(), Some(status));
    }
}

#[test]
fn a_wait_may_stand_in_the_refusal() {
    let of = |delay: Value| {
        let error = json!({"error": {"code": 429, "details": [{"a": 1}, {"retryDelay": delay}]}});
        let inside = refused(429, json!([error]).to_string().as_bytes()).retry_after;
        assert_eq!(
            refused(429, error.to_string().as_bytes()).retry_after,
            inside
        );
        inside
    };
    assert_eq!(of(json!("34.5s")), Some(Duration::from_millis(34_500)));
    for none in [
        json!("soon"),
        json!("-1s"),
        json!("1e99s"),
        json!(7),
        json!(""),
    ] {
        assert_eq!(of(none.clone()), None, "{none}");
    }
    assert_eq!(refused(429, b"").retry_after, None);
}

#[test]
fn the_server_s_words_are_kept_whatever_their_shape() {
    for (body, expected) in [
        (
            r#"{"error":{"message":"no such member"}}"#,
            Some("no such member"),
        ),
        (r#"{"error":"plain"}"#, Some("plain")),
        (
            r#"{"Error":{"Code":"X","Message":"capital"}}"#,
            Some("capital"),
        ),
        (r#"{"ErrorMessage":"joined"}"#, Some("joined")),
        (
            r#"{"errorMessage":"joined","errorType":"X"}"#,
            Some("joined"),
        ),
        (
            r#"{"Detail":[{"loc":["body"],"Msg":"why"}]}"#,
            Some("body: why"),
        ),
        (r#"{"message":"top","code":3}"#, Some("top")),
        (r#"{"detail":"why"}"#, Some("why")),
        (
            r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs","input":{}}]}"#,
            Some("body.stream_options: Extra inputs"),
        ),
        (
            r#"[{"error":{"code":400,"message":"in a list"}}]"#,
            Some("in a list"),
        ),
        (
            r#"{"error":{"message":"{\"error\":{\"message\":\"inner\"}}"}}"#,
            Some("inner"),
        ),
        ("plain words\nand more", Some("plain words and more")),
        ("<html>sign in</html>", None),
        ("", None),
        (r#"{"error":{"message":"cut of"#, Some("cut of")),
        (r#"{"error":{"message":"whole","trace":["#, Some("whole")),
        (r#"{"error":{"message":"esc\u00"#, Some("esc")),
        (r#"{"trace":"no more came"#, None),
        (r#"{"broken" oops"#, None),
    ] {
        assert_eq!(refused(400, body.as_bytes()).message(), expected, "{body}");
    }
    assert_eq!(refused(302, b"moved to http://x").message(), None);
}

#[test]
fn errors_inside_a_response_have_their_kind() {
    use ErrorKind::*;
    for (error, expected) in [
        (
            json!({"type": "overloaded_error", "message": "Overloaded"}),
            Overloaded,
        ),
        (json!({"type": "rate_limit_error"}), RateLimited),
        (json!({"code": 429, "message": "slow down"}), RateLimited),
        (json!({"code": 502}), Overloaded),
        (json!({"code": 501}), Refused),
        (json!({"Code": 429, "Message": "slow down"}), RateLimited),
        (
            json!({"__type": "com.x#ThrottlingException", "message": "x"}),
            RateLimited,
        ),
        (json!({"type": "authentication_error"}), Unauthorized),
        (json!({"code": "invalid_api_key"}), Unauthorized),
        (json!({"code": "context_length_exceeded"}), ContextLength),
        (json!({"type": "request_too_large"}), ContextLength),
        (json!({"code": 413}), ContextLength),
        (
            json!({"type": "invalid_request_error", "message": "x"}),
            Refused,
        ),
        (json!("exceeds the context window"), ContextLength),
        (
            json!({"code": 404, "message": "no context window `m`"}),
            Refused,
        ),
        (
            json!({"code": "model_not_found", "message": "no context window `m`"}),
            UnknownModel,
        ),
        (json!(true), Failed),
    ] {
        assert_eq!(failure_of(&error).kind(), expected, "{error}");
    }
}

#[test]
fn failures_are_seen_in_every_shape() {
    for event in [
        json!({"error": {"message": "x"}}),
        json!({"error": "x"}),
        json!({"error": true}),
        json!({"error": {}}),
        json!([{"error": {"message": ""}}]),
        json!({"errors": ["x"]}),
        json!({"error_code": 17, "error_msg": "x"}),
        json!({"errorMessage": "x"}),
        json!({"Error": {"Message": "x"}}),
        json!({"ERROR": "x"}),
        json!({"ErrorCode": 7}),
        json!({"Object": "Error", "Message": "x"}),
        json!({"Type": "Error"}),
        json!({"Detail": "x"}),
        json!({"Success": false}),
        json!({"StatusCode": 500, "body": "x"}),
        json!({"IsError": true}),
        json!({"__type": "InternalServerException"}),
        json!({"Message": "x"}),
        json!({"object": "error", "message": "x", "code": 400}),
        json!({"type": "error"}),
        json!({"detail": [{"msg": "x"}]}),
        json!({"detail": "x"}),
        json!({"message": "x", "code": 500}),
        json!({"message": "Forbidden"}),
        json!({"msg": "x", "success": false}),
        json!({"status": "failed", "message": "x"}),
        json!({"choices": [{"error": {"message": "x"}}]}),
        json!({"choices": [{"delta": {"error": "x"}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"error": "x"}]}}]}),
        json!({"choices": [], "base_resp": {"status_code": 1004, "status_msg": "x"}}),
        json!([{"error": {"message": "x"}}]),
        json!({"status": 500, "title": "x"}),
        json!({"statusCode": "503", "body": "x"}),
        json!({"exception": "x"}),
        json!({"is_error": true, "result": "x"}),
        json!({"ok": false}),
        json!({"type": "message_start", "message": {"error": "x"}}),
        json!({"response": {"status": "failed", "error": {"message": "x"}}}),
    ] {
        assert!(failure_in(&event).is_some(), "{event}");
    }
    for event in [
        json!({"choices": [{"delta": {"content": "error"}}], "error": null}),
        json!({"choices": [], "error": {}, "errors": [], "error_code": 0}),
        json!({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": {"error": "x"}}}]}}]}),
        json!({"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}}),
        json!({"type": "content_block_start", "content_block": {"type": "tool_use", "input": {"error": 1}}}),
        json!({"type": "ping"}),
        json!({}),
        json!({"error": null}),
        json!({"errors": []}),
        json!({"choices": [{"message": {"role": "assistant", "content": "x"}}], "status": "ok"}),
        json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
    ] {
        assert_eq!(failure_in(&event), None, "{event}");
    }
}
