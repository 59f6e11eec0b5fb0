//! The credentials of a login with a server over HTTP: kept in the home's accounts, renewed without a question.
//! How a person logs in stands in `authorize`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt as _;
use reqwest::Url;
use rmcp::transport::AuthClient;
use rmcp::transport::auth::{
    AuthError, AuthorizationManager, CredentialRefreshGuard, CredentialStore, OAuthHttpClient,
    OAuthHttpClientFuture, OAuthHttpRequest, StoredCredentials,
};
use serde_json::{Value, json};
use store::{AccountError, AccountStore, Home};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

use crate::error::StartCause;

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
) -> Result<AuthClient<reqwest::Client>, StartCause> {
    let manager = manager(client.clone(), server, url, home).await;
    let mut manager = manager.map_err(|error| StartCause::Credentials(Box::new(error)))?;
    // Without a login nothing is asked here: the server says whether it wants one.
    match manager.initialize_from_store().await {
        Ok(_) => Ok(AuthClient::new(client, manager)),
        Err(AuthError::AuthorizationRequired | AuthError::TokenRefreshRejected(_)) => {
            Err(StartCause::Login)
        }
        Err(error) => Err(StartCause::Credentials(Box::new(error))),
    }
}

/// What obtains and renews the credentials of one server.
pub(crate) async fn manager(
    client: reqwest::Client,
    server: &str,
    url: &Url,
    home: &Arc<dyn Home>,
) -> Result<AuthorizationManager, AuthError> {
    let client = Arc::new(HttpClient(client));
    let mut manager = AuthorizationManager::new_with_oauth_http_client(url.clone(), client).await?;
    manager.set_credential_store(Accounts {
        home: Arc::clone(home),
        server: server.to_owned(),
        url: url.to_string(),
    });
    Ok(manager)
}

/// The account of one server: the address that it was obtained for, and what was obtained.
struct Accounts {
    home: Arc<dyn Home>,
    server: String,
    url: String,
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
                    return Ok(Some(CredentialRefreshGuard::new(held)));
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
struct HttpClient(reqwest::Client);

#[derive(Debug, thiserror::Error)]
#[error("the answer is longer than {MAX_ANSWER_BYTES} bytes")]
struct TooLong;

impl OAuthHttpClient for HttpClient {
    fn execute(&self, asked: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut request = reqwest::Request::try_from(asked.request)?;
            *request.timeout_mut() = asked.timeout;
            let answer = self.0.execute(request).await?;
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
        })
    }
}
