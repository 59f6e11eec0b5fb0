//! Bounded generic decoding: a line is checked as bytes before any value is built from it.
//! No field names and no dialect live here.

use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::Violation;
use crate::violation::ensure;

/// What one line may hold. Bytes are UTF-8 bytes; a string's length is that of its decoded text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// One line with its LF.
    pub record_bytes: usize,
    /// Containers inside each other; the outermost object is the first.
    pub depth: usize,
    pub array_items: usize,
    pub object_fields: usize,
    /// Any string or key.
    pub string_bytes: usize,
}

/// Checks one line (without its LF) against `bounds`: size, UTF-8, JSON grammar, depth, items,
/// fields, strings, repeated keys (compared after unescaping). Builds no value; the only memory
/// it takes is the set of keys of the objects that are open, so at most the line's own size again.
///
/// # Errors
/// The first rule the line breaks.
pub fn check(line: &[u8], bounds: &Bounds) -> Result<(), Violation> {
    // The bound counts the LF.
    ensure(line.len() < bounds.record_bytes, Violation::FrameTooLarge)?;
    let Ok(text) = std::str::from_utf8(line) else {
        return Err(Violation::NotUtf8);
    };
    let found = Cell::new(None);
    let probe = Probe {
        bounds,
        depth: 0,
        found: &found,
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read = probe.deserialize(&mut reader).and_then(|()| reader.end());
    match (read, found.get()) {
        (_, Some(violation)) => Err(violation),
        (Err(_), None) => Err(Violation::NotJsonObject),
        (Ok(()), None) => Ok(()),
    }
}

/// Checks one line as [`check`] does and then builds the object it holds.
///
/// # Errors
/// The first rule the line breaks; [`Violation::NotJsonObject`] when it is JSON of another kind.
pub fn object(line: &[u8], bounds: &Bounds) -> Result<Map<String, Value>, Violation> {
    check(line, bounds)?;
    let mut reader = serde_json::Deserializer::from_slice(line);
    match Build.deserialize(&mut reader) {
        Ok(Value::Object(map)) => Ok(map),
        _ => Err(Violation::NotJsonObject),
    }
}

/// The length in bytes of a value's compact JSON text.
#[must_use]
pub fn compact_len<T: serde::Serialize>(value: &T) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    // A value that cannot be written has no length that any bound could admit.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// Walks a JSON text through serde_json's own grammar and keeps nothing but counts.
#[derive(Clone, Copy)]
struct Probe<'a> {
    bounds: &'a Bounds,
    depth: usize,
    found: &'a Cell<Option<Violation>>,
}

impl Probe<'_> {
    fn stop<E: de::Error>(&self, violation: Violation) -> E {
        // serde errors carry text only, so the rule itself travels beside it.
        self.found.set(Some(violation));
        E::custom("bound")
    }

    fn enter<E: de::Error>(self) -> Result<Self, E> {
        if self.depth == self.bounds.depth {
            return Err(self.stop(Violation::TooDeep));
        }
        Ok(Self {
            depth: self.depth + 1,
            ..self
        })
    }

    fn string<E: de::Error>(&self, text: &str) -> Result<(), E> {
        if text.len() > self.bounds.string_bytes {
            return Err(self.stop(Violation::StringTooLong));
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Probe<'_> {
    type Value = ();
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Probe<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        Ok(())
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<(), E> {
        Ok(())
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<(), E> {
        Ok(())
    }
    fn visit_u64<E: de::Error>(self, _: u64) -> Result<(), E> {
        Ok(())
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        self.string(text)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inner = self.enter()?;
        let mut count = 0;
        while items.next_element_seed(inner)?.is_some() {
            count += 1;
            if count > self.bounds.array_items {
                return Err(self.stop(Violation::TooManyItems));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let inner = self.enter()?;
        let mut keys: HashSet<String> = HashSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            self.string(&key)?;
            if keys.len() == self.bounds.object_fields {
                return Err(self.stop(Violation::TooManyFields));
            }
            if !keys.insert(key) {
                return Err(self.stop(Violation::DuplicateKey));
            }
            fields.next_value_seed(inner)?;
        }
        Ok(())
    }
}

/// Builds the value of a checked text. `Value`'s own decoding takes an object under a key that
/// serde_json keeps for itself for the text of another value, and would so build what was never checked.
#[derive(Clone, Copy)]
struct Build;

impl<'de> DeserializeSeed<'de> for Build {
    type Value = Value;
    fn deserialize<D: de::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Build {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(item) = items.next_element_seed(self)? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<String>()? {
            map.insert(key, fields.next_value_seed(self)?);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: Bounds = Bounds {
        record_bytes: 4096,
        depth: 4,
        array_items: 5,
        object_fields: 3,
        string_bytes: 8,
    };

    fn verdict(text: &str) -> Result<(), Violation> {
        object(text.as_bytes(), &SMALL).map(drop)
    }

    #[test]
    fn bounds_hold_at_their_edge_and_not_beyond() {
        assert_eq!(verdict(r#"{"a":[1,2,3,4,5]}"#), Ok(()));
        assert_eq!(
            verdict(r#"{"a":[1,2,3,4,5,6]}"#),
            Err(Violation::TooManyItems)
        );
        assert_eq!(verdict(r#"{"a":1,"b":2,"c":3}"#), Ok(()));
        assert_eq!(
            verdict(r#"{"a":1,"b":2,"c":3,"d":4}"#),
            Err(Violation::TooManyFields)
        );
        assert_eq!(verdict(r#"{"a":"12345678"}"#), Ok(()));
        assert_eq!(
            verdict(r#"{"a":"123456789"}"#),
            Err(Violation::StringTooLong)
        );
        assert_eq!(verdict(r#"{"a":"\u00e9\u00e9\u00e9\u00e9"}"#), Ok(()));
        assert_eq!(
            verdict(r#"{"a":"\u00e9\u00e9\u00e9\u00e9x"}"#),
            Err(Violation::StringTooLong)
        );
        assert_eq!(verdict(r#"{"123456789":1}"#), Err(Violation::StringTooLong));
        assert_eq!(verdict(r#"{"a":[[[1]]]}"#), Ok(()));
        assert_eq!(verdict(r#"{"a":[[[[1]]]]}"#), Err(Violation::TooDeep));
    }

    #[test]
    fn size_counts_the_line_feed() {
        let exact = Bounds {
            record_bytes: 9,
            ..SMALL
        };
        assert_eq!(check(br#"{"a":12}"#, &exact), Ok(()));
        assert_eq!(
            check(br#"{"a":123}"#, &exact),
            Err(Violation::FrameTooLarge)
        );
    }

    #[test]
    fn repeated_keys_are_found_through_escapes_and_at_any_depth() {
        assert_eq!(
            verdict(r#"{"id":1,"\u0069d":2}"#),
            Err(Violation::DuplicateKey)
        );
        assert_eq!(
            verdict(r#"{"a":[{"x":1,"x":1}]}"#),
            Err(Violation::DuplicateKey)
        );
        assert_eq!(verdict(r#"{"a":{"x":1},"b":{"x":1}}"#), Ok(()));
    }

    #[test]
    fn what_is_not_one_json_object_is_refused() {
        for text in [
            "",
            " ",
            "null",
            "[]",
            "1",
            "{",
            "{} {}",
            "{\"a\":}",
            "{\"a\":1e999}",
            "\u{feff}{}",
        ] {
            assert_eq!(verdict(text), Err(Violation::NotJsonObject), "{text:?}");
        }
        assert_eq!(object(b"{\"a\":\"\xff\"}", &SMALL), Err(Violation::NotUtf8));
        assert_eq!(
            verdict("{\"a\":\"\\ud800\"}"),
            Err(Violation::NotJsonObject)
        );
    }

    #[test]
    fn a_key_that_the_json_library_keeps_for_itself_is_a_key_like_any_other() {
        for text in [
            r#"{"a":{"$serde_json::private::RawValue":"[[[[1]]]]"}}"#,
            r#"{"a":[{"$serde_json::private::RawValue":7}]}"#,
            r#"{"a":{"$serde_json::private::Number":"1"}}"#,
        ] {
            let wide = Bounds {
                string_bytes: 64,
                ..SMALL
            };
            let built = object(text.as_bytes(), &wide).unwrap();
            assert_eq!(Value::Object(built).to_string(), text);
        }
    }

    #[test]
    fn a_bottomless_line_costs_no_stack() {
        let mut line = br#"{"a":"#.to_vec();
        line.resize(60_000, b'[');
        let wide = Bounds {
            record_bytes: 65_536,
            depth: 32,
            ..SMALL
        };
        assert_eq!(check(&line, &wide), Err(Violation::TooDeep));
    }

    /// An independent, slow measure of a value, against which the byte check is held.
    fn measure(value: &Value, depth: usize, worst: &mut Bounds) {
        match value {
            Value::String(text) => worst.string_bytes = worst.string_bytes.max(text.len()),
            Value::Array(items) => {
                worst.depth = worst.depth.max(depth + 1);
                worst.array_items = worst.array_items.max(items.len());
                items
                    .iter()
                    .for_each(|item| measure(item, depth + 1, worst));
            }
            Value::Object(fields) => {
                worst.depth = worst.depth.max(depth + 1);
                worst.object_fields = worst.object_fields.max(fields.len());
                for (key, field) in fields {
                    worst.string_bytes = worst.string_bytes.max(key.len());
                    measure(field, depth + 1, worst);
                }
            }
            _ => {}
        }
    }

    fn json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            "\\PC{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 8, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                proptest::collection::hash_map("[a-z\"\\\\\u{e9}]{0,10}", inner, 0..6)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn accepts_exactly_what_fits(value in json()) {
            let value = serde_json::json!({ "v": value });
            let mut worst = Bounds { record_bytes: 0, depth: 0, array_items: 0, object_fields: 0, string_bytes: 0 };
            measure(&value, 0, &mut worst);
            let fits = worst.depth <= SMALL.depth
                && worst.array_items <= SMALL.array_items
                && worst.object_fields <= SMALL.object_fields
                && worst.string_bytes <= SMALL.string_bytes;
            let line = serde_json::to_vec(&value).unwrap();
            prop_assume!(line.len() < SMALL.record_bytes);
            prop_assert_eq!(check(&line, &SMALL).is_ok(), fits);
            if fits {
                prop_assert_eq!(object(&line, &SMALL).map(Value::Object), Ok(value.clone()));
            }
            prop_assert_eq!(compact_len(&value), line.len());
        }

        #[test]
        fn any_bytes_get_a_verdict(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let verdict = check(&bytes, &SMALL);
            if verdict.is_ok() {
                prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
            }
        }
    }
}
