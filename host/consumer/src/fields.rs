//! Reading the fields of a checked object: required, nullable and optional are three different things.
//! No field names live here, and nothing is ever defaulted.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Violation;
use crate::reader::Reader;
use crate::violation::ensure;

pub use host::read::MAX_COUNT;

/// That an answer is about what was asked for.
pub(crate) fn same(name: &'static str, asked: &str, got: &str) -> Result<(), Violation> {
    ensure(asked == got, Violation::IdentityMismatch(name))
}

/// A checked value as what its type demands; `name` is what a violation calls the value itself.
///
/// # Errors
/// The first rule that it breaks.
pub fn read<T: DeserializeOwned>(value: &Value, name: &'static str) -> Result<T, Violation> {
    T::deserialize(Reader::new(value, name))
}

/// One object, read field by field. Unknown fields are simply not asked for.
#[derive(Clone, Copy)]
pub struct Fields<'a>(&'a Map<String, Value>);

impl<'a> Fields<'a> {
    #[must_use]
    pub fn new(map: &'a Map<String, Value>) -> Self {
        Self(map)
    }

    /// A value that must be an object.
    ///
    /// # Errors
    /// [`Violation::WrongType`] under `name` when it is anything else.
    pub fn of(value: &'a Value, name: &'static str) -> Result<Self, Violation> {
        value
            .as_object()
            .map(Self)
            .ok_or(Violation::WrongType(name))
    }

    #[must_use]
    pub fn map(&self) -> &'a Map<String, Value> {
        self.0
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The whole object as what its type demands; `name` is what a violation calls the object itself.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn whole<T: DeserializeOwned>(&self, name: &'static str) -> Result<T, Violation> {
        T::deserialize(self.reader(name))
    }

    pub(crate) fn reader(&self, name: &'static str) -> Reader<'a> {
        Reader::of(self.0, name)
    }

    /// The value of a field that must be present; `null` is present.
    ///
    /// # Errors
    /// [`Violation::Missing`].
    pub fn required(&self, name: &'static str) -> Result<&'a Value, Violation> {
        self.0.get(name).ok_or(Violation::Missing(name))
    }

    /// A present field through `read`, or `None` where it is `null`.
    ///
    /// # Errors
    /// [`Violation::Missing`], or what `read` finds.
    pub fn nullable<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Self, &'static str) -> Result<T, Violation>,
    ) -> Result<Option<T>, Violation> {
        let value = self.required(name)?;
        (!value.is_null()).then(|| read(self, name)).transpose()
    }

    /// A field through `read`, or `None` where it is absent. `null` is not absence.
    ///
    /// # Errors
    /// What `read` finds.
    pub fn optional<T>(
        &self,
        name: &'static str,
        read: impl FnOnce(&Self, &'static str) -> Result<T, Violation>,
    ) -> Result<Option<T>, Violation> {
        self.has(name).then(|| read(self, name)).transpose()
    }

    /// # Errors
    /// [`Violation::Missing`], [`Violation::WrongType`].
    pub fn text(&self, name: &'static str) -> Result<&'a str, Violation> {
        self.required(name)?
            .as_str()
            .ok_or(Violation::WrongType(name))
    }

    /// Text of at most `max` UTF-8 bytes.
    ///
    /// # Errors
    /// As [`Fields::text`]; [`Violation::OutOfBounds`].
    pub fn bounded(&self, name: &'static str, max: usize) -> Result<String, Violation> {
        self.matching(name, |text| text.len() <= max)
    }

    /// Text for which `grammar` holds.
    ///
    /// # Errors
    /// As [`Fields::text`]; [`Violation::OutOfBounds`].
    pub fn matching(
        &self,
        name: &'static str,
        grammar: impl FnOnce(&str) -> bool,
    ) -> Result<String, Violation> {
        let text = self.text(name)?;
        ensure(grammar(text), Violation::OutOfBounds(name))?;
        Ok(text.to_owned())
    }

    /// A nonnegative integer up to [`MAX_COUNT`].
    ///
    /// # Errors
    /// [`Violation::Missing`], [`Violation::WrongType`], [`Violation::OutOfBounds`].
    pub fn count(&self, name: &'static str) -> Result<u64, Violation> {
        let value = self.required(name)?;
        let count = value.as_u64().ok_or(if value.is_number() {
            Violation::OutOfBounds(name)
        } else {
            Violation::WrongType(name)
        })?;
        ensure(count <= MAX_COUNT, Violation::OutOfBounds(name))?;
        Ok(count)
    }

    /// # Errors
    /// [`Violation::Missing`], [`Violation::WrongType`].
    pub fn object(&self, name: &'static str) -> Result<Fields<'a>, Violation> {
        Self::of(self.required(name)?, name)
    }

    /// # Errors
    /// [`Violation::Missing`], [`Violation::WrongType`]; [`Violation::OutOfBounds`] beyond `max` items.
    pub fn array(&self, name: &'static str, max: usize) -> Result<&'a [Value], Violation> {
        let items = self
            .required(name)?
            .as_array()
            .ok_or(Violation::WrongType(name))?;
        ensure(items.len() <= max, Violation::OutOfBounds(name))?;
        Ok(items)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn absent_null_and_present_are_three_things() {
        let value = json!({ "null": null, "text": "x" });
        let fields = Fields::of(&value, "it").unwrap();
        assert_eq!(fields.nullable("null", Fields::text), Ok(None));
        assert_eq!(fields.nullable("text", Fields::text), Ok(Some("x")));
        assert_eq!(
            fields.nullable("gone", Fields::text),
            Err(Violation::Missing("gone"))
        );
        assert_eq!(fields.optional("gone", Fields::text), Ok(None));
        assert_eq!(
            fields.optional("null", Fields::text),
            Err(Violation::WrongType("null"))
        );
    }

    #[test]
    fn counts_are_whole_nonnegative_and_representable() {
        let value = json!({ "a": 0, "b": MAX_COUNT, "c": MAX_COUNT + 1, "d": -1, "e": 1.0, "f": "1", "g": true });
        let fields = Fields::of(&value, "it").unwrap();
        assert_eq!(fields.count("a"), Ok(0));
        assert_eq!(fields.count("b"), Ok(MAX_COUNT));
        for name in ["c", "d", "e"] {
            assert_eq!(fields.count(name), Err(Violation::OutOfBounds(name)));
        }
        for name in ["f", "g"] {
            assert_eq!(fields.count(name), Err(Violation::WrongType(name)));
        }
    }
}
