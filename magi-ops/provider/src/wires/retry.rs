//! When a failed attempt is followed by another one, and how long after.
//! Waits nowhere itself and knows no wire.

use std::time::{Duration, SystemTime};

use crate::config::Patience;
use crate::error::{ErrorKind, ProviderError};

/// The wait before the attempt that follows one that failed with `error`; `None` if there is to be none, as
/// for what the same request meets again. `attempt` counts the failed ones that nothing was learned from, from 1.
pub(crate) fn wait(error: &ProviderError, attempt: u32, patience: &Patience) -> Option<Duration> {
    let passing = matches!(
        error.kind(),
        ErrorKind::Network
            | ErrorKind::Interrupted
            | ErrorKind::Overloaded
            | ErrorKind::RateLimited
    );
    if !passing || attempt >= patience.attempts {
        return None;
    }
    let doublings = attempt.saturating_sub(1).min(16);
    // Clients that were turned away together don't come back together, also those that wait longest.
    let least = patience
        .backoff
        .saturating_mul(1 << doublings)
        .min(patience.backoff_most / 3 * 2);
    let own = least.mul_f64(1.0 + fastrand::f64() / 2.0);
    let asked = error.retry_after.unwrap_or_default();
    Some(own.max(asked.min(patience.retry_after_most)))
}

/// The wait that an answer's headers ask for: `retry-after-ms`, which says it more exactly, or `retry-after`.
pub(crate) fn asked_wait<'a>(
    header: impl Fn(&str) -> Option<&'a str>,
    now: SystemTime,
) -> Option<Duration> {
    let exact = header("retry-after-ms").and_then(|value| seconds(value, 1e-3));
    exact.or_else(|| retry_after(header("retry-after")?, now))
}

/// A `Retry-After` header's value: seconds, or a date, which is compared with `now`.
fn retry_after(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim();
    if let Some(wait) = seconds(value, 1.0) {
        return Some(wait);
    }
    let date = httpdate::parse_http_date(value).ok()?;
    // A date that has passed asks for nothing.
    Some(date.duration_since(now).unwrap_or(Duration::ZERO))
}

/// A number of units of so many seconds, in digits and perhaps a fraction.
fn seconds(value: &str, unit: f64) -> Option<Duration> {
    let value = value.trim();
    let is_number = value.starts_with(|c: char| c.is_ascii_digit())
        && value
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let number: f64 = value.parse().ok().filter(|_| is_number)?;
    // More than fits is a long time all the same.
    Some(Duration::try_from_secs_f64(number * unit).unwrap_or(Duration::MAX))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_header_is_seconds_or_a_date() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let read = |value| retry_after(value, now);
        assert_eq!(read(" 7 "), Some(Duration::from_secs(7)));
        assert_eq!(read("99999999999999999999"), Some(Duration::MAX));
        assert_eq!(read("1.5"), Some(Duration::from_millis(1500)));
        assert_eq!(
            read("Sun, 06 Nov 1994 08:50:07 GMT"),
            Some(Duration::from_secs(30))
        );
        assert_eq!(read("Sun, 06 Nov 1994 08:00:00 GMT"), Some(Duration::ZERO));
        for nothing in ["", "-1", "soon", "+3", "1e3", ".", "1.2.3", "inf", "NaN"] {
            assert_eq!(read(nothing), None, "{nothing}");
        }
        let asked = |ms: Option<&'static str>, after: Option<&'static str>| {
            let header = |name: &str| match name {
                "retry-after-ms" => ms,
                _ => after,
            };
            asked_wait(header, now)
        };
        for (ms, after, expected) in [
            (Some("1500"), Some("9"), Some(1500)),
            (Some("1500.5"), None, Some(1500)),
            (Some("soon"), Some("9"), Some(9000)),
            (None, Some("0.25"), Some(250)),
            (None, None, None),
        ] {
            let wait = asked(ms, after).map(|wait| wait.as_millis());
            assert_eq!(wait, expected, "{ms:?} {after:?}");
        }
    }

    #[test]
    fn what_passes_is_tried_again_and_nothing_else() {
        let patience = Patience::default();
        let wait = |error: ErrorKind, attempt| wait(&error.into(), attempt, &patience);
        for error in [
            ErrorKind::Network,
            ErrorKind::Interrupted,
            ErrorKind::Overloaded,
            ErrorKind::RateLimited,
        ] {
            assert!(wait(error, 3).is_some());
            assert!(wait(error, 4).is_none());
        }
        for error in [
            ErrorKind::Unauthorized,
            ErrorKind::Refused,
            ErrorKind::Quota,
            ErrorKind::Failed,
            ErrorKind::ContextLength,
            ErrorKind::Stalled,
            ErrorKind::Malformed,
        ] {
            assert!(wait(error, 1).is_none(), "{error}");
        }
    }

    #[test]
    fn the_longest_waits_differ_too() {
        let patience = Patience {
            attempts: u32::MAX,
            ..Patience::default()
        };
        let overloaded = ErrorKind::Overloaded.into();
        let waits: Vec<_> = (0..64).map(|_| wait(&overloaded, 60, &patience)).collect();
        assert!(waits.iter().any(|wait| *wait != waits[0]), "{:?}", waits[0]);
    }

    proptest! {
        #[test]
        fn waits_stay_within_their_bounds(
            attempt in 1..200_u32,
            asked in proptest::option::of(any::<u64>()),
        ) {
            let patience = Patience { attempts: u32::MAX, ..Patience::default() };
            let mut error = ProviderError::new(ErrorKind::RateLimited);
            error.retry_after = asked.map(Duration::from_secs);
            let wait = wait(&error, attempt, &patience).unwrap();
            let least = Duration::from_millis(500) * (1 << (attempt - 1).min(6));
            let least = least.min(Duration::from_secs(20));
            prop_assert!(wait >= least);
            prop_assert!(wait <= Duration::from_secs(60));
            match error.retry_after {
                None => prop_assert!(wait <= least * 3 / 2),
                Some(asked) => prop_assert!(wait >= asked.min(Duration::from_secs(60))),
            }
        }
    }
}
