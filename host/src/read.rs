//! What the types of a dialect's messages demand of a member beyond its type, for `#[serde(deserialize_with)]`. A member
//! that is read so must be there, `null` included. No message is named here.

use std::borrow::Cow;

use serde::de::{Deserialize, Deserializer, Error, Unexpected};

/// The largest count of the wire: whole numbers up to 2^53 − 1 survive every JSON implementation (RFC 7493).
pub const MAX_COUNT: u64 = (1 << 53) - 1;

/// A value that is there, and may be `null`.
///
/// # Errors
/// What the value's type finds.
pub fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<T>, D::Error> {
    Option::deserialize(source)
}

/// A nonnegative whole number up to [`MAX_COUNT`].
///
/// # Errors
/// Anything else.
pub fn count<'de, D: Deserializer<'de>>(source: D) -> Result<u64, D::Error> {
    bounded(u64::deserialize(source)?)
}

/// [`count`] above zero.
///
/// # Errors
/// Anything else.
pub fn positive<'de, D: Deserializer<'de>>(source: D) -> Result<usize, D::Error> {
    let count = count(source)?;
    let fits = usize::try_from(count).ok().filter(|count| *count > 0);
    fits.ok_or_else(|| Error::invalid_value(Unexpected::Unsigned(count), &"a positive number"))
}

/// [`count`], or `null`.
///
/// # Errors
/// Anything else.
pub fn nullable_count<'de, D: Deserializer<'de>>(source: D) -> Result<Option<u64>, D::Error> {
    Option::deserialize(source)?.map(bounded).transpose()
}

fn bounded<E: Error>(count: u64) -> Result<u64, E> {
    if count <= MAX_COUNT {
        Ok(count)
    } else {
        Err(E::invalid_value(
            Unexpected::Unsigned(count),
            &"a number below 2^53",
        ))
    }
}

/// A flag that can only be set.
///
/// # Errors
/// Anything but `true`.
pub fn yes<'de, D: Deserializer<'de>>(source: D) -> Result<bool, D::Error> {
    match bool::deserialize(source)? {
        true => Ok(true),
        false => Err(D::Error::invalid_value(Unexpected::Bool(false), &"true")),
    }
}

/// A text of at most `MAX` UTF-8 bytes.
///
/// # Errors
/// A longer one, or no text.
pub fn text<'de, const MAX: usize, T: From<String>, D: Deserializer<'de>>(
    source: D,
) -> Result<T, D::Error> {
    matching(source, |text| text.len() <= MAX)
}

/// [`text`], or `null`.
///
/// # Errors
/// Anything else.
pub fn nullable_text<'de, const MAX: usize, T: From<String>, D: Deserializer<'de>>(
    source: D,
) -> Result<Option<T>, D::Error> {
    nullable_matching(source, |text| text.len() <= MAX)
}

/// A text for which `grammar` holds.
///
/// # Errors
/// Another one, or no text.
pub fn matching<'de, T: From<String>, D: Deserializer<'de>>(
    source: D,
    grammar: impl FnOnce(&str) -> bool,
) -> Result<T, D::Error> {
    fits(String::deserialize(source)?, grammar)
}

/// [`matching`], or `null`.
///
/// # Errors
/// Anything else.
pub fn nullable_matching<'de, T: From<String>, D: Deserializer<'de>>(
    source: D,
    grammar: impl FnOnce(&str) -> bool,
) -> Result<Option<T>, D::Error> {
    let text: Option<String> = Option::deserialize(source)?;
    text.map(|text| fits(text, grammar)).transpose()
}

fn fits<T: From<String>, E: Error>(
    text: String,
    grammar: impl FnOnce(&str) -> bool,
) -> Result<T, E> {
    if grammar(&text) {
        Ok(text.into())
    } else {
        Err(E::invalid_value(
            Unexpected::Other("another text"),
            &"a text of its grammar and size",
        ))
    }
}

/// At most `max` different names, for each of which `grammar` holds.
///
/// # Errors
/// Anything else.
pub fn names<'de, D: Deserializer<'de>>(
    source: D,
    max: usize,
    grammar: impl Fn(&str) -> bool,
) -> Result<Vec<Cow<'static, str>>, D::Error> {
    let names: Vec<Cow<'static, str>> = Vec::deserialize(source)?;
    let distinct = |at: usize| !names[..at].contains(&names[at]);
    if names.len() <= max && (0..names.len()).all(|at| grammar(&names[at]) && distinct(at)) {
        Ok(names)
    } else {
        Err(D::Error::invalid_value(
            Unexpected::Seq,
            &"different names, not too many",
        ))
    }
}

/// At most `max` items.
///
/// # Errors
/// More, or what an item's type finds.
pub fn list<'de, const MAX: usize, T: Deserialize<'de>, D: Deserializer<'de>>(
    source: D,
) -> Result<Vec<T>, D::Error> {
    let items = Vec::deserialize(source)?;
    if items.len() <= MAX {
        Ok(items)
    } else {
        Err(D::Error::invalid_length(items.len(), &"not so many items"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Message {
        #[serde(deserialize_with = "nullable")]
        _flag: Option<bool>,
        #[serde(deserialize_with = "count")]
        _count: u64,
        #[serde(deserialize_with = "yes")]
        _yes: bool,
        #[serde(deserialize_with = "text::<2, String, _>")]
        _text: String,
        #[serde(deserialize_with = "few")]
        _names: Vec<Cow<'static, str>>,
        #[serde(deserialize_with = "list::<1, u8, _>")]
        _list: Vec<u8>,
    }

    fn few<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<Cow<'static, str>>, D::Error> {
        names(source, 2, |name| !name.is_empty())
    }

    #[test]
    fn members_are_there_and_within_their_bounds() {
        let good = serde_json::json!({
            "_flag": null, "_count": MAX_COUNT, "_yes": true, "_text": "é", "_names": ["a", "b"], "_list": [1], "new": 0.5,
        });
        let with = |name: &str, value: serde_json::Value| {
            let mut message = good.clone();
            message[name] = value;
            serde_json::from_value::<Message>(message)
        };
        with("new", "anything".into()).unwrap();
        for (name, bad) in [
            ("_flag", "null".into()),
            ("_count", (MAX_COUNT + 1).into()),
            ("_count", (-1).into()),
            ("_count", "1".into()),
            ("_yes", false.into()),
            ("_yes", 1.into()),
            ("_text", "éa".into()),
            ("_names", vec!["a", "a"].into()),
            ("_names", vec!["a", ""].into()),
            ("_names", vec!["a", "b", "c"].into()),
            ("_list", vec![1, 2].into()),
        ] {
            assert!(with(name, bad).is_err(), "{name}");
            let mut message = good.clone();
            message.as_object_mut().unwrap().remove(name);
            assert!(
                serde_json::from_value::<Message>(message).is_err(),
                "{name}"
            );
        }
    }
}
