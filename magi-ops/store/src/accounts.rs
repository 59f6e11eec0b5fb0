//! Accounts: what a login stores of each provider, under a generation that each change advances. Whether a credential is
//! refreshed, and how, is decided above; no content of the file leaves this crate but in an [`Account`].

use std::fmt::{self, Debug};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::file::{self, Links};
use crate::local::LocalHome;
use crate::object::Object;
use crate::reason::{Reason, SourceText, offset_of};

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 1024 * 1024;
/// The one version of the file.
const VERSION: u64 = 1;
/// The member that holds what is stored for MCP servers, by name.
const SERVERS: &str = "mcp_servers";
/// The lock beside the file while it is changed.
const LOCK_NAME: &str = "auth.lock";
/// How long a change by another process is waited for: each is one small file.
const LOCK_WAIT: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(5);

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

/// What a login stored. No `Debug` output has its secrets.
#[derive(Clone, PartialEq, Eq)]
pub enum StoredCredential {
    ApiKey(String),
    OAuth(Box<OAuthTokens>),
}

/// The tokens of an OAuth login.
#[derive(Clone, PartialEq, Eq, Deserialize)]
pub struct OAuthTokens {
    pub access_token: String,
    #[serde(default)]
    pub refresh_token: Option<String>,
    #[serde(default)]
    pub id_token: Option<String>,
    /// Whose they are, for the provider's servers.
    #[serde(default)]
    pub account_id: Option<String>,
    /// When the access token ends; `None` if nobody said.
    #[serde(default, deserialize_with = "moment")]
    pub expires_at: Option<SystemTime>,
    /// The issuer refused to refresh them: only another login helps.
    #[serde(default)]
    pub needs_login: bool,
}

impl StoredCredential {
    /// Everything of it that must not be shown.
    pub fn secrets(&self) -> impl Iterator<Item = &str> {
        let all = match self {
            Self::ApiKey(key) => [Some(key.as_str()), None, None, None],
            Self::OAuth(tokens) => [
                Some(tokens.access_token.as_str()),
                tokens.refresh_token.as_deref(),
                tokens.id_token.as_deref(),
                tokens.account_id.as_deref(),
            ],
        };
        all.into_iter().flatten()
    }
}

impl Debug for StoredCredential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiKey(_) => "ApiKey",
            Self::OAuth(_) => "OAuth",
        })
    }
}

impl OAuthTokens {
    /// Whether they serve a request at `now`, be it after a refresh.
    #[must_use]
    pub fn can_serve(&self, now: SystemTime) -> bool {
        let refreshable = self
            .refresh_token
            .as_ref()
            .is_some_and(|token| !token.is_empty());
        let is_current = self.expires_at.is_none_or(|end| end > now);
        !self.needs_login && !self.access_token.is_empty() && (refreshable || is_current)
    }

    fn write(&self) -> Value {
        let end = self
            .expires_at
            .map(|end| humantime::format_rfc3339_seconds(end).to_string());
        let mut written = json!({
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "id_token": self.id_token,
            "account_id": self.account_id,
            "expires_at": end,
        });
        if self.needs_login {
            written["needs_login"] = json!(true);
        }
        written
    }
}

/// A moment as RFC 3339, or none.
fn moment<'de, D: serde::Deserializer<'de>>(source: D) -> Result<Option<SystemTime>, D::Error> {
    let Some(text) = Option::<String>::deserialize(source)? else {
        return Ok(None);
    };
    // The fixed words are all that may be said of it.
    let read = read_moment(&text).ok_or("no moment");
    read.map(Some).map_err(serde::de::Error::custom)
}

fn read_moment(text: &str) -> Option<SystemTime> {
    // The crate reads UTC alone.
    let Some((local, offset)) = text
        .len()
        .checked_sub(6)
        .and_then(|at| text.split_at_checked(at))
    else {
        return humantime::parse_rfc3339_weak(text).ok();
    };
    let (sign, offset) = match offset.split_at_checked(1) {
        Some((sign @ ("+" | "-"), offset)) if local.contains(':') => (sign, offset),
        _ => return humantime::parse_rfc3339_weak(text).ok(),
    };
    let (hours, minutes) = offset.split_once(':')?;
    let offset = hours.parse::<u64>().ok()? * 60 + minutes.parse::<u64>().ok()?;
    let offset = Duration::from_secs(offset * 60);
    let local = humantime::parse_rfc3339_weak(local).ok()?;
    match sign {
        "+" => local.checked_sub(offset),
        _ => local.checked_add(offset),
    }
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

    /// What is stored of `provider` at this moment.
    ///
    /// # Errors
    /// As [`Self::check`].
    fn account(&self, provider: &str) -> Result<Account, AccountError>;

    /// Stores `credential` of `provider`, or nothing, unless that changed since it had the generation `seen`. Whether it
    /// was stored; the records of others are kept as they are.
    ///
    /// # Errors
    /// As [`Self::check`], and when nothing can be written; then nothing is changed.
    fn store(
        &self,
        provider: &str,
        seen: u64,
        credential: Option<&StoredCredential>,
    ) -> Result<bool, AccountError>;

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

impl AccountStore for LocalHome {
    fn check(&self) -> Result<(), AccountError> {
        let document = Document::read(&self.accounts_file())?;
        document
            .providers
            .keys()
            .try_for_each(|provider| document.account(provider).map(drop))
    }

    fn account(&self, provider: &str) -> Result<Account, AccountError> {
        Document::read(&self.accounts_file())?.account(provider)
    }

    fn store(
        &self,
        provider: &str,
        seen: u64,
        credential: Option<&StoredCredential>,
    ) -> Result<bool, AccountError> {
        change(self, |document| {
            let is_seen = document.account(provider)?.generation == seen;
            if is_seen {
                document.put(provider, seen.saturating_add(1), credential);
            }
            Ok(is_seen)
        })
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
        let lock = open_lock(&path).map_err(unwritten)?;
        let held = lock_within(&lock, Duration::ZERO).map_err(unwritten)?;
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
    let lock = open_lock(&home.root().join(LOCK_NAME)).map_err(unwritten)?;
    if !lock_within(&lock, LOCK_WAIT).map_err(unwritten)? {
        return Err(unwritten(io::ErrorKind::WouldBlock.into()));
    }
    let mut document = Document::read(&path)?;
    if !decide(&mut document)? {
        return Ok(false);
    }
    let bytes = document.into_bytes();
    file::replace(&path, &bytes, 0o600, home.staging()).map_err(unwritten)?;
    Ok(true)
}

fn open_lock(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(file::flags(Links::Refuse))
        .open(path)
}

/// Takes the lock, which is given back with the descriptor; `false` if somebody else has it all the time.
fn lock_within(lock: &File, wait: Duration) -> io::Result<bool> {
    let begun = Instant::now();
    loop {
        match flock(lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(true),
            Err(Errno::WOULDBLOCK) if begun.elapsed() < wait => std::thread::sleep(LOCK_POLL),
            Err(Errno::WOULDBLOCK) => return Ok(false),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn unwritable(path: &Path, error: &io::Error) -> AccountError {
    let reason = Reason::of_file(path, format!("this cannot be written: {error}"));
    let help = "let your user write it, and what it lies in";
    AccountError(Box::new(reason.help(help)))
}

/// The file as it was read. Members that nobody knows are kept.
struct Document {
    path: PathBuf,
    text: Vec<u8>,
    members: Map<String, Value>,
    providers: Map<String, Value>,
}

/// What stands under a provider.
#[derive(Deserialize)]
struct Record {
    #[serde(default)]
    generation: u64,
    #[serde(default)]
    api_key: Option<String>,
    #[serde(default)]
    oauth: Option<Object<OAuthTokens>>,
}

impl Document {
    fn read(path: &Path) -> Result<Self, AccountError> {
        let found = file::read(path, MAX_BYTES).map_err(|reason| unusable(path, *reason))?;
        let text = found.unwrap_or_else(|| b"{}".to_vec());
        let mut document = Self {
            path: path.to_owned(),
            text,
            members: Map::new(),
            providers: Map::new(),
        };
        document.members = serde_json::from_slice(&document.text).map_err(|error| {
            // In fixed words: the file's own would be part of what is secret.
            let why = match error.classify() {
                serde_json::error::Category::Data => "this is no JSON object",
                _ => "this is no JSON",
            };
            document.wrong(why, Some(&error))
        })?;
        match document.members.get("version") {
            None => {}
            Some(version) if version.as_u64() == Some(VERSION) => {}
            Some(_) => return Err(document.wrong("this is of another version", None)),
        }
        match document.members.remove("providers") {
            None => {}
            Some(Value::Object(providers)) => document.providers = providers,
            Some(_) => return Err(document.wrong("`providers` is no object", None)),
        }
        Ok(document)
    }

    fn wrong(&self, why: &str, error: Option<&serde_json::Error>) -> AccountError {
        let text = SourceText::new(&self.path, String::from_utf8_lossy(&self.text).into_owned());
        unusable(
            &self.path,
            match error {
                Some(error) => text.reason(offset_of(error, &text.text), why),
                None => Reason::of_file(&self.path, why),
            },
        )
    }

    fn account(&self, provider: &str) -> Result<Account, AccountError> {
        let Some(record) = self.providers.get(provider) else {
            return Ok(Account::default());
        };
        // Serde's own words would name what stands there.
        let record = Object::<Record>::deserialize(record).map_err(|error| {
            tracing::debug!(
                line = error.line(),
                provider,
                "a record of an account is not right"
            );
            self.wrong(
                "a record of an account is not in the form that a login writes",
                None,
            )
        })?;
        let Record {
            generation,
            api_key,
            oauth,
        } = record.0;
        let key = api_key.filter(|key| !key.trim().is_empty());
        let tokens = oauth.map(|tokens| StoredCredential::OAuth(Box::new(tokens.0)));
        Ok(Account {
            generation,
            credential: tokens.or(key.map(StoredCredential::ApiKey)),
        })
    }

    /// Another record of `provider`.
    fn put(&mut self, provider: &str, generation: u64, credential: Option<&StoredCredential>) {
        let mut record = json!({ "generation": generation });
        match credential {
            None => {}
            Some(StoredCredential::ApiKey(key)) => record["api_key"] = json!(key),
            Some(StoredCredential::OAuth(tokens)) => record["oauth"] = tokens.write(),
        }
        self.providers.insert(provider.to_owned(), record);
    }

    fn into_bytes(self) -> Vec<u8> {
        let mut all = self.members;
        all.insert("version".into(), VERSION.into());
        all.insert("providers".into(), self.providers.into());
        let mut bytes = Value::Object(all).to_string().into_bytes();
        bytes.push(b'\n');
        bytes
    }
}

fn unusable(path: &Path, reason: Reason) -> AccountError {
    // Whoever links the file keeps it elsewhere, and a new login must not be written over that.
    let help = match path.is_symlink() {
        true => {
            "put right what the link leads to, or remove the link; then log in again where you need to"
        }
        false => "put it right or remove it; then log in again where you need to",
    };
    AccountError(Box::new(reason.help(help)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const CODEX: &str = "openai-codex";

    fn home() -> (tempfile::TempDir, LocalHome) {
        let dir = tempfile::tempdir().unwrap();
        let home = LocalHome::prepare(&dir.path().join("home")).unwrap();
        (dir, home)
    }

    fn tokens(access: &str) -> StoredCredential {
        StoredCredential::OAuth(Box::new(OAuthTokens {
            access_token: access.into(),
            refresh_token: Some("r".into()),
            id_token: None,
            account_id: Some("acct".into()),
            expires_at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)),
            needs_login: false,
        }))
    }

    #[test]
    fn the_form_that_a_login_writes_is_read() {
        let (_dir, home) = home();
        assert_eq!(home.account(CODEX).unwrap(), Account::default());
        let stored = r#"{"version":1,"providers":{"openai-codex":{"generation":3,"oauth":{
            "access_token":"a","refresh_token":"r","id_token":null,"account_id":"acct",
            "expires_at":"2027-01-15T08:00:00Z"}},"anthropic":{"generation":1,"api_key":"k"}}}"#;
        fs::write(home.accounts_file(), stored).unwrap();
        let account = home.account(CODEX).unwrap();
        assert_eq!(
            (account.generation, account.credential),
            (3, Some(tokens("a")))
        );
        let key = StoredCredential::ApiKey("k".into());
        assert_eq!(home.account("anthropic").unwrap().credential, Some(key));
        home.check().unwrap();
        for wrong in [
            "[]",
            "{",
            r#"{"version":2}"#,
            r#"{"providers":[]}"#,
            r#"{"providers":{"openai-codex":7}}"#,
            r#"{"providers":{"openai-codex":{"oauth":{"access_token":"canary","expires_at":"canary"}}}}"#,
            r#"{"providers":{"openai-codex":{"oauth":["canary"]}}}"#,
            r#"{"providers":{"openai-codex":{"api_key":{"canary":1}}}}"#,
        ] {
            fs::write(home.accounts_file(), wrong).unwrap();
            let error = home.check().unwrap_err();
            assert!(!format!("{error} {error:?}").contains("canary"), "{error}");
            assert!(home.store(CODEX, 0, None).is_err(), "{wrong}");
            assert_eq!(fs::read_to_string(home.accounts_file()).unwrap(), wrong);
        }
        let shown = format!("{:?}", tokens("canary"));
        assert_eq!(shown, "OAuth");
    }

    #[test]
    fn only_who_saw_the_latest_generation_stores() {
        let (_dir, home) = home();
        let other =
            r#"{"more":[1],"providers":{"anthropic":{"generation":1,"api_key":"k","own":2}}}"#;
        fs::write(home.accounts_file(), other).unwrap();
        assert!(home.store(CODEX, 0, Some(&tokens("a"))).unwrap());
        assert!(!home.store(CODEX, 0, Some(&tokens("late"))).unwrap());
        assert!(home.store(CODEX, 1, Some(&tokens("b"))).unwrap());
        let account = home.account(CODEX).unwrap();
        assert_eq!(
            (account.generation, account.credential),
            (2, Some(tokens("b")))
        );
        // A logout advances it too, also where nothing is stored.
        assert!(home.store(CODEX, 2, None).unwrap());
        assert!(home.store(CODEX, 3, None).unwrap());
        let account = home.account(CODEX).unwrap();
        assert_eq!((account.generation, account.credential), (4, None));
        let kept: Value = serde_json::from_slice(&fs::read(home.accounts_file()).unwrap()).unwrap();
        let anthropic = json!({"generation": 1, "api_key": "k", "own": 2});
        assert_eq!(
            (&kept["more"], &kept["providers"]["anthropic"]),
            (&json!([1]), &anthropic)
        );
        let mode = fs::metadata(home.accounts_file())
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o7777, 0o600);
    }

    #[test]
    fn what_is_stored_for_servers_stands_beside_the_providers() {
        let (_dir, home) = home();
        assert_eq!(home.server_account("s").unwrap(), None);
        assert!(home.store(CODEX, 0, Some(&tokens("a"))).unwrap());
        home.store_server_account("s", Some(json!({"a": 1})))
            .unwrap();
        home.store_server_account("t", Some(json!(2))).unwrap();
        assert!(home.store(CODEX, 1, Some(&tokens("b"))).unwrap());
        assert_eq!(home.server_account("s").unwrap(), Some(json!({"a": 1})));
        home.store_server_account("s", None).unwrap();
        assert_eq!(home.server_account("s").unwrap(), None);
        assert_eq!(home.server_account("t").unwrap(), Some(json!(2)));
        assert_eq!(home.account(CODEX).unwrap().credential, Some(tokens("b")));
        fs::write(home.accounts_file(), r#"{"mcp_servers": 3}"#).unwrap();
        assert!(home.store_server_account("s", None).is_err());
    }

    #[test]
    fn a_linked_file_stays_where_it_is() {
        let (dir, home) = home();
        let real = dir.path().join("elsewhere.json");
        fs::write(&real, "{}").unwrap();
        std::os::unix::fs::symlink(&real, home.accounts_file()).unwrap();
        assert!(home.store(CODEX, 0, Some(&tokens("a"))).unwrap());
        assert!(home.accounts_file().is_symlink());
        assert!(fs::read_to_string(&real).unwrap().contains("access_token"));
    }

    #[test]
    fn stores_at_once_lose_none_and_one_refreshes_at_a_time() {
        let (_dir, home) = home();
        let stored = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..8 {
                        let seen = home.account(CODEX).unwrap().generation;
                        let done = home.store(CODEX, seen, Some(&tokens("x"))).unwrap();
                        stored.fetch_add(usize::from(done), Ordering::Relaxed);
                    }
                });
            }
        });
        let generation = home.account(CODEX).unwrap().generation;
        assert_eq!(generation, stored.into_inner() as u64);
        let held = home.try_refresh(CODEX).unwrap().unwrap();
        assert!(home.try_refresh(CODEX).unwrap().is_none());
        assert!(home.try_refresh("another/../x").unwrap().is_some());
        // Others read and store meanwhile.
        assert!(home.store(CODEX, generation, None).unwrap());
        drop(held);
        assert!(home.try_refresh(CODEX).unwrap().is_some());
    }

    #[test]
    fn moments_have_any_offset() {
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        for text in [
            "2027-01-15T08:00:00Z",
            "2027-01-15T08:00:00+00:00",
            "2027-01-15T09:30:00+01:30",
            "2027-01-14T23:00:00-09:00",
            "2027-01-15 08:00:00",
        ] {
            assert_eq!(read_moment(text), Some(moment), "{text}");
        }
        let fraction = read_moment("2027-01-15T08:00:00.250000+00:00").unwrap();
        assert_eq!(fraction, moment + Duration::from_millis(250));
        for wrong in [
            "",
            "soon",
            "1800000000",
            "2027-01-15T08:00:00+1",
            "2027-01-15T08:00:00+é:0",
        ] {
            assert_eq!(read_moment(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn tokens_serve_while_they_last_or_can_be_refreshed() {
        let now = SystemTime::now();
        let hour = Duration::from_secs(3600);
        for (end, refresh, needs_login, serves) in [
            (Some(now + hour), None, false, true),
            (None, None, false, true),
            (Some(now - hour), Some("r"), false, true),
            (Some(now - hour), Some(""), false, false),
            (Some(now - hour), None, false, false),
            (Some(now + hour), Some("r"), true, false),
        ] {
            let tokens = OAuthTokens {
                access_token: "a".into(),
                refresh_token: refresh.map(str::to_owned),
                id_token: None,
                account_id: None,
                expires_at: end,
                needs_login,
            };
            assert_eq!(
                tokens.can_serve(now),
                serves,
                "{end:?} {refresh:?} {needs_login}"
            );
        }
    }
}
