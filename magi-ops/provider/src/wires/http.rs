//! The HTTP side of a wire: addresses, the client, one request and the head of its answer.
//! No retry is decided here and no event is read; what a refusal means stands in `refusal`.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_NONE_MATCH,
};
use reqwest::{StatusCode, Url};
use serde_json::Value;

use super::refusal::refused;
use super::retry::asked_wait;
use crate::config::BuildError;
use crate::credential::Credential;
use crate::error::{ErrorKind, ProviderError};
use crate::http_client::{address, client};
use crate::recorder::Recording;

/// Most bytes of a refusal's body that are read.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Longest name of an answer that is kept.
const MAX_ETAG_BYTES: usize = 512;
/// For the body of a refusal: its status already says the most.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// How the endpoints of the apis end, for who names one in place of the address that paths are added to.
const ENDPOINTS: [(&[&str], &str); 6] = [
    (&["v1", "messages"], "anthropic"),
    (&["chat", "completions"], "openai-chat"),
    (&["responses"], "openai-responses"),
    (&["api", "chat"], "ollama"),
    (&["api", "generate"], "ollama"),
    (&["models", GENERATE], "gemini"),
];
/// What is said of an answer whose words can't be read.
const COMPRESSED: &str = "its answer is compressed, which nobody asked for";
/// Stands for the part of an address that names a model and what is asked of it, such as `m:generateContent`.
pub(crate) const GENERATE: &str = "*:generateContent";

/// Where requests go and how they carry their credential.
pub(crate) struct Endpoint {
    client: reqwest::Client,
    url: Url,
    headers: HeaderMap,
    key: KeyHeader,
    /// The header that says whose the credential is, in lower case.
    account: Option<&'static str>,
}

/// What of a request's address and headers depends on what is asked.
#[derive(Debug, Default)]
pub(crate) struct Target {
    /// Appended to the address, one part.
    pub(crate) path: Option<String>,
    /// By names in lower case. Values that no header can hold are left out.
    pub(crate) headers: Vec<(&'static str, String)>,
}

/// One question for a small answer.
#[derive(Debug, Default)]
pub(crate) struct Ask<'a> {
    /// Added to the address.
    pub(crate) query: &'a [(&'static str, String)],
    /// Posted, if there is one.
    pub(crate) body: Option<Value>,
    /// What the server named the answer that is known.
    pub(crate) etag: Option<&'a str>,
}

/// The answer to an [`Ask`].
#[derive(Debug)]
pub(crate) enum Fetched {
    /// It is the one that is known.
    Unchanged,
    Body {
        body: Vec<u8>,
        /// What the server names it.
        etag: Option<String>,
    },
}

/// The header that carries the credential.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHeader {
    /// In lower case.
    pub(crate) name: &'static str,
    /// What stands before the credential, its blank included.
    pub(crate) scheme: &'static str,
}

impl KeyHeader {
    pub(crate) const BEARER: Self = Self {
        name: "authorization",
        scheme: "Bearer ",
    };
}

impl Endpoint {
    /// `path` is appended to `base`, which may have a query of its own. What of `path` the base already
    /// ends with, such as `v1` or the whole, is not repeated, and what of `instead` it ends with makes room.
    ///
    /// # Errors
    /// For a base that can't be used, and without an HTTP client.
    pub(crate) fn new(
        base: &str,
        path: &[&str],
        instead: &[&[&str]],
        key: KeyHeader,
        connect: Duration,
    ) -> Result<Self, BuildError> {
        let url = join(base, path, instead)?;
        let client = client(&url, connect)?;
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // A stream that is compressed comes in lumps.
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        Ok(Self {
            client,
            url,
            headers,
            key,
            account: None,
        })
    }

    /// Says whose the credential is in the header `name`, in lower case.
    pub(crate) fn naming_account(mut self, name: &'static str) -> Self {
        self.account = Some(name);
        self
    }

    /// Adds to the query of the address.
    pub(crate) fn query(mut self, name: &str, value: &str) -> Self {
        let has = self.url.query_pairs().any(|(own, _)| own == name);
        if !has {
            self.url.query_pairs_mut().append_pair(name, value);
        }
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'static str) -> Self {
        self.headers.insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
        self
    }

    /// Where the server is, without what else an address may hold.
    pub(crate) fn place(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default();
        port.map_or_else(|| format!("at {host}"), |port| format!("at {host}:{port}"))
    }

    fn headers(&self, credential: Option<&Credential>) -> Result<HeaderMap, ProviderError> {
        let mut headers = self.headers.clone();
        let Some(Credential { secret, account }) = credential else {
            return Ok(headers);
        };
        let value = format!("{}{}", self.key.scheme, secret.expose());
        headers.insert(
            HeaderName::from_static(self.key.name),
            secret_header(&value)?,
        );
        if let (Some(name), Some(account)) = (self.account, account) {
            headers.insert(
                HeaderName::from_static(name),
                secret_header(account.expose())?,
            );
        }
        Ok(headers)
    }

    fn unanswered(&self, error: reqwest::Error) -> ProviderError {
        // A connection that came about and then gave no answer was lost, not refused.
        let failed = match error.is_connect() || error.is_timeout() {
            true => ProviderError::new(ErrorKind::Network).with_about(&self.place()),
            false => ProviderError::new(ErrorKind::Interrupted),
        };
        failed.with_source(error.without_url())
    }

    /// Asks for a small answer without a stream: with a GET, or with a POST of `body`. At most `room` bytes of it are read.
    /// Callers bound the time.
    ///
    /// # Errors
    /// Without a whole answer, for a longer one, and for one without success.
    pub(crate) async fn fetch(
        &self,
        ask: &Ask<'_>,
        credential: Option<&Credential>,
        room: usize,
    ) -> Result<Fetched, ProviderError> {
        let mut url = self.url.clone();
        for (name, value) in ask.query {
            url.query_pairs_mut().append_pair(name, value);
        }
        let mut headers = self.headers(credential)?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let request = match &ask.body {
            Some(body) => self.client.post(url).body(body.to_string()),
            None => {
                headers.remove(CONTENT_TYPE);
                self.client.get(url)
            }
        };
        // A tag was a header's value before.
        let tag = ask.etag.map(HeaderValue::from_str).and_then(Result::ok);
        if let Some(tag) = tag {
            headers.insert(IF_NONE_MATCH, tag);
        }
        let sent = request.headers(headers).send().await;
        let mut answer = sent.map_err(|error| self.unanswered(error))?;
        let status = answer.status();
        if status == StatusCode::NOT_MODIFIED && ask.etag.is_some() {
            return Ok(Fetched::Unchanged);
        }
        if !status.is_success() {
            return Err(refused(status.as_u16(), &refusal_body(answer).await));
        }
        if let Some(how) = compression(answer.headers()) {
            return Err(ProviderError::malformed(COMPRESSED).with_message(&how));
        }
        let tag = answer.headers().get(ETAG);
        let tag = tag.and_then(|tag| tag.to_str().ok());
        let etag = tag
            .filter(|tag| tag.len() <= MAX_ETAG_BYTES)
            .map(str::to_owned);
        let mut body = Vec::new();
        let broken = |error: reqwest::Error| {
            ProviderError::new(ErrorKind::Interrupted).with_source(error.without_url())
        };
        while let Some(bytes) = answer.chunk().await.map_err(broken)? {
            if body.len() + bytes.len() > room {
                return Err(ProviderError::malformed("the answer is too long"));
            }
            body.extend_from_slice(&bytes);
        }
        Ok(Fetched::Body { body, etag })
    }

    /// Sends one request and waits for the head of its answer. Dropping the future, or the answer,
    /// closes the connection.
    ///
    /// # Errors
    /// Without an answer, and for one without success.
    pub(crate) async fn send(
        &self,
        body: Bytes,
        credential: Option<&Credential>,
        target: &Target,
        mut recording: Option<&mut Recording>,
    ) -> Result<reqwest::Response, ProviderError> {
        let mut url = self.url.clone();
        if let (Some(part), Ok(mut path)) = (&target.path, url.path_segments_mut()) {
            path.push(part);
        }
        let mut headers = self.headers(credential)?;
        for (name, value) in &target.headers {
            match HeaderValue::from_str(value) {
                Ok(value) => drop(headers.insert(HeaderName::from_static(name), value)),
                Err(error) => tracing::debug!(%error, name, "a header is left out"),
            }
        }
        if let Some(recording) = &mut recording {
            recording.asked(url.path(), named(&headers));
        }
        let sent = self
            .client
            .post(url)
            .headers(headers)
            .body(body)
            .send()
            .await;
        let answer = sent.map_err(|error| self.unanswered(error))?;
        let status = answer.status().as_u16();
        if let Some(recording) = &mut recording {
            recording.answered(status, named(answer.headers()));
        }
        let compressed = compression(answer.headers());
        if !answer.status().is_success() {
            let header = |name: &str| answer.headers().get(name)?.to_str().ok();
            let retry_after = asked_wait(header, SystemTime::now());
            let body = refusal_body(answer).await;
            if let Some(recording) = recording {
                recording.arrived(&body);
            }
            let mut error = match compressed {
                None => refused(status, &body),
                Some(how) => refused(status, b"")
                    .with_note(COMPRESSED)
                    .with_message(&how),
            };
            error.retry_after = retry_after.or(error.retry_after);
            return Err(error);
        }
        match compressed {
            None => Ok(answer),
            Some(how) => Err(ProviderError::malformed(COMPRESSED).with_message(&how)),
        }
    }
}

/// How an answer is compressed although nobody asked for that. Words that name no compression stand in this header on some
/// servers.
fn compression(headers: &HeaderMap) -> Option<String> {
    let encoding = headers.get(CONTENT_ENCODING)?.to_str().ok()?;
    let encoding = encoding.trim().to_ascii_lowercase();
    ["gzip", "deflate", "br", "zstd", "compress"]
        .iter()
        .any(|word| encoding.split([',', ' ', '-']).any(|own| own == *word))
        .then_some(encoding)
}

/// Headers by their names, in lower case.
fn named(headers: &HeaderMap) -> impl Iterator<Item = (&str, &[u8])> {
    headers
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_bytes()))
}

/// A header's value that no log shows.
fn secret_header(value: &str) -> Result<HeaderValue, ProviderError> {
    let mut value = HeaderValue::from_str(value).map_err(|error| {
        let unsendable = ProviderError::new(ErrorKind::NoCredential);
        let unsendable = unsendable.with_note("it holds what no header can");
        unsendable.with_source(error)
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn join(base: &str, path: &[&str], instead: &[&[&str]]) -> Result<Url, BuildError> {
    let mut url = address(base)?;
    let parts = url.path_segments().into_iter().flatten();
    let mut parts: Vec<_> = parts.filter(|part| !part.is_empty()).collect();
    let ends_with = |parts: &[&str], end: &[&str]| {
        let own = parts.iter().rev();
        parts.len() >= end.len()
            && end
                .iter()
                .rev()
                .zip(own)
                .all(|(end, own)| is_part(own, end))
    };
    let replaced = instead.iter().find(|end| ends_with(&parts, end));
    let replaced = replaced.map_or(0, |end| end.len());
    parts.truncate(parts.len() - replaced);
    let other = ENDPOINTS.iter().find(|(end, _)| ends_with(&parts, end));
    if let Some((_, api)) = other.filter(|_| !parts.ends_with(path)) {
        return Err(BuildError::BaseUrlOfOtherApi(api));
    }
    let known = (1..=path.len())
        .rev()
        .find(|&length| parts.ends_with(&path[..length]))
        .unwrap_or(0);
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty();
        for _ in 0..replaced {
            segments.pop();
        }
        segments.extend(&path[known..]);
    }
    Ok(url)
}

/// Whether a part of a path is `wanted`.
fn is_part(part: &str, wanted: &str) -> bool {
    match wanted {
        GENERATE => part
            .split_once(':')
            .is_some_and(|(_, asked)| asked.to_ascii_lowercase().ends_with("generatecontent")),
        wanted => part == wanted,
    }
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn paths_join_once_whatever_the_base_ends_with() {
        let instead: &[&[&str]] = &[&["api", "old"], &["api"]];
        let join = |base| join(base, &["v1", "messages"], instead).map(String::from);
        for (base, url) in [
            ("https://a.example", "https://a.example/v1/messages"),
            ("https://a.example/", "https://a.example/v1/messages"),
            ("https://a.example/v1", "https://a.example/v1/messages"),
            ("https://a.example/v1/", "https://a.example/v1/messages"),
            (
                "https://a.example/v1/messages",
                "https://a.example/v1/messages",
            ),
            (
                "https://a.example/v1/messages/?a=b",
                "https://a.example/v1/messages?a=b",
            ),
            (
                "https://a.example/messages",
                "https://a.example/messages/v1/messages",
            ),
            (
                "http://[::1]:8080/llm/v1?tenant=x",
                "http://[::1]:8080/llm/v1/messages?tenant=x",
            ),
            (
                "https://a.example/x/api/old/?a=b",
                "https://a.example/x/v1/messages?a=b",
            ),
            ("https://a.example/api", "https://a.example/v1/messages"),
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
        for (base, api) in [
            ("https://a.example/v1/chat/completions/", "openai-chat"),
            ("https://a.example/api/chat?a=b", "ollama"),
        ] {
            let refused = join(base).unwrap_err();
            assert!(matches!(refused, BuildError::BaseUrlOfOtherApi(own) if own == api));
        }
    }
}
