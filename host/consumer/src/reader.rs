//! From checked JSON to a message's type, with the name of the first member that does not fit. Members that a type does
//! not ask for are left alone. Which messages there are is the protocols' matter.

use std::fmt::Display;

use host::read::MAX_COUNT;
use serde::de::value::{BorrowedStrDeserializer, MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess, Unexpected,
    Visitor,
};
use serde::forward_to_deserialize_any;
use serde_json::{Map, Value};

use crate::Violation;

/// One value and the name of the member that it is.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'a> {
    source: Source<'a>,
    name: &'static str,
}

#[derive(Clone, Copy)]
enum Source<'a> {
    Object(&'a Map<String, Value>),
    Other(&'a Value),
}

impl<'a> Reader<'a> {
    pub(crate) fn new(value: &'a Value, name: &'static str) -> Self {
        match value {
            Value::Object(members) => Self::of(members, name),
            other => Self {
                source: Source::Other(other),
                name,
            },
        }
    }

    pub(crate) fn of(members: &'a Map<String, Value>, name: &'static str) -> Self {
        Self {
            source: Source::Object(members),
            name,
        }
    }

    fn count(&self) -> Result<(), Violation> {
        match self.source {
            Source::Other(Value::Number(number))
                if number.as_u64().is_none_or(|count| count > MAX_COUNT) =>
            {
                Err(Violation::OutOfBounds(self.name))
            }
            _ => Ok(()),
        }
    }
}

macro_rules! counts {
    ($($method:ident)+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Violation> {
            self.count()?;
            self.deserialize_any(visitor)
        }
    )+};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = Violation;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Violation> {
        let name = self.name;
        let value = match self.source {
            Source::Other(value) => value,
            Source::Object(members) => {
                let members = members
                    .iter()
                    .map(|(key, value)| (key.as_str(), Reader::new(value, name)));
                let read = visitor.visit_map(MapDeserializer::new(members));
                return read.map_err(|violation| violation.of(name));
            }
        };
        let read = match value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(flag) => visitor.visit_bool(*flag),
            Value::Number(number) => match (number.as_u64(), number.as_i64()) {
                (Some(count), _) => visitor.visit_u64(count),
                (None, Some(negative)) => visitor.visit_i64(negative),
                (None, None) => visitor.visit_f64(number.as_f64().unwrap_or(f64::NAN)),
            },
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let items = items.iter().map(|item| Reader::new(item, name));
                visitor.visit_seq(SeqDeserializer::new(items))
            }
            Value::Object(_) => Err(Violation::WrongType(name)),
        };
        read.map_err(|violation| violation.of(name))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Violation> {
        match self.source {
            Source::Other(Value::Null) => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
        .map_err(|violation| violation.of(self.name))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Violation> {
        let Source::Object(members) = self.source else {
            return Err(Violation::WrongType(self.name));
        };
        let known = Known {
            members,
            fields: fields.iter(),
            next: None,
        };
        visitor
            .visit_map(known)
            .map_err(|violation| violation.of(self.name))
    }

    counts! { deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u128 f32 f64 char str string bytes byte_buf unit unit_struct newtype_struct
        seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de> IntoDeserializer<'de, Violation> for Reader<'de> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

/// Those members of an object that its type asks for, in the type's order.
struct Known<'de> {
    members: &'de Map<String, Value>,
    fields: std::slice::Iter<'static, &'static str>,
    next: Option<Reader<'de>>,
}

impl<'de> MapAccess<'de> for Known<'de> {
    type Error = Violation;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Violation> {
        let members = self.members;
        self.next = self
            .fields
            .find_map(|name| members.get(*name).map(|value| Reader::new(value, name)));
        self.next
            .map(|found| seed.deserialize(BorrowedStrDeserializer::new(found.name)))
            .transpose()
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Violation> {
        let found = self
            .next
            .take()
            .ok_or_else(|| Violation::custom("no member"))?;
        seed.deserialize(found)
            .map_err(|violation| violation.of(found.name))
    }
}

/// The name of a member that is not known where the rule is broken.
const UNNAMED: &str = "";

impl Violation {
    /// The same about the member `name`, unless it names one.
    fn of(self, name: &'static str) -> Self {
        match self {
            Self::WrongType(UNNAMED) => Self::WrongType(name),
            Self::OutOfBounds(UNNAMED) => Self::OutOfBounds(name),
            Self::UnknownWord(UNNAMED) => Self::UnknownWord(name),
            named => named,
        }
    }
}

/// Texts are dropped: a violation holds no byte of what was received.
impl Error for Violation {
    fn custom<T: Display>(_: T) -> Self {
        Self::OutOfBounds(UNNAMED)
    }

    fn invalid_type(_: Unexpected<'_>, _: &dyn Expected) -> Self {
        Self::WrongType(UNNAMED)
    }

    fn unknown_variant(_: &str, _: &'static [&'static str]) -> Self {
        Self::UnknownWord(UNNAMED)
    }

    fn missing_field(name: &'static str) -> Self {
        Self::Missing(name)
    }
}
