//! Accounts in a file of this machine's home: read without a lock, changed and refreshed under one each.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use rustix::fs::{Access, access};
use rustix::io::Errno;
use serde_json::{Map, Value};

use super::document::Document;
use super::{Account, AccountError, AccountStore, RefreshLock, StoredCredential};
use crate::file;
use crate::local::LocalHome;
use crate::lock;
use crate::reason::{Reason, quoted, shown_path};

/// The member that holds what is stored for MCP servers, by name.
const SERVERS: &str = "mcp_servers";
/// The lock beside the file while it is changed.
const LOCK_NAME: &str = "auth.lock";
/// How long a change by another process is waited for: each is one small file.
const LOCK_WAIT: Duration = Duration::from_secs(5);

impl AccountStore for LocalHome {
    fn check(&self) -> Result<(), AccountError> {
        self.accounts(&[]).map(drop)
    }

    fn accounts(&self, providers: &[&str]) -> Result<Vec<Account>, AccountError> {
        let document = Document::read(&self.accounts_file())?;
        document
            .providers
            .keys()
            .try_for_each(|provider| document.account(provider).map(drop))?;
        let of = |provider: &&str| document.account(provider);
        providers.iter().map(of).collect()
    }

    fn exposed(&self) -> Option<Reason> {
        let path = self.accounts_file();
        let mode = std::fs::metadata(&path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then(|| {
            let why = format!(
                "others of this machine may read or change these credentials (mode {mode:o})"
            );
            let help = format!("run `chmod 600 {}`", quoted(&shown_path(&path)));
            Reason::of_file(&path, why).help(help)
        })
    }

    fn account(&self, provider: &str) -> Result<Account, AccountError> {
        Document::read(&self.accounts_file())?.account(provider)
    }

    fn store(
        &self,
        provider: &str,
        seen: &Account,
        credential: Option<&StoredCredential>,
    ) -> Result<bool, AccountError> {
        change(self, |document| {
            let is_seen = document.account(provider)? == *seen;
            if is_seen {
                document.put(provider, seen.generation.saturating_add(1), credential);
            }
            Ok(is_seen)
        })
    }

    fn remove(&self, provider: &str) -> Result<bool, AccountError> {
        let mut was_there = false;
        change(self, |document| {
            was_there = document.remove(provider);
            Ok(true)
        })?;
        Ok(was_there)
    }

    fn can_store(&self, provider: &str) -> Result<(), AccountError> {
        change(self, |document| document.account(provider).map(|_| false))?;
        let path = self.accounts_file();
        let path = path.canonicalize().unwrap_or(path);
        let folder = path.parent().unwrap_or(&path);
        let unwritten = |error: Errno| unwritable(folder, &error.into());
        access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(unwritten)
    }

    fn texts(&self) -> Result<Vec<(String, String)>, AccountError> {
        Ok(Document::read(&self.accounts_file())?.texts())
    }

    fn server_account(&self, server: &str) -> Result<Option<Value>, AccountError> {
        let document = Document::read(&self.accounts_file())?;
        let servers = document.members.get(SERVERS);
        Ok(servers.and_then(|servers| servers.get(server)).cloned())
    }

    fn store_server_account(
        &self,
        server: &str,
        account: Option<Value>,
    ) -> Result<(), AccountError> {
        let stored = change(self, |document| {
            let servers = document.members.entry(SERVERS);
            let servers = servers.or_insert_with(|| Map::new().into());
            let Some(servers) = servers.as_object_mut() else {
                return Err(document.wrong("`mcp_servers` is no object", None));
            };
            match account {
                Some(account) => servers.insert(server.to_owned(), account),
                None => servers.remove(server),
            };
            Ok(true)
        });
        stored.map(drop)
    }

    fn try_refresh(&self, provider: &str) -> Result<Option<RefreshLock>, AccountError> {
        // An id is the person's word; the name of a file is not.
        let name: String = provider
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
            .take(64)
            .collect();
        let path = self.root().join(format!("auth-{name}.lock"));
        let unwritten = |error: io::Error| unwritable(&path, &error);
        let lock = lock::open(&path).map_err(unwritten)?;
        let held = lock::within(&lock, Duration::ZERO).map_err(unwritten)?;
        Ok(held.then_some(RefreshLock(Some(lock))))
    }
}

/// Changes the file as `decide` does, unless that says no. Whether it was changed.
fn change(
    home: &LocalHome,
    decide: impl FnOnce(&mut Document) -> Result<bool, AccountError>,
) -> Result<bool, AccountError> {
    let path = home.accounts_file();
    // A linked file is replaced where it really is, so that the link stays one.
    let path = path.canonicalize().unwrap_or(path);
    let unwritten = |error: io::Error| unwritable(&path, &error);
    let lock_path = home.root().join(LOCK_NAME);
    let unlocked = |error: io::Error| unwritable(&lock_path, &error);
    let lock = lock::open(&lock_path).map_err(unlocked)?;
    if !lock::within(&lock, LOCK_WAIT).map_err(unlocked)? {
        let why = lock::held().to_string();
        return Err(AccountError(Box::new(Reason::of_file(&lock_path, why))));
    }
    let mut document = Document::read(&path)?;
    if !decide(&mut document)? {
        return Ok(false);
    }
    let bytes = document.into_bytes();
    file::replace(&path, &bytes, 0o600, home.staging()).map_err(unwritten)?;
    Ok(true)
}

fn unwritable(path: &Path, error: &io::Error) -> AccountError {
    let reason = Reason::of_file(path, format!("this cannot be written: {error}"));
    let help = "let your user write it, and what it lies in";
    AccountError(Box::new(reason.help(help)))
}
