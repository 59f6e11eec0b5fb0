//! The listener on this machine that a browser comes back to from a login, and the page that it is shown.
//! What an address that came back says is the login's matter, but for its `state`: it alone tells whose it is.

use std::io;
use std::net::Ipv4Addr;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use reqwest::Url;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// For one request of a browser.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Connections that are listened to at once. Browsers open some to spare, and any page of this machine may.
const MAX_BROWSERS: usize = 64;
/// How long the system is left alone that can't accept one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Longest head of such a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// A listener on 127.0.0.1.
#[derive(Debug)]
pub struct Loopback {
    listener: TcpListener,
    port: u16,
}

/// A browser that came back, which waits for its page.
#[derive(Debug)]
pub struct Returned {
    /// The address that it was sent to: it holds what is secret.
    url: Url,
    browser: TcpStream,
}

impl Loopback {
    /// Listens on the first of `ports` that is free; 0 is any.
    ///
    /// # Errors
    /// Why the last of them can't be listened on.
    pub async fn bind(ports: &[u16]) -> io::Result<Self> {
        let mut failed = io::ErrorKind::InvalidInput.into();
        for port in ports {
            match TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).await {
                Ok(listener) => {
                    let port = listener.local_addr()?.port();
                    return Ok(Self { listener, port });
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Waits for the browser that comes back to `path` with our own `state`, and for nobody else: whoever connects and
    /// says nothing holds up no other, and any other request gets an error page, since any page could send it. Without a
    /// state there is none that is ours.
    pub async fn returned(&self, path: &str, state: Option<&str>) -> Returned {
        let mut browsers = FuturesUnordered::new();
        loop {
            tokio::select! {
                Some(returned) = browsers.next() => {
                    if let Some(returned) = returned {
                        return returned;
                    }
                }
                accepted = self.listener.accept(), if browsers.len() < MAX_BROWSERS => match accepted {
                    Ok((browser, _)) => browsers.push(self.heard(browser, path, state)),
                    Err(error) => {
                        tracing::debug!(%error, "a browser is not accepted");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
            }
        }
    }

    /// The browser, if it is ours.
    async fn heard(
        &self,
        mut browser: TcpStream,
        path: &str,
        state: Option<&str>,
    ) -> Option<Returned> {
        let asked = timeout(REQUEST_TIME, target(&mut browser)).await;
        let asked = asked.ok().flatten();
        let back = format!("http://127.0.0.1:{}", self.port);
        let url = asked.and_then(|target| Url::parse(&back).ok()?.join(&target).ok());
        let ours = |url: &Url| {
            url.path() == path && state.is_some() && parameter(url, "state").as_deref() == state
        };
        match url.filter(ours) {
            Some(url) => Some(Returned { url, browser }),
            None => {
                let words = "This is not the login that is waited for.";
                respond(&mut browser, false, words).await;
                None
            }
        }
    }
}

impl Returned {
    /// The address that the browser was sent to.
    #[must_use]
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// Shows `words` to the person; they are markup.
    pub async fn answer(mut self, is_good: bool, words: &str) {
        respond(&mut self.browser, is_good, words).await;
    }
}

/// What a query says under `name`, first.
#[must_use]
pub fn parameter(url: &Url, name: &str) -> Option<String> {
    let mut pairs = url.query_pairs();
    let found = pairs.find(|(key, _)| key == name);
    found.map(|(_, value)| value.into_owned())
}

/// The target of a GET request, once its head is whole.
async fn target(browser: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while memchr::memmem::find(&head, b"\r\n\r\n").is_none() {
        if head.len() > MAX_HEAD_BYTES || browser.read_buf(&mut head).await.ok()? == 0 {
            return None;
        }
    }
    let head = std::str::from_utf8(&head).ok()?;
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    (method == "GET" && target.starts_with('/')).then(|| target.to_owned())
}

async fn respond(browser: &mut TcpStream, is_good: bool, words: &str) {
    let status = if is_good { "200 OK" } else { "400 Bad Request" };
    let page = format!("<!doctype html><title>magi-code</title><p>{words}</p>\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n{page}",
        page.len()
    );
    // A browser that is gone needs no page.
    let _ = timeout(REQUEST_TIME, browser.write_all(answer.as_bytes())).await;
    let _ = browser.shutdown().await;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const PATH: &str = "/callback";

    async fn asks(loopback: &Loopback, target: &str) -> TcpStream {
        let address = (Ipv4Addr::LOCALHOST, loopback.port());
        let mut browser = TcpStream::connect(address).await.unwrap();
        let asked = format!("GET {target} HTTP/1.1\r\n\r\n");
        browser.write_all(asked.as_bytes()).await.unwrap();
        browser
    }

    #[tokio::test]
    async fn who_connects_and_says_nothing_holds_up_no_browser() {
        let loopback = Loopback::bind(&[0]).await.unwrap();
        let mut silent = Vec::new();
        for _ in 0..8 {
            let address = (Ipv4Addr::LOCALHOST, loopback.port());
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let visit = asks(&loopback, "/callback?state=own&code=1");
        // Each of them would be waited for for this long.
        let both = async { tokio::join!(loopback.returned(PATH, Some("own")), visit) };
        let (returned, _) = timeout(REQUEST_TIME - Duration::from_secs(1), both)
            .await
            .unwrap();
        assert_eq!(parameter(returned.url(), "code").as_deref(), Some("1"));
    }

    #[tokio::test]
    async fn what_is_not_ours_gets_an_error_page_and_is_not_waited_for() {
        let loopback = Loopback::bind(&[0]).await.unwrap();
        let visits = async {
            for target in [
                "/callback?state=other&code=1",
                "/callback?code=1",
                "/elsewhere?state=own&code=1",
                "/",
            ] {
                let mut page = String::new();
                let mut browser = asks(&loopback, target).await;
                browser.read_to_string(&mut page).await.unwrap();
                assert!(page.starts_with("HTTP/1.1 400 "), "{target}: {page}");
            }
            asks(&loopback, "/callback?state=own&error=access_denied").await
        };
        let (returned, mut browser) = tokio::join!(loopback.returned(PATH, Some("own")), visits);
        assert_eq!(
            parameter(returned.url(), "error").as_deref(),
            Some("access_denied")
        );
        returned.answer(true, "Done.").await;
        let mut page = String::new();
        browser.read_to_string(&mut page).await.unwrap();
        assert!(page.starts_with("HTTP/1.1 200 OK\r\n") && page.contains("<p>Done.</p>"));
    }

    #[tokio::test]
    async fn the_first_free_port_is_taken() {
        let first = Loopback::bind(&[0]).await.unwrap();
        let taken = first.port();
        assert!(Loopback::bind(&[taken]).await.is_err());
        assert_ne!(Loopback::bind(&[taken, 0]).await.unwrap().port(), taken);
    }
}
