//! Accounts: what a login stores of each provider, under a generation that each change advances. Whether a credential is
//! refreshed, and how, is decided above; no content of the file leaves this crate but in an [`Account`].
//! `tokens` is what is stored, `document` the form of the file, `local` the store on this machine.

use std::fmt::Debug;
use std::fs::File;

use serde_json::Value;

use crate::reason::Reason;

mod document;
mod local;
#[cfg(test)]
mod tests;
mod tokens;

pub use tokens::{OAuthTokens, StoredCredential};

/// Why credentials can't be read or written. Names the file and a place in it, never what stands there.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AccountError(Box<Reason>);

impl AccountError {
    /// The same for people.
    #[must_use]
    pub fn into_reason(self) -> Reason {
        *self.0
    }
}

/// What is stored of one provider.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Account {
    /// Advances with each change, also with one that leaves nothing. 0: nothing was ever stored.
    pub generation: u64,
    pub credential: Option<StoredCredential>,
}

/// Held by the one process, and the one place in it, that refreshes the credential of a provider.
#[derive(Debug)]
pub struct RefreshLock(#[allow(dead_code)] Option<File>);

impl RefreshLock {
    /// Nobody else could refresh.
    #[must_use]
    pub fn alone() -> Self {
        Self(None)
    }
}

/// Where credentials are kept. Every call blocks.
pub trait AccountStore: Debug + Send + Sync {
    /// Whether the credentials can be read; none at all are fine.
    ///
    /// # Errors
    /// For what cannot be read, or is not in the form that a login writes.
    fn check(&self) -> Result<(), AccountError>;

    /// What is to be said of credentials that others than their owner may read, if that is so.
    fn exposed(&self) -> Option<Reason> {
        None
    }

    /// What is stored of `provider` at this moment.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn account(&self, provider: &str) -> Result<Account, AccountError>;

    /// What is stored of each of these providers, at one moment, where everything can be read that is stored.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn accounts(&self, providers: &[&str]) -> Result<Vec<Account>, AccountError>;

    /// Stores `credential` of `provider`, or nothing, unless something else than `seen` is stored by now: a login may begin
    /// to count anew, so the generation alone does not tell. Whether it was stored; the records of others are kept as
    /// they are.
    ///
    /// # Errors
    /// As [`Self::check`], and when nothing can be written; then nothing is changed.
    fn store(
        &self,
        provider: &str,
        seen: &Account,
        credential: Option<&StoredCredential>,
    ) -> Result<bool, AccountError>;

    /// Removes what is stored of `provider`, whatever it is and in whatever form; the records of others are kept as they are.
    /// Whether anything was there. Nothing that was seen before is stored over it.
    ///
    /// # Errors
    /// When the credentials can't be read as a whole, or written; then nothing is changed.
    fn remove(&self, provider: &str) -> Result<bool, AccountError>;

    /// Whether something could be stored of `provider` now, which changes nothing: for whoever gets only once what is to be stored.
    ///
    /// # Errors
    /// As [`Self::store`], as far as it can be told before.
    fn can_store(&self, provider: &str) -> Result<(), AccountError>;

    /// Every text that is stored, of whomever, with the name of its member. For whoever must know what not to show: also
    /// what is no concern of this process can be come upon by its commands.
    ///
    /// # Errors
    /// When the credentials can't be read, or are no JSON.
    fn texts(&self) -> Result<Vec<(String, String)>, AccountError>;

    /// What its owner stored for the MCP server of this name.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn server_account(&self, server: &str) -> Result<Option<Value>, AccountError>;

    /// Stores `account` for the MCP server of this name, or removes what is stored.
    ///
    /// # Errors
    /// As [`Self::store`].
    fn store_server_account(
        &self,
        server: &str,
        account: Option<Value>,
    ) -> Result<(), AccountError>;

    /// The right to refresh the credential of `provider`; `None` while somebody else has it, in whichever process. Does
    /// not keep others from reading and storing.
    ///
    /// # Errors
    /// When it can't be found out.
    fn try_refresh(&self, provider: &str) -> Result<Option<RefreshLock>, AccountError>;
}
