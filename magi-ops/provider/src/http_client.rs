//! The HTTP client of whatever asks a server: encryption, proxies, addresses, no redirects; and one bounded exchange
//! without a stream. What is asked and what an answer means is the caller's.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};

use crate::config::BuildError;
use crate::error::{ErrorKind, ProviderError};

/// How long a connection without a request is kept: servers close theirs about then.
const IDLE: Duration = Duration::from_secs(55);
/// Most bytes of an answer without a stream.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// A client for the servers at one address.
pub struct HttpClient(reqwest::Client);

impl HttpClient {
    /// Reads the system's certificates for `https`. Waits at most `connect` for a connection.
    ///
    /// # Errors
    /// [`BuildError::BaseUrlInvalid`] for an address that can't be used, [`BuildError::Client`] without a client.
    pub fn new(url: &str, connect: Duration) -> Result<Self, BuildError> {
        client(&address(url)?, connect).map(Self)
    }

    /// Posts `fields` as a form. Gives the status and the body of the answer.
    ///
    /// # Errors
    /// Without a whole answer within `time`, and for one of more than 1 MiB.
    pub async fn post_form(
        &self,
        url: &str,
        fields: &[(&str, &str)],
        time: Duration,
    ) -> Result<(u16, Vec<u8>), ProviderError> {
        let failed = |error: reqwest::Error| {
            ProviderError::new(ErrorKind::Network).with_source(error.without_url())
        };
        // Queries are forms.
        let mut form = Url::parse(url)
            .map_err(|error| ProviderError::new(ErrorKind::Network).with_source(error))?;
        form.set_query(None);
        form.query_pairs_mut().extend_pairs(fields);
        let mut answer = self
            .0
            .post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .timeout(time)
            .body(form.query().unwrap_or_default().to_owned())
            .send()
            .await
            .map_err(failed)?;
        let mut body = Vec::new();
        while let Some(bytes) = answer.chunk().await.map_err(failed)? {
            if body.len() + bytes.len() > MAX_ANSWER_BYTES {
                return Err(ProviderError::malformed("the answer is longer than 1 MiB"));
            }
            body.extend_from_slice(&bytes);
        }
        Ok((answer.status().as_u16(), body))
    }
}

/// `text` as the address of a server: `http` or `https`, a host, no user, no password, no fragment.
pub(crate) fn address(text: &str) -> Result<Url, BuildError> {
    let url = Url::parse(text).map_err(|error| {
        tracing::debug!(%error, "a base URL is none");
        BuildError::BaseUrlInvalid
    })?;
    let plain = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    plain.then_some(url).ok_or(BuildError::BaseUrlInvalid)
}

pub(crate) fn client(url: &Url, connect: Duration) -> Result<reqwest::Client, BuildError> {
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
        .tls_backend_preconfigured(tls().map_err(|error| BuildError::Client(error.into()))?)
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
    builder
        .build()
        .map_err(|error| BuildError::Client(error.into()))
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
}
