//! What a provider authenticates with, and whether a request can carry it: the one rule for turns, `status`, `auth.status` and the
//! command line. Asks nobody and refreshes nothing; what a person is told of what is missing is said beside.

use std::time::SystemTime;

use provider::{FIXTURE_ID, Secret};
use store::StoredCredential;
use store::settings::Settings;

use super::Environment;
use super::cache::Login;
use super::described::{CODEX_ID, key_variable};

/// How a provider authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthMethod {
    OAuth,
    ApiKey,
    Nothing,
}

/// Where its credential is, or would be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AuthSource {
    Store,
    Environment,
    Nowhere,
}

/// Why a provider has no credential that a request could carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lack {
    /// A project says where the provider is: nothing secret goes there.
    Placed,
    /// Neither the variable nor what is stored holds a key that counts.
    NoKey,
    /// The variable holds what no header can carry.
    UnsendableKey,
    /// Nobody has logged in.
    NoLogin,
    /// The tokens of the login end, or the issuer has ended it.
    Ended,
    /// What is stored as a token can stand in no header.
    UnsendableTokens,
}

/// What is found of a provider.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) method: AuthMethod,
    pub(super) source: AuthSource,
    pub(super) login: Result<Login, Lack>,
}

/// Looks for the credential of a provider that is known. `stored` reads what is stored of it, if that counts.
///
/// # Errors
/// When that can't be read.
pub(super) fn find<E>(
    settings: &Settings,
    environment: &Environment,
    provider: &str,
    stored: impl FnOnce() -> Result<Option<StoredCredential>, E>,
) -> Result<Found, E> {
    let own = settings.providers.get(provider);
    let is_placed = own.is_some_and(|own| own.placed_by_project);
    let found = |method, source, login| {
        let login = match is_placed && method != AuthMethod::Nothing {
            true => Err(Lack::Placed),
            false => login,
        };
        Ok(Found {
            method,
            source,
            login,
        })
    };
    let variable = key_variable(settings, provider).filter(|_| provider != FIXTURE_ID);
    let Some(variable) = variable else {
        if provider != CODEX_ID {
            return found(AuthMethod::Nothing, AuthSource::Nowhere, Ok(Login::Nothing));
        }
        let login = match is_placed {
            true => Err(Lack::Placed),
            false => tokens(stored()?).map(|()| Login::StoredTokens {
                issuer_url: own.and_then(|own| own.issuer_url.clone()),
            }),
        };
        return found(AuthMethod::OAuth, AuthSource::Store, login);
    };
    let value = environment.var(variable).unwrap_or_default();
    if !value.trim().is_empty() {
        let key = Secret::new(value);
        let login = match key.can_be_sent() {
            true => Ok(Login::Key {
                key,
                variable: variable.to_owned(),
            }),
            false => Err(Lack::UnsendableKey),
        };
        return found(AuthMethod::ApiKey, AuthSource::Environment, login);
    }
    // What a person names is meant; without that a login counts too.
    if own.is_some_and(|own| own.api_key_env.is_some()) {
        return found(
            AuthMethod::ApiKey,
            AuthSource::Environment,
            Err(Lack::NoKey),
        );
    }
    let login = match is_placed {
        true => Err(Lack::Placed),
        false => match stored()? {
            Some(StoredCredential::ApiKey(key)) if Secret::new(&key).can_be_sent() => {
                Ok(Login::StoredKey)
            }
            _ => Err(Lack::NoKey),
        },
    };
    found(AuthMethod::ApiKey, AuthSource::Store, login)
}

/// Whether what is stored are tokens that serve a request, be it after a refresh.
fn tokens(stored: Option<StoredCredential>) -> Result<(), Lack> {
    match stored {
        Some(StoredCredential::OAuth(tokens)) if !tokens.can_serve(SystemTime::now()) => {
            Err(Lack::Ended)
        }
        Some(StoredCredential::OAuth(tokens))
            if !Secret::new(&tokens.access_token).can_be_sent() =>
        {
            Err(Lack::UnsendableTokens)
        }
        Some(StoredCredential::OAuth(_)) => Ok(()),
        _ => Err(Lack::NoLogin),
    }
}
