//! An issuer of OAuth tokens on the loopback, and the browser of a person who logs in with it. It is strict: a code is good
//! once, for the redirect and the challenge that it was asked with, and a refresh token is good once.
#![allow(dead_code)] // every test crate includes this file and uses its own share of it

use std::collections::{HashMap, HashSet, VecDeque};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// What it does with one request for tokens.
#[derive(Clone, Debug)]
pub(crate) enum Play {
    /// What an issuer does, after so long.
    Grant(Duration),
    /// A status, and a body that may be anything.
    Say(u16, String),
    /// Nothing, with the connection open.
    Hang,
    /// Nothing, and the connection is closed.
    Leave,
}

#[derive(Default)]
struct State {
    plays: VecDeque<Play>,
    /// Codes that are good: their challenge and their redirect.
    codes: HashMap<String, (String, String)>,
    /// Refresh tokens that are good.
    refresh: HashSet<String>,
    /// The bodies of all requests for tokens.
    forms: Vec<String>,
    issued: u32,
    hanging: Vec<TcpStream>,
}

#[derive(Clone)]
pub(crate) struct Issuer {
    url: String,
    state: Arc<Mutex<State>>,
}

impl Issuer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let issuer = Self {
            url,
            state: Arc::default(),
        };
        let serving = issuer.clone();
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let issuer = serving.clone();
                thread::spawn(move || issuer.serve(stream));
            }
        });
        issuer
    }

    /// What `providers.openai-codex.issuer_url` is to be.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The requests that come next are played so; later ones are granted.
    pub(crate) fn plays(&self, plays: impl IntoIterator<Item = Play>) {
        self.state().plays.extend(plays);
    }

    /// The bodies of all requests for tokens so far.
    pub(crate) fn forms(&self) -> Vec<String> {
        self.state().forms.clone()
    }

    /// Whether a refresh token is good.
    pub(crate) fn knows(&self, refresh_token: &str) -> bool {
        self.state().refresh.contains(refresh_token)
    }

    /// Makes a refresh token good that some earlier login got.
    pub(crate) fn trust(&self, refresh_token: &str) {
        self.state().refresh.insert(refresh_token.to_owned());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The person visits the page and agrees: where the browser is sent, which it does not visit yet.
    pub(crate) fn agree(&self, page: &str) -> String {
        let asked = self.asked(page);
        let code = {
            let mut state = self.state();
            state.issued += 1;
            let code = format!("canary-code-{}", state.issued);
            let of = (
                asked["code_challenge"].clone(),
                asked["redirect_uri"].clone(),
            );
            state.codes.insert(code.clone(), of);
            code
        };
        let (redirect, state) = (&asked["redirect_uri"], &asked["state"]);
        format!("{redirect}?code={code}&scope=openid&state={state}")
    }

    /// The person visits the page and does not agree.
    pub(crate) fn deny(&self, page: &str) -> String {
        let asked = self.asked(page);
        let (redirect, state) = (&asked["redirect_uri"], &asked["state"]);
        format!("{redirect}?error=access_denied&error_description=canary-denial&state={state}")
    }

    /// What the page is asked with, which must be what the public flow asks.
    fn asked(&self, page: &str) -> HashMap<String, String> {
        let query = page
            .strip_prefix(&format!("{}/oauth/authorize?", self.url))
            .expect("the issuer's page");
        let asked = form(query);
        for (name, value) in [
            ("response_type", "code"),
            ("client_id", "app_EMoamEEZ73f0CkXaXp7hrann"),
            ("scope", "openid profile email offline_access"),
            ("code_challenge_method", "S256"),
            ("id_token_add_organizations", "true"),
            ("codex_cli_simplified_flow", "true"),
        ] {
            assert_eq!(asked[name], value, "{page}");
        }
        assert!(asked["state"].len() >= 32 && asked["code_challenge"].len() == 43);
        let redirect = &asked["redirect_uri"];
        assert!(
            redirect.starts_with("http://localhost:") && redirect.ends_with("/auth/callback"),
            "{redirect}"
        );
        asked
    }

    fn serve(&self, mut stream: TcpStream) {
        let Some((head, body)) = request(&mut stream) else {
            return;
        };
        let good = head.starts_with("POST /oauth/token HTTP/1.1\r\n");
        let play = {
            let mut state = self.state();
            state.forms.push(body.clone());
            state.plays.pop_front()
        };
        let (status, answer) = match play.unwrap_or(Play::Grant(Duration::ZERO)) {
            _ if !good => (404, "no such page".to_owned()),
            Play::Grant(wait) => {
                thread::sleep(wait);
                let (status, answer) = self.grant(&form(&body));
                (status, answer.to_string())
            }
            Play::Say(status, words) => (status, words),
            Play::Hang => {
                self.state().hanging.push(stream);
                return;
            }
            Play::Leave => return,
        };
        let head = format!(
            "HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\n\r\n",
            answer.len()
        );
        // Whoever asked may have left.
        let _ = stream.write_all((head + &answer).as_bytes());
    }

    fn grant(&self, asked: &HashMap<String, String>) -> (u16, Value) {
        let refused = (
            400,
            json!({"error": "invalid_grant", "error_description": "canary-words"}),
        );
        let mut state = self.state();
        let of = |name: &str| asked.get(name).cloned().unwrap_or_default();
        if of("client_id") != "app_EMoamEEZ73f0CkXaXp7hrann" {
            return (401, json!({"error": "invalid_client"}));
        }
        let good = match of("grant_type").as_str() {
            "authorization_code" => {
                let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(of("code_verifier")));
                let code = state.codes.remove(&of("code"));
                code == Some((challenge, of("redirect_uri")))
            }
            "refresh_token" => state.refresh.remove(&of("refresh_token")),
            _ => false,
        };
        if !good {
            return refused;
        }
        state.issued += 1;
        let n = state.issued;
        let refresh = format!("canary-refresh-{n}");
        state.refresh.insert(refresh.clone());
        let claims = json!({"https://api.openai.com/auth": {"chatgpt_account_id": format!("canary-account-{n}")}});
        let id = format!("e30.{}.canary", URL_SAFE_NO_PAD.encode(claims.to_string()));
        let answer = json!({
            "access_token": format!("canary-access-{n}"), "refresh_token": refresh, "id_token": id, "expires_in": 3600,
        });
        (200, answer)
    }
}

/// A browser on this machine that is sent to `url`: the status and the page that it gets.
pub(crate) fn visit(url: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://localhost:").expect("this machine");
    let (port, target) = rest.split_once('/').expect("a path");
    let port: u16 = port.parse().expect("a port");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("somebody listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("a timeout");
    let asked = format!("GET /{target} HTTP/1.1\r\nHost: localhost:{port}\r\n\r\n");
    stream.write_all(asked.as_bytes()).expect("it is taken");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("a page");
    let status = page.split(' ').nth(1).and_then(|word| word.parse().ok());
    (status.unwrap_or_default(), page)
}

/// The same address with another state.
pub(crate) fn forged(url: &str) -> String {
    let (start, _) = url.split_once("&state=").expect("a state");
    format!("{start}&state=forged")
}

fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream.read(&mut buffer).ok()?;
        bytes.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.split_once("content-length: ").map(|(_, rest)| rest);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Some((head.to_owned(), body.to_owned()));
            }
        }
        if read == 0 {
            return None;
        }
    }
}

fn form(query: &str) -> HashMap<String, String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (decoded(name), decoded(value)))
        .collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut left = text.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || char::from(left.next().unwrap_or(b'0')).to_digit(16);
                let (high, low) = (digit().unwrap_or(0), digit().unwrap_or(0));
                u8::try_from(high * 16 + low).unwrap_or(b'?')
            }
            other => other,
        });
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
