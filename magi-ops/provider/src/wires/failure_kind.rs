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
    // Nothing that is not there is too long, whatever its name is.
    let absent = named(&["404", "405", "410", "model_not_found", "not_found_error"]);
    let too_long = ["context_length", "context_size", "request_too_large", "413"];
    if !absent && (is_context_length(text) || named(&too_long)) {
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
        // Nothing that is not there is too long, whatever its name is.
        _ if !matches!(status, 404 | 405 | 410) && is_context_length(text) => {
            ErrorKind::ContextLength
        }
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
const TOO_LONG: [(&str, &[&str]); 8] = [
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
    ("litellm", &["contextwindowexceedederror"]),
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
    // Words that may be about a member which this model or its server does not take.
    let about_members = [
        "parameter",
        "unsupported_value",
        "unsupported value",
        "field",
        "property",
        "unknown name",
        "unknown argument",
        "unknown variant",
        "unexpected keyword",
        "extra inputs",
        "expected one of",
    ];
    // What stands before them is what they are about.
    let unsupported = ["not supported", "not available"].iter().any(|phrase| {
        let before = text.find(phrase).map(|at| &text[..at]);
        before.is_some_and(|before| before.contains("model"))
    });
    text.contains("model")
        && !says_any(text, &about_members)
        && (unsupported || says_any(text, &absent))
}

/// Which images a refusal is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageRefusal {
    /// The model takes none, or none where they stand.
    Every,
    /// The longest is too long.
    Longest,
    /// One that is broken, too wide, one too many, of a kind that the server does not know.
    One,
}

/// Parts of words about an image itself. They come first: some name what the server takes.
const ABOUT_AN_IMAGE: [&str; 25] = [
    "could not process",
    "unable to process",
    "failed to process",
    "failed to load",
    "valid image",
    "invalid_image",
    "image data",
    "decode",
    "parse",
    "corrupt",
    "truncated",
    "broken",
    "cannot identify",
    "unsupported image.",
    "image format",
    "following formats",
    "image type",
    "mime",
    "media type",
    "media_type",
    "dimension",
    "pixel",
    "too small",
    "too many images",
    "number of images",
];
/// Parts of words that say that a model takes no images.
const TAKES_NONE: [&str; 15] = [
    "support",
    "image input",
    "vision",
    "multimodal",
    "multi-modal",
    "modalit",
    "mmproj",
    "unknown variant",
    "text-only",
    "text only",
    "only text",
    "not accept",
    "not allowed",
    "process images",
    "at most 0 image",
];

/// Which images a refusal of a request with some is about; `None` if it is about something else. `text` is in lower case.
pub(super) fn image_refusal(status: Option<u16>, text: &str) -> Option<ImageRefusal> {
    // Some servers call it their own failure.
    if !matches!(status, Some(400 | 404 | 413 | 415 | 422 | 500 | 501)) {
        return None;
    }
    let mentions = ["image", "vision", "multimodal", "multi-modal", "mmproj"];
    let mentions = says_any(text, &mentions);
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
    if status == Some(413) {
        Some(ImageRefusal::Longest)
    } else if mentions && says_any(text, &ABOUT_AN_IMAGE) {
        Some(ImageRefusal::One)
    } else if mentions && says_any(text, &size) {
        Some(ImageRefusal::Longest)
    } else if order || (mentions && says_any(text, &TAKES_NONE)) {
        Some(ImageRefusal::Every)
    } else {
        mentions.then_some(ImageRefusal::One)
    }
}

#[cfg(test)]
mod tests {
    use super::ImageRefusal::*;
    use super::*;

    #[test]
    fn a_refusal_is_about_the_images_that_its_words_mean() {
        for (status, words, expected) in [
            (
                400,
                "messages.2.content.0.image.source.base64: Could not process image",
                Some(One),
            ),
            (
                400,
                "The image data you provided does not represent a valid image. Please check your input.",
                Some(One),
            ),
            (
                400,
                "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png']",
                Some(One),
            ),
            (
                400,
                "Unable to process input image. Please retry",
                Some(One),
            ),
            (400, "Unsupported MIME type: image/gif", Some(One)),
            (500, "Failed to load image or audio file", Some(One)),
            (
                500,
                "cannot identify image file <_io.BytesIO object>",
                Some(One),
            ),
            (
                400,
                "At least one of the image dimensions exceed max allowed size: 8000 pixels",
                Some(One),
            ),
            (
                400,
                "At most 16 image(s) may be provided in one request.",
                Some(One),
            ),
            (400, "Too many images in request (maximum 20)", Some(One)),
            (500, "an image made me stumble", Some(One)),
            (
                400,
                "image exceeds 5 MB maximum: 5592408 bytes > 5242880 bytes",
                Some(Longest),
            ),
            (413, "", Some(Longest)),
            (400, "m does not support image input", Some(Every)),
            (
                404,
                "No endpoints found that support image input",
                Some(Every),
            ),
            (
                400,
                "Invalid content type. image_url is only supported by certain models.",
                Some(Every),
            ),
            (
                422,
                "unknown variant `image_url`, expected `text`",
                Some(Every),
            ),
            (
                500,
                "image input is not supported - hint: you may need to provide the mmproj",
                Some(Every),
            ),
            (400, "m is not a multimodal model", Some(Every)),
            (
                400,
                "At most 0 image(s) may be provided in one request.",
                Some(Every),
            ),
            (
                500,
                "this model is missing data required for image input",
                Some(Every),
            ),
            (400, "Unexpected role 'user' after role 'tool'", Some(Every)),
            (400, "temperature is out of range", None),
            (429, "too many images", None),
        ] {
            let found = image_refusal(Some(status), &words.to_ascii_lowercase());
            assert_eq!(found, expected, "{status} {words}");
        }
    }
}
