//! Reading the fields of a checked object: required, nullable and optional are three different things.
//! No field names live here, and nothing is ever defaulted.

use host::vocabulary::Word;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Violation;
use crate::reader::Reader;

pub use host::read::MAX_COUNT;

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
        if self.required(name)?.is_null() {
            Ok(None)
        } else {
            read(self, name).map(Some)
        }
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
        if self.has(name) {
            read(self, name).map(Some)
        } else {
            Ok(None)
        }
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
        let text = self.text(name)?;
        if text.len() > max {
            Err(Violation::OutOfBounds(name))
        } else {
            Ok(text.to_owned())
        }
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
        if grammar(text) {
            Ok(text.to_owned())
        } else {
            Err(Violation::OutOfBounds(name))
        }
    }

    /// # Errors
    /// [`Violation::Missing`], [`Violation::WrongType`]: `0` and `1` are not booleans.
    pub fn flag(&self, name: &'static str) -> Result<bool, Violation> {
        self.required(name)?
            .as_bool()
            .ok_or(Violation::WrongType(name))
    }

    /// A flag whose only allowed value is `value`.
    ///
    /// # Errors
    /// As [`Fields::flag`]; [`Violation::OutOfBounds`].
    pub fn constant(&self, name: &'static str, value: bool) -> Result<(), Violation> {
        if self.flag(name)? == value {
            Ok(())
        } else {
            Err(Violation::OutOfBounds(name))
        }
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
        if count > MAX_COUNT {
            Err(Violation::OutOfBounds(name))
        } else {
            Ok(count)
        }
    }

    /// # Errors
    /// As [`Fields::text`]; [`Violation::UnknownWord`].
    pub fn word<W: Word>(&self, name: &'static str) -> Result<W, Violation> {
        W::from_word(self.text(name)?).ok_or(Violation::UnknownWord(name))
    }

    /// A word that can only be `word` here.
    ///
    /// # Errors
    /// As [`Fields::text`]; [`Violation::UnknownWord`].
    pub fn literal(&self, name: &'static str, word: &str) -> Result<(), Violation> {
        if self.text(name)? == word {
            Ok(())
        } else {
            Err(Violation::UnknownWord(name))
        }
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
        if items.len() > max {
            Err(Violation::OutOfBounds(name))
        } else {
            Ok(items)
        }
    }

    /// An array of different texts for each of which `grammar` holds.
    ///
    /// # Errors
    /// As [`Fields::array`]; [`Violation::OutOfBounds`] for an item outside the grammar or given twice.
    pub fn names(
        &self,
        name: &'static str,
        max: usize,
        grammar: impl Fn(&str) -> bool,
    ) -> Result<Vec<String>, Violation> {
        let mut names: Vec<String> = Vec::new();
        for item in self.array(name, max)? {
            let item = item.as_str().ok_or(Violation::WrongType(name))?;
            if !grammar(item) || names.iter().any(|known| known == item) {
                return Err(Violation::OutOfBounds(name));
            }
            names.push(item.to_owned());
        }
        Ok(names)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    host::words! {
        pub(super) enum Colour { Red = "red", Blue = "blue" }
    }

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
        assert_eq!(fields.flag("a"), Err(Violation::WrongType("a")));
    }

    #[test]
    fn words_are_closed() {
        let value = json!({ "a": "red", "b": "green", "c": 1, "list": ["x", "x"] });
        let fields = Fields::of(&value, "it").unwrap();
        assert_eq!(fields.word::<Colour>("a").unwrap().word(), "red");
        assert_eq!(fields.word::<Colour>("b"), Err(Violation::UnknownWord("b")));
        assert_eq!(fields.word::<Colour>("c"), Err(Violation::WrongType("c")));
        assert_eq!(
            fields.names("list", 2, |_| true),
            Err(Violation::OutOfBounds("list"))
        );
        assert_eq!(Colour::from_word("blue"), Some(Colour::Blue));
    }
}
