//! The issuer of OAuth tokens: where a person logs in, one request that gives tokens for a code or a refresh token, and
//! what its answer means. What is asked is OAuth's matter (`oauth2`). Nothing is stored here and no lock is held.

use std::time::{Duration, SystemTime};

use futures_util::future::BoxFuture;
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::{
    AccessToken, AsyncHttpClient, AuthUrl, AuthorizationCode, Client, ClientId, CsrfToken,
    EndpointNotSet, EndpointSet, HttpRequest, HttpResponse, PkceCodeChallenge, PkceCodeVerifier,
    RedirectUrl, RefreshToken, RequestTokenError, Scope, StandardRevocableToken, TokenResponse,
    TokenUrl,
};
use provider::{BuildError, HttpClient, ProviderError, Secret};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use store::OAuthTokens;

use crate::claims;

/// The public issuer of `openai-codex`.
const URL: &str = "https://auth.openai.com";
/// The id under which its command-line clients are known there; no secret.
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXp7hrann";
/// What a login is asked for: who it is, and to be renewed without a question.
const SCOPES: [&str; 4] = ["openid", "profile", "email", "offline_access"];
/// What its public flow adds (docs/decisions/0013-accounts.md): the id token is to name the account, and the pages are those
/// for a command line.
const EXTRA: [(&str, &str); 3] = [
    ("id_token_add_organizations", "true"),
    ("codex_cli_simplified_flow", "true"),
    ("originator", "magi-code"),
];
const CONNECT: Duration = Duration::from_secs(10);
/// For the whole request.
const TIME: Duration = Duration::from_secs(30);
/// Most bytes of its words that are kept.
const MAX_WORDS_BYTES: usize = 2048;
/// What says that a refresh token is good for nothing any more: OAuth's word, and the issuer's own ones.
const ENDED: [&str; 4] = [
    "invalid_grant",
    "refresh_token_expired",
    "refresh_token_reused",
    "refresh_token_invalidated",
];

/// Why there are no tokens. Its words repeat those of the issuer, which may repeat what it was sent: nothing of it is
/// shown that was not redacted.
#[derive(thiserror::Error)]
pub enum IssuerError {
    /// The refresh token is good for nothing any more.
    #[error("the login has ended, log in again; the issuer said (HTTP {status}){words}")]
    Ended {
        status: u16,
        /// As below.
        words: String,
    },
    #[error("the issuer refused to give tokens (HTTP {status}){words}")]
    Refused {
        status: u16,
        /// Behind a colon, or nothing.
        words: String,
    },
    #[error("the issuer's answer holds no tokens{0}")]
    Malformed(String),
    #[error("the issuer cannot be reached")]
    Unreachable(#[source] ProviderError),
}

/// No words of the issuer.
impl std::fmt::Debug for IssuerError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ended { .. } => "Ended",
            Self::Refused { .. } => "Refused",
            Self::Malformed(_) => "Malformed",
            Self::Unreachable(_) => "Unreachable",
        })
    }
}

impl IssuerError {
    /// Whether the same request may get an answer a little later.
    pub(crate) fn passes(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_)
                | Self::Refused {
                    status: 408 | 429 | 500..=599,
                    ..
                }
        )
    }
}

/// What an issuer gave. Issuers are read leniently: what they leave out or say in another form is not there.
#[derive(Debug, Serialize, Deserialize)]
#[serde(try_from = "Value")]
struct Granted {
    access_token: AccessToken,
    refresh_token: Option<RefreshToken>,
    expires_in: Option<Duration>,
    id_token: Option<IdToken>,
}

/// Not shown, as the others are not.
#[derive(Serialize)]
struct IdToken(String);

impl std::fmt::Debug for IdToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("IdToken")
    }
}

/// An answer without an access token that a request can carry.
#[derive(Debug, thiserror::Error)]
#[error("there is no access token that can be sent")]
struct NoToken;

impl TryFrom<Value> for Granted {
    type Error = NoToken;

    fn try_from(answer: Value) -> Result<Self, NoToken> {
        let word = |name: &str| {
            let word = answer.get(name)?.as_str()?;
            (!word.is_empty()).then(|| word.to_owned())
        };
        let access_token = word("access_token").filter(|token| Secret::new(token).can_be_sent());
        let seconds = match answer.get("expires_in") {
            Some(Value::String(text)) => text.trim().parse().ok(),
            other => other.and_then(Value::as_f64),
        };
        Ok(Self {
            access_token: AccessToken::new(access_token.ok_or(NoToken)?),
            refresh_token: word("refresh_token").map(RefreshToken::new),
            expires_in: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            id_token: word("id_token").map(IdToken),
        })
    }
}

impl TokenResponse for Granted {
    type TokenType = BasicTokenType;

    fn access_token(&self) -> &AccessToken {
        &self.access_token
    }

    /// The one kind that is sent.
    fn token_type(&self) -> &BasicTokenType {
        &BasicTokenType::Bearer
    }

    fn expires_in(&self) -> Option<Duration> {
        self.expires_in
    }

    fn refresh_token(&self) -> Option<&RefreshToken> {
        self.refresh_token.as_ref()
    }

    fn scopes(&self) -> Option<&Vec<Scope>> {
        None
    }
}

impl Granted {
    /// As they are stored, which were given at `now`.
    fn tokens(self, now: SystemTime) -> OAuthTokens {
        let end = self.expires_in.and_then(|left| now.checked_add(left));
        let access_token = self.access_token.into_secret();
        let id_token = self.id_token.map(|token| token.0);
        OAuthTokens {
            expires_at: end.or_else(|| claims::end(&access_token)),
            access_token,
            refresh_token: self.refresh_token.map(RefreshToken::into_secret),
            account_id: id_token.as_deref().and_then(claims::account),
            id_token,
            needs_login: false,
        }
    }
}

/// A client of OAuth that knows where to log in and where to get tokens.
type OAuth = Client<
    BasicErrorResponse,
    Granted,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// What a person is sent to a page with, and what is needed once a code comes back.
pub(crate) struct Authorization {
    /// The page.
    pub(crate) url: String,
    /// What the browser comes back with.
    pub(crate) state: String,
    pub(crate) verifier: PkceCodeVerifier,
    pub(crate) redirect: RedirectUrl,
}

/// An issuer of tokens.
pub struct Issuer {
    server: Server,
    oauth: OAuth,
}

/// Its server, as it is asked.
struct Server {
    client: HttpClient,
    /// For a whole request.
    time: Duration,
}

impl Issuer {
    /// The issuer at `url`, the public one of `openai-codex` if there is none.
    ///
    /// # Errors
    /// [`BuildError::IssuerUrlInvalid`], and without an HTTP client.
    pub fn new(url: Option<&str>) -> Result<Self, BuildError> {
        let url = url.unwrap_or(URL).trim_end_matches('/');
        let client = HttpClient::new(url, CONNECT).map_err(|error| match error {
            BuildError::BaseUrlInvalid => BuildError::IssuerUrlInvalid,
            error => error,
        })?;
        // Paths are added to it.
        if url.contains('?') {
            return Err(BuildError::IssuerUrlInvalid);
        }
        let unusable = |error| {
            tracing::debug!(%error, "an issuer's URL is none");
            BuildError::IssuerUrlInvalid
        };
        let login = AuthUrl::new(format!("{url}/oauth/authorize")).map_err(unusable)?;
        let token = TokenUrl::new(format!("{url}/oauth/token")).map_err(unusable)?;
        let oauth = Client::new(ClientId::new(CLIENT_ID.to_owned()))
            .set_auth_uri(login)
            .set_token_uri(token);
        let server = Server { client, time: TIME };
        Ok(Self { server, oauth })
    }

    /// The same, which waits `time` for each answer.
    #[must_use]
    pub fn within(mut self, time: Duration) -> Self {
        self.server.time = time;
        self
    }

    /// A login that comes back to `redirect`, with a state and a verifier of its own.
    pub(crate) fn authorization(&self, redirect: RedirectUrl) -> Authorization {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let mut request = self
            .oauth
            .authorize_url(|| CsrfToken::new_random_len(32))
            .set_redirect_uri(std::borrow::Cow::Borrowed(&redirect))
            .set_pkce_challenge(challenge)
            .add_scopes(SCOPES.map(|scope| Scope::new(scope.to_owned())));
        for (name, value) in EXTRA {
            request = request.add_extra_param(name, value);
        }
        let (url, state) = request.url();
        Authorization {
            url: url.into(),
            state: state.into_secret(),
            verifier,
            redirect,
        }
    }

    /// The tokens of a login, for its `code`. Nothing of an earlier one is among them.
    ///
    /// # Errors
    /// See [`IssuerError`]; never [`IssuerError::Ended`].
    pub(crate) async fn exchange(
        &self,
        code: &str,
        verifier: PkceCodeVerifier,
        redirect: &RedirectUrl,
    ) -> Result<OAuthTokens, IssuerError> {
        let request = self
            .oauth
            .exchange_code(AuthorizationCode::new(code.to_owned()))
            .set_pkce_verifier(verifier)
            .set_redirect_uri(std::borrow::Cow::Borrowed(redirect));
        let granted = request.request_async(&self.server).await;
        match granted {
            Ok(granted) => Ok(granted.tokens(SystemTime::now())),
            // A code that is good for nothing any more: no login has ended.
            Err(error) => Err(match refused(error) {
                IssuerError::Ended { status, words } => IssuerError::Refused { status, words },
                error => error,
            }),
        }
    }

    /// New tokens for `old`. What the issuer leaves out stays as it was.
    ///
    /// # Errors
    /// See [`IssuerError`]; only after [`IssuerError::Ended`] is another attempt in vain.
    pub(crate) async fn refresh(
        &self,
        old: &OAuthTokens,
        now: SystemTime,
    ) -> Result<OAuthTokens, IssuerError> {
        let token = RefreshToken::new(old.refresh_token.clone().unwrap_or_default());
        let request = self.oauth.exchange_refresh_token(&token);
        let granted = request.request_async(&self.server).await;
        let fresh = granted.map_err(refused)?.tokens(now);
        Ok(OAuthTokens {
            refresh_token: fresh.refresh_token.or_else(|| old.refresh_token.clone()),
            account_id: fresh.account_id.or_else(|| old.account_id.clone()),
            id_token: fresh.id_token.or_else(|| old.id_token.clone()),
            ..fresh
        })
    }
}

impl<'c> AsyncHttpClient<'c> for Server {
    type Error = IssuerError;
    type Future = BoxFuture<'c, Result<HttpResponse, IssuerError>>;

    /// Asks once. What is a refusal is told with its status and the issuer's words, which OAuth's own errors do not keep.
    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let url = request.uri().to_string();
            let asked = self.client.post_form(&url, request.into_body(), self.time);
            let (status, body) = asked.await.map_err(IssuerError::Unreachable)?;
            // Neither a mark before it nor a byte that is no UTF-8 costs a code that works once.
            let body = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&body);
            let body = String::from_utf8_lossy(body).into_owned().into_bytes();
            let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
            let words = words(&answer);
            let words = match words.is_empty() {
                true => String::new(),
                false => format!(": {words}"),
            };
            let ended = says_ended(&answer);
            match status {
                200..=299 if Granted::try_from(answer).is_ok() => Ok(HttpResponse::new(body)),
                200..=299 => Err(IssuerError::Malformed(words)),
                400..=499 if ended => Err(IssuerError::Ended { status, words }),
                status => Err(IssuerError::Refused { status, words }),
            }
        })
    }
}

fn refused(error: RequestTokenError<IssuerError, BasicErrorResponse>) -> IssuerError {
    match error {
        RequestTokenError::Request(error) => error,
        // `ask` has looked at the answer: nothing is left to be found here, and nothing is shown of it.
        _ => IssuerError::Malformed(String::new()),
    }
}

/// What the issuer says of a refusal: its word, and its words for people.
fn words(answer: &Value) -> String {
    let words = [
        "/error",
        "/error/code",
        "/error_description",
        "/error/message",
        "/message",
        "/detail",
    ];
    let words = words
        .iter()
        .filter_map(|path| answer.pointer(path)?.as_str());
    let words = words.collect::<Vec<_>>().join(": ");
    words[..words.floor_char_boundary(MAX_WORDS_BYTES)].to_owned()
}

fn says_ended(answer: &Value) -> bool {
    let words = ["/error", "/error/code", "/error/type", "/code"];
    let mut words = words
        .iter()
        .filter_map(|path| answer.pointer(path)?.as_str());
    words.any(|word| ENDED.contains(&word))
}
