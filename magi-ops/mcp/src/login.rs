//! The credentials of a login with a server over HTTP: kept in the home's accounts, renewed without a question.
//! How a person logs in stands in `authorize`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use redact::Redactor;
use reqwest::Url;
use reqwest::header::HeaderValue;
use rmcp::transport::AuthClient;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::{Value, json};
use store::{AccountError, AccountStore, Home, RefreshLock};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::error::{StartCause, Trouble, chain};
use crate::setting::Setting;

/// How long another process may take to renew the same credentials, and how often it is looked at.
const REFRESH_WAIT: Duration = Duration::from_secs(30);
const REFRESH_POLL: Duration = Duration::from_millis(50);
/// Longest answer of a server that gives out credentials.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// The client of a server, with the credentials of a login if there is one.
pub(crate) async fn authorized(
    client: reqwest::Client,
    server: &str,
    url: &Url,
    setting: &Setting,
) -> Result<(AuthClient<reqwest::Client>, Trouble), StartCause> {
    let unusable = |error| StartCause::Credentials(Box::new(error));
    let made = manager(
        client.clone(),
        server,
        url,
        &setting.home,
        &setting.redactor,
    )
    .await;
    let (mut manager, trouble) = made.map_err(unusable)?;
    // Without a login nothing is asked here: the server says whether it wants one.
    match manager.initialize_from_store().await {
        Ok(_) => Ok((AuthClient::new(client, manager), trouble)),
        Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
            Err(StartCause::Login)
        }
        Err(error) => Err(unusable(error)),
    }
}

/// What obtains and renews the credentials of one server.
pub(crate) async fn manager(
    client: reqwest::Client,
    server: &str,
    url: &Url,
    home: &Arc<dyn Home>,
    redactor: &Redactor,
) -> Result<(AuthorizationManager, Trouble), AuthError> {
    let (trouble, renewal) = (Trouble::default(), Arc::<Mutex<Renewal>>::default());
    let client = Arc::new(HttpClient {
        client,
        redactor: redactor.clone(),
        trouble: trouble.clone(),
        renewal: Arc::clone(&renewal),
    });
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url.clone(), client).await?;
    manager.set_credential_store(Accounts {
        home: Arc::clone(home),
        server: server.to_owned(),
        url: url.to_string(),
        redactor: redactor.clone(),
        renewal,
    });
    Ok((manager, trouble))
}

/// How this process takes over what another one has renewed.
#[derive(Default)]
struct Renewal {
    /// The token that was used last.
    used: Option<String>,
    /// This process may renew now.
    is_held: bool,
    /// What the account holds is another process's: to be taken in place of a server's answer.
    taken: Option<Vec<u8>>,
}

fn locked(renewal: &Mutex<Renewal>) -> std::sync::MutexGuard<'_, Renewal> {
    renewal.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, no other process renews.
struct Held {
    renewal: Arc<Mutex<Renewal>>,
    _lock: RefreshLock,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut renewal = locked(&self.renewal);
        (renewal.is_held, renewal.taken) = (false, None);
    }
}

impl Renewal {
    /// Looks at the stored credentials: `oauth` is what the SDK wrote of them.
    fn look(&mut self, oauth: &Value) {
        let answer = oauth.get("token_response");
        let token = answer.and_then(|answer| answer.get("access_token"));
        let token = token.and_then(Value::as_str).map(str::to_owned);
        if !self.is_held {
            self.used = token;
            return;
        }
        let is_other = self.used.is_some() && token.is_some() && token != self.used;
        self.taken = answer.filter(|_| is_other).and_then(|answer| {
            let mut answer = answer.clone();
            if let Some(lasts) = answer.get("expires_in").and_then(Value::as_u64) {
                let since = oauth.get("token_received_at").and_then(Value::as_u64)?;
                let now = SystemTime::UNIX_EPOCH.elapsed().ok()?.as_secs();
                let left = (since + lasts).checked_sub(now).filter(|left| *left > 0)?;
                answer["expires_in"] = left.into();
            }
            serde_json::to_vec(&answer).ok()
        });
    }
}

/// The account of one server: the address that it was obtained for, and what was obtained.
struct Accounts {
    home: Arc<dyn Home>,
    server: String,
    url: String,
    redactor: Redactor,
    renewal: Arc<Mutex<Renewal>>,
}

/// Members of an answer, and of what is stored of it, that are secret.
const SECRET: [&str; 5] = [
    "access_token",
    "refresh_token",
    "id_token",
    "client_secret",
    "registration_access_token",
];

/// From now on nothing of these credentials is shown.
fn keep_secret(credentials: &Value, redactor: &Redactor) {
    let secrets = SECRET.iter().filter_map(|name| credentials.get(name));
    redactor.learn(secrets.filter_map(Value::as_str));
}

impl Accounts {
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn AccountStore, &str) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, AuthError> {
        let (home, server) = (Arc::clone(&self.home), self.server.clone());
        let done = spawn_blocking(move || work(home.accounts(), &server)).await;
        let failed =
            |error: &dyn std::fmt::Display| AuthError::CredentialStoreError(error.to_string());
        match done {
            Ok(done) => done.map_err(|error| failed(&error)),
            Err(error) => Err(failed(&error)),
        }
    }
}

#[async_trait]
impl CredentialStore for Accounts {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let account = self
            .blocking(|accounts, server| accounts.server_account(server))
            .await?;
        // What was obtained at another address is not sent to this one.
        let account =
            account.filter(|account| account.get("url").and_then(Value::as_str) == Some(&self.url));
        let Some(stored) = account.as_ref().and_then(|account| account.get("oauth")) else {
            return Ok(None);
        };
        keep_secret(stored, &self.redactor);
        keep_secret(&stored["token_response"], &self.redactor);
        locked(&self.renewal).look(stored);
        serde_json::from_value(stored.clone())
            .map(Some)
            .map_err(|error| {
                // Its own words would repeat what is secret.
                let why = format!(
                    "the account of this server is of another form ({:?})",
                    error.classify()
                );
                AuthError::CredentialStoreError(why)
            })
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let stored = serde_json::to_value(credentials)
            .map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        let account = json!({"url": self.url, "oauth": stored});
        self.blocking(move |accounts, server| accounts.store_server_account(server, Some(account)))
            .await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.blocking(|accounts, server| accounts.store_server_account(server, None))
            .await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let held = async {
            loop {
                // Of another kind than the ids of providers.
                let asked = |accounts: &dyn AccountStore, server: &str| {
                    accounts.try_refresh(&format!("mcp-server-{server}"))
                };
                if let Some(held) = self.blocking(asked).await? {
                    locked(&self.renewal).is_held = true;
                    return Ok(Some(CredentialRefreshGuard::new(Held {
                        renewal: Arc::clone(&self.renewal),
                        _lock: held,
                    })));
                }
                sleep(REFRESH_POLL).await;
            }
        };
        match timeout(REFRESH_WAIT, held).await {
            Ok(held) => held,
            Err(late) => Err(AuthError::CredentialStoreError(late.to_string())),
        }
    }
}

/// Asks who gives out credentials, by the same client as the server itself: one crypto library, no redirects.
struct HttpClient {
    client: reqwest::Client,
    redactor: Redactor,
    trouble: Trouble,
    renewal: Arc<Mutex<Renewal>>,
}

/// Why nothing is taken of who gives out credentials, or sent there.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
    TooLong,
    #[error("credentials are not sent to {0}: that is plain http to another machine")]
    Plain(String),
    #[error("what was given out is a token of the kind `{0}`, and only `Bearer` is known here")]
    Kind(String),
    #[error("the token that was given out can't stand in a header: {0}")]
    Token(#[source] reqwest::header::InvalidHeaderValue),
}

/// Whether what is secret may be sent there: encrypted, or on this machine.
pub(crate) fn is_safe(url: &Url) -> bool {
    url.scheme() == "https" || url.scheme() == "http" && web::is_loopback(url)
}

/// An answer that gives out a token, in the form that the SDK reads; any other as it is.
fn token_answer(body: Vec<u8>, redactor: &Redactor) -> Result<Vec<u8>, Unusable> {
    let Ok(mut answer) = serde_json::from_slice::<Value>(&body) else {
        return Ok(body);
    };
    keep_secret(&answer, redactor);
    let Some(token) = answer.get("access_token").and_then(Value::as_str) else {
        return Ok(body);
    };
    HeaderValue::try_from(token).map_err(Unusable::Token)?;
    let kind = answer.get("token_type").and_then(Value::as_str);
    if let Some(other) = kind.filter(|kind| !kind.eq_ignore_ascii_case("bearer")) {
        return Err(Unusable::Kind(store::shown(other)));
    }
    // Some say the number as a text.
    let lasts = answer.get("expires_in").and_then(Value::as_str);
    match lasts.and_then(|lasts| lasts.parse::<u64>().ok()) {
        Some(lasts) => {
            answer["expires_in"] = lasts.into();
            Ok(serde_json::to_vec(&answer).unwrap_or(body))
        }
        None => Ok(body),
    }
}

impl OAuthHttpClient for HttpClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            if asked.request.method() == http::Method::POST
                && let Some(taken) = locked(&self.renewal).taken.take()
            {
                tracing::debug!("another process has renewed the login of a server");
                let answer = http::Response::builder()
                    .header(http::header::CONTENT_TYPE, "application/json")
                    .body(taken)?;
                return Ok(answer);
            }
            let mut request = reqwest::Request::try_from(asked.request)?;
            *request.timeout_mut() = asked.timeout;
            let answered = self.ask(request).await;
            self.trouble.set(match &answered {
                Ok(answer) if answer.status().is_success() => None,
                Ok(answer) => Some(format!("HTTP status {}", answer.status().as_u16())),
                Err(error) => Some(chain(&**error)),
            });
            answered
        })
    }
}

impl HttpClient {
    async fn ask(
        &self,
        request: reqwest::Request,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let gives = request.method() == http::Method::POST;
        if gives && !is_safe(request.url()) {
            return Err(Unusable::Plain(store::shown(request.url().as_str())).into());
        }
        let mut answer = self.client.execute(request).await?;
        let mut bytes = Vec::new();
        while let Some(chunk) = answer.chunk().await? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(Unusable::TooLong.into());
            }
        }
        if gives {
            bytes = token_answer(bytes, &self.redactor)?;
        }
        let (head, _) = http::Response::<reqwest::Body>::from(answer).into_parts();
        Ok(http::Response::from_parts(head, bytes))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn client() -> HttpClient {
        HttpClient {
            client: web::client(&Url::parse("http://192.0.2.1").unwrap(), REFRESH_WAIT).unwrap(),
            redactor: Redactor::default(),
            trouble: Trouble::default(),
            renewal: Arc::default(),
        }
    }

    #[tokio::test]
    async fn nothing_secret_goes_to_another_machine_by_plain_http() {
        let address = Url::parse("http://192.0.2.1/token").unwrap();
        let request = reqwest::Request::new(http::Method::POST, address);
        let refused = client().ask(request).await.unwrap_err().to_string();
        assert!(refused.contains("plain http"), "{refused}");
        for (url, safe) in [
            ("https://192.0.2.1/token", true),
            ("http://127.0.0.1:7/token", true),
            ("http://localhost/token", true),
            ("http://localhost.example/token", false),
            ("ftp://127.0.0.1/token", false),
        ] {
            assert_eq!(is_safe(&Url::parse(url).unwrap()), safe, "{url}");
        }
    }

    #[test]
    fn an_answer_with_a_token_is_learned_and_one_that_can_t_be_used_refused() {
        let redactor = Redactor::default();
        let read = |answer: &Value| {
            let bytes = serde_json::to_vec(answer).unwrap();
            let read = token_answer(bytes, &redactor)?;
            Ok::<Value, Unusable>(serde_json::from_slice(&read).unwrap())
        };
        let token = "plainwordtoken0123";
        let odd = json!({"access_token": token, "token_type": "BEARER", "expires_in": "3600"});
        let read_odd = read(&odd).unwrap();
        assert_eq!(read_odd["expires_in"], 3600);
        assert!(!redactor.redact(token).as_str().contains(token));
        for (other, why) in [
            (
                json!({"access_token": token, "token_type": "mac"}),
                "the kind `mac`",
            ),
            (
                json!({"access_token": "a\nb", "token_type": "bearer"}),
                "a header",
            ),
        ] {
            let error = read(&other).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        for as_it_is in [
            json!({"client_id": "1"}),
            json!([1]),
            json!({"access_token": 3}),
        ] {
            assert_eq!(read(&as_it_is).unwrap(), as_it_is);
        }
    }
}
