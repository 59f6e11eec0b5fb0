//! What a server says when it fails: every shape in which that was seen. Which kind of failure it is, `failure_kind`
//! says. No connection, and nothing of a response that succeeds.

use std::time::Duration;

use serde_json::{Map, Value};

use super::failure_kind::{of_error, of_status};
use super::json;
use crate::error::{ErrorKind, ProviderError};

/// Members that hold what a model or a person wrote: an `error` in them is theirs.
const CONTENT_MEMBERS: [&str; 13] = [
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
/// Where servers put the words of an error, the best first; as in [`member`].
const MESSAGE_MEMBERS: [&str; 14] = [
    "message",
    "msg",
    "errormessage",
    "errormsg",
    "errordescription",
    "statusmsg",
    "faultstring",
    "reason",
    "detail",
    "title",
    "description",
    "exception",
    "failure",
    "result",
];

/// `name` in lower case and in one word: `error_message`, `errorMessage` and `ErrorMessage` are one name.
fn plain(name: &str) -> impl Iterator<Item = u8> {
    let letters = name.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
    letters.map(|byte| byte.to_ascii_lowercase())
}

/// The first member that is called `name`, which is [`plain`], in whatever spelling.
fn member<'a>(members: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let own = |spelled: &&String| plain(spelled).eq(name.bytes());
    let spelled = members.keys().find(own)?;
    members.get(spelled)
}

/// The failure that an event of a response tells of, in whatever shape.
pub(crate) fn failure_in(event: &Value) -> Option<ProviderError> {
    match event {
        Value::Array(items) => items.iter().find_map(failure_in),
        Value::Object(members) => error_member(members).or_else(|| whole_failure(members)),
        _ => None,
    }
}

/// The failure in a member called `error`, or that begins so, however deep.
fn error_member(members: &Map<String, Value>) -> Option<ProviderError> {
    for (name, value) in members {
        if is_error(name) && says_something(value) {
            let own = failure_of(value);
            // A code, a flag and a text have more beside them.
            let tells = own.message().is_some() && (value.is_object() || value.is_array());
            return Some(match tells {
                true => own,
                false => failure_of(&Value::Object(members.clone())),
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
        .filter(|(name, _)| !CONTENT_MEMBERS.contains(&name.as_str()))
        .find_map(inner)
}

/// Whether a member is called `error`, or begins so.
fn is_error(name: &str) -> bool {
    let begins = |word: &str| plain(name).take(word.len()).eq(word.bytes());
    begins("error") || begins("exception")
}

/// The failure that the event as a whole stands for.
fn whole_failure(members: &Map<String, Value>) -> Option<ProviderError> {
    let of = |name: &str| member(members, name);
    let has = |name: &str| of(name).is_some_and(says_something);
    let any = |names: &[&str]| names.iter().any(|name| has(name));
    let says_failure = |name: &str| {
        let word = of(name).and_then(Value::as_str).unwrap_or_default();
        let word = word.to_ascii_lowercase();
        ["error", "exception"].iter().any(|end| word.ends_with(end))
            || ["failed", "failure"].contains(&word.as_str())
    };
    let is_text =
        |name: &str| of(name).is_some_and(|text| text.is_string() && says_something(text));
    let answers = any(&["choices", "usage", "content"]);
    // An error without words is a place kept free, unless the event has nothing else.
    let names_nothing_else = !members.is_empty()
        && members
            .iter()
            .all(|(name, value)| is_error(name) && value.is_object());
    let failed = names_nothing_else
        || says_failure("object")
        || says_failure("type")
        || ["success", "ok"].iter().any(|name| of(name) == Some(&Value::Bool(false)))
        || any(&["iserror", "failed", "failure"])
        // MiniMax puts its outcome beside every answer.
        || of("baseresp")
            .and_then(|outcome| outcome.get("status_code"))
            .is_some_and(says_something)
        || (!answers
            && (says_failure("status")
                || says_status(members)
                || any(&["detail", "fault"])
                || is_text("message")
                || is_text("msg")));
    failed.then(|| {
        let inner = ["baseresp", "fault", "detail"]
            .iter()
            .find_map(|name| of(name).filter(|value| says_something(value)));
        let failure = failure_of(&Value::Object(members.clone()));
        match inner {
            Some(inner) if failure.message().is_none() => failure_of(inner),
            _ => failure,
        }
    })
}

/// Whether a member says an HTTP status without success.
fn says_status(members: &Map<String, Value>) -> bool {
    ["status", "statuscode", "httpcode", "code"]
        .iter()
        .filter_map(|name| member(members, name).and_then(json::count))
        .any(|status| (400..600).contains(&status))
}

/// The failure that JSON tells of which was cut off.
pub(crate) fn failure_in_prefix(text: &str) -> Option<ProviderError> {
    failure_in(&json::prefix(text)?)
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
    let message = message_of(error);
    let names = [
        "type",
        "code",
        "status",
        "errorcode",
        "httpcode",
        "statuscode",
    ]
    .map(
        |name| match error.as_object().and_then(|of| member(of, name)) {
            Some(Value::String(word)) => word.clone(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        },
    );
    let text = message.as_deref().unwrap_or_default().to_ascii_lowercase();
    let plain = names.each_ref().map(|name| name.to_ascii_lowercase());
    let failure = ProviderError::new(of_error(&plain, &text));
    // As they came: what is a secret is known so.
    failure.with_message(&message.unwrap_or_else(|| names.join(" ")))
}

/// The failure behind an answer without success. `body` is its beginning.
pub(crate) fn refused(status: u16, body: &[u8]) -> ProviderError {
    let text = String::from_utf8_lossy(body);
    let text = text.trim_start_matches('\u{feff}');
    let is_json = text.trim_start().starts_with(['{', '[']);
    let value = match serde_json::from_str::<Value>(text) {
        Ok(value) => Some(value),
        // What was cut off still says what its beginning says.
        Err(_) if is_json => json::prefix(text),
        Err(_) => None,
    };
    let message = match &value {
        Some(value) => message_of(value),
        None if is_json || is_page(text) => None,
        None => Some(text.to_owned()),
    };
    let param = value.as_ref().and_then(param);
    let about_member = param.is_some_and(|param| param != "model");
    let kind = of_status(status, &text.to_ascii_lowercase(), about_member);
    let mut failure = ProviderError::new(kind).with_status(status);
    failure.param = param.map(str::to_owned);
    failure.retry_after = value.as_ref().and_then(retry_delay);
    match message {
        // A redirect's words are about where it leads.
        Some(message) if kind != ErrorKind::Redirected => failure.with_message(&message),
        None if value.is_none() && is_page(text) => failure.with_note("it sent a web page"),
        _ => failure,
    }
}

/// The wait that Google's servers ask for inside the refusal, such as `34.5s`.
fn retry_delay(refusal: &Value) -> Option<Duration> {
    let items = refusal.as_array();
    let refusal = items.and_then(|items| items.first()).unwrap_or(refusal);
    let details = refusal.pointer("/error/details")?.as_array()?;
    let asked = details
        .iter()
        .find_map(|detail| detail["retryDelay"].as_str())?;
    Duration::try_from_secs_f64(asked.strip_suffix('s')?.parse().ok()?).ok()
}

/// The member of the request that a refusal says it is about.
fn param(refusal: &Value) -> Option<&str> {
    if let Value::Array(items) = refusal {
        return items.first().and_then(param);
    }
    let of = |name: &str| member(refusal.as_object()?, name);
    let own = ["param", "parameter"]
        .iter()
        .filter_map(|name| of(name)?.as_str());
    own.filter(|param| !param.is_empty())
        .chain(of("error").and_then(param))
        .next()
}

/// Whether a body is a page for people, such as a login or a proxy's error.
pub(crate) fn is_page(text: &str) -> bool {
    text.trim_start_matches('\u{feff}')
        .trim_start()
        .starts_with('<')
}

/// The words for people in an error of any type.
fn message_of(error: &Value) -> Option<String> {
    match error {
        Value::String(text) => {
            // Gateways send their upstream's error as text.
            let inner = serde_json::from_str::<Value>(text)
                .ok()
                .filter(Value::is_object);
            let inner = inner.and_then(|inner| message_of(&inner));
            inner.or_else(|| (!text.trim().is_empty()).then(|| text.clone()))
        }
        Value::Array(items) => {
            let all: Vec<_> = items.iter().take(8).filter_map(message_of).collect();
            (!all.is_empty()).then(|| all.join("; "))
        }
        Value::Object(members) => {
            let of = |name: &&str| member(members, name).and_then(message_of);
            let nested = ["error", "errors", "baseresp", "fault"].iter().find_map(of);
            let own = MESSAGE_MEMBERS.iter().find_map(of);
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

#[cfg(test)]
mod tests;
