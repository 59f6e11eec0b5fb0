//! What a person does about accounts at a command line: log in, hand in a key, log out, see who is logged in.
//! Accounts are `startup::accounts`' matter; here is what a person is told when that fails, redacted.

use std::sync::Arc;

use account::{LoginError, LoginStep};
use store::{Reason, command_word, did_you_mean, listed, near_miss, shown};
use tokio::sync::mpsc;

use super::shown as redacted_reasons;
use crate::startup::accounts::{AccountStatus, Accounts, AccountsError, LoginEvent, LoginStarted};
use crate::startup::{Environment, StartupError};

/// How every provider stands.
///
/// # Errors
/// When the settings or the credentials can't be read, redacted.
pub fn account_statuses(environment: &Environment) -> Result<Vec<AccountStatus>, Vec<Reason>> {
    let asked = readable(environment).and_then(|accounts| {
        let all = accounts.status();
        all.map_err(|error| vec![told(error)])
    });
    redacted_reasons(environment, asked)
}

/// Logs in to a provider. `show` is given the page that the person has to visit, and whether a browser on this machine
/// comes back by itself; of `pasted` lines one is taken. Returns when the login is stored.
///
/// # Errors
/// Why it is not, redacted.
pub async fn log_in_to(
    environment: &Environment,
    provider: &str,
    show: impl FnOnce(&str, bool),
    pasted: &mut mpsc::Receiver<String>,
) -> Result<(), Vec<Reason>> {
    let accounts = redacted_reasons(environment, accounts(environment))?;
    let done = async {
        let LoginStarted {
            id,
            page,
            listens,
            mut events,
        } = accounts
            .begin(provider)
            .await
            .map_err(|error| match error {
                AccountsError::Unsupported => {
                    unless_hidden(&accounts, no_login(&accounts, provider))
                }
                AccountsError::Issuer(reasons) => reasons,
                error => vec![told(error)],
            })?;
        show(&page, listens);
        loop {
            tokio::select! {
                event = events.recv() => match event {
                    Some(LoginEvent::Ended(ended)) => return ended.map_err(|error| vec![ended_in_vain(error, provider)]),
                    Some(LoginEvent::Step(LoginStep::Waiting | LoginStep::CallbackReceived | LoginStep::CallbackAccepted)) => {}
                    None => return Err(vec![Reason::new("the login came to no end")]),
                },
                Some(line) = pasted.recv() => {
                    // A second line, or one behind a browser, is one too many.
                    if let Err(error) = accounts.submit(&id, line) {
                        tracing::debug!(%error, "a pasted line is not taken");
                    }
                }
            }
        }
    };
    // What was received meanwhile is known to these accounts alone.
    done.await
        .map_err(|reasons| crate::startup::error::redacted(reasons, accounts.redactor()))
}

/// Stores the key of a provider.
///
/// # Errors
/// When it is none, the provider takes none from the store, or it can't be stored, redacted.
pub async fn store_key(
    environment: &Environment,
    provider: &str,
    key: &str,
) -> Result<(), Vec<Reason>> {
    let stored = async {
        let accounts = readable(environment)?;
        let why = match key.trim() {
            "" => Some("a blank line is no key"),
            key if key.contains(char::is_whitespace) => Some("a key has no space inside"),
            key if !provider::Secret::new(key).can_be_sent() => {
                Some("no request can carry this key")
            }
            _ => None,
        };
        if let Some(why) = why {
            return Err(vec![
                Reason::new(why).help("hand in the key and nothing else, on one line"),
            ]);
        }
        let stored = accounts.store_key(provider, key.trim()).await;
        stored.map_err(|error| match error {
            AccountsError::Unsupported => vec![no_key(&accounts, provider)],
            error => vec![told(error)],
        })
    };
    redacted_reasons(environment, stored.await)
}

/// Removes what is stored of a provider. Whether there was anything.
///
/// # Errors
/// When nobody knows the provider, or what is stored can't be read or written, redacted.
pub async fn log_out(environment: &Environment, provider: &str) -> Result<bool, Vec<Reason>> {
    let removed = async {
        let accounts = accounts(environment)?;
        let removed = accounts.logout(provider).await;
        removed.map_err(|error| match error {
            AccountsError::Unsupported => unless_hidden(&accounts, unknown(&accounts, provider)),
            error => vec![told(error)],
        })
    };
    redacted_reasons(environment, removed.await)
}

fn accounts(environment: &Environment) -> Result<Arc<Accounts>, Vec<Reason>> {
    Accounts::start(environment).map_err(StartupError::into_reasons)
}

/// Those of a person's settings that can be read: by others a provider may stand otherwise than was meant.
fn readable(environment: &Environment) -> Result<Arc<Accounts>, Vec<Reason>> {
    let accounts = accounts(environment)?;
    match accounts.problems() {
        [] => Ok(accounts),
        problems => Err(problems.to_vec()),
    }
}

/// Why a provider is not known: what could not be read may have said it.
fn unless_hidden(accounts: &Accounts, reason: Reason) -> Vec<Reason> {
    match accounts.problems() {
        [] => vec![reason],
        problems => problems.to_vec(),
    }
}

fn told(error: AccountsError) -> Reason {
    match error {
        AccountsError::Accounts(error) => error.into_reason(),
        error => Reason::new(error.to_string()),
    }
}

fn unknown(accounts: &Accounts, provider: &str) -> Reason {
    let ids: Vec<_> = accounts.ids().collect();
    let meant = did_you_mean(near_miss(provider, ids.iter().copied()));
    let why = format!("no provider is called `{}`{meant}", shown(provider));
    Reason::new(why).help(format!("there are {}", listed(&ids)))
}

fn no_login(accounts: &Accounts, provider: &str) -> Reason {
    if !accounts.ids().any(|id| id == provider) {
        return unknown(accounts, provider);
    }
    let why = format!("nobody logs in to `{}` in a browser", shown(provider));
    match (accounts.variable(provider), command_word(provider)) {
        (Some((_, false)), Some(word)) => Reason::new(why).help(format!(
            "it takes a key: run `magi-code login {word} --with-key`"
        )),
        _ => no_key(accounts, provider),
    }
}

fn no_key(accounts: &Accounts, provider: &str) -> Reason {
    if !accounts.ids().any(|id| id == provider) {
        return unknown(accounts, provider);
    }
    let id = shown(provider);
    match accounts.variable(provider) {
        Some((variable, _)) => {
            let variable = shown(variable);
            let why = format!(
                "the key of `{id}` is in a variable, as the settings say, and is not stored"
            );
            Reason {
                variable: Some(variable.clone()),
                ..Reason::new(why).help(format!("set {variable} before you start"))
            }
        }
        None if accounts.has_login(provider) => {
            Reason::new(format!("`{id}` takes no key")).help("run `magi-code login`")
        }
        None => Reason::new(format!("`{id}` needs no key")).help("there is nothing to do"),
    }
}

fn ended_in_vain(error: LoginError, provider: &str) -> Reason {
    let again = || match command_word(provider) {
        Some(word) => format!("run `magi-code login {word}` once more"),
        None => "try it once more".to_owned(),
    };
    match error {
        LoginError::Storage(error) => error.into_reason(),
        error => Reason::new(error.reason()).help(again()),
    }
}
