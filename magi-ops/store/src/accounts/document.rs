//! The file of accounts, read whole and written whole. Members that nobody knows are kept.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Account, AccountError, OAuthTokens, StoredCredential};
use crate::file;
use crate::object::Object;
use crate::reason::{Reason, SourceText, command_word, offset_of};

/// Most bytes of the file that are read.
const MAX_BYTES: u64 = 1024 * 1024;
/// The one version of the file.
const VERSION: u64 = 1;

/// The file as it was read. Members that nobody knows are kept.
pub(super) struct Document {
    path: PathBuf,
    text: Vec<u8>,
    pub(super) members: Map<String, Value>,
    pub(super) providers: Map<String, Value>,
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
    pub(super) fn read(path: &Path) -> Result<Self, AccountError> {
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

    pub(super) fn wrong(&self, why: &str, error: Option<&serde_json::Error>) -> AccountError {
        let text = SourceText::new(&self.path, String::from_utf8_lossy(&self.text).into_owned());
        unusable(
            &self.path,
            match error {
                Some(error) => text.reason(offset_of(error, &text.text), why),
                None => Reason::of_file(&self.path, why),
            },
        )
    }

    pub(super) fn account(&self, provider: &str) -> Result<Account, AccountError> {
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
            let why = format!("the record of `{provider}` is not in the form that a login writes");
            let reason = self.wrong(&why, None).into_reason();
            let help = match command_word(provider) {
                Some(word) => {
                    format!("put it right, or run `magi-code logout {word}`, which removes it")
                }
                None => "put it right or remove it".to_owned(),
            };
            AccountError(Box::new(reason.help(help)))
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
    pub(super) fn put(
        &mut self,
        provider: &str,
        generation: u64,
        credential: Option<&StoredCredential>,
    ) {
        let mut record = match self.providers.remove(provider) {
            Some(Value::Object(record)) => record,
            _ => Map::new(),
        };
        let key = record.remove("api_key");
        let tokens = record.remove("oauth");
        record.insert("generation".into(), generation.into());
        match credential {
            None => record.retain(|name, _| name == "generation"),
            Some(StoredCredential::ApiKey(key)) => {
                record.insert("api_key".into(), json!(key));
            }
            Some(StoredCredential::OAuth(fresh)) => {
                // What nobody knows of a login stays with it, and so does the key that it stands before.
                let tokens = tokens.and_then(|tokens| match tokens {
                    Value::Object(tokens) => Some(tokens),
                    _ => None,
                });
                let mut tokens = tokens.unwrap_or_default();
                tokens.remove("needs_login");
                if let Value::Object(fresh) = fresh.write() {
                    tokens.extend(fresh);
                }
                record.insert("oauth".into(), tokens.into());
                record.extend(key.map(|key| ("api_key".to_owned(), key)));
            }
        }
        self.providers.insert(provider.to_owned(), record.into());
    }

    /// A record of `provider` that holds nothing, whatever stood there, and whether anything did. Its generation is another
    /// one than before, as far as that could be read.
    pub(super) fn remove(&mut self, provider: &str) -> bool {
        let (generation, was_there) = match self.account(provider) {
            Ok(account) => (account.generation, account.credential.is_some()),
            Err(error) => {
                tracing::info!(%error, "what can't be read is removed");
                let record = self.providers.get(provider);
                let generation = record.and_then(|record| record.get("generation")?.as_u64());
                (generation.unwrap_or_default(), true)
            }
        };
        self.put(provider, generation.saturating_add(1), None);
        was_there
    }

    /// Every text of it, with the name of its member.
    pub(super) fn texts(&self) -> Vec<(String, String)> {
        let members = self.providers.iter().chain(&self.members);
        let mut left: Vec<_> = members.collect();
        let mut texts = Vec::new();
        while let Some((name, value)) = left.pop() {
            match value {
                Value::String(text) => texts.push((name.clone(), text.clone())),
                Value::Object(members) => left.extend(members),
                Value::Array(items) => left.extend(items.iter().map(|item| (name, item))),
                Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
        }
        texts
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
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
