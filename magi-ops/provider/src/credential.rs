//! Credentials: asked for with every request, from a source that can refresh what it hands out.
//! Where a key is kept is the source's; how it is sent is the wire's.

use std::error::Error;
use std::sync::Arc;

use futures_util::future::BoxFuture;

/// A credential. Its value is in no `Debug` output; only a request's header carries it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// White space around the value, such as the line end of a file it was read from, is no part
    /// of it, nor is the word before it in a header that it was copied from.
    pub fn new(value: &str) -> Self {
        let value = value.trim();
        let scheme = value.get(..7);
        let bearer = scheme.filter(|scheme| scheme.eq_ignore_ascii_case("bearer "));
        Self(
            bearer
                .map_or(value, |scheme| value[scheme.len()..].trim())
                .into(),
        )
    }

    /// Whether the value can stand in the header of a request: printable ASCII, at least one byte.
    pub fn can_be_sent(&self) -> bool {
        !self.0.is_empty() && self.0.bytes().all(|byte| (0x20..0x7f).contains(&byte))
    }

    /// The value itself, for a request's header and for the redactor that must know it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

/// What a request authenticates with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    pub secret: Secret,
    /// Whose it is, for wires that say so in a header of its own. As little to be shown as the secret.
    pub account: Option<Secret>,
}

impl From<Secret> for Credential {
    fn from(secret: Secret) -> Self {
        Self {
            secret,
            account: None,
        }
    }
}

/// Why there is no credential. Fixed words; what the source met is beneath.
#[derive(Debug, thiserror::Error)]
pub enum CredentialError {
    /// The source holds nothing for this provider, such as an unset variable.
    #[error("there is no credential")]
    Missing,
    /// A person has to log in again; beneath what the issuer said, where it was asked just now.
    #[error("the login has ended: log in again")]
    LoggedOut(#[source] Option<Box<dyn Error + Send + Sync>>),
    /// The source could not be asked just now.
    #[error("the credential cannot be read")]
    Unavailable(#[source] Box<dyn Error + Send + Sync>),
}

/// Where a provider's requests get their credential. Asked once for each attempt.
pub trait CredentialSource: Send + Sync {
    /// The credential as it is now; `None` if the provider takes requests without one.
    ///
    /// # Errors
    /// Without a credential where one is needed.
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>>;

    /// Where the credential comes from, for a person whose credential a server refuses: words behind it, such as
    /// `of the variable NAME`. Never its value; `None` where nothing is known of that.
    fn origin(&self) -> Option<String> {
        None
    }

    /// The server refused `secret`. `true` if [`Self::get`] now hands out another one, which is then
    /// tried once.
    ///
    /// # Errors
    /// When the source tried to refresh and could not.
    fn rejected<'a>(&'a self, secret: &'a Secret) -> BoxFuture<'a, Result<bool, CredentialError>> {
        let _ = secret;
        Box::pin(std::future::ready(Ok(false)))
    }

    /// What went wrong without keeping the last [`Self::get`] from handing out a credential. Told once.
    fn trouble(&self) -> Option<CredentialError> {
        None
    }
}

/// One credential for good, or none.
#[derive(Debug, Clone, Default)]
pub struct FixedCredential(Option<Secret>);

impl FixedCredential {
    pub fn new(secret: Option<Secret>) -> Self {
        Self(secret)
    }
}

impl CredentialSource for FixedCredential {
    fn get(&self) -> BoxFuture<'_, Result<Option<Credential>, CredentialError>> {
        Box::pin(std::future::ready(Ok(self.0.clone().map(Credential::from))))
    }
}
