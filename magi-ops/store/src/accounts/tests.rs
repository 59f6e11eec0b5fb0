//! Tests of the file of accounts: its form, generations, links and locks.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::*;
use crate::local::LocalHome;

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
        assert!(
            home.store(CODEX, &Account::default(), None).is_err(),
            "{wrong}"
        );
        assert!(home.can_store(CODEX).is_err(), "{wrong}");
        assert_eq!(fs::read_to_string(home.accounts_file()).unwrap(), wrong);
    }
    let shown = format!("{:?}", tokens("canary"));
    assert_eq!(shown, "OAuth");
}

#[test]
fn a_logout_removes_what_nobody_can_read_of_a_record() {
    let (_dir, home) = home();
    for (record, generation) in [
        (json!("canary"), 1),
        (json!(["canary"]), 1),
        (
            json!({"generation": -1, "oauth": {"access_token": "canary"}}),
            1,
        ),
        (json!({"generation": 7, "api_key": {"canary": 1}}), 8),
        (json!({"generation": u64::MAX, "oauth": 7}), u64::MAX),
    ] {
        let other = json!({"generation": 2, "api_key": "k", "own": 2});
        let stored = json!({"mine": 1, "providers": {CODEX: record, "anthropic": other}});
        fs::write(home.accounts_file(), stored.to_string()).unwrap();
        let error = home.account(CODEX).unwrap_err().to_string();
        assert!(error.contains("`magi-code logout openai-codex`"), "{error}");
        assert!(home.remove(CODEX).unwrap(), "{record}");
        let left = fs::read_to_string(home.accounts_file()).unwrap();
        let left: Value = serde_json::from_str(&left).unwrap();
        assert_eq!(left["providers"][CODEX], json!({"generation": generation}));
        assert_eq!(
            (&left["providers"]["anthropic"], &left["mine"]),
            (&other, &json!(1))
        );
        assert!(!home.remove(CODEX).unwrap(), "nothing is left");
    }
    // Of a file that is none nobody knows what it holds.
    fs::write(home.accounts_file(), "canary").unwrap();
    assert!(home.remove(CODEX).is_err());
    assert_eq!(fs::read_to_string(home.accounts_file()).unwrap(), "canary");
}

#[test]
fn a_login_that_never_ends_is_stored() {
    let (_dir, home) = home();
    let StoredCredential::OAuth(mut endless) = tokens("a") else {
        unreachable!()
    };
    endless.expires_at = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000_000));
    let endless = StoredCredential::OAuth(endless);
    assert!(
        home.store(CODEX, &Account::default(), Some(&endless))
            .unwrap()
    );
    let Some(StoredCredential::OAuth(stored)) = home.account(CODEX).unwrap().credential else {
        unreachable!()
    };
    assert!(stored.can_serve(SystemTime::UNIX_EPOCH + Duration::from_secs(253_402_300_000)));
}

#[test]
fn only_who_saw_the_latest_generation_stores() {
    let (_dir, home) = home();
    let other = r#"{"more":[1],"providers":{"anthropic":{"generation":1,"api_key":"k","own":2}}}"#;
    fs::write(home.accounts_file(), other).unwrap();
    let none = Account::default();
    assert!(home.store(CODEX, &none, Some(&tokens("a"))).unwrap());
    assert!(!home.store(CODEX, &none, Some(&tokens("late"))).unwrap());
    let seen = home.account(CODEX).unwrap();
    assert!(home.store(CODEX, &seen, Some(&tokens("b"))).unwrap());
    // Another login that counts from the same number.
    let other = Account {
        generation: 2,
        ..seen
    };
    assert!(!home.store(CODEX, &other, Some(&tokens("c"))).unwrap());
    let account = home.account(CODEX).unwrap();
    assert_eq!(
        (account.generation, account.credential),
        (2, Some(tokens("b")))
    );
    // A logout advances it too, also where nothing is stored.
    for _ in 0..2 {
        let seen = home.account(CODEX).unwrap();
        assert!(home.store(CODEX, &seen, None).unwrap());
    }
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
    let none = Account::default();
    assert!(home.store(CODEX, &none, Some(&tokens("a"))).unwrap());
    home.store_server_account("s", Some(json!({"a": 1})))
        .unwrap();
    home.store_server_account("t", Some(json!(2))).unwrap();
    let seen = home.account(CODEX).unwrap();
    assert!(home.store(CODEX, &seen, Some(&tokens("b"))).unwrap());
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
    home.can_store(CODEX).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}");
    let none = Account::default();
    assert!(home.store(CODEX, &none, Some(&tokens("a"))).unwrap());
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
                    let seen = home.account(CODEX).unwrap();
                    let done = home.store(CODEX, &seen, Some(&tokens("x"))).unwrap();
                    stored.fetch_add(usize::from(done), Ordering::Relaxed);
                }
            });
        }
    });
    let seen = home.account(CODEX).unwrap();
    assert_eq!(seen.generation, stored.into_inner() as u64);
    let held = home.try_refresh(CODEX).unwrap().unwrap();
    assert!(home.try_refresh(CODEX).unwrap().is_none());
    assert!(home.try_refresh("another/../x").unwrap().is_some());
    // Others read and store meanwhile.
    assert!(home.store(CODEX, &seen, None).unwrap());
    drop(held);
    assert!(home.try_refresh(CODEX).unwrap().is_some());
}

#[test]
fn what_keeps_from_storing_is_told_before() {
    let (_dir, home) = home();
    home.can_store(CODEX).unwrap();
    assert!(!home.accounts_file().exists());
    let lock = home.root().join("auth.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let error = home.can_store(CODEX).unwrap_err().to_string();
    assert!(
        error.contains("auth.lock") && error.contains("irectory"),
        "{error}"
    );
}

#[test]
fn what_nobody_knows_of_a_login_stays_with_it() {
    let (_dir, home) = home();
    let stored = r#"{"providers":{"openai-codex":{"generation":1,"own":1,"api_key":"k","oauth":{
        "access_token":"a","more":[2],"needs_login":true}}}}"#;
    fs::write(home.accounts_file(), stored).unwrap();
    let seen = home.account(CODEX).unwrap();
    assert!(home.store(CODEX, &seen, Some(&tokens("b"))).unwrap());
    let kept: Value = serde_json::from_slice(&fs::read(home.accounts_file()).unwrap()).unwrap();
    let record = &kept["providers"][CODEX];
    assert_eq!(
        (&record["own"], &record["api_key"]),
        (&json!(1), &json!("k"))
    );
    let login = &record["oauth"];
    assert_eq!(
        (&login["more"], &login["access_token"]),
        (&json!([2]), &json!("b"))
    );
    assert!(login.get("needs_login").is_none());
    // Nothing of it stays behind a logout.
    let seen = home.account(CODEX).unwrap();
    assert!(home.store(CODEX, &seen, None).unwrap());
    let kept: Value = serde_json::from_slice(&fs::read(home.accounts_file()).unwrap()).unwrap();
    assert_eq!(kept["providers"][CODEX], json!({"generation": 3}));
}
