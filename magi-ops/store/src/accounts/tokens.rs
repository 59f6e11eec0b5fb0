//! What a login stores of one provider: a key, or tokens with the moment at which they end.

use std::fmt::{self, Debug};
use std::time::{Duration, SystemTime};

use serde::Deserialize;
use serde_json::{Value, json};

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

    /// As the file has them.
    pub(super) fn write(&self) -> Value {
        let end = self.expires_at.map(written_moment);
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

/// A moment as it is written, the nearest one that can be: an issuer may say anything, and what it gave must be stored.
fn written_moment(moment: SystemTime) -> String {
    /// The last second of the year 9999.
    const LAST: Duration = Duration::from_secs(253_402_300_799);
    let last = SystemTime::UNIX_EPOCH + LAST;
    humantime::format_rfc3339_seconds(moment.clamp(SystemTime::UNIX_EPOCH, last)).to_string()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

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
    fn every_moment_can_be_written() {
        let epoch = SystemTime::UNIX_EPOCH;
        let second = Duration::from_secs(1);
        for (moment, written) in [
            (epoch - second, "1970-01-01T00:00:00Z"),
            (epoch + second, "1970-01-01T00:00:01Z"),
            (
                epoch + Duration::from_secs(253_402_300_799),
                "9999-12-31T23:59:59Z",
            ),
            (
                epoch + Duration::from_secs(253_402_300_800),
                "9999-12-31T23:59:59Z",
            ),
            (epoch + Duration::from_secs(1 << 62), "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(written_moment(moment), written);
            assert!(read_moment(written).is_some(), "{written}");
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
