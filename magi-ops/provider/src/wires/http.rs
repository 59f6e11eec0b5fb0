//! The HTTP side of a wire: addresses, the client, one request, and what its refusal means.
//! No retry is decided here and no event is read.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use serde_json::Value;

use super::retry::{Failure, retry_after};
use crate::ProviderError;
use crate::registry::{BuildError, Secret};

/// Most bytes of a refusal's body that are read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// For the body of a refusal: its status already says the most.
const REFUSAL_TIME: Duration = Duration::from_secs(5);
/// How long a connection without a request is kept: servers close theirs about then.
const IDLE: Duration = Duration::from_secs(55);

/// Where requests go and what they carry. Not `Debug`: keys are in it.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
}

impl Endpoint {
    /// `path` is appended to `base`, which may have a query of its own. A leading part of `path` that
    /// `base` already ends with, such as `v1`, is not repeated.
    pub(crate) fn new(base: &str, path: &[&str], connect: Duration) -> Result<Self, BuildError> {
        let url = join(base, path)?;
        let client = client(&url, connect)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Ok(Self {
            client,
            url,
            headers,
        })
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    /// Sends `key` with every request, in the header `name` after `scheme`.
    pub(crate) fn key(
        mut self,
        name: &'static str,
        scheme: &str,
        key: Option<&Secret>,
    ) -> Result<Self, BuildError> {
        let Some(key) = key else {
            return Ok(self);
        };
        let mut value = HeaderValue::from_str(&format!("{scheme}{}", key.expose()))
            .map_err(|_| BuildError::KeyInvalid)?;
        value.set_sensitive(true);
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }

    /// Sends one request and waits for the head of its answer. Dropping the future, or the answer,
    /// closes the connection.
    pub(crate) async fn send(&self, body: Bytes) -> Result<reqwest::Response, Failure> {
        let sent = self
            .client
            .post(self.url.clone())
            .headers(self.headers.clone())
            .body(body)
            .send()
            .await;
        // The error names the address: it goes no further.
        let answer = sent.map_err(|_| Failure::new(ProviderError::Network))?;
        let status = answer.status().as_u16();
        if !answer.status().is_success() {
            let asked = header(&answer, RETRY_AFTER)
                .and_then(|value| retry_after(value, SystemTime::now()));
            let body = refusal_body(answer).await;
            return Err(Failure {
                retry_after: asked,
                ..refusal(status, &body)
            });
        }
        let kind = header(&answer, CONTENT_TYPE).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case("application/json") || kind.eq_ignore_ascii_case("text/html") {
            // Some gateways tell of an error with status 200; the rest is no stream at all.
            let body = refusal_body(answer).await;
            return Err(Failure::new(
                told_error(&body).unwrap_or(ProviderError::Malformed),
            ));
        }
        Ok(answer)
    }
}

fn header(answer: &reqwest::Response, name: HeaderName) -> Option<&str> {
    answer.headers().get(name)?.to_str().ok()
}

fn join(base: &str, path: &[&str]) -> Result<Url, BuildError> {
    let mut url = Url::parse(base).map_err(|_| BuildError::BaseUrlInvalid)?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if !plain {
        return Err(BuildError::BaseUrlInvalid);
    }
    let last = url
        .path_segments()
        .and_then(|mut parts| parts.rfind(|part| !part.is_empty()))
        .map(str::to_owned);
    let path = match (path, last) {
        ([first, rest @ ..], Some(last)) if *first == last && !rest.is_empty() => rest,
        _ => path,
    };
    url.path_segments_mut()
        .map_err(|()| BuildError::BaseUrlInvalid)?
        .pop_if_empty()
        .extend(path);
    Ok(url)
}

fn client(url: &Url, connect: Duration) -> Result<reqwest::Client, BuildError> {
    let tls = || -> Result<rustls::ClientConfig, rustls::Error> {
        let crypto = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(Arc::clone(&crypto))
            .with_safe_default_protocol_versions()?;
        // The system's certificates are read only for who needs them.
        Ok(if url.scheme() == "https" {
            use rustls_platform_verifier::BuilderVerifierExt as _;
            config.with_platform_verifier()?.with_no_client_auth()
        } else {
            config
                .with_root_certificates(rustls::RootCertStore::empty())
                .with_no_client_auth()
        })
    };
    let mut builder = reqwest::Client::builder()
        .tls_backend_preconfigured(tls().map_err(|_| BuildError::Client)?)
        .user_agent(concat!("magi-code/", env!("CARGO_PKG_VERSION")))
        // A redirect would take the credential and the conversation somewhere else.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(connect)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true);
    if is_loopback(url) {
        // A proxy cannot reach this machine's own servers.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|_| BuildError::Client)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

/// The beginning of a refusal's body, as far as it comes in time.
async fn refusal_body(mut answer: reqwest::Response) -> Vec<u8> {
    let mut body = Vec::new();
    let _ = tokio::time::timeout(REFUSAL_TIME, async {
        while body.len() < MAX_REFUSAL_BYTES
            && let Ok(Some(bytes)) = answer.chunk().await
        {
            let room = MAX_REFUSAL_BYTES - body.len();
            body.extend_from_slice(&bytes[..bytes.len().min(room)]);
        }
    })
    .await;
    body
}

/// What an answer without success means.
fn refusal(status: u16, body: &[u8]) -> Failure {
    let text = String::from_utf8_lossy(body).to_ascii_lowercase();
    let error = match status {
        401 | 403 => ProviderError::Unauthorized,
        429 => ProviderError::RateLimited,
        // Older servers of local models answer 500.
        _ if is_context_length(&text) => ProviderError::ContextLength,
        408 | 500..=599 => ProviderError::Overloaded,
        // Redirects are among these.
        _ => ProviderError::Refused,
    };
    let mut failure = Failure::new(error);
    // An account without money is not better off in a second.
    failure.passing &= !text.contains("insufficient_quota");
    failure
}

/// The error that a JSON body tells of: `{"error": …}`.
fn told_error(body: &[u8]) -> Option<ProviderError> {
    let body: Value = serde_json::from_slice(body).ok()?;
    body.get("error").map(stream_error)
}

/// What an error object inside a response means. Its words go no further.
pub(crate) fn stream_error(error: &Value) -> ProviderError {
    let word = |name: &str| match error.get(name) {
        Some(Value::String(word)) => word.to_ascii_lowercase(),
        Some(Value::Number(number)) => number.to_string(),
        _ => String::new(),
    };
    let names = [word("type"), word("code"), word("status")];
    let named = |parts: &[&str]| {
        names
            .iter()
            .any(|name| parts.iter().any(|part| name.contains(part)))
    };
    let message = match error {
        Value::String(message) => message.to_ascii_lowercase(),
        _ => word("message"),
    };
    if is_context_length(&message) || named(&["context_length", "context_size"]) {
        ProviderError::ContextLength
    } else if named(&["rate_limit", "429", "resource_exhausted"]) {
        ProviderError::RateLimited
    } else if named(&["authentication", "permission", "api_key", "401", "403"]) {
        ProviderError::Unauthorized
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
    ]) {
        ProviderError::Overloaded
    } else {
        ProviderError::Refused
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn paths_join_once_whatever_the_slashes() {
        let join = |base| join(base, &["v1", "messages"]).map(String::from);
        for (base, url) in [
            ("https://a.example", "https://a.example/v1/messages"),
            ("https://a.example/", "https://a.example/v1/messages"),
            ("https://a.example/v1", "https://a.example/v1/messages"),
            ("https://a.example/v1/", "https://a.example/v1/messages"),
            (
                "http://[::1]:8080/llm/v1?tenant=x",
                "http://[::1]:8080/llm/v1/messages?tenant=x",
            ),
            (
                "https://a.example/v1/llm",
                "https://a.example/v1/llm/v1/messages",
            ),
        ] {
            assert_eq!(join(base).unwrap(), url);
        }
        for base in [
            "",
            "a.example",
            "ftp://a.example",
            "file:///etc",
            "https://",
            "https://key@a.example",
            "https://a:b@a.example",
            "https://a.example/#x",
            "data:text/plain,x",
        ] {
            assert!(
                matches!(join(base), Err(BuildError::BaseUrlInvalid)),
                "{base}"
            );
        }
    }

    #[test]
    fn this_machine_is_never_behind_a_proxy() {
        let loopback = |url| is_loopback(&Url::parse(url).unwrap());
        for url in [
            "http://127.0.0.1:1",
            "http://127.9.9.9",
            "http://LOCALHOST",
            "https://[::1]/v1",
        ] {
            assert!(loopback(url), "{url}");
        }
        for url in ["http://10.0.0.1", "https://localhost.example"] {
            assert!(!loopback(url), "{url}");
        }
    }

    #[test]
    fn statuses_and_phrases_have_their_error() {
        use ProviderError::*;
        for (status, body, error, passing) in [
            (401, "", Unauthorized, false),
            (403, "context length", Unauthorized, false),
            (429, "", RateLimited, true),
            (
                429,
                r#"{"error":{"code":"insufficient_quota"}}"#,
                RateLimited,
                false,
            ),
            (408, "", Overloaded, true),
            (500, "", Overloaded, true),
            (503, "", Overloaded, true),
            (529, "", Overloaded, true),
            (
                500,
                "the request exceeds the available context size",
                ContextLength,
                false,
            ),
            (
                400,
                "Prompt is too long: 300000 tokens",
                ContextLength,
                false,
            ),
            (
                400,
                "This model's maximum context length is 8192",
                ContextLength,
                false,
            ),
            (400, "", Refused, false),
            (404, "", Refused, false),
            (413, "", Refused, false),
            (422, "", Refused, false),
            (302, "", Refused, false),
        ] {
            let failure = refusal(status, body.as_bytes());
            assert_eq!(
                (failure.error, failure.passing),
                (error, passing),
                "{status}"
            );
        }
    }

    #[test]
    fn errors_inside_a_response_have_theirs() {
        use ProviderError::*;
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
            (json!(null), Refused),
        ] {
            assert_eq!(stream_error(&error), expected, "{error}");
        }
        assert_eq!(told_error(b"{}"), None);
        assert_eq!(told_error(b"<html>"), None);
    }
}
