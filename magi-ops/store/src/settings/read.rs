//! From a settings file's tree to a type, with every problem at once: what is wrong is told, left out, and the rest
//! is read again. The types are serde's; what their members mean is not known here.

use std::cell::RefCell;
use std::fmt::{self, Display};

use redact::Redactor;
use serde::de::value::{SeqDeserializer, StrDeserializer};
use serde::de::{
    self, Deserialize, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::fault::{Fault, Finding};
use super::tree::{Member, Node, Value};
use crate::reason::{MAX_REASONS, did_you_mean, listed, near_miss, shown};

/// Reads a `T` from what is right in `root`, and tells what is not. `None` when nothing can be read at all.
pub(super) fn read<T: for<'a> Deserialize<'a>>(root: &mut Node) -> (Option<T>, Vec<Finding>) {
    let mut findings = Vec::new();
    root.leave_out_repeated(&mut |name, offset| {
        let why = format!("`{}` stands here a second time", shown(name));
        findings.push(Fault::new(why, "keep one of the two").at(offset));
    });
    loop {
        let unknown = RefCell::default();
        let result = T::deserialize(At {
            node: root,
            unknown: &unknown,
        });
        let error = match result {
            Ok(read) => {
                findings.extend(unknown.into_inner());
                return (Some(read), findings);
            }
            Err(error) => error,
        };
        let place = error.place.unwrap_or(Place {
            offset: root.span.start,
            value: root.span.start,
        });
        let mut fault = error.fault;
        if place.value == root.span.start && fault.help.as_deref() == Some(WRITE_ONE) {
            fault.help = Some("write {} where there is nothing to say".to_owned());
        }
        findings.push(fault.at(place.offset));
        // Each round leaves something out; a file at its bound could still keep one busy for long.
        if findings.len() > MAX_REASONS || !root.leave_out(place.value) {
            return (None, findings);
        }
    }
}

#[derive(Debug, Clone, Copy)]
struct Place {
    /// What is pointed at.
    offset: usize,
    /// Where the value begins that has to be left out.
    value: usize,
}

#[derive(Debug)]
pub(super) struct Error {
    place: Option<Place>,
    fault: Fault,
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        Self { place: None, fault }
    }
}

impl Error {
    fn at(mut self, offset: usize, value: usize) -> Self {
        self.place.get_or_insert(Place { offset, value });
        self
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.fault.reason)
    }
}

impl std::error::Error for Error {}

impl de::Error for Error {
    fn custom<T: Display>(message: T) -> Self {
        let fault = Fault {
            reason: message.to_string(),
            help: None,
            ignored: false,
        };
        fault.into()
    }

    // None of these repeats a value: a secret may stand in the place of another word.
    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let wanted = wanted(expected);
        let why = format!("{} stands where {wanted} belongs", kind(found));
        Fault::new(why, WRITE_ONE).into()
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let wanted = wanted(expected);
        let found = kind(found).trim_start_matches("a ");
        Fault::new(format!("this {found} is not {wanted}"), WRITE_ONE).into()
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        let near = near_miss(word, known.iter().copied());
        let word = match near.is_some() || Redactor::default().is_presentable(word) {
            true => format!("`{}`", shown(word)),
            false => "this".to_owned(),
        };
        let why = format!("{word} is no known word here{}", did_you_mean(near));
        Fault::new(why, format!("use one of {}", listed(known))).into()
    }

    fn unknown_field(name: &str, known: &'static [&'static str]) -> Self {
        unknown_member(name, known).into()
    }

    fn missing_field(name: &'static str) -> Self {
        let why = format!("the member `{name}` is missing here");
        Fault::new(why, format!("add `{name}`")).into()
    }
}

const WRITE_ONE: &str = "write one, or take the member out";

fn unknown_member(name: &str, known: &'static [&'static str]) -> Fault {
    let near = near_miss(name, known.iter().copied());
    let why = format!("unknown member `{}`{}", shown(name), did_you_mean(near));
    match near {
        Some(meant) => Fault::new(why, format!("rename it to `{meant}`")),
        // What a rule says and nobody reads guards nothing: that is no matter of taste.
        None if known.contains(&"deny") => Fault::new(
            format!("{why}: as it stands it guards nothing"),
            no_rule(name, known),
        ),
        None => Fault::new(why, instead(name, known)).ignored(),
    }
}

/// What to do about a list of rules that there is not.
fn no_rule(name: &str, known: &[&str]) -> String {
    match name.to_lowercase().as_str() {
        "ask" | "confirm" | "prompt" => "there is no list of what asks: leave the command out of `allow`, and set `default` to `ask`".to_owned(),
        _ => format!("take it out; there are {}", listed(known)),
    }
}

/// What to do about a member that other programs have, and this one says otherwise.
fn instead(name: &str, known: &[&str]) -> &'static str {
    match name.to_lowercase().replace(['_', '-'], "").as_str() {
        "apikey" | "key" | "token" if known.contains(&"api_key_env") => {
            "no key is read from this file: put it into an environment variable and name that in `api_key_env`"
        }
        "disabled" if known.contains(&"enabled") => "write `enabled: false` to turn it off",
        _ => "nothing reads it; remove it if nobody else does",
    }
}

fn kind(found: Unexpected<'_>) -> &'static str {
    match found {
        Unexpected::Bool(_) => "true or false",
        Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => "a number",
        Unexpected::Char(_) | Unexpected::Str(_) => "a text",
        Unexpected::Seq => "a list",
        Unexpected::Map => "an object",
        Unexpected::Unit | Unexpected::Option => "null",
        _ => "something else",
    }
}

/// What serde expects, in the words of JSON.
fn wanted(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    match said.as_str() {
        "a string" | "path string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a map" => "an object".to_owned(),
        "a sequence" => "a list".to_owned(),
        "u32" | "u64" => "a whole number from 0 on".to_owned(),
        "a nonzero u64" => "a whole number above 0".to_owned(),
        "f64" => "a number".to_owned(),
        said if said.starts_with("struct ") => "an object".to_owned(),
        said if said.starts_with("enum ") => "a word".to_owned(),
        said => said.to_owned(),
    }
}

/// A node as serde's source.
#[derive(Clone, Copy)]
struct At<'a> {
    node: &'a Node,
    /// Members that no type knows; they don't keep the rest from being read.
    unknown: &'a RefCell<Vec<Finding>>,
}

impl<'a> At<'a> {
    fn here(self, error: Error) -> Error {
        error.at(self.node.span.start, self.node.span.start)
    }

    fn members<'de, V: Visitor<'de>>(
        self,
        known: Option<&'static [&'static str]>,
        visitor: V,
    ) -> Result<V::Value, Error> {
        let Value::Object(members) = &self.node.value else {
            return self.deserialize_any(visitor);
        };
        visitor
            .visit_map(Members {
                rest: members.iter(),
                value: None,
                known,
                unknown: self.unknown,
            })
            .map_err(|error| self.here(error))
    }
}

impl<'de> Deserializer<'de> for At<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), ..) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (.., Some(number)) => visitor.visit_f64(number),
                (None, None, None) => {
                    Err(Fault::new("this number is too large", "write a smaller one").into())
                }
            },
            Value::Text(text) => visitor.visit_str(text),
            Value::List(list) => {
                let elements = list.iter().map(|node| Self { node, ..self });
                visitor.visit_seq(SeqDeserializer::new(elements))
            }
            Value::Object(_) => return self.members(None, visitor),
        }
        .map_err(|error| self.here(error))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// Only an object: serde would take a list too, by position.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        known: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::List(_) => {
                Err(self.here(de::Error::invalid_type(Unexpected::Seq, &"an object")))
            }
            _ => self.members(Some(known), visitor),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        match &self.node.value {
            Value::Text(word) => visitor
                .visit_enum(IntoDeserializer::<Error>::into_deserializer(word.as_str()))
                .map_err(|error| self.here(error)),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier
    }
}

impl<'de> IntoDeserializer<'de, Error> for At<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

struct Members<'a> {
    rest: std::slice::Iter<'a, Member>,
    value: Option<&'a Member>,
    known: Option<&'static [&'static str]>,
    unknown: &'a RefCell<Vec<Finding>>,
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Error> {
        for member in self.rest.by_ref() {
            // What editors read to find the schema.
            let is_schema = member.name == "$schema";
            if let Some(known) = self.known
                && !known.contains(&member.name.as_str())
            {
                let mut unknown = self.unknown.borrow_mut();
                // The bound is for the reader; one more tells that there are more.
                let fault = unknown_member(&member.name, known);
                if !is_schema && (!fault.ignored || unknown.len() <= MAX_REASONS) {
                    unknown.push(fault.at(member.name_span.start));
                }
                continue;
            }
            self.value = Some(member);
            let name: StrDeserializer<'_, Error> = member.name.as_str().into_deserializer();
            return seed
                .deserialize(name)
                .map(Some)
                .map_err(|error| error.at(member.name_span.start, member.value.span.start));
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Error> {
        let Some(member) = self.value.take() else {
            return Err(de::Error::custom("a member has no value"));
        };
        seed.deserialize(At {
            node: &member.value,
            unknown: self.unknown,
        })
        .map_err(|error| error.at(member.value.span.start, member.value.span.start))
    }
}
