//! A person's login: a page to visit, a browser that comes back to this machine or what a person pastes of it, tokens for the
//! code, and one commit to the store, unless something else was stored since the login began.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::pending;
use redact::Redactor;
use store::{Account, AccountError, Home, StoredCredential};
use tokio::sync::oneshot;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use web::loopback::{Loopback, Returned};
use work::{Interrupted, Pool};

use crate::callback::{self, CallbackError};
use crate::issuer::{Authorization, Issuer, IssuerError};

/// Where the public client listens, which the issuer knows; and any other port, for issuers that don't mind.
const PORTS: [u16; 3] = [1455, 1457, 0];
/// Where the browser comes back to.
const CALLBACK: &str = "/auth/callback";
/// How long a person may take.
const LOGIN_TIME: Duration = Duration::from_secs(5 * 60);
/// How long a process that is about to end waits for tokens that were asked for.
const CLOSING_TIME: Duration = Duration::from_millis(1500);
/// Longest address that a person is sent to, in bytes.
const MAX_URL_BYTES: usize = 8 * 1024;

/// Why a login could not begin.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    #[error("what is stored can't be read: {0}")]
    Accounts(#[from] AccountError),
    #[error("what is stored was not read: {0}")]
    Broken(#[from] Interrupted),
    #[error("the address of the page to log in at can't be used")]
    Address,
}

/// How far a login has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoginStep {
    /// It waits for the person.
    Waiting,
    /// A browser came back, or a person pasted something.
    CallbackReceived,
    /// That holds a code of this login.
    CallbackAccepted,
}

/// How a login ended that stored nothing. What an issuer said is shown only redacted.
#[derive(Debug, thiserror::Error)]
pub enum LoginError {
    #[error("the login was cancelled")]
    Cancelled,
    #[error("nobody came back from the login within {} minutes", LOGIN_TIME.as_secs() / 60)]
    Late,
    #[error("{0}")]
    Callback(#[from] CallbackError),
    #[error("{0}")]
    Exchange(#[from] IssuerError),
    #[error("another login, a logout or a refresh was stored meanwhile")]
    Changed,
    #[error("the login could not be stored: {0}")]
    Storage(#[from] AccountError),
    #[error("the login was not stored: {0}")]
    Broken(#[from] Interrupted),
}

impl LoginError {
    /// Why, with everything that was behind it, outermost first. For people, redacted.
    #[must_use]
    pub fn reason(&self) -> String {
        let mut reasons = vec![self.to_string()];
        let mut behind = std::error::Error::source(self);
        while let Some(error) = behind {
            let words = error.to_string();
            // Some say only what is behind them.
            if reasons.last() != Some(&words) {
                reasons.push(words);
            }
            behind = error.source();
        }
        reasons.join(": ")
    }
}

/// A login that has begun. Who drops it ends it; nothing of it is left.
pub struct Login {
    provider: String,
    home: Arc<dyn Home>,
    redactor: Redactor,
    issuer: Issuer,
    authorization: Authorization,
    /// `None` where nothing can be listened to: then the person pastes.
    loopback: Option<Loopback>,
    /// What was stored when it began.
    seen: Account,
    threads: Pool,
}

/// What came back, from where.
enum Callback {
    Browser(Returned),
    Pasted(String),
}

impl Login {
    /// Begins a login of `provider` with `issuer`, and listens for its browser.
    ///
    /// # Errors
    /// See [`BeginError`].
    pub async fn begin(
        provider: &str,
        home: Arc<dyn Home>,
        redactor: Redactor,
        issuer: Issuer,
    ) -> Result<Self, BeginError> {
        let threads = Pool::new(1);
        let (accounts, id) = (Arc::clone(&home), provider.to_owned());
        let seen = threads.run(move || accounts.accounts().account(&id));
        let seen = seen.await??;
        let known = seen.credential.iter().flat_map(StoredCredential::secrets);
        redactor.learn(known);
        let loopback = Loopback::bind(&PORTS).await;
        let loopback = loopback
            .inspect_err(|error: &io::Error| {
                tracing::info!(%error, "nothing can be listened to, so what comes back has to be pasted");
            })
            .ok();
        let port = loopback.as_ref().map_or(PORTS[0], Loopback::port);
        let redirect = callback::redirect(port, CALLBACK).ok_or(BeginError::Address)?;
        let authorization = issuer.authorization(redirect);
        if authorization.url.len() > MAX_URL_BYTES {
            return Err(BeginError::Address);
        }
        redactor.learn([authorization.verifier.secret().as_str()]);
        Ok(Self {
            provider: provider.to_owned(),
            home,
            redactor,
            issuer,
            authorization,
            loopback,
            seen,
            threads,
        })
    }

    /// The page that the person has to visit. It is for nobody else.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.authorization.url
    }

    /// Whether a browser on this machine can come back; else the person has to paste where it was sent.
    #[must_use]
    pub fn listens(&self) -> bool {
        self.loopback.is_some()
    }

    /// Goes on to the end: everything that the login used is gone when this returns. One thing is taken of `pasted`. After
    /// `cancel` nothing is stored any more, unless that has begun; tokens that are asked for are waited for. `closing` says
    /// that the process ends: then they are not waited for long.
    ///
    /// # Errors
    /// Why nothing is stored.
    pub async fn finish(
        self,
        mut pasted: oneshot::Receiver<String>,
        cancel: &CancellationToken,
        closing: &CancellationToken,
        step: impl Fn(LoginStep),
    ) -> Result<(), LoginError> {
        step(LoginStep::Waiting);
        let callback = self.callback(&mut pasted, cancel).await?;
        // It is taken once, from wherever it comes.
        pasted.close();
        step(LoginStep::CallbackReceived);
        let (browser, code) = match callback {
            Callback::Browser(browser) => {
                let code = callback::code_of(browser.url(), &self.authorization.state);
                (Some(browser), code)
            }
            Callback::Pasted(text) => {
                let code = callback::code_of_text(&text, &self.authorization.state);
                (None, code)
            }
        };
        let stored = match code {
            Ok(code) => {
                self.redactor.learn([code.as_str()]);
                step(LoginStep::CallbackAccepted);
                self.store(&code, cancel, closing).await
            }
            Err(error) => Err(error.into()),
        };
        if let Some(browser) = browser {
            let words = match &stored {
                Ok(()) => "The login is done. This page can be closed.",
                Err(_) => "The login did not come about. The program that asked for it says why.",
            };
            browser.answer(stored.is_ok(), words).await;
        }
        stored
    }

    async fn callback(
        &self,
        pasted: &mut oneshot::Receiver<String>,
        cancel: &CancellationToken,
    ) -> Result<Callback, LoginError> {
        let browser = async {
            match &self.loopback {
                Some(loopback) => {
                    let state = Some(self.authorization.state.as_str());
                    loopback.returned(CALLBACK, state).await
                }
                None => pending().await,
            }
        };
        let text = async {
            match pasted.await {
                Ok(text) => text,
                // Nobody will paste anything; a browser may come back all the same.
                Err(_) => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = cancel.cancelled() => Err(LoginError::Cancelled),
            text = text => Ok(Callback::Pasted(text)),
            browser = browser => Ok(Callback::Browser(browser)),
            () = sleep(LOGIN_TIME) => Err(LoginError::Late),
        }
    }

    /// Tokens for the code, stored unless something else was since the login began.
    async fn store(
        &self,
        code: &str,
        cancel: &CancellationToken,
        closing: &CancellationToken,
    ) -> Result<(), LoginError> {
        // A code is redeemed once: what will keep its tokens from being stored is met before.
        let id = self.provider.clone();
        self.on_store(move |home| home.accounts().can_store(&id))
            .await?;
        if cancel.is_cancelled() {
            return Err(LoginError::Cancelled);
        }
        let Authorization {
            verifier, redirect, ..
        } = &self.authorization;
        let verifier = oauth2::PkceCodeVerifier::new(verifier.secret().clone());
        let asked = self.issuer.exchange(code, verifier, redirect);
        let closed = async {
            closing.cancelled().await;
            sleep(CLOSING_TIME).await;
        };
        let tokens = tokio::select! {
            tokens = asked => tokens,
            () = closed => return Err(LoginError::Cancelled),
        };
        let stored = tokens.map(|tokens| StoredCredential::OAuth(Box::new(tokens)));
        if let Ok(stored) = &stored {
            self.redactor.learn(stored.secrets());
        }
        if cancel.is_cancelled() {
            return Err(LoginError::Cancelled);
        }
        let (stored, seen, id) = (stored?, self.seen.clone(), self.provider.clone());
        let storing = self.on_store(move |home| home.accounts().store(&id, &seen, Some(&stored)));
        match storing.await? {
            true => Ok(()),
            false => Err(LoginError::Changed),
        }
    }

    async fn on_store<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Home) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, LoginError> {
        let home = Arc::clone(&self.home);
        Ok(self.threads.run(move || work(&*home)).await??)
    }
}
