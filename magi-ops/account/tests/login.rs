//! A login from its page to its commit, with an issuer on the loopback that plays what issuers do.
#![allow(clippy::unwrap_used)]

#[path = "../../../tests/support/issuer.rs"]
mod issuer;

use std::fs;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use account::{CallbackError, Issuer, IssuerError, Login, LoginError, LoginStep, StoredAccount};
use issuer::{Play, forged, visit};
use provider::{CredentialSource as _, Secret};
use redact::Redactor;
use serde_json::{Value, json};
use store::{Home, LocalHome};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, spawn_blocking};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

const CODEX: &str = "openai-codex";
use LoginStep::{CallbackAccepted, CallbackReceived, Waiting};

struct Place {
    dir: tempfile::TempDir,
    issuer: issuer::Issuer,
    redactor: Redactor,
}

/// A login under way.
struct UnderWay {
    page: String,
    pasting: Option<oneshot::Sender<String>>,
    cancel: CancellationToken,
    steps: Arc<Mutex<Vec<LoginStep>>>,
    ended: JoinHandle<Result<(), LoginError>>,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            issuer: issuer::Issuer::start(),
            redactor: Redactor::default(),
        }
    }

    fn home(&self) -> Arc<dyn Home> {
        Arc::new(LocalHome::prepare(self.dir.path()).unwrap())
    }

    fn issuer(&self) -> Issuer {
        let issuer = Issuer::new(Some(self.issuer.url())).unwrap();
        issuer.within(Duration::from_secs(2))
    }

    fn stored(&self) -> Value {
        let file = fs::read(self.dir.path().join("auth.json")).unwrap_or_else(|_| b"{}".to_vec());
        serde_json::from_slice(&file).unwrap()
    }

    fn write(&self, value: &Value) {
        fs::write(self.dir.path().join("auth.json"), value.to_string()).unwrap();
    }

    async fn begin(&self) -> UnderWay {
        let (home, redactor) = (self.home(), self.redactor.clone());
        let login = Login::begin(CODEX, home, redactor, self.issuer())
            .await
            .unwrap();
        assert!(login.listens());
        let (page, (pasting, pasted)) = (login.url().to_owned(), oneshot::channel());
        let (cancel, closing) = (CancellationToken::new(), CancellationToken::new());
        let steps = Arc::<Mutex<Vec<_>>>::default();
        let ended = {
            let (cancel, steps) = (cancel.clone(), Arc::clone(&steps));
            tokio::spawn(async move {
                let step = |step| steps.lock().unwrap().push(step);
                login.finish(pasted, &cancel, &closing, step).await
            })
        };
        UnderWay {
            page,
            pasting: Some(pasting),
            cancel,
            steps,
            ended,
        }
    }

    /// Logs in by a browser.
    async fn log_in(&self) {
        let login = self.begin().await;
        let back = self.issuer.agree(&login.page);
        let browser = spawn_blocking(move || visit(&back));
        login.end().await.unwrap();
        assert_eq!(browser.await.unwrap().0, 200);
    }
}

impl UnderWay {
    fn paste(&mut self, text: String) {
        self.pasting.take().unwrap().send(text).unwrap();
    }

    fn steps(&self) -> Vec<LoginStep> {
        self.steps.lock().unwrap().clone()
    }

    async fn end(self) -> Result<(), LoginError> {
        self.ended.await.unwrap()
    }
}

async fn until(is: impl Fn() -> bool) {
    while !is() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_browser_that_comes_back_ends_a_login() {
    let place = Place::new();
    let other = json!({"generation": 7, "api_key": "k", "own": [1]});
    place.write(&json!({"mine": true, "providers": {"anthropic": other}}));
    let login = place.begin().await;
    let back = place.issuer.agree(&login.page);
    let wrong = forged(&back);
    let (status, page) = spawn_blocking(move || visit(&wrong)).await.unwrap();
    assert_eq!(status, 400, "{page}");
    assert_eq!(login.steps(), [Waiting]);
    let again = back.clone();
    let browser = spawn_blocking(move || visit(&back));
    let steps = Arc::clone(&login.steps);
    login.end().await.unwrap();
    let (status, page) = browser.await.unwrap();
    assert!(
        status == 200 && page.contains("The login is done."),
        "{page}"
    );
    assert!(!page.contains("canary"), "{page}");
    let steps = steps.lock().unwrap().clone();
    assert_eq!(steps, [Waiting, CallbackReceived, CallbackAccepted]);
    let stored = place.stored();
    let record = &stored["providers"][CODEX];
    assert_eq!(record["generation"], 1);
    assert_eq!(record["oauth"]["access_token"], "canary-access-2");
    assert_eq!(record["oauth"]["refresh_token"], "canary-refresh-2");
    assert_eq!(record["oauth"]["account_id"], "canary-account-2");
    assert!(record["oauth"]["expires_at"].is_string());
    assert_eq!(
        (&stored["mine"], &stored["providers"]["anthropic"]),
        (&json!(true), &other)
    );
    // Nobody listens any more, and nothing of it would be shown.
    let port = again.split(':').nth(2).unwrap().split('/').next().unwrap();
    let port: u16 = port.parse().unwrap();
    assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    for secret in [
        "canary-code-1",
        "canary-access-2",
        "canary-refresh-2",
        "canary-account-2",
    ] {
        let shown = place.redactor.redact(secret);
        assert!(!shown.as_str().contains("canary"), "{secret}");
    }
    let form = &place.issuer.forms()[0];
    let verifier = form.split("code_verifier=").nth(1).unwrap();
    let verifier = verifier.split('&').next().unwrap();
    assert!(!place.redactor.redact(verifier).as_str().contains(verifier));
}

#[tokio::test]
async fn what_a_person_pastes_ends_a_login() {
    for code_alone in [false, true] {
        let place = Place::new();
        let mut login = place.begin().await;
        let mut back = place.issuer.agree(&login.page);
        if code_alone {
            back = "canary-code-1".into();
        }
        login.paste(back);
        login.end().await.unwrap();
        let access = &place.stored()["providers"][CODEX]["oauth"]["access_token"];
        assert_eq!(access, "canary-access-2");
    }
}

#[tokio::test]
async fn what_is_pasted_of_another_login_ends_this_one() {
    let place = Place::new();
    let mut login = place.begin().await;
    let wrong = forged(&place.issuer.agree(&login.page));
    login.paste(wrong);
    let steps = Arc::clone(&login.steps);
    let error = login.end().await.unwrap_err();
    assert!(
        matches!(error, LoginError::Callback(CallbackError::State)),
        "{error:?}"
    );
    assert_eq!(*steps.lock().unwrap(), [Waiting, CallbackReceived]);
    assert!(place.issuer.forms().is_empty() && place.stored() == json!({}));
}

#[tokio::test]
async fn a_person_who_does_not_agree_ends_the_login() {
    let place = Place::new();
    let login = place.begin().await;
    let back = place.issuer.deny(&login.page);
    let browser = spawn_blocking(move || visit(&back));
    let error = login.end().await.unwrap_err();
    let LoginError::Callback(CallbackError::Denied(words)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(words, "access_denied: canary-denial");
    let (status, page) = browser.await.unwrap();
    assert!(status == 400 && !page.contains("canary"), "{page}");
    assert_eq!(place.stored(), json!({}));
}

#[tokio::test]
async fn an_issuer_that_gives_no_tokens_ends_the_login_and_changes_nothing() {
    let html = "<html>canary</html>".to_owned();
    for (play, what) in [
        (Play::Say(500, html.clone()), "(HTTP 500)"),
        (Play::Say(200, html), "holds no tokens"),
        (
            Play::Say(200, json!({"token_type": "Bearer"}).to_string()),
            "holds no tokens",
        ),
        // What no request can carry is none.
        (
            Play::Say(200, json!({"access_token": "can\nary"}).to_string()),
            "holds no tokens",
        ),
        (
            Play::Say(200, json!({"access_token": "canäry"}).to_string()),
            "holds no tokens",
        ),
        (
            Play::Say(200, json!({"access_token": " "}).to_string()),
            "holds no tokens",
        ),
        (
            Play::Say(400, json!({"error": "invalid_grant"}).to_string()),
            "(HTTP 400): invalid_grant",
        ),
        (Play::Say(302, String::new()), "(HTTP 302)"),
        (
            Play::Say(200, "x".repeat(2 * 1024 * 1024)),
            "cannot be reached",
        ),
        (Play::Leave, "cannot be reached"),
        (Play::Hang, "cannot be reached"),
    ] {
        let place = Place::new();
        place.issuer.plays([play.clone()]);
        let mut login = place.begin().await;
        let back = place.issuer.agree(&login.page);
        login.paste(back);
        let steps = Arc::clone(&login.steps);
        let error = login.end().await.unwrap_err();
        assert!(
            matches!(error, LoginError::Exchange(_)),
            "{play:?} {error:?}"
        );
        let words = error.to_string();
        assert!(
            words.ends_with(what) && !words.contains("canary"),
            "{words}"
        );
        // No login had begun that could have ended.
        assert!(!words.contains("log in again"), "{words}");
        assert_eq!(
            *steps.lock().unwrap(),
            [Waiting, CallbackReceived, CallbackAccepted]
        );
        // It is asked once: a code is good for one.
        assert_eq!(place.issuer.forms().len(), 1);
        assert_eq!(place.stored(), json!({}));
    }
}

#[tokio::test]
async fn a_code_is_good_once() {
    let place = Place::new();
    let mut first = place.begin().await;
    let back = place.issuer.agree(&first.page);
    first.paste(back);
    first.end().await.unwrap();
    let before = place.stored();
    let mut second = place.begin().await;
    second.paste("canary-code-1".into());
    let error = second.end().await.unwrap_err();
    let refused = matches!(
        error,
        LoginError::Exchange(IssuerError::Refused { status: 400, .. })
    );
    assert!(refused, "{error:?}");
    assert_eq!(place.stored(), before);
}

#[tokio::test]
async fn a_slow_issuer_is_waited_for() {
    let place = Place::new();
    place
        .issuer
        .plays([Play::Grant(Duration::from_millis(700))]);
    place.log_in().await;
    assert_eq!(place.stored()["providers"][CODEX]["generation"], 1);
}

#[tokio::test]
async fn a_login_that_is_cancelled_stores_nothing() {
    // While it waits.
    let place = Place::new();
    let login = place.begin().await;
    login.cancel.cancel();
    assert!(matches!(login.end().await, Err(LoginError::Cancelled)));
    // While tokens are asked for: they are waited for, and not stored.
    place
        .issuer
        .plays([Play::Grant(Duration::from_millis(500))]);
    let mut login = place.begin().await;
    login.paste(place.issuer.agree(&login.page));
    until(|| place.issuer.forms().len() == 1).await;
    login.cancel.cancel();
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!login.ended.is_finished());
    assert!(matches!(login.end().await, Err(LoginError::Cancelled)));
    assert!(place.issuer.knows("canary-refresh-2"), "they were given");
    assert_eq!(place.stored(), json!({}));
}

#[tokio::test]
async fn a_process_that_ends_does_not_wait_for_an_issuer_that_hangs() {
    let place = Place::new();
    place.issuer.plays([Play::Hang]);
    let home = place.home();
    let issuer = Issuer::new(Some(place.issuer.url())).unwrap();
    let login = Login::begin(CODEX, home, place.redactor.clone(), issuer)
        .await
        .unwrap();
    let back = place.issuer.agree(login.url());
    let (pasting, pasted) = oneshot::channel();
    pasting.send(back).unwrap();
    let (cancel, closing) = (CancellationToken::new(), CancellationToken::new());
    let ended = login.finish(pasted, &cancel, &closing, |_| {});
    let close = async {
        until(|| place.issuer.forms().len() == 1).await;
        cancel.cancel();
        closing.cancel();
    };
    // The issuer has thirty seconds otherwise.
    let both = async { tokio::join!(ended, close).0 };
    let ended = tokio::time::timeout(Duration::from_secs(15), both)
        .await
        .unwrap();
    assert!(matches!(ended, Err(LoginError::Cancelled)));
}

#[tokio::test]
async fn what_was_stored_since_a_login_began_is_not_written_over() {
    let place = Place::new();
    place.log_in().await;
    for change in 0..3 {
        let mut login = place.begin().await;
        let home = place.home();
        let seen = home.accounts().account(CODEX).unwrap();
        match change {
            // Another login, or a refresh.
            0 => place.log_in().await,
            // A logout.
            1 => assert!(home.accounts().store(CODEX, &seen, None).unwrap()),
            // A logout where nothing was left to remove.
            _ => assert!(home.accounts().store(CODEX, &seen, None).unwrap()),
        }
        let between = place.stored();
        login.paste(place.issuer.agree(&login.page));
        assert!(matches!(login.end().await, Err(LoginError::Changed)));
        assert_eq!(place.stored(), between);
    }
}

#[tokio::test]
async fn a_new_login_has_nothing_of_the_one_before() {
    let place = Place::new();
    place.log_in().await;
    let tokens = json!({"access_token": "canary-other"}).to_string();
    place.issuer.plays([Play::Say(200, tokens)]);
    place.log_in().await;
    let record = place.stored()["providers"][CODEX].clone();
    assert_eq!(record["generation"], 2);
    assert_eq!(record["oauth"]["access_token"], "canary-other");
    for member in ["refresh_token", "id_token", "account_id", "expires_at"] {
        assert!(record["oauth"][member].is_null(), "{member}");
    }
}

#[tokio::test]
async fn what_cannot_be_stored_is_met_before_a_code_is_redeemed() {
    let place = Place::new();
    let mut login = place.begin().await;
    fs::create_dir(place.dir.path().join("auth.lock")).unwrap();
    login.paste(place.issuer.agree(&login.page));
    assert!(matches!(login.end().await, Err(LoginError::Storage(_))));
    assert!(place.issuer.forms().is_empty());
}

#[tokio::test]
async fn nobody_may_take_longer_than_five_minutes() {
    let place = Place::new();
    let login = place.begin().await;
    until(|| login.steps() == [Waiting]).await;
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(299)).await;
    tokio::task::yield_now().await;
    assert!(!login.ended.is_finished());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert!(matches!(login.end().await, Err(LoginError::Late)));
}

#[tokio::test]
async fn many_logins_and_logouts_at_once_leave_one_whole_record() {
    let place = Place::new();
    for round in 0..10 {
        let mut logins = Vec::new();
        for _ in 0..3 {
            let mut login = place.begin().await;
            login.paste(place.issuer.agree(&login.page));
            logins.push(login);
        }
        let home = place.home();
        let logout = spawn_blocking(move || {
            loop {
                let seen = home.accounts().account(CODEX).unwrap();
                if home.accounts().store(CODEX, &seen, None).unwrap() {
                    break;
                }
            }
        });
        let mut stored = 0;
        for login in logins {
            match login.end().await {
                Ok(()) => stored += 1,
                Err(error) => assert!(matches!(error, LoginError::Changed), "{error:?}"),
            }
        }
        logout.await.unwrap();
        // All began with the same record, so at most one of them replaced it.
        assert!(stored <= 1, "{stored} in round {round}");
        let account = place.home().accounts().account(CODEX).unwrap();
        if stored == 0 {
            assert!(account.credential.is_none());
        }
    }
}

#[tokio::test]
async fn two_homes_that_refresh_at_once_redeem_a_token_once() {
    let place = Place::new();
    place.log_in().await;
    let asked = place.issuer.forms().len();
    let source = || {
        let issuer = Some(place.issuer());
        let tracker = TaskTracker::new();
        StoredAccount::new(CODEX, place.home(), place.redactor.clone(), issuer, tracker)
    };
    let (one, two) = (source(), source());
    let refused = Secret::new("canary-access-2");
    let (first, second) = tokio::join!(one.rejected(&refused), two.rejected(&refused));
    assert!(first.unwrap() && second.unwrap());
    assert_eq!(place.issuer.forms().len(), asked + 1);
    let refresh = place.stored()["providers"][CODEX]["oauth"]["refresh_token"].clone();
    assert!(place.issuer.knows(refresh.as_str().unwrap()), "the new one");
    assert!(!place.issuer.knows("canary-refresh-2"), "it rotates");
}
