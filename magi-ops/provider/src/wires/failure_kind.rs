//! Which kind of failure a server's codes, words and statuses mean.
//! Where in an answer they stand is `refusal`'s.

use crate::error::ErrorKind;

/// Whether one of `parts` stands in `text`.
pub(super) fn says_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

/// The kind that the codes `names` and the words `text` of an error mean, all in lower case.
pub(super) fn of_error(names: &[String], text: &str) -> ErrorKind {
    let says = |part: &str| match part.bytes().all(|byte| byte.is_ascii_digit()) {
        true => names.iter().any(|name| name == part),
        false => names.iter().any(|name| name.contains(part)),
    };
    let named = |parts: &[&str]| parts.iter().any(|part| says(part));
    if is_context_length(text)
        || named(&["context_length", "context_size", "request_too_large", "413"])
    {
        ErrorKind::ContextLength
    } else if named(&["insufficient_quota", "billing", "402", "payment"]) || is_quota(text) {
        ErrorKind::Quota
    } else if named(&["rate_limit", "throttl", "429", "resource_exhausted"]) {
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
    ]) || says_any(text, &["overloaded", "internal server error"])
    {
        ErrorKind::Overloaded
    } else if named(&["content_filter", "refusal"]) {
        ErrorKind::Filtered
    } else if named(&["invalid", "400", "404", "422", "501"]) {
        ErrorKind::Refused
    } else {
        ErrorKind::Failed
    }
}

/// The kind that an HTTP status without success means. `text` is the body in lower case; `about_member`: it
/// names a member of the request other than the model.
pub(super) fn of_status(status: u16, text: &str, about_member: bool) -> ErrorKind {
    match status {
        300..=399 => ErrorKind::Redirected,
        401 | 403 | 407 => ErrorKind::Unauthorized,
        // Gemini's answer to a key that it does not know.
        400 if text.contains("api_key_invalid") => ErrorKind::Unauthorized,
        402 => ErrorKind::Quota,
        // An account without money is not better off in a second.
        429 if is_quota(text) => ErrorKind::Quota,
        // More than a minute's allowance is never taken, however long one waits.
        429 if text.contains("request too large") => ErrorKind::ContextLength,
        429 => ErrorKind::RateLimited,
        // Older servers of local models answer 500; who looks at the length in bytes alone says no more than the status.
        413 => ErrorKind::ContextLength,
        _ if is_context_length(text) => ErrorKind::ContextLength,
        _ if is_quota(text) => ErrorKind::Quota,
        // What a server cannot do at all it cannot do a second later.
        501 | 505 | 506 | 508 | 510 | 511 => ErrorKind::Refused,
        408 | 500..=599 => ErrorKind::Overloaded,
        _ if !about_member && is_unknown_model(text) => ErrorKind::UnknownModel,
        404 | 405 | 410 => ErrorKind::NotFound,
        _ => ErrorKind::Refused,
    }
}

/// Whether a line that is no JSON tells of a failure.
pub(crate) fn names_failure(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    let parts = [
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
    ];
    says_any(&line, &parts)
}

/// Parts of words with which servers say that a conversation is longer than their model takes, by whose they are. All
/// count everywhere: gateways pass on what the server behind them said.
const TOO_LONG: [(&str, &[&str]); 7] = [
    (
        "anthropic",
        &[
            "prompt is too long",
            "exceed context limit",
            "input is too long",
            "request_too_large",
        ],
    ),
    (
        "openai",
        &[
            "context_length",
            "context length",
            "context window",
            "maximum context",
            "reduce the length of the messages",
            "maximum prompt length",
            "prompt token count",
            "request too large",
            "request body too large",
        ],
    ),
    (
        "gemini",
        &[
            "input token count",
            "exceeds the maximum number of tokens",
            "request payload size exceeds",
        ],
    ),
    ("llama.cpp", &["context size", "exceed_context_size"]),
    (
        "text-generation-inference",
        &[
            "`inputs` tokens + `max_new_tokens`",
            "`inputs` must have less than",
        ],
    ),
    ("vllm", &["longer than the maximum model length"]),
    (
        "cohere, dashscope, moonshot, zhipu",
        &[
            "too many tokens",
            "range of input length",
            "exceeded model token limit",
            "exceeds max length",
        ],
    ),
];

/// `text` is in lower case.
fn is_context_length(text: &str) -> bool {
    TOO_LONG.iter().any(|(_, parts)| says_any(text, parts))
}

/// `text` is in lower case.
fn is_quota(text: &str) -> bool {
    let parts = [
        "insufficient_quota",
        "insufficient balance",
        "insufficient credit",
        "insufficient funds",
        "credit balance",
        "out of credits",
        "payment required",
        "billing_hard_limit",
        // A subscription's allowance of hours or days.
        "usage_limit_reached",
        "usage_not_included",
    ];
    says_any(text, &parts)
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
        && !says_any(text, &about_members)
        && (unsupported || says_any(text, &absent))
}

/// A limit below this counts as none: it is not the length that the server minds.
const LEAST_IMAGE_LIMIT: usize = 64 * 1024;

/// The longest image that a server takes, by its refusal of a request whose longest was of `sent` bytes; `None` if the
/// refusal is about something else. `text` is in lower case.
pub(super) fn image_limit(status: Option<u16>, text: &str, sent: usize) -> Option<usize> {
    // Some servers call it their own failure.
    if !matches!(status, Some(400 | 404 | 413 | 415 | 422 | 500 | 501)) {
        return None;
    }
    let about = ["image", "vision", "multimodal", "multi-modal", "mmproj"];
    // Images follow the results as the person's message, which not every server takes there.
    let order = says_any(text, &["role"]) && says_any(text, &["after", "order", "alternat"]);
    let size = [
        "exceed",
        "too large",
        "too big",
        "too long",
        "maximum",
        "max ",
    ];
    let too_long = status == Some(413) || says_any(text, &size);
    if too_long && (status == Some(413) || says_any(text, &about)) {
        // The encoded length counts with some: three quarters of that.
        return Some(sent / 4 * 3)
            .filter(|most| *most > LEAST_IMAGE_LIMIT)
            .or(Some(0));
    }
    (order || says_any(text, &about)).then_some(0)
}
