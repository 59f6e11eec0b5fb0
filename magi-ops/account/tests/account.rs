//! A stored credential while it is used: handed out, refreshed once over all who ask, and ended by its issuer alone.
//! The issuer is a server of these tests on the loopback.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use account::{Issuer, StoredAccount};
use provider::{CredentialError, CredentialSource, Secret};
use redact::Redactor;
use serde_json::{Value, json};
use store::{Home, LocalHome};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::task::TaskTracker;

const CODEX: &str = "openai-codex";

/// Answers the requests in the order of its answers and keeps the forms that it got.
struct Server {
    url: String,
    forms: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Each answer is a status, a body and how long it takes.
    async fn start(answers: Vec<(u16, Value, Duration)>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let forms = Arc::new(Mutex::new(Vec::new()));
        let (seen, mut answers) = (Arc::clone(&forms), VecDeque::from(answers));
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = String::new();
                let mut buffer = [0; 4096];
                let form = loop {
                    let read = stream.read(&mut buffer).await.unwrap();
                    request.push_str(std::str::from_utf8(&buffer[..read]).unwrap());
                    let Some((head, body)) = request.split_once("\r\n\r\n") else {
                        continue;
                    };
                    assert!(head.starts_with("POST /oauth/token HTTP/1.1"), "{head}");
                    let head = head.to_ascii_lowercase();
                    assert!(head.contains("content-type: application/x-www-form-urlencoded"));
                    let length = head.split_once("content-length: ").unwrap().1;
                    let length: usize = length.lines().next().unwrap().parse().unwrap();
                    if body.len() == length {
                        break body.to_owned();
                    }
                };
                seen.lock().unwrap().push(form);
                let (status, body, wait) = answers.pop_front().expect("one request too many");
                tokio::time::sleep(wait).await;
                let body = body.to_string();
                let head = format!(
                    "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    body.len()
                );
                // Whoever asked may have left.
                let _ = stream.write_all((head + &body).as_bytes()).await;
            }
        });
        Self { url, forms }
    }

    fn asked(&self) -> usize {
        self.forms.lock().unwrap().len()
    }
}

const SOON: Duration = Duration::from_millis(20);

fn granted(access: &str, refresh: &str) -> (u16, Value, Duration) {
    let answer = json!({"access_token": access, "refresh_token": refresh, "expires_in": 3600, "token_type": "Bearer"});
    (200, answer, SOON)
}

struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    /// With tokens that ended, or end, `seconds` from now.
    fn with_tokens(seconds: i64) -> Self {
        let place = Self {
            dir: tempfile::tempdir().unwrap(),
        };
        let end = match u64::try_from(seconds) {
            Ok(later) => SystemTime::now() + Duration::from_secs(later),
            Err(_) => SystemTime::now() - Duration::from_secs(seconds.unsigned_abs()),
        };
        let end = humantime::format_rfc3339_seconds(end).to_string();
        place.write(&json!({"version": 1, "providers": {CODEX: {"generation": 4, "oauth": {
            "access_token": "access-canary-1", "refresh_token": "refresh-canary-1", "id_token": null,
            "account_id": "acct-1", "expires_at": end,
        }}}}));
        place
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("auth.json")
    }

    fn write(&self, stored: &Value) {
        fs::write(self.file(), stored.to_string()).unwrap();
    }

    fn stored(&self) -> Value {
        serde_json::from_slice(&fs::read(self.file()).unwrap()).unwrap()
    }

    fn home(&self) -> Arc<dyn Home> {
        Arc::new(LocalHome::prepare(self.dir.path()).unwrap())
    }

    /// A source as another process would have one.
    fn source(&self, server: &Server) -> StoredAccount {
        self.knowing(server, Redactor::default())
    }

    fn knowing(&self, server: &Server, redactor: Redactor) -> StoredAccount {
        let issuer = Issuer::new(Some(&server.url)).unwrap();
        StoredAccount::new(
            CODEX,
            self.home(),
            redactor,
            Some(issuer),
            TaskTracker::new(),
        )
    }
}

async fn access(source: &StoredAccount) -> Result<String, CredentialError> {
    let credential = source.get().await?.unwrap();
    assert_eq!(credential.account.unwrap().expose(), "acct-1");
    Ok(credential.secret.expose().to_owned())
}

#[tokio::test]
async fn tokens_that_last_are_handed_out_as_they_are() {
    let server = Server::start(vec![]).await;
    let place = Place::with_tokens(3600);
    let source = place.source(&server);
    assert_eq!(access(&source).await.unwrap(), "access-canary-1");
    // Read anew each time: another login counts at once.
    let mut stored = place.stored();
    stored["providers"][CODEX]["oauth"]["access_token"] = json!("another");
    place.write(&stored);
    assert_eq!(access(&source).await.unwrap(), "another");
    place.write(&json!({}));
    assert!(matches!(source.get().await, Err(CredentialError::Missing)));
    place.write(&json!([]));
    assert!(matches!(
        source.get().await,
        Err(CredentialError::Unavailable(_))
    ));
    assert_eq!(server.asked(), 0);
}

#[tokio::test]
async fn who_ever_asks_at_once_one_refreshes() {
    let server = Server::start(vec![granted("access-canary-2", "refresh-canary-2")]).await;
    let place = Place::with_tokens(-60);
    let redactor = Redactor::default();
    let sources: Vec<_> = (0..6)
        .map(|_| place.knowing(&server, redactor.clone()))
        .collect();
    let all = sources.iter().map(access);
    for access in futures_util::future::join_all(all).await {
        assert_eq!(access.unwrap(), "access-canary-2");
    }
    let form = server.forms.lock().unwrap().clone();
    let [form] = form.as_slice() else {
        panic!("{form:?}");
    };
    assert!(
        form.contains("grant_type=refresh_token")
            && form.contains("refresh_token=refresh-canary-1")
    );
    assert!(form.contains("client_id="));
    let stored = place.stored();
    let record = &stored["providers"][CODEX];
    assert_eq!(record["generation"], 5);
    assert_eq!(record["oauth"]["refresh_token"], "refresh-canary-2");
    assert_eq!(record["oauth"]["account_id"], "acct-1");
    let end = record["oauth"]["expires_at"].as_str().unwrap();
    let end = humantime::parse_rfc3339(end).unwrap();
    let left = end.duration_since(SystemTime::now()).unwrap();
    assert!((3500..=3600).contains(&left.as_secs()), "{left:?}");
    // Nobody is shown what was read or received.
    for secret in [
        "access-canary-1",
        "refresh-canary-1",
        "access-canary-2",
        "refresh-canary-2",
    ] {
        assert!(
            !redactor.redact(secret).as_str().contains("canary"),
            "{secret}"
        );
    }
}

#[tokio::test]
async fn a_login_that_the_issuer_ended_stays_ended() {
    for answer in [
        json!({"error": "invalid_grant", "error_description": "zz-reason"}),
        json!({"error": {"code": "refresh_token_reused", "message": "canary"}}),
    ] {
        let server = Server::start(vec![(400, answer, SOON)]).await;
        let place = Place::with_tokens(-60);
        let error = access(&place.source(&server)).await.unwrap_err();
        let CredentialError::LoggedOut(Some(said)) = &error else {
            panic!("{error:?}");
        };
        let said = said.to_string();
        assert!(
            said.contains("log in again") && said.contains("(HTTP 400): "),
            "{said}"
        );
        assert!(
            said.ends_with("canary") || said.ends_with("invalid_grant: zz-reason"),
            "{said}"
        );
        assert!(!format!("{error:?}").contains("canary"));
        // Another process knows it without asking; a new login ends it.
        let later = place.source(&server);
        assert!(matches!(
            access(&later).await,
            Err(CredentialError::LoggedOut(_))
        ));
        assert_eq!(server.asked(), 1);
        assert_eq!(
            place.stored()["providers"][CODEX]["oauth"]["needs_login"],
            true
        );
        let again = Place::with_tokens(3600).stored();
        place.write(&again);
        assert_eq!(access(&later).await.unwrap(), "access-canary-1");
    }
}

#[tokio::test]
async fn what_passes_ends_no_login() {
    let failures = [
        (
            400,
            json!({"error": "invalid_request", "error_description": "zz-reason"}),
            "(HTTP 400): invalid_request: zz-reason",
        ),
        (
            403,
            json!({"error": {"code": "x", "message": "zz-reason"}}),
            "(HTTP 403): x: zz-reason",
        ),
        (200, json!({"token_type": "Bearer"}), "holds no tokens"),
        (
            200,
            json!({"error": "invalid_grant"}),
            "holds no tokens: invalid_grant",
        ),
    ];
    for (status, answer, words) in failures {
        let fresh = granted("access-canary-2", "refresh-canary-2");
        let server = Server::start(vec![(status, answer, SOON), fresh]).await;
        let place = Place::with_tokens(-60);
        let source = place.source(&server);
        let Err(CredentialError::Unavailable(why)) = access(&source).await else {
            panic!("{words}");
        };
        assert!(why.to_string().ends_with(words), "{why}");
        assert_eq!(place.stored()["providers"][CODEX]["generation"], 4);
        assert_eq!(access(&source).await.unwrap(), "access-canary-2");
    }
    // What a moment later may be answered is asked again, four times in all.
    let busy = || (503, json!({"error": "invalid_grant"}), SOON);
    let late = || (429, json!({"error": "slow_down"}), SOON);
    let fresh = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![busy(), late(), fresh]).await;
    let source = Place::with_tokens(-60);
    assert_eq!(
        access(&source.source(&server)).await.unwrap(),
        "access-canary-2"
    );
    let server = Server::start(vec![busy(), busy(), busy(), busy()]).await;
    let place = Place::with_tokens(-60);
    let error = access(&place.source(&server)).await.unwrap_err();
    assert!(
        matches!(error, CredentialError::Unavailable(_)),
        "{error:?}"
    );
    assert_eq!(server.asked(), 4);
    // Once where the tokens are good for a moment yet.
    let server = Server::start(vec![busy()]).await;
    let place = Place::with_tokens(30);
    assert_eq!(
        access(&place.source(&server)).await.unwrap(),
        "access-canary-1"
    );
    // Nobody there, and tokens that are good for a moment yet.
    let gone = Server {
        url: "http://127.0.0.1:9".into(),
        forms: Arc::default(),
    };
    let place = Place::with_tokens(30);
    assert_eq!(
        access(&place.source(&gone)).await.unwrap(),
        "access-canary-1"
    );
    let place = Place::with_tokens(-1);
    let error = access(&place.source(&gone)).await.unwrap_err();
    assert!(matches!(error, CredentialError::Unavailable(_)));
}

#[tokio::test]
async fn what_a_server_refuses_is_replaced_once() {
    let server = Server::start(vec![granted("access-canary-2", "")]).await;
    let place = Place::with_tokens(3600);
    let source = place.source(&server);
    let refused = Secret::new("access-canary-1");
    assert!(source.rejected(&refused).await.unwrap());
    assert_eq!(access(&source).await.unwrap(), "access-canary-2");
    // The issuer gave no other refresh token.
    assert_eq!(
        place.stored()["providers"][CODEX]["oauth"]["refresh_token"],
        "refresh-canary-1"
    );
    // A new one that is refused too is not redeemed for yet another.
    assert!(
        !source
            .rejected(&Secret::new("access-canary-2"))
            .await
            .unwrap()
    );
    // Who comes late with the old one gets the new one.
    assert!(source.rejected(&refused).await.unwrap());
    assert_eq!(server.asked(), 1);
    // A key has no issuer: only another one helps.
    place.write(&json!({"providers": {CODEX: {"generation": 1, "api_key": "k"}}}));
    assert!(!source.rejected(&Secret::new("k")).await.unwrap());
    assert!(source.rejected(&Secret::new("old")).await.unwrap());
    assert_eq!(
        source.get().await.unwrap().unwrap().secret,
        Secret::new("k")
    );
}

#[tokio::test]
async fn a_logout_meanwhile_is_not_undone() {
    let (status, answer, _) = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![(status, answer, Duration::from_millis(500))]).await;
    let place = Place::with_tokens(-60);
    let source = place.source(&server);
    let logout = async {
        while server.asked() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let home = place.home();
        let seen = home.accounts().account(CODEX).unwrap();
        assert!(home.accounts().store(CODEX, &seen, None).unwrap());
    };
    let (refreshed, ()) = tokio::join!(source.get(), logout);
    assert!(matches!(refreshed, Err(CredentialError::Missing)));
    let record = place.stored()["providers"][CODEX].clone();
    assert_eq!(record, json!({"generation": 5}));
}

/// A login begins to count anew: the number alone does not tell it from the one that is refreshed.
#[tokio::test]
async fn another_login_meanwhile_stays() {
    let (status, answer, _) = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![(status, answer, Duration::from_millis(500))]).await;
    let place = Place::with_tokens(-60);
    let source = place.source(&server);
    let mut other = Place::with_tokens(3600).stored();
    other["providers"][CODEX]["oauth"]["access_token"] = json!("other-access");
    other["providers"][CODEX]["oauth"]["refresh_token"] = json!("other-refresh");
    let login = async {
        while server.asked() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        place.write(&other);
    };
    let (refreshed, ()) = tokio::join!(access(&source), login);
    assert_eq!(refreshed.unwrap(), "other-access");
    assert_eq!(place.stored(), other);
}

#[tokio::test]
async fn no_token_is_redeemed_that_could_not_be_stored() {
    let server = Server::start(vec![]).await;
    let place = Place::with_tokens(-60);
    let source = place.source(&server);
    fs::create_dir(place.dir.path().join("auth.lock")).unwrap();
    let Err(CredentialError::Unavailable(why)) = access(&source).await else {
        panic!("handed out");
    };
    let why = why.to_string();
    assert!(
        why.contains("auth.lock") && why.contains("irectory"),
        "{why}"
    );
    assert_eq!(server.asked(), 0);
    assert!(source.trouble().is_none());
}

#[tokio::test]
async fn tokens_that_cannot_be_stored_serve_and_are_told_and_stored_later() {
    let (status, answer, _) = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![(status, answer, Duration::from_millis(300))]).await;
    let place = Place::with_tokens(-60);
    let source = place.source(&server);
    let lock = place.dir.path().join("auth.lock");
    let break_lock = async {
        while server.asked() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        fs::remove_file(&lock).unwrap();
        fs::create_dir(&lock).unwrap();
    };
    let (refreshed, ()) = tokio::join!(access(&source), break_lock);
    assert_eq!(refreshed.unwrap(), "access-canary-2");
    let CredentialError::Unavailable(why) = source.trouble().unwrap() else {
        panic!("another trouble");
    };
    assert!(why.to_string().contains("auth.lock"), "{why}");
    // Told once, and used on.
    assert!(source.trouble().is_none());
    assert_eq!(access(&source).await.unwrap(), "access-canary-2");
    let record = || place.stored()["providers"][CODEX].clone();
    assert_eq!(record()["oauth"]["refresh_token"], "refresh-canary-1");
    fs::remove_dir(&lock).unwrap();
    assert_eq!(access(&source).await.unwrap(), "access-canary-2");
    assert_eq!(record()["oauth"]["refresh_token"], "refresh-canary-2");
    assert_eq!(record()["generation"], 5);
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn tokens_are_stored_though_nobody_waits_for_them_any_more() {
    let (status, answer, _) = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![(status, answer, Duration::from_millis(300))]).await;
    let place = Place::with_tokens(-60);
    let source = place.source(&server);
    let given_up = tokio::time::timeout(Duration::from_millis(100), source.get()).await;
    assert!(given_up.is_err());
    while place.stored()["providers"][CODEX]["generation"] == 4 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(access(&source).await.unwrap(), "access-canary-2");
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn who_ends_waits_for_tokens_that_are_asked_for_and_nothing_is_asked_for_afterwards() {
    let (status, answer, _) = granted("access-canary-2", "refresh-canary-2");
    let server = Server::start(vec![(status, answer, Duration::from_millis(300))]).await;
    let place = Place::with_tokens(-60);
    let issuer = Issuer::new(Some(&server.url)).unwrap();
    let under_way = TaskTracker::new();
    let source = StoredAccount::new(
        CODEX,
        place.home(),
        Redactor::default(),
        Some(issuer),
        under_way.clone(),
    );
    let given_up = tokio::time::timeout(Duration::from_millis(100), source.get()).await;
    assert!(given_up.is_err());
    under_way.close();
    under_way.wait().await;
    let stored = place.stored()["providers"][CODEX]["oauth"].clone();
    assert_eq!(stored["refresh_token"], "refresh-canary-2");
    let mut stored = place.stored();
    stored["providers"][CODEX]["oauth"]["access_token"] = json!("another");
    place.write(&stored);
    let again = source.rejected(&Secret::new("another")).await;
    assert!(matches!(again, Err(CredentialError::Unavailable(_))));
    assert_eq!(server.asked(), 1);
}

#[tokio::test]
async fn who_ends_does_not_wait_for_another_attempt_and_none_follows() {
    let server = Server::start(vec![(503, json!({}), Duration::ZERO)]).await;
    let place = Place::with_tokens(-60);
    let issuer = Issuer::new(Some(&server.url)).unwrap();
    let under_way = TaskTracker::new();
    let source = StoredAccount::new(
        CODEX,
        place.home(),
        Redactor::default(),
        Some(issuer),
        under_way.clone(),
    );
    let end = async {
        while server.asked() == 0 || !under_way.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        under_way.close();
        under_way.wait().await;
    };
    let (refreshed, ()) = tokio::join!(source.get(), end);
    assert!(matches!(refreshed, Err(CredentialError::Unavailable(_))));
    assert_eq!(server.asked(), 1);
}

#[test]
fn an_issuer_has_an_address() {
    assert!(Issuer::new(None).is_ok());
    for wrong in ["", "ftp://x", "http://me:canary@x"] {
        let error = Issuer::new(Some(wrong)).err().unwrap();
        assert_eq!(
            error.to_string(),
            "the URL of the provider's issuer is not usable"
        );
    }
}
