//! A person's login with a server over HTTP: PKCE, and a listener on this machine that the browser comes back to.
//! What becomes of the credentials stands in `login`.

use std::io;
use std::net::Ipv4Addr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use redact::Redactor;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadataSource, AuthorizationRequest, AuthorizationSession,
};
use store::settings::{Launch, McpServer};
use store::{AccountError, Home};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::error::{StartCause, Trouble, chain};
use crate::{http, login};

/// How long a person may take.
const LOGIN_TIME: Duration = Duration::from_secs(600);
/// For one request of a browser.
const REQUEST_TIME: Duration = Duration::from_secs(5);
/// Connections that are listened to at once. Browsers open some to spare, and any page of this machine may.
const MAX_BROWSERS: usize = 64;
/// How long the system is left alone that can't accept one.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// Longest head of such a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// Most bytes told of each word against a login.
const MAX_WORD_BYTES: usize = 300;
/// Where the browser comes back to.
const CALLBACK: &str = "/callback";

/// Why a login did not come about.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("only a server over HTTP has logins")]
    NoAddress,
    #[error("this server asks for no login")]
    NotAsked,
    #[error("{0}")]
    Server(#[from] StartCause),
    #[error("nothing on this machine can be listened to: {0}")]
    Listener(#[source] io::Error),
    #[error("the server offers no login that can be used: {}", chain(&**.0))]
    Discovery(#[source] Box<AuthError>),
    /// It would be opened by whatever program is there for such addresses.
    #[error(
        "the server names an address to log in at that is neither https nor http on this machine: {address}"
    )]
    Elsewhere {
        address: String,
        /// Why it is no address at all.
        source: Option<<Url as FromStr>::Err>,
    },
    #[error(
        "the server names an address to get credentials from that is plain http to another machine: {0}"
    )]
    Plain(String),
    #[error("a login could not be stored: {0}")]
    Accounts(#[source] AccountError),
    #[error("a login could not be stored: {0}")]
    Broken(#[source] tokio::task::JoinError),
    #[error("the login was refused: {}{}", chain(&**.0), .1.behind())]
    Refused(#[source] Box<AuthError>, Trouble),
    /// In the words of who was asked.
    #[error("the login was refused: {0}")]
    Denied(String),
    #[error("nobody came back from the login within {} minutes", LOGIN_TIME.as_secs() / 60)]
    Late,
}

impl LoginError {
    /// What to do about it, for the server `name`.
    #[must_use]
    pub fn help(&self, name: &str) -> String {
        let command = |verb: &str| {
            let name = store::command_word(name)?;
            Some(format!("`magi-code mcp {verb} {name}`"))
        };
        match self {
            Self::NoAddress => "a program is given its credentials by `env`, or as its own documentation says".to_owned(),
            Self::NotAsked => match command("test") {
                Some(test) => format!("there is nothing to do: {test} tries it without"),
                None => "there is nothing to do".to_owned(),
            },
            Self::Late | Self::Refused(..) | Self::Denied(_) | Self::Broken(_) => match command("login") {
                Some(login) => format!("run {login} once more"),
                None => "try it once more".to_owned(),
            },
            Self::Listener(_) => "let this user listen on 127.0.0.1".to_owned(),
            Self::Accounts(_) => "let your user write `auth.json` in MC_HOME, and what it lies in".to_owned(),
            Self::Server(_)
            | Self::Discovery(_)
            | Self::Elsewhere { .. }
            | Self::Plain(_) => {
                "correct `url`, or ask who runs the server; a token that you have goes into `headers`".to_owned()
            }
        }
    }
}

/// Logs in: `show` is given the address that the person has to visit. Returns when the credentials are stored, none of
/// which `redactor` shows.
///
/// # Errors
/// [`LoginError`] when they are not.
pub async fn log_in(
    server: &McpServer,
    home: &Arc<dyn Home>,
    redactor: &Redactor,
    show: impl FnOnce(&str),
) -> Result<(), LoginError> {
    let Some(Launch::Http { url, .. }) = &server.launch else {
        return Err(LoginError::NoAddress);
    };
    let url = http::address(url)?;
    // What can't be stored in the end is not worth a person's way through a browser.
    let (accounts, name) = (Arc::clone(home), server.name.clone());
    let looked = spawn_blocking(move || accounts.accounts().server_account(&name)).await;
    looked
        .map_err(LoginError::Broken)?
        .map_err(LoginError::Accounts)?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(LoginError::Listener)?;
    let port = listener.local_addr().map_err(LoginError::Listener)?.port();
    let back = format!("http://127.0.0.1:{port}{CALLBACK}");

    let unusable = |error: AuthError| LoginError::Discovery(Box::new(error));
    let client = http::client(&url)?;
    let made = login::manager(client.clone(), &server.name, &url, home, redactor).await;
    let (mut manager, trouble) = made.map_err(unusable)?;
    let found = manager.resolve_metadata().await.map_err(unusable)?;
    // A server that says nothing of a login has one where the older revision puts it, or none: then nobody registers there.
    let is_guessed = found.source == AuthorizationMetadataSource::LegacyEndpointFallback;
    if is_guessed && !wants_login(&client, &url).await {
        return Err(LoginError::NotAsked);
    }
    let metadata = &found.metadata;
    let asked = [
        Some(&metadata.token_endpoint),
        metadata.registration_endpoint.as_ref(),
    ];
    for address in asked.into_iter().flatten() {
        // What is no address at all is told by who asks it.
        if Url::parse(address).is_ok_and(|address| !login::is_safe(&address)) {
            return Err(LoginError::Plain(store::shown(address)));
        }
    }
    manager.set_metadata(found.metadata);
    let request = AuthorizationRequest::new(&back)
        .with_client_name("magi-code")
        .with_initial_scope_selection();
    let session = match AuthorizationSession::new(manager, request).await {
        Ok(session) => session,
        Err((_, error)) => return Err(unusable(error)),
    };
    let address = session.get_authorization_url();
    let visited = visitable(address)?;
    show(address);
    let state = parameter(&visited, "state");
    let Ok(callback) = timeout(LOGIN_TIME, callback(&listener, &back, state.as_deref())).await
    else {
        return Err(LoginError::Late);
    };
    let (mut browser, callback) = callback;
    let stored = match denial(&callback) {
        Some(words) => Err(LoginError::Denied(words)),
        None => session
            .handle_callback_url(callback.as_str())
            .await
            .map(drop)
            .map_err(|error| LoginError::Refused(Box::new(error), trouble)),
    };
    let words = match &stored {
        Ok(()) => "The login is done. This page can be closed.",
        Err(_) => "The login was refused. The terminal says why.",
    };
    respond(&mut browser, stored.is_ok(), words).await;
    stored
}

/// Whether a request without credentials is refused for that; where there is no answer, it may be.
async fn wants_login(client: &reqwest::Client, url: &Url) -> bool {
    let request = client.get(url.clone());
    let request = request.header(reqwest::header::ACCEPT, "text/event-stream");
    match timeout(REQUEST_TIME, request.send()).await {
        Ok(Ok(answer)) => answer.status() == reqwest::StatusCode::UNAUTHORIZED,
        Ok(Err(_)) | Err(_) => true,
    }
}

/// What an address that the browser was sent back to says against the login.
fn denial(callback: &Url) -> Option<String> {
    let word = |name| {
        let word = parameter(callback, name)?;
        let most = word.floor_char_boundary(MAX_WORD_BYTES);
        Some(store::shown(&word[..most]))
    };
    let error = word("error")?;
    Some(match word("error_description") {
        Some(description) => format!("{error}: {description}"),
        None => error,
    })
}

/// The address that a person is sent to: a page, which only a browser opens.
fn visitable(address: &str) -> Result<Url, LoginError> {
    let refused = |source| LoginError::Elsewhere {
        address: store::shown(address),
        source,
    };
    let url = Url::parse(address).map_err(|error| refused(Some(error)))?;
    match login::is_safe(&url) {
        true => Ok(url),
        false => Err(refused(None)),
    }
}

/// Waits for the browser that comes back with our own `state`, and for nobody else: whoever connects and says nothing
/// holds up no other.
async fn callback(listener: &TcpListener, back: &str, state: Option<&str>) -> (TcpStream, Url) {
    let mut browsers = FuturesUnordered::new();
    loop {
        tokio::select! {
            Some(returned) = browsers.next() => {
                if let Some(returned) = returned {
                    return returned;
                }
            }
            accepted = listener.accept(), if browsers.len() < MAX_BROWSERS => match accepted {
                Ok((browser, _)) => browsers.push(returned(browser, back, state)),
                Err(error) => {
                    tracing::debug!(%error, "a browser is not accepted");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
}

/// The browser, if it comes back with our own `state`. Whatever else asks gets an error page: any page could send it.
async fn returned(
    mut browser: TcpStream,
    back: &str,
    state: Option<&str>,
) -> Option<(TcpStream, Url)> {
    let asked = timeout(REQUEST_TIME, target(&mut browser)).await;
    let asked = asked.ok().flatten();
    let url = asked.and_then(|target| Url::parse(back).ok()?.join(&target).ok());
    let ours = |url: &Url| {
        url.path() == CALLBACK && state.is_some() && parameter(url, "state").as_deref() == state
    };
    match url.filter(ours) {
        Some(url) => Some((browser, url)),
        None => {
            let words = "This is not the login that is waited for.";
            respond(&mut browser, false, words).await;
            None
        }
    }
}

fn parameter(url: &Url, name: &str) -> Option<String> {
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
         Cache-Control: no-store\r\nConnection: close\r\n\r\n{page}",
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

    #[tokio::test]
    async fn who_connects_and_says_nothing_holds_up_no_browser() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let back = format!("http://{address}{CALLBACK}");
        let mut silent = Vec::new();
        for _ in 0..8 {
            silent.push(TcpStream::connect(address).await.unwrap());
        }
        let visit = async {
            let mut browser = TcpStream::connect(address).await.unwrap();
            let asked = format!("GET {CALLBACK}?state=own&code=1 HTTP/1.1\r\n\r\n");
            browser.write_all(asked.as_bytes()).await.unwrap();
            browser
        };
        // Each of them would be waited for for this long.
        let both = async { tokio::join!(callback(&listener, &back, Some("own")), visit) };
        let ((_, url), _) = timeout(REQUEST_TIME - Duration::from_secs(1), both)
            .await
            .unwrap();
        assert_eq!(parameter(&url, "code").as_deref(), Some("1"));
    }

    #[test]
    fn a_person_is_sent_to_pages_alone() {
        for fine in [
            "https://example.com/authorize?x=1",
            "http://127.0.0.1:8080/authorize",
            "http://localhost/authorize",
            "http://[::1]:7/",
        ] {
            assert!(visitable(fine).is_ok(), "{fine}");
        }
        for other in [
            "file:///bin/sh;touch%20x?response_type=code",
            "http://example.com/authorize",
            "http://localhost.example.com/",
            "javascript:alert(1)",
            "vscode://x",
            "mailto:a@b",
            "no address",
        ] {
            assert!(visitable(other).is_err(), "{other}");
        }
    }
}
