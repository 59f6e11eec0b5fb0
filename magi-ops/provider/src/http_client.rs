//! Where servers are, their clients, and one bounded exchange without a stream. What is asked and what an answer means is
//! the caller's.

use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};

use crate::config::BuildError;
use crate::error::{ErrorKind, ProviderError};

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
    web::client(url, connect).map_err(BuildError::Client)
}
