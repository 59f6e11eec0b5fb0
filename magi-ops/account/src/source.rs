//! The source of a stored credential: read with each request, refreshed by one at a time over all processes, and never
//! put over what another login stored meanwhile. The redactor knows all that is read or received.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use futures_util::future::BoxFuture;
use provider::{Credential, CredentialError, CredentialSource, Secret};
use redact::Redactor;
use store::{Account, AccountError, Home, OAuthTokens, RefreshLock, StoredCredential};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;
use tracing::Instrument as _;
use work::{Interrupted, Pool};

use crate::claims;
use crate::issuer::{Issuer, IssuerError};

/// How long before its end an access token is replaced.
const LEEWAY: Duration = Duration::from_secs(60);
/// How long another process's refresh is waited for: longer than one takes.
const LOCK_WAIT: Duration = Duration::from_secs(45);
const LOCK_POLL: Duration = Duration::from_millis(50);
/// Requests for new tokens, where the issuer can't be reached or has too much to do: as many as a model's server gets.
const ATTEMPTS: u32 = 4;
/// Before the second of them; each later wait is twice as long.
const BACKOFF: Duration = Duration::from_millis(500);
/// How long after the first one another one begins at most.
const TRIED_WITHIN: Duration = Duration::from_secs(10);
/// How long a token is new: one that is refused meanwhile is not replaced.
const NEW: Duration = Duration::from_secs(5 * 60);
/// Reads and writes of the store at once.
const THREADS: u32 = 4;

/// The credential that a login stored of one provider.
pub struct StoredAccount(Arc<Shared>);

struct Shared {
    provider: String,
    home: Arc<dyn Home>,
    redactor: Redactor,
    /// Who gives new tokens; `None` where a key never ends.
    issuer: Option<Issuer>,
    /// New tokens that could not be stored: they serve this process, which goes on trying.
    unsaved: Mutex<Option<Unsaved>>,
    /// The access token that the issuer gave last, and when.
    renewed: Mutex<Option<(String, Instant)>>,
    /// What must not end before it is done.
    under_way: TaskTracker,
    threads: Pool,
}

impl StoredAccount {
    /// Reads nothing yet. `under_way` has what asks the issuer until its answer is stored; once it is closed, nothing begins
    /// to ask.
    pub fn new(
        provider: &str,
        home: Arc<dyn Home>,
        redactor: Redactor,
        issuer: Option<Issuer>,
        under_way: TaskTracker,
    ) -> Self {
        Self(Arc::new(Shared {
            provider: provider.to_owned(),
            home,
            redactor,
            issuer,
            unsaved: Mutex::default(),
            renewed: Mutex::default(),
            under_way,
            threads: Pool::new(THREADS),
        }))
    }
}

impl CredentialSource for StoredAccount {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        Box::pin(async {
            match self.0.stored().await? {
                StoredCredential::ApiKey(key) => Ok(Some(Secret::new(&key).into())),
                StoredCredential::OAuth(tokens) => {
                    let tokens = self.current(*tokens).await?;
                    Ok(Some(credential(&tokens)))
                }
            }
        })
    }

    fn origin(&self) -> Option<String> {
        let kind = match self.0.issuer {
            Some(_) => "login",
            None => "key",
        };
        Some(format!(
            "of the {kind} that is stored for `{}`",
            self.0.provider
        ))
    }

    fn rejected<'a>(&'a self, secret: &'a Secret) -> BoxFuture<'a, Result<bool, CredentialError>> {
        Box::pin(async {
            Ok(match self.0.stored().await? {
                StoredCredential::ApiKey(key) => Secret::new(&key) != *secret,
                StoredCredential::OAuth(tokens) => {
                    if Secret::new(&tokens.access_token) == *secret {
                        // To redeem another token for one that never served would gain nothing.
                        if self.0.is_just_renewed(&tokens.access_token) {
                            return Ok(false);
                        }
                        self.refresh(tokens.access_token, ATTEMPTS).await?;
                    }
                    true
                }
            })
        })
    }

    fn trouble(&self) -> Option<CredentialError> {
        let mut unsaved = locked(&self.0.unsaved);
        unsaved.as_mut()?.why.take()
    }
}

/// Tokens that are not stored.
struct Unsaved {
    /// What stands in their place.
    seen: Account,
    credential: StoredCredential,
    /// Why, until it is told.
    why: Option<CredentialError>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl StoredAccount {
    /// The tokens, or new ones if these end soon.
    async fn current(&self, tokens: OAuthTokens) -> Result<OAuthTokens, CredentialError> {
        if tokens.needs_login {
            return Err(CredentialError::LoggedOut(None));
        }
        let now = SystemTime::now();
        let end = tokens
            .expires_at
            .or_else(|| claims::end(&tokens.access_token));
        if end.is_none_or(|end| end > now + LEEWAY) {
            return Ok(tokens);
        }
        // They may be good for a moment yet: then nobody waits for another attempt.
        let is_good = end.is_some_and(|end| end > now);
        let attempts = if is_good { 1 } else { ATTEMPTS };
        match self.refresh(tokens.access_token.clone(), attempts).await {
            Err(error @ CredentialError::Unavailable(_)) if is_good => {
                tracing::info!(%error, "tokens that end soon could not be refreshed");
                Ok(tokens)
            }
            refreshed => refreshed,
        }
    }

    /// Other tokens than those with the access token `stale`. Goes on to its end when nobody waits any more: tokens that
    /// the issuer gave and nobody stored would be lost, and the login with them.
    async fn refresh(&self, stale: String, attempts: u32) -> Result<OAuthTokens, CredentialError> {
        let span = tracing::info_span!("refresh", provider = self.0.provider);
        let refreshing = Arc::clone(&self.0).refresh(stale, attempts);
        let refreshing = tokio::spawn(refreshing.instrument(span));
        refreshing.await.map_err(unavailable)?
    }
}

/// Somebody else holds the right to refresh all the time.
#[derive(Debug, thiserror::Error)]
#[error("another process of this home is renewing the login, and has not come to an end")]
struct Held;

/// Nothing begins any more.
#[derive(Debug, thiserror::Error)]
#[error("the process is ending")]
struct Closing;

fn credential(tokens: &OAuthTokens) -> Credential {
    // One that no header can carry would fail every request.
    let account = tokens.account_id.as_deref().map(Secret::new);
    Credential {
        secret: Secret::new(&tokens.access_token),
        account: account.filter(Secret::can_be_sent),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> CredentialError {
    CredentialError::Unavailable(Box::new(error))
}

impl Shared {
    /// Does `work` with the store on a thread that may block.
    async fn on_store<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, CredentialError> {
        let this = Arc::clone(self);
        let done: Result<_, Interrupted> = self.threads.run(move || work(&this)).await;
        done.map_err(unavailable)?.map_err(unavailable)
    }

    async fn load(self: &Arc<Self>) -> Result<Account, CredentialError> {
        let account = self.on_store(Self::read).await?;
        let secrets = account
            .credential
            .iter()
            .flat_map(StoredCredential::secrets);
        self.redactor.learn(secrets);
        Ok(account)
    }

    /// What is stored, or is to be stored in its place. Blocks.
    fn read(&self) -> Result<Account, AccountError> {
        let accounts = self.home.accounts();
        let mut account = accounts.account(&self.provider)?;
        let mut unsaved = locked(&self.unsaved);
        let Some(Unsaved {
            seen, credential, ..
        }) = &*unsaved
        else {
            return Ok(account);
        };
        if account == *seen {
            match accounts.store(&self.provider, seen, Some(credential)) {
                Ok(_) => account = accounts.account(&self.provider)?,
                Err(error) => {
                    tracing::debug!(%error, "refreshed tokens are still not stored");
                    account.credential = Some(credential.clone());
                    return Ok(account);
                }
            }
        }
        // They are stored, or a login or a logout came between.
        *unsaved = None;
        Ok(account)
    }

    fn is_just_renewed(&self, access_token: &str) -> bool {
        let renewed = locked(&self.renewed);
        let own = renewed.as_ref().filter(|(token, _)| token == access_token);
        own.is_some_and(|(_, when)| when.elapsed() < NEW)
    }

    async fn stored(self: &Arc<Self>) -> Result<StoredCredential, CredentialError> {
        self.load()
            .await?
            .credential
            .ok_or(CredentialError::Missing)
    }

    async fn lock(self: &Arc<Self>) -> Result<RefreshLock, CredentialError> {
        let deadline = work::Deadline::after(LOCK_WAIT);
        loop {
            let lock = self.on_store(|this| this.home.accounts().try_refresh(&this.provider));
            if let Some(lock) = lock.await? {
                return Ok(lock);
            }
            if deadline.check().is_err() {
                return Err(unavailable(Held));
            }
            tokio::time::sleep(LOCK_POLL).await;
        }
    }

    /// Asks the issuer, at most so often. What it said is to be stored while the token stands.
    ///
    /// # Errors
    /// Where nothing begins any more.
    async fn ask(
        &self,
        issuer: &Issuer,
        old: &OAuthTokens,
        attempts: u32,
    ) -> Result<(TaskTrackerToken, Result<OAuthTokens, IssuerError>), CredentialError> {
        let deadline = work::Deadline::after(TRIED_WITHIN);
        let (mut attempt, mut wait) = (1, BACKOFF);
        loop {
            // Taken before the look, so that whoever closed waits for it or it does not begin.
            let under_way = self.under_way.token();
            if self.under_way.is_closed() {
                return Err(unavailable(Closing));
            }
            match issuer.refresh(old, SystemTime::now()).await {
                Err(error) if error.passes() && attempt < attempts && deadline.check().is_ok() => {
                    tracing::info!(%error, attempt, "the issuer is asked again");
                }
                outcome => return Ok((under_way, outcome)),
            }
            drop(under_way);
            tokio::time::sleep(wait).await;
            wait *= 2;
            attempt += 1;
        }
    }

    async fn refresh(
        self: Arc<Self>,
        stale: String,
        attempts: u32,
    ) -> Result<OAuthTokens, CredentialError> {
        let _lock = self.lock().await?;
        // Whoever had the lock before may have stored what is wanted.
        let account = self.load().await?;
        let Some(StoredCredential::OAuth(old)) = account.credential else {
            return Err(CredentialError::Missing);
        };
        if old.needs_login {
            return Err(CredentialError::LoggedOut(None));
        }
        if old.access_token != stale {
            return Ok(*old);
        }
        let has_token = old
            .refresh_token
            .as_ref()
            .is_some_and(|token| !token.is_empty());
        let Some(issuer) = self.issuer.as_ref().filter(|_| has_token) else {
            return Err(CredentialError::LoggedOut(None));
        };
        // The issuer gives new tokens once: what will keep them from being stored is met before.
        self.on_store(|this| this.home.accounts().can_store(&this.provider))
            .await?;
        let (_under_way, asked) = self.ask(issuer, &old, attempts).await?;
        let (fresh, outcome) = match asked {
            Ok(fresh) => {
                let renewed = (fresh.access_token.clone(), Instant::now());
                *locked(&self.renewed) = Some(renewed);
                (fresh, Ok(()))
            }
            Err(error @ IssuerError::Ended { .. }) => {
                tracing::info!(%error, "the login has ended");
                let ended = OAuthTokens {
                    needs_login: true,
                    ..(*old).clone()
                };
                let error = CredentialError::LoggedOut(Some(Box::new(error)));
                (ended, Err(error))
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::info!(%error, cause, "tokens are not refreshed");
                return Err(unavailable(error));
            }
        };
        let stored = StoredCredential::OAuth(Box::new(fresh.clone()));
        self.redactor.learn(stored.secrets());
        let seen = Account {
            generation: account.generation,
            credential: Some(StoredCredential::OAuth(old)),
        };
        let store = {
            let (seen, stored) = (seen.clone(), stored.clone());
            move |this: &Self| {
                let accounts = this.home.accounts();
                accounts.store(&this.provider, &seen, Some(&stored))
            }
        };
        match self.on_store(store).await {
            Ok(true) => {}
            // A login or a logout came between: theirs counts.
            Ok(false) => {
                return match self.stored().await? {
                    StoredCredential::OAuth(tokens) if !tokens.needs_login => Ok(*tokens),
                    StoredCredential::OAuth(_) => Err(CredentialError::LoggedOut(None)),
                    StoredCredential::ApiKey(_) => Err(CredentialError::Missing),
                };
            }
            // They serve this process all the same.
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "refreshed tokens are not stored");
                *locked(&self.unsaved) = Some(Unsaved {
                    seen,
                    credential: stored,
                    why: Some(error),
                });
            }
        }
        outcome.map(|()| fresh)
    }
}
