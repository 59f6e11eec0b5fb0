//! The accounts of a process: which providers a person may log in to, whether they are, the one login that is under way, and
//! logouts. Providers are those that the settings described at the start. How a login goes is `account`'s matter.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use account::{BeginError, Issuer, Login, LoginError, LoginStep};
use provider::FIXTURE_ID;
use store::settings::{BUILT_IN, Settings};
use store::{AccountError, AccountStore, Home, Reason, Redactor, StoredCredential, near_miss};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;
use work::{Interrupted, Pool};

use super::credential::{AuthMethod, AuthSource, Lack, find};
use super::described::{ANTHROPIC_ID, CODEX_ID, key_variable};
use super::select::unbuilt;
use super::{Environment, StartupError};

/// Reads and writes of the store at once.
const THREADS: u32 = 4;
/// More than a login tells: nobody who tells waits for whoever listens.
const EVENTS: usize = 8;
/// How long a login that was cancelled is waited for at the end: less than a process has for its end.
const CLOSING_TIME: Duration = Duration::from_millis(1900);
/// Others come between a look and a change rarely: so often in a row they do not.
const ATTEMPTS: u32 = 64;

/// Why something about accounts was refused, or failed.
#[derive(Debug, thiserror::Error)]
pub enum AccountsError {
    #[error("there is no such provider, or nobody logs in to it so")]
    Unsupported,
    #[error("another login is under way, or something was submitted to this one before")]
    Busy,
    #[error("no such login is under way")]
    UnknownLogin,
    #[error("the process is ending")]
    Closing,
    #[error("{0}")]
    Accounts(#[from] AccountError),
    #[error("{0}")]
    Begin(#[from] BeginError),
    /// Who the issuer is can't be told, or it can't be asked; at least one.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Issuer(Vec<Reason>),
    #[error("{0}")]
    Broken(#[from] Interrupted),
    #[error("others change what is stored all the time")]
    Contended,
}

/// Whether there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    Missing,
    /// What is stored serves no request any more.
    NeedsLogin,
}

/// How a provider stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountStatus {
    pub provider: String,
    pub method: AuthMethod,
    pub source: AuthSource,
    pub readiness: Readiness,
}

/// What happens in a login, in this order.
#[derive(Debug)]
pub enum LoginEvent {
    Step(LoginStep),
    /// It is over, and nothing of it is left.
    Ended(Result<(), LoginError>),
}

/// A login that has begun.
#[derive(Debug)]
pub struct LoginStarted {
    pub id: String,
    /// The page that the person has to visit; for nobody else.
    pub page: String,
    /// Whether a browser on this machine can come back by itself.
    pub listens: bool,
    pub events: mpsc::Receiver<LoginEvent>,
}

/// The login that is under way.
struct Active {
    id: String,
    /// Takes one thing.
    pasting: Option<oneshot::Sender<String>>,
    cancel: CancellationToken,
}

/// The accounts of a process.
pub struct Accounts {
    home: Arc<dyn Home>,
    redactor: Redactor,
    environment: Environment,
    /// Those of the start, as far as they could be read.
    settings: Settings,
    /// Why not all of the person's own could; a project's file is no matter of accounts.
    problems: Vec<Reason>,
    active: Mutex<Option<Active>>,
    closing: CancellationToken,
    under_way: TaskTracker,
    threads: Pool,
}

impl std::fmt::Debug for Accounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accounts")
            .field("home", &self.home)
            .finish_non_exhaustive()
    }
}

impl Accounts {
    /// Those of the home and the working directory of `environment`. Where the settings can't be read the built-in
    /// providers are known, as they are without any. Blocks.
    ///
    /// # Errors
    /// When there is no home.
    pub fn start(environment: &Environment) -> Result<Arc<Self>, StartupError> {
        let home = environment.home()?;
        let (settings, problems) = match environment.settings(&*home, &environment.cwd) {
            Ok(settings) => (settings, Vec::new()),
            Err(error) => (error.usable().clone(), error.into_reasons_of_person()),
        };
        Ok(Arc::new(Self {
            redactor: environment.redactor(),
            home,
            environment: environment.clone(),
            settings,
            problems,
            active: Mutex::default(),
            closing: CancellationToken::new(),
            under_way: TaskTracker::new(),
            threads: Pool::new(THREADS),
        }))
    }

    fn active(&self) -> MutexGuard<'_, Option<Active>> {
        self.active.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every provider: the built-in ones first, then those of the settings by name.
    pub(super) fn ids(&self) -> impl Iterator<Item = &str> {
        let own = self.settings.providers.keys().map(String::as_str);
        let own = own.filter(|id| !BUILT_IN.contains(id));
        [CODEX_ID, ANTHROPIC_ID, FIXTURE_ID].into_iter().chain(own)
    }

    /// Whether a person logs in to it.
    pub(super) fn has_login(&self, provider: &str) -> bool {
        provider == CODEX_ID
    }

    /// Knows what these accounts have seen.
    pub(super) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    fn is_known(&self, provider: &str) -> bool {
        self.ids().any(|id| id == provider)
    }

    /// Why not all of the person's own settings count.
    pub(super) fn problems(&self) -> &[Reason] {
        &self.problems
    }

    /// How every provider stands at this moment whose id does not look like a secret. Refreshes nothing and asks nobody. One
    /// small read.
    ///
    /// # Errors
    /// When what is stored can't be read, of whichever provider.
    pub fn status(&self) -> Result<Vec<AccountStatus>, AccountsError> {
        let ids = self.ids().filter(|id| !self.redactor.is_secret_like(id));
        let ids: Vec<_> = ids.collect();
        let stored = self.home.accounts().accounts(&ids)?;
        let all = ids.into_iter().zip(stored);
        Ok(all
            .map(|(id, account)| self.standing(id, account.credential))
            .collect())
    }

    /// How a provider stands of which `stored` is stored.
    fn standing(&self, provider: &str, stored: Option<StoredCredential>) -> AccountStatus {
        let stored = || Ok::<_, Infallible>(stored);
        let Ok(found) = find(&self.settings, &self.environment, provider, stored);
        AccountStatus {
            provider: provider.to_owned(),
            method: found.method,
            source: found.source,
            readiness: match found.login {
                Ok(_) => Readiness::Ready,
                Err(Lack::Ended | Lack::UnsendableTokens) => Readiness::NeedsLogin,
                Err(_) => Readiness::Missing,
            },
        }
    }

    /// The variable that holds the key of a provider, if it has one, and whether the settings name it: then no other key
    /// counts.
    pub(super) fn variable(&self, provider: &str) -> Option<(&str, bool)> {
        let variable = key_variable(&self.settings, provider).filter(|_| provider != FIXTURE_ID)?;
        let own = self.settings.providers.get(provider);
        Some((variable, own.is_some_and(|own| own.api_key_env.is_some())))
    }

    /// Begins the login of a provider that has one. What happens in it comes as events, the last of which is its end.
    ///
    /// # Errors
    /// [`AccountsError::Unsupported`] for any other provider, [`AccountsError::Busy`] while another login is under way; and
    /// when none can begin.
    pub async fn begin(self: &Arc<Self>, provider: &str) -> Result<LoginStarted, AccountsError> {
        if !self.has_login(provider) {
            return Err(AccountsError::Unsupported);
        }
        let (pasting, pasted) = oneshot::channel();
        let place = self.take_place(pasting)?;
        let issuer = self.issuer(provider)?;
        let (home, redactor) = (Arc::clone(&self.home), self.redactor.clone());
        let login = Login::begin(provider, home, redactor, issuer).await?;
        let (tell, events) = mpsc::channel(EVENTS);
        let started = LoginStarted {
            id: place.id.clone(),
            page: login.url().to_owned(),
            listens: login.listens(),
            events,
        };
        let closing = self.closing.clone();
        let going_on = async move {
            let step = |step| drop(tell.try_send(LoginEvent::Step(step)));
            let ended = login.finish(pasted, &place.cancel, &closing, step).await;
            // Whoever is told of the end may begin another login.
            drop(place);
            drop(tell.try_send(LoginEvent::Ended(ended)));
        };
        let span = tracing::info_span!("login", provider);
        self.under_way.spawn(going_on.instrument(span));
        Ok(started)
    }

    /// Whom a login of a provider goes to: nobody else than the person's settings say, where they can be read.
    fn issuer(&self, provider: &str) -> Result<Issuer, AccountsError> {
        let hiding = self
            .problems
            .iter()
            .filter(|problem| hides_issuer(problem, provider));
        let hiding: Vec<_> = hiding.cloned().collect();
        if !hiding.is_empty() {
            return Err(AccountsError::Issuer(hiding));
        }
        let own = self.settings.providers.get(provider);
        let issuer = Issuer::new(own.and_then(|own| own.issuer_url.as_deref()));
        issuer.map_err(|error| {
            AccountsError::Issuer(unbuilt(&self.settings, provider, &error).into_reasons())
        })
    }

    /// The one place for a login.
    fn take_place(
        self: &Arc<Self>,
        pasting: oneshot::Sender<String>,
    ) -> Result<Place, AccountsError> {
        let mut active = self.active();
        if self.closing.is_cancelled() {
            return Err(AccountsError::Closing);
        }
        if active.is_some() {
            return Err(AccountsError::Busy);
        }
        let (id, cancel) = (crate::new_id(), CancellationToken::new());
        *active = Some(Active {
            id: id.clone(),
            pasting: Some(pasting),
            cancel: cancel.clone(),
        });
        Ok(Place {
            of: Arc::clone(self),
            id,
            cancel,
        })
    }

    /// Gives a login what the person pasted. It says nothing about whether that is valid.
    ///
    /// # Errors
    /// [`AccountsError::UnknownLogin`], and [`AccountsError::Busy`] where something came back before.
    pub fn submit(&self, login: &str, input: String) -> Result<(), AccountsError> {
        let mut active = self.active();
        let of = active.as_mut().filter(|active| active.id == login);
        let of = of.ok_or(AccountsError::UnknownLogin)?;
        let pasting = of.pasting.take().ok_or(AccountsError::Busy)?;
        match pasting.send(input) {
            Ok(()) => Ok(()),
            // A browser was quicker: what was pasted is dropped here.
            Err(_pasted) => Err(AccountsError::Busy),
        }
    }

    /// Asks a login to stop. Its end comes as an event.
    ///
    /// # Errors
    /// [`AccountsError::UnknownLogin`].
    pub fn cancel(&self, login: &str) -> Result<(), AccountsError> {
        let active = self.active();
        let of = active.as_ref().filter(|active| active.id == login);
        of.ok_or(AccountsError::UnknownLogin)?.cancel.cancel();
        Ok(())
    }

    /// Removes what is stored of a provider, and asks a login of it to stop. Whether there was anything. Nothing that was
    /// seen before is stored over it.
    ///
    /// # Errors
    /// [`AccountsError::Unsupported`] for a provider that nobody knows; and when what is stored can't be read or written.
    pub async fn logout(self: &Arc<Self>, provider: &str) -> Result<bool, AccountsError> {
        if !self.is_known(provider) {
            return Err(AccountsError::Unsupported);
        }
        if provider == CODEX_ID
            && let Some(active) = &*self.active()
        {
            active.cancel.cancel();
        }
        let id = provider.to_owned();
        let removed = self.on_store(move |_, store| store.remove(&id)).await?;
        tracing::info!(provider, removed, "logged out");
        Ok(removed)
    }

    /// Stores the key of a provider that takes one from the store.
    ///
    /// # Errors
    /// [`AccountsError::Unsupported`] for any other; and when what is stored can't be read or written.
    pub async fn store_key(
        self: &Arc<Self>,
        provider: &str,
        key: &str,
    ) -> Result<(), AccountsError> {
        let has_key = self.variable(provider).is_some_and(|(_, named)| !named);
        if !has_key {
            return Err(AccountsError::Unsupported);
        }
        self.redactor.learn([key]);
        let key = StoredCredential::ApiKey(key.to_owned());
        self.replace(provider, key).await?;
        tracing::info!(provider, "a key is stored");
        Ok(())
    }

    /// Stores a credential, whatever stands there.
    async fn replace(
        self: &Arc<Self>,
        provider: &str,
        credential: StoredCredential,
    ) -> Result<(), AccountsError> {
        let provider = provider.to_owned();
        let replaced = self.on_store(move |_, store| {
            for _ in 0..ATTEMPTS {
                let seen = store.account(&provider)?;
                if store.store(&provider, &seen, Some(&credential))? {
                    return Ok(Some(()));
                }
            }
            Ok(None)
        });
        replaced.await?.ok_or(AccountsError::Contended)
    }

    async fn on_store<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self, &dyn AccountStore) -> Result<T, AccountError> + Send + 'static,
    ) -> Result<T, AccountsError> {
        let this = Arc::clone(self);
        let done = self
            .threads
            .run(move || work(&this, this.home.accounts()))
            .await;
        Ok(done??)
    }

    /// No login begins any more, and the one that is under way is cancelled. Returns when nothing of it is left, after
    /// `CLOSING_TIME` at most.
    pub async fn close(&self) {
        let cancelled = {
            let active = self.active();
            self.closing.cancel();
            active.as_ref().map(|active| active.cancel.cancel())
        };
        self.under_way.close();
        let ended = timeout(CLOSING_TIME, self.under_way.wait()).await;
        if let (Err(error), Some(())) = (ended, cancelled) {
            tracing::warn!(%error, "a login did not come to its end");
        }
    }
}

/// Whether something that could not be read may have been who the issuer of `provider` is: the member itself or one that it is
/// in, a word that was meant to be one of them, or the file as a whole.
fn hides_issuer(problem: &Reason, provider: &str) -> bool {
    let Some(key) = &problem.key else {
        return problem.variable.is_none();
    };
    let path = ["providers", provider, "issuer_url"];
    let mut names = key.split('.').zip(path);
    names.all(|(name, of_path)| name == of_path || near_miss(name, [of_path]).is_some())
}

/// Keeps others from beginning a login.
struct Place {
    of: Arc<Accounts>,
    id: String,
    cancel: CancellationToken,
}

impl Drop for Place {
    fn drop(&mut self) {
        *self.of.active() = None;
    }
}
