//! The credentials of a login with a server over HTTP: kept in the home's accounts, renewed without a question.
//! How a person logs in stands in `authorize`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use async_trait::async_trait;
use futures_util::StreamExt as _;
use reqwest::Url;
use rmcp::transport::AuthClient;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthHttpClient,
    OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::{Value, json};
use store::{AccountError, AccountStore, Home};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::error::{StartCause, Trouble, chain};

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
    home: &Arc<dyn Home>,
) -> Result<(AuthClient<reqwest::Client>, Trouble), StartCause> {
    let unusable = |error| StartCause::Credentials(Box::new(error));
    let made = manager(client.clone(), server, url, home).await;
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
) -> Result<(AuthorizationManager, Trouble), AuthError> {
    let (trouble, renewal) = (Trouble::default(), Arc::<Mutex<Renewal>>::default());
    let client = Arc::new(HttpClient {
        client,
        trouble: trouble.clone(),
        renewal: Arc::clone(&renewal),
    });
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url.clone(), client).await?;
    manager.set_credential_store(Accounts {
        home: Arc::clone(home),
        server: server.to_owned(),
        url: url.to_string(),
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
struct Held<T> {
    renewal: Arc<Mutex<Renewal>>,
    _lock: T,
}

impl<T> Drop for Held<T> {
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
    renewal: Arc<Mutex<Renewal>>,
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
        // Of another address it is no use here, and nobody's there.
        let account =
            account.filter(|account| account.get("url").and_then(Value::as_str) == Some(&self.url));
        let Some(stored) = account.as_ref().and_then(|account| account.get("oauth")) else {
            return Ok(None);
        };
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
        let url = self.url.clone();
        self.blocking(move |accounts, server| {
            let known = accounts.server_account(server)?;
            let generation = known.as_ref().and_then(|account| account.get("generation"));
            let generation = generation.and_then(Value::as_u64).unwrap_or_default() + 1;
            let account = json!({"generation": generation, "url": url, "oauth": stored});
            accounts.store_server_account(server, Some(account))
        })
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
    trouble: Trouble,
    renewal: Arc<Mutex<Renewal>>,
}

#[derive(Debug, thiserror::Error)]
#[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
struct TooLong;

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
            let answered = self.ask(asked).await;
            self.trouble.is(match &answered {
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
        asked: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let mut request = reqwest::Request::try_from(asked.request)?;
        *request.timeout_mut() = asked.timeout;
        let answer = self.client.execute(request).await?;
        let answer = http::Response::<reqwest::Body>::from(answer);
        let (head, body) = answer.into_parts();
        let mut chunks = reqwest::Response::from(http::Response::new(body)).bytes_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.next().await {
            bytes.extend_from_slice(&chunk?);
            if bytes.len() > MAX_ANSWER_BYTES {
                return Err(TooLong.into());
            }
        }
        Ok(http::Response::from_parts(head, bytes))
    }
}
