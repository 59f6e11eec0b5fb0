//! What tokens say of themselves: the claims of a JWT, unverified, since they come from whoever issued the token.
//! A token that is none says nothing.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// Longest token that is looked into, in bytes.
const MAX_BYTES: usize = 64 * 1024;

fn claims(token: &str) -> Option<Value> {
    let payload = token
        .split('.')
        .nth(1)
        .filter(|_| token.len() <= MAX_BYTES)?;
    let payload = URL_SAFE_NO_PAD.decode(payload.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&payload).ok()
}

/// When the token ends.
pub(crate) fn end(token: &str) -> Option<SystemTime> {
    let seconds = claims(token)?.get("exp")?.as_u64()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// The account of a subscription that an id token names.
pub(crate) fn account(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let own = claims.get("https://api.openai.com/auth")?;
    own.get("chatgpt_account_id")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_jwt_says_something() {
        let jwt = |payload: &str| format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(payload));
        let token = jwt(
            r#"{"exp":1800000000,"https://api.openai.com/auth":{"chatgpt_account_id":"acct"}}"#,
        );
        let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        assert_eq!(
            (end(&token), account(&token).as_deref()),
            (Some(moment), Some("acct"))
        );
        let huge = jwt(r#"{"exp":18446744073709551615}"#);
        for nothing in [
            "",
            "a.b.c",
            "opaque",
            &jwt("[]"),
            &jwt(r#"{"exp":"soon"}"#),
            &huge,
        ] {
            assert_eq!((end(nothing), account(nothing)), (None, None), "{nothing}");
        }
    }
}
