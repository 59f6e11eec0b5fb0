//! An `auth.json`: read, changed and read again. What nobody understands is told without a word of it and never written
//! over; what is understood keeps everything but the one record that is changed.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;
use store::{Account, Home, LocalHome, OAuthTokens, StoredCredential};

use crate::input::expand_to;

/// Above the longest file.
const MOST: usize = 1100 * 1024;
const CHANGED: &str = "openai-codex";

/// Checks an input. Says "accounts", or why there are none.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> String {
    thread_local!(static PLACE: Place = Place::new());
    let bytes = expand_to(data, MOST);
    PLACE.with(|place| {
        place.write(&bytes);
        let home = LocalHome::prepare(&place.home).expect("a home");
        let accounts = home.accounts();
        let (whole, one) = (accounts.check(), accounts.account(CHANGED));
        assert!(whole.is_err() || one.is_ok());
        let seen = match one {
            Ok(seen) => seen,
            Err(error) => {
                let stored = accounts.store(CHANGED, &Account::default(), None);
                assert!(stored.is_err() && accounts.can_store(CHANGED).is_err());
                assert!(place.read() == bytes[..]);
                return reason(&error.to_string(), &bytes);
            }
        };
        let before = json(&bytes);
        // Somebody else came between.
        let other = Account {
            generation: seen.generation ^ 1,
            ..seen.clone()
        };
        assert!(!accounts.store(CHANGED, &other, None).expect("a look"));
        assert!(place.read() == bytes[..]);
        for credential in [
            Some(StoredCredential::ApiKey("key".into())),
            Some(StoredCredential::OAuth(Box::new(tokens()))),
            None,
        ] {
            let seen = accounts.account(CHANGED).expect("an account");
            let stored = accounts.store(CHANGED, &seen, credential.as_ref());
            assert!(stored.expect("it is stored"));
            let now = accounts.account(CHANGED).expect("an account");
            assert_eq!(now.generation, seen.generation.saturating_add(1));
            assert!(now.credential == credential);
            assert_eq!(accounts.check().is_err(), whole.is_err());
            let texts = accounts.texts().expect("texts");
            let known = |secret: &str| texts.iter().any(|(_, text)| text == secret);
            assert!(credential.iter().flat_map(|of| of.secrets()).all(known));
        }
        kept(&before, &json(&place.read()));
        match whole {
            Ok(()) => "accounts".to_owned(),
            Err(error) => reason(&error.to_string(), &bytes),
        }
    })
}

/// Tokens of which every member is there.
fn tokens() -> OAuthTokens {
    OAuthTokens {
        access_token: "access".into(),
        refresh_token: Some("refresh".into()),
        id_token: Some("id".into()),
        account_id: Some("account".into()),
        expires_at: None,
        needs_login: false,
    }
}

fn json(bytes: &[u8]) -> Value {
    match bytes.is_empty() {
        true => Value::Null,
        false => serde_json::from_slice(bytes).expect("what was taken is JSON"),
    }
}

/// Everything but the record that was changed and the version stands there as it did.
fn kept(before: &Value, after: &Value) {
    let rest = |value: &Value| {
        let mut value = value.clone();
        if let Some(members) = value.as_object_mut() {
            members.remove("version");
            let emptied = members.get_mut("providers").and_then(Value::as_object_mut);
            if let Some(providers) = emptied {
                providers.remove(CHANGED);
                if providers.is_empty() {
                    members.remove("providers");
                }
            }
        }
        // The spelling of a fraction may change.
        value.to_string()
    };
    assert_eq!(json(rest(before).as_bytes()), json(rest(after).as_bytes()));
}

/// Which of the fixed reasons it is. Nothing of a text of the file is in it.
fn reason(words: &str, bytes: &[u8]) -> String {
    assert!(words.len() < 1024, "{}", words.len());
    for secret in String::from_utf8_lossy(bytes).split('"') {
        let is_secret = secret.len() > 11 && secret.starts_with("canary");
        assert!(!is_secret || !words.contains(secret));
    }
    let fixed = [
        "is no JSON object",
        "is no JSON",
        "another version",
        "`providers` is no object",
        "not in the form",
        "longer than",
    ];
    let found = fixed.into_iter().find(|fixed| words.contains(fixed));
    found.unwrap_or_else(|| panic!("{words}")).to_owned()
}

/// A home.
struct Place {
    _dir: tempfile::TempDir,
    home: PathBuf,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        let home = dir.path().join("home");
        fs::create_dir(&home).expect("a folder");
        Self { _dir: dir, home }
    }

    fn write(&self, bytes: &[u8]) {
        fs::write(self.home.join("auth.json"), bytes).expect("a file");
    }

    fn read(&self) -> Vec<u8> {
        fs::read(self.home.join("auth.json")).expect("a file")
    }
}
