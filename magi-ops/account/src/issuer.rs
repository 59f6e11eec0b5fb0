//! The issuer of OAuth tokens: one request that gives new tokens for a refresh token, and what its answer means.
//! Nothing is stored here and no lock is held.

use std::time::{Duration, SystemTime};

use provider::{BuildError, HttpClient, ProviderError};
use serde_json::Value;
use store::OAuthTokens;

use crate::claims;

/// The public issuer of `openai-codex`.
const URL: &str = "https://auth.openai.com";
/// The id under which its command-line clients are known there; no secret.
const CLIENT_ID: &str = "app_EMoamEEZ73f0CkXaXann";
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

/// Why there are no new tokens. Its words repeat those of the issuer, which may repeat what it was sent: nothing of it is
/// shown that was not redacted.
#[derive(thiserror::Error)]
pub enum RefreshError {
    /// The refresh token is good for nothing any more.
    #[error("the login has ended, log in again; the issuer said (HTTP {status}){words}")]
    Ended {
        status: u16,
        /// As below.
        words: String,
    },
    #[error("the issuer refused the refresh (HTTP {status}){words}")]
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
impl std::fmt::Debug for RefreshError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Ended { .. } => "Ended",
            Self::Refused { .. } => "Refused",
            Self::Malformed(_) => "Malformed",
            Self::Unreachable(_) => "Unreachable",
        })
    }
}

impl RefreshError {
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

/// An issuer of tokens.
pub struct Issuer {
    client: HttpClient,
    token_url: String,
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
        let token_url = format!("{url}/oauth/token");
        Ok(Self { client, token_url })
    }

    /// New tokens for `old`. What the issuer leaves out stays as it was.
    ///
    /// # Errors
    /// See [`RefreshError`]; only after [`RefreshError::Ended`] is another attempt in vain.
    pub(crate) async fn refresh(
        &self,
        old: &OAuthTokens,
        now: SystemTime,
    ) -> Result<OAuthTokens, RefreshError> {
        let refresh_token = old.refresh_token.as_deref().unwrap_or_default();
        let form = [
            ("grant_type", "refresh_token"),
            ("client_id", CLIENT_ID),
            ("refresh_token", refresh_token),
        ];
        let asked = self.client.post_form(&self.token_url, &form, TIME).await;
        let (status, body) = asked.map_err(RefreshError::Unreachable)?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        let words = words(&answer);
        let behind = match words.is_empty() {
            true => String::new(),
            false => format!(": {words}"),
        };
        match status {
            200..=299 => tokens(old, &answer, now).ok_or(RefreshError::Malformed(behind)),
            400..=499 if says_ended(&answer) => Err(RefreshError::Ended {
                status,
                words: behind,
            }),
            status => Err(RefreshError::Refused {
                status,
                words: behind,
            }),
        }
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

fn tokens(old: &OAuthTokens, answer: &Value, now: SystemTime) -> Option<OAuthTokens> {
    let word = |name: &str| {
        let word = answer.get(name)?.as_str()?;
        (!word.is_empty()).then(|| word.to_owned())
    };
    let access_token = word("access_token")?;
    let seconds = match answer.get("expires_in") {
        Some(Value::String(text)) => text.trim().parse().ok(),
        other => other.and_then(Value::as_f64),
    };
    let left = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let end = left.and_then(|left| now.checked_add(left));
    let id_token = word("id_token");
    Some(OAuthTokens {
        expires_at: end.or_else(|| claims::end(&access_token)),
        access_token,
        refresh_token: word("refresh_token").or_else(|| old.refresh_token.clone()),
        account_id: id_token
            .as_deref()
            .and_then(claims::account)
            .or_else(|| old.account_id.clone()),
        id_token: id_token.or_else(|| old.id_token.clone()),
        needs_login: false,
    })
}
