//! What comes back from a login: the address that a browser was sent to, or what a person pastes of it. It holds a code, or
//! words against the login, and the state that tells whose it is.

use oauth2::RedirectUrl;
use reqwest::Url;
use web::loopback::parameter;

/// Most bytes told of each word against a login.
const MAX_WORD_BYTES: usize = 300;

/// Why something that came back is no code of a login. What an issuer said is shown only redacted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallbackError {
    #[error("what came back is of another login")]
    State,
    #[error("what came back holds no code")]
    NoCode,
    /// In the words of who was asked.
    #[error("the login was refused: {0}")]
    Denied(String),
}

/// Where a browser comes back to.
pub(crate) fn redirect(port: u16, path: &str) -> Option<RedirectUrl> {
    // The issuer knows the name, not the number.
    RedirectUrl::new(format!("http://localhost:{port}{path}")).ok()
}

/// The code in an address that a browser was sent to.
///
/// # Errors
/// See [`CallbackError`].
pub(crate) fn code_of(url: &Url, state: &str) -> Result<String, CallbackError> {
    if parameter(url, "state").as_deref() != Some(state) {
        return Err(CallbackError::State);
    }
    if let Some(error) = word(url, "error") {
        return Err(CallbackError::Denied(
            match word(url, "error_description") {
                Some(description) => format!("{error}: {description}"),
                None => error,
            },
        ));
    }
    parameter(url, "code")
        .filter(|code| is_code(code))
        .ok_or(CallbackError::NoCode)
}

/// The code in what a person pasted: the whole address, its query, or the code alone, which belongs to the login that the
/// person chose.
///
/// # Errors
/// See [`CallbackError`].
pub(crate) fn code_of_text(text: &str, state: &str) -> Result<String, CallbackError> {
    let text = text.trim();
    let is_query = ["code=", "state=", "error="];
    let query = match text.split_once('?') {
        Some((_, query)) => Some(query),
        None => is_query
            .iter()
            .any(|start| text.starts_with(start))
            .then_some(text),
    };
    if let Some(query) = query {
        // Whatever stands before it: some browsers leave the scheme out.
        let query = query.split('#').next().unwrap_or_default();
        let mut url = empty().ok_or(CallbackError::NoCode)?;
        url.set_query(Some(query));
        return code_of(&url, state);
    }
    let code = match text.split_once('#') {
        // As some pages show both.
        Some((code, own)) if own == state => code,
        Some(_) => return Err(CallbackError::State),
        None => text,
    };
    match is_code(code) && !code.contains("://") {
        true => Ok(code.to_owned()),
        false => Err(CallbackError::NoCode),
    }
}

fn empty() -> Option<Url> {
    Url::parse("http://localhost/").ok()
}

fn is_code(code: &str) -> bool {
    !code.is_empty() && !code.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn word(url: &Url, name: &str) -> Option<String> {
    let word = parameter(url, name).filter(|word| !word.is_empty())?;
    let most = word.floor_char_boundary(MAX_WORD_BYTES);
    Some(store::shown(&word[..most]))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_person_pastes_the_address_or_the_code() {
        for text in [
            "http://localhost:1455/auth/callback?code=abc%2Fd&state=own",
            "  http://localhost:1455/auth/callback?state=own&code=abc/d#_\n",
            "localhost:1455/auth/callback?code=abc%2Fd&scope=openid+email&state=own",
            "code=abc/d&state=own",
            "?code=abc/d&state=own",
            "abc/d",
            "abc/d#own",
        ] {
            assert_eq!(code_of_text(text, "own").as_deref(), Ok("abc/d"), "{text}");
        }
    }

    #[test]
    fn what_is_of_another_login_or_none_is_refused() {
        for text in [
            "http://localhost:1455/auth/callback?code=abc&state=other",
            "http://localhost:1455/auth/callback?code=abc",
            "https://localhost/?state=&code=abc",
            "code=abc",
            "error=access_denied",
            "abc#other",
            "http://localhost:1455/auth/callback?state=other&error=access_denied",
        ] {
            assert_eq!(
                code_of_text(text, "own"),
                Err(CallbackError::State),
                "{text}"
            );
        }
        for text in [
            "",
            " ",
            "two words",
            "a\u{7}b",
            "http://localhost:1455/auth/callback",
            "http://localhost:1455/auth/callback?state=own",
            "state=own&code=",
            "code=a%20b&state=own",
        ] {
            assert_eq!(
                code_of_text(text, "own"),
                Err(CallbackError::NoCode),
                "{text}"
            );
        }
        let denied = code_of_text(
            "error=access_denied&error_description=no%1b&state=own",
            "own",
        );
        let Err(CallbackError::Denied(words)) = denied else {
            panic!("{denied:?}");
        };
        assert!(words.starts_with("access_denied: no") && !words.contains('\u{1b}'));
    }
}
