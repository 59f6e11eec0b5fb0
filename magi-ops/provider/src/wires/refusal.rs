//! What a server says when it fails: every shape in which that was seen, and which kind of failure it is.
//! No connection, and nothing of a response that succeeds.

use serde_json::{Map, Value};

use super::json;
use crate::error::{ErrorKind, ProviderError};

/// Members that hold what a model or a person wrote: an `error` in them is theirs.
const CONTENT: [&str; 13] = [
    "arguments",
    "content",
    "delta_text",
    "extra_content",
    "input",
    "logprobs",
    "parameters",
    "partial_json",
    "provider_specific_fields",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "text",
];
/// Where servers put the words of an error, the best first.
const MESSAGES: [&str; 15] = [
    "message",
    "msg",
    "error_message",
    "errorMessage",
    "error_msg",
    "error_description",
    "status_msg",
    "faultstring",
    "reason",
    "detail",
    "title",
    "description",
    "exception",
    "failure",
    "result",
];

/// The failure that an event of a response tells of, in whatever shape.
pub(crate) fn told_failure(event: &Value) -> Option<ProviderError> {
    match event {
        Value::Array(items) => items.iter().find_map(told_failure),
        Value::Object(members) => error_member(members).or_else(|| whole_failure(members)),
        _ => None,
    }
}

/// The failure in a member called `error`, however deep.
fn error_member(members: &Map<String, Value>) -> Option<ProviderError> {
    for (name, value) in members {
        let lower = name.to_ascii_lowercase();
        let is_error = matches!(
            lower.as_str(),
            "error"
                | "errors"
                | "errormessage"
                | "errorcode"
                | "errormsg"
                | "exception"
                | "exceptions"
                | "exceptionmessage"
                | "exception_message"
        ) || lower.starts_with("error_");
        if is_error && says_something(value) {
            // Its words may stand beside it.
            let failure = failure_of(value);
            return Some(if failure.message().is_some() {
                failure
            } else {
                merged(failure, members)
            });
        }
    }
    let inner = |(_, value): (_, &Value)| match value {
        Value::Array(items) => items
            .iter()
            .filter_map(Value::as_object)
            .find_map(error_member),
        Value::Object(members) => error_member(members),
        _ => None,
    };
    members
        .iter()
        .filter(|(name, _)| !CONTENT.contains(&name.as_str()))
        .find_map(inner)
}

/// The failure that the event as a whole stands for.
fn whole_failure(members: &Map<String, Value>) -> Option<ProviderError> {
    let word = |name: &str| {
        members
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let has = |name: &str| members.get(name).is_some_and(says_something);
    let names_failure = ["error", "exception", "failed", "failure"];
    let is = |name: &str| {
        let word = word(name).to_ascii_lowercase();
        names_failure.contains(&word.as_str()) || word.ends_with("_error")
    };
    let answers = ["choices", "usage", "content"].iter().any(|name| has(name));
    let failed = is("object")
        || is("type")
        || (is("status") && !answers)
 || ["success", "ok"].iter().any(|name| members.get(*name) == Some(&Value::Bool(false)))
        || ["is_error", "isError", "failed", "failure"].iter().any(|name| has(name))
        || (!answers && says_status(members))
        // MiniMax puts its outcome beside every answer.
        || members
            .get("base_resp")
            .and_then(|outcome| outcome.get("status_code"))
            .is_some_and(says_something)
        || (!answers
            && (has("detail")
                || has("fault")
                || ["message", "msg"].iter().any(|name| !word(name).is_empty())));
    failed.then(|| {
        let inner = ["base_resp", "fault", "detail"]
            .iter()
            .find_map(|name| members.get(*name).filter(|value| says_something(value)));
        let failure = failure_of(&Value::Object(members.clone()));
        match inner {
            Some(inner) if failure.message().is_none() => failure_of(inner),
            _ => failure,
        }
    })
}

/// Whether a member says an HTTP status without success.
fn says_status(members: &Map<String, Value>) -> bool {
    ["status", "status_code", "statusCode", "http_code", "code"]
        .iter()
        .filter_map(|name| members.get(*name).and_then(json::count))
        .any(|status| (400..600).contains(&status))
}

/// The failure that JSON tells of which was cut off.
pub(crate) fn prefix_failure(text: &str) -> Option<ProviderError> {
    told_failure(&json::prefix(text)?)
}

fn merged(failure: ProviderError, members: &Map<String, Value>) -> ProviderError {
    match words(&Value::Object(members.clone())) {
        Some(message) => failure.with_message(&message),
        None => failure,
    }
}

/// Whether a member is more than a place kept free.
fn says_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.trim().is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => members.values().any(says_something),
    }
}

/// The failure behind an error of any type, inside a response.
pub(crate) fn failure_of(error: &Value) -> ProviderError {
    let message = words(error);
    let names = [
        "type",
        "code",
        "status",
        "error_code",
        "http_code",
        "status_code",
    ]
    .map(|name| match error.get(name) {
        Some(Value::String(word)) => word.to_ascii_lowercase(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    });
    let text = message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let failure = ProviderError::new(kind(&names, &text));
    match message {
        Some(message) => failure.with_message(&message),
        None => failure.with_message(&names.join(" ")),
    }
}

fn kind(names: &[String], text: &str) -> ErrorKind {
    let named = |parts: &[&str]| {
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let says = |name: &str, part: &str| match is_number(part) {
            true => name == part,
            false => name.contains(part),
        };
        parts
            .iter()
            .any(|part| names.iter().any(|name| says(name, part)))
    };
    if is_context_length(text) || named(&["context_length", "context_size"]) {
        ErrorKind::ContextLength
    } else if named(&["insufficient_quota", "billing", "402", "payment"]) || is_quota(text) {
        ErrorKind::Quota
    } else if named(&["rate_limit", "429", "resource_exhausted"]) {
        ErrorKind::RateLimited
    } else if named(&[
        "authentication",
        "permission",
        "api_key",
        "unauthorized",
        "401",
        "403",
    ]) {
        ErrorKind::Unauthorized
    } else if named(&["model_not_found", "not_found_error"]) || is_unknown_model(text) {
        ErrorKind::UnknownModel
    } else if named(&[
        "overloaded",
        "server_error",
        "api_error",
        "timeout",
        "unavailable",
        "500",
        "502",
        "503",
        "504",
        "529",
    ]) || ["overloaded", "internal server error"]
        .iter()
        .any(|part| text.contains(part))
    {
        ErrorKind::Overloaded
    } else if named(&["content_filter", "refusal"]) {
        ErrorKind::Filtered
    } else if named(&["invalid", "400", "404", "422"]) {
        ErrorKind::Refused
    } else {
        ErrorKind::Failed
    }
}

/// The failure behind an answer without success. `body` is its beginning.
pub(crate) fn refused(status: u16, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let value = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')).ok();
    let is_json = text
        .trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with(['{', '[']);
    // What was cut off still says what its beginning says.
    let value = match value {
        None if is_json => json::prefix(text.trim_start_matches('\u{feff}')),
        value => value,
    };
    let message = match &value {
        Some(value) => words(value),
        None if is_json => None,
        None if is_page(&text) => None,
        None => Some(text.clone().into_owned()),
    };
    let lower = text.to_ascii_lowercase();
    let param = value.as_ref().and_then(|value| {
        let places = [
            "/error/param",
            "/param",
            "/error/parameter",
            "/0/error/param",
        ];
        let mut found = places
            .iter()
            .filter_map(|place| value.pointer(place)?.as_str());
        found.find(|param| !param.is_empty())
    });
    let about_member = param.is_some_and(|param| param != "model");
    let kind = match status {
        300..=399 => ErrorKind::Redirected,
        401 | 403 | 407 => ErrorKind::Unauthorized,
        402 => ErrorKind::Quota,
        // An account without money is not better off in a second.
        429 if is_quota(&lower) => ErrorKind::Quota,
        429 => ErrorKind::RateLimited,
        // Older servers of local models answer 500.
        _ if is_context_length(&lower) => ErrorKind::ContextLength,
        _ if is_quota(&lower) => ErrorKind::Quota,
        408 | 500..=599 => ErrorKind::Overloaded,
        _ if !about_member && is_unknown_model(&lower) => ErrorKind::UnknownModel,
        404 | 405 | 410 => ErrorKind::NotFound,
        _ => ErrorKind::Refused,
    };
    let failure = ProviderError::new(kind).with_status(status);
    let failure = match param {
        Some(param) => failure.with_param(param),
        None => failure,
    };
    match message {
        // A redirect's words are about where it leads.
        Some(message) if kind != ErrorKind::Redirected => failure.with_message(&message),
        None if value.is_none() && is_page(&text) => failure.with_note("it sent a web page"),
        _ => failure,
    }
}

/// Whether a body is a page for people, such as a login or a proxy's error.
pub(crate) fn is_page(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
}

/// Whether a line that is no JSON tells of a failure.
pub(crate) fn words_of_failure(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    [
        "error",
        "exception",
        "fail",
        "denied",
        "unauthorized",
        "forbidden",
        "timeout",
        "timed out",
        "unavailable",
        "overloaded",
        "<html",
        "<!doctype",
        "traceback",
    ]
    .iter()
    .any(|word| line.contains(word))
}

/// The words for people in an error of any type.
fn words(error: &Value) -> Option<String> {
    match error {
        Value::String(text) => {
            // Gateways send their upstream's error as text.
            let inner = serde_json::from_str::<Value>(text)
                .ok()
                .filter(Value::is_object);
            let inner = inner.and_then(|inner| words(&inner));
            inner.or_else(|| (!text.trim().is_empty()).then(|| text.clone()))
        }
        Value::Array(items) => {
            let all: Vec<_> = items.iter().take(8).filter_map(words).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        Value::Object(members) => {
            let nested = ["error", "errors", "base_resp", "fault"]
                .iter()
                .filter_map(|name| members.get(*name))
                .find_map(words);
            let own = MESSAGES
                .iter()
                .filter_map(|name| members.get(*name))
                .find_map(words);
            // FastAPI says where in the request it found the fault.
            let place = members.get("loc").and_then(Value::as_array).map(|place| {
                let parts = place.iter().map(|part| match part {
                    Value::String(word) => word.clone(),
                    other => other.to_string(),
                });
                parts.collect::<Vec<_>>().join(".")
            });
            match (nested.or(own), place) {
                (Some(words), Some(place)) => Some(format!("{place}: {words}")),
                (words, None) => words,
                (None, place) => place,
            }
        }
        _ => None,
    }
}

/// The phrases of Anthropic, OpenAI, vLLM, llama.cpp and gateways. `text` is in lower case.
fn is_context_length(text: &str) -> bool {
    [
        "prompt is too long",
        "context length",
        "context_length_exceeded",
        "context window",
        "context size",
        "exceed_context_size",
        "maximum context",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// `text` is in lower case.
fn is_quota(text: &str) -> bool {
    [
        "insufficient_quota",
        "insufficient balance",
        "insufficient credit",
        "insufficient funds",
        "credit balance",
        "out of credits",
        "payment required",
        "billing_hard_limit",
    ]
    .iter()
    .any(|phrase| text.contains(phrase))
}

/// `text` is in lower case.
fn is_unknown_model(text: &str) -> bool {
    let absent = [
        "not found",
        "not exist",
        "not_found",
        "unknown",
        "no such",
        "invalid model",
        "not a valid model",
    ];
    // Words that may be about a member which this model does not take.
    let about_members = ["parameter", "unsupported_value", "unsupported value"];
    // What stands before them is what they are about.
    let unsupported = ["not supported", "not available"].iter().any(|phrase| {
        let before = text.find(phrase).map(|at| &text[..at]);
        before.is_some_and(|before| before.contains("model"))
    });
    text.contains("model")
        && !about_members.iter().any(|part| text.contains(part))
        && (unsupported || absent.iter().any(|phrase| text.contains(phrase)))
}

#[cfg(test)]
mod tests {
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
            (
                402,
                r#"{"error":{"message":"Insufficient Balance"}}"#,
                Quota,
            ),
            (529, "", Overloaded),
            (503, "", Overloaded),
            (408, "", Overloaded),
            (401, "", Unauthorized),
            (403, "", Unauthorized),
            (400, long, ContextLength),
            (500, long, ContextLength),
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
            (413, "", Refused),
            (422, "", Refused),
            (302, "", Redirected),
        ] {
            let failure = refused(status, body.as_bytes());
            assert_eq!(failure.kind(), expected, "{status} {body}");
            assert_eq!(failure.status(), Some(status));
        }
    }

    #[test]
    fn the_server_s_words_are_kept_whatever_their_shape() {
        for (body, expected) in [
            (
                r#"{"error":{"message":"no such member"}}"#,
                Some("no such member"),
            ),
            (r#"{"error":"plain"}"#, Some("plain")),
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
            (json!({"type": "authentication_error"}), Unauthorized),
            (json!({"code": "invalid_api_key"}), Unauthorized),
            (json!({"code": "context_length_exceeded"}), ContextLength),
            (
                json!({"type": "invalid_request_error", "message": "x"}),
                Refused,
            ),
            (json!("exceeds the context window"), ContextLength),
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
            json!({"errors": ["x"]}),
            json!({"error_code": 17, "error_msg": "x"}),
            json!({"errorMessage": "x"}),
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
            assert!(told_failure(&event).is_some(), "{event}");
        }
        for event in [
            json!({"choices": [{"delta": {"content": "error"}}], "error": null}),
            json!({"choices": [], "error": {}, "errors": [], "error_code": 0}),
            json!({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": {"error": "x"}}}]}}]}),
            json!({"choices": [], "base_resp": {"status_code": 0, "status_msg": ""}}),
            json!({"type": "content_block_start", "content_block": {"type": "tool_use", "input": {"error": 1}}}),
            json!({"type": "ping"}),
            json!({"choices": [{"message": {"role": "assistant", "content": "x"}}], "status": "ok"}),
            json!({"type": "message_start", "message": {"role": "assistant", "content": []}}),
        ] {
            assert_eq!(told_failure(&event), None, "{event}");
        }
    }
}
