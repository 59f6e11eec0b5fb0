//! A person's login with a server over HTTP: PKCE, and a browser that comes back to this machine.
//! What becomes of the credentials stands in `login`.

use std::io;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use redact::Redactor;
use reqwest::Url;
use rmcp::transport::auth::{
    AuthError, AuthorizationMetadataSource, AuthorizationRequest, AuthorizationSession,
};
use store::settings::{Launch, McpServer};
use store::{AccountError, Home};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use web::loopback::{Loopback, parameter};

use crate::error::{StartCause, Trouble, chain};
use crate::{http, login};

/// How long a person may take.
const LOGIN_TIME: Duration = Duration::from_secs(600);
/// For one look at what the server answers.
const REQUEST_TIME: Duration = Duration::from_secs(5);
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
    let loopback = Loopback::bind(&[0]).await.map_err(LoginError::Listener)?;
    let back = format!("http://127.0.0.1:{}{CALLBACK}", loopback.port());

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
    let returning = loopback.returned(CALLBACK, state.as_deref());
    let Ok(returned) = timeout(LOGIN_TIME, returning).await else {
        return Err(LoginError::Late);
    };
    let callback = returned.url();
    let stored = match denial(callback) {
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
    returned.answer(stored.is_ok(), words).await;
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
