//! Where servers are, their clients, and one bounded exchange without a stream. What is asked and what an answer means is
//! the caller's.

use std::io;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{ACCEPT, CONTENT_TYPE};
use tokio::time::timeout;

use crate::config::BuildError;
use crate::error::{ErrorKind, ProviderError};

/// Most bytes of an answer without a stream.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// In so many parts time is waited for.
const LOOKS: u32 = 10;

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

    /// Posts `form`, which is encoded as one. Gives the status and the body of the answer. A process that was stopped
    /// meanwhile still reads what has arrived.
    ///
    /// # Errors
    /// Without a whole answer within `time` or little more, and for one of more than 1 MiB.
    pub async fn post_form(
        &self,
        url: &str,
        form: Vec<u8>,
        time: Duration,
    ) -> Result<(u16, Vec<u8>), ProviderError> {
        let mut posting = std::pin::pin!(self.post(url, form));
        // However long the process was stopped, it costs one of them.
        for _ in 0..LOOKS {
            if let Ok(answer) = timeout(time / LOOKS, &mut posting).await {
                return answer;
            }
        }
        let late = io::Error::from(io::ErrorKind::TimedOut);
        Err(ProviderError::new(ErrorKind::Network).with_source(late))
    }

    async fn post(&self, url: &str, form: Vec<u8>) -> Result<(u16, Vec<u8>), ProviderError> {
        let failed = |error: reqwest::Error| {
            ProviderError::new(ErrorKind::Network).with_source(error.without_url())
        };
        let mut answer = self
            .0
            .post(url)
            .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
            .header(ACCEPT, "application/json")
            .body(form)
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::thread::{sleep, spawn};

    use super::*;

    /// As of a process that was stopped and goes on: nothing of it ran while its time passed.
    #[tokio::test]
    async fn what_arrived_while_nothing_ran_is_read() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            sleep(Duration::from_millis(500));
            let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
            stream.write_all(answer).unwrap();
        });
        let client = HttpClient::new(&url, Duration::from_secs(10)).unwrap();
        let stop = async {
            tokio::time::sleep(Duration::from_millis(200)).await;
            sleep(Duration::from_secs(4));
        };
        let posting = client.post_form(&url, b"a=b".to_vec(), Duration::from_secs(3));
        let (answer, ()) = tokio::join!(posting, stop);
        assert_eq!(answer.unwrap(), (200, b"ok".to_vec()));
        server.join().unwrap();
    }

    #[tokio::test]
    async fn an_answer_that_does_not_come_is_given_up() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let client = HttpClient::new(&url, Duration::from_secs(10)).unwrap();
        let posting = client.post_form(&url, Vec::new(), Duration::from_millis(200));
        assert_eq!(posting.await.unwrap_err().kind(), ErrorKind::Network);
    }
}
