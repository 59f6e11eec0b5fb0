//! The page of a list of models, whatever server it comes from: its entries one by one, and where the next page is. What an
//! entry says is each wire's; no connection.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::json::{count, plain};
use super::refusal::failure_in;
use crate::discovered::{DiscoveredModel, MAX_DISCOVERED};
use crate::error::ProviderError;
use crate::message::ThinkingLevel;

/// Longest entry that is read, in bytes: longer ones say no more than shorter ones, and cost much memory.
const MAX_ENTRY_BYTES: usize = 256 * 1024;

/// Reads one entry; `None` for what is no model to speak with.
pub(crate) type ReadEntry = fn(&Value) -> Option<DiscoveredModel>;

/// One page.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) models: Vec<DiscoveredModel>,
    /// The id of the last entry that was read, whether it is a model or not.
    last: Option<String>,
    has_more: bool,
    last_id: Option<String>,
    next_token: Option<String>,
    /// There was a list.
    is_list: bool,
    error: Option<Value>,
}

impl Page {
    /// # Errors
    /// For what holds no list of models, or tells of a failure.
    pub(crate) fn read(body: &[u8], entry: ReadEntry) -> Result<Self, ProviderError> {
        let malformed = || ProviderError::malformed("its answer is no list of models");
        let body = plain(body);
        let mut source = serde_json::Deserializer::from_str(&body);
        let page = PageOf(entry).deserialize(&mut source);
        let page = page.and_then(|page| source.end().map(|()| page));
        let page = page.map_err(|error| malformed().with_source(error))?;
        match page.is_list {
            true => Ok(page),
            false => {
                let told = page.error.as_ref().and_then(failure_in);
                Err(told.unwrap_or_else(malformed))
            }
        }
    }

    /// What asks for the page behind this one, where the server says that there is one: a token, or else the last id.
    pub(crate) fn next(&self) -> Option<String> {
        let token = self.next_token.clone().filter(|token| !token.is_empty());
        let last = || self.last_id.clone().or_else(|| self.last.clone());
        token.or_else(|| last().filter(|_| self.has_more))
    }
}

struct PageOf(ReadEntry);

impl<'de> DeserializeSeed<'de> for PageOf {
    type Value = Page;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Page, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for PageOf {
    type Value = Page;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of models")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Page, A::Error> {
        let mut page = Page::default();
        Entries(self.0, &mut page).visit_seq(items)?;
        Ok(page)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Page, A::Error> {
        let mut page = Page::default();
        let mut error = serde_json::Map::new();
        while let Some(name) = members.next_key::<String>()? {
            match name.as_str() {
                "data" | "models" => members.next_value_seed(Entries(self.0, &mut page))?,
                "has_more" => page.has_more = small(members.next_value()?) == Some(true.into()),
                "last_id" => page.last_id = text(members.next_value()?),
                "nextPageToken" | "next_page_token" => {
                    page.next_token = text(members.next_value()?);
                }
                "error" | "detail" | "message" | "object" | "type" | "success" | "status" => {
                    error.extend(small(members.next_value()?).map(|value| (name, value)));
                }
                _ => drop(members.next_value::<IgnoredAny>()?),
            }
        }
        page.error = Some(error.into());
        Ok(page)
    }
}

/// A value that is not long.
fn small(raw: &RawValue) -> Option<Value> {
    let short = (raw.get().len() <= MAX_ENTRY_BYTES).then_some(raw.get())?;
    serde_json::from_str(short).ok()
}

fn text(raw: &RawValue) -> Option<String> {
    match small(raw)? {
        Value::String(text) => Some(text),
        _ => None,
    }
}

/// The entries of a page, each read and let go of before the next.
struct Entries<'a>(ReadEntry, &'a mut Page);

impl<'de> DeserializeSeed<'de> for Entries<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<(), D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("models")
    }

    /// An empty list of some servers.
    fn visit_unit<E>(self) -> Result<(), E> {
        self.1.is_list = true;
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let Self(entry, page) = self;
        page.is_list = true;
        while let Some(raw) = items.next_element::<&RawValue>()? {
            let Some(value) = small(raw) else {
                continue;
            };
            page.last = value.get("id").and_then(Value::as_str).map(str::to_owned);
            if page.models.len() < MAX_DISCOVERED {
                page.models.extend(entry(&value));
            }
        }
        Ok(())
    }
}

/// The text of the first of these members that has one.
pub(crate) fn first_text(entry: &Value, names: &[&str]) -> Option<String> {
    let texts = names.iter().filter_map(|name| entry.get(*name)?.as_str());
    let text = texts.map(str::trim).find(|text| !text.is_empty())?;
    Some(text.to_owned())
}

/// The count above 0 of the first of these members, by their paths, that has one.
pub(crate) fn first_count(entry: &Value, paths: &[&str]) -> Option<u64> {
    let counts = paths.iter().filter_map(|path| count(entry.pointer(path)?));
    counts.into_iter().find(|count| *count > 0)
}

/// Whether one of these members, by their paths, is a list with that word; `None` where none is a list.
pub(crate) fn names_word(entry: &Value, paths: &[&str], words: &[&str]) -> Option<bool> {
    let mut lists = paths
        .iter()
        .filter_map(|path| entry.pointer(path)?.as_array());
    let list = lists.next()?;
    Some(
        list.iter()
            .filter_map(Value::as_str)
            .any(|word| words.contains(&word)),
    )
}

/// The level that a server's word for it means, whichever way it is spelled.
pub(crate) fn level(word: &str) -> Option<ThinkingLevel> {
    Some(match word {
        "low" => ThinkingLevel::Low,
        "medium" => ThinkingLevel::Medium,
        "high" => ThinkingLevel::High,
        "xhigh" | "x_high" | "x-high" => ThinkingLevel::XHigh,
        "max" => ThinkingLevel::Max,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use crate::error::ErrorKind;

    fn id(entry: &Value) -> Option<DiscoveredModel> {
        Some(DiscoveredModel {
            id: entry.as_str().or(entry["id"].as_str())?.to_owned(),
            ..DiscoveredModel::default()
        })
    }

    fn ids(body: &str) -> (Vec<String>, Option<String>) {
        let page = Page::read(body.as_bytes(), id).unwrap();
        let ids = page.models.iter().map(|model| model.id.clone());
        (ids.collect(), page.next())
    }

    #[test]
    fn lists_are_found_in_every_shape() {
        let two = || vec!["a".to_owned(), "b".to_owned()];
        for (body, next) in [
            (r#"{"object":"list","data":[{"id":"a"},{"id":"b"}]}"#, None),
            (r#"[{"id":"a"},7,null,{"id":"b"}]"#, None),
            (r#"{"models":["a","b"],"x":{"data":[1]}}"#, None),
            (
                r#"{"has_more":true,"data":[{"id":"a"},{"id":"b"}],"last_id":"z"}"#,
                Some("z"),
            ),
            (
                r#"{"has_more":true,"data":[{"id":"a"},{"id":"b"}],"last_id":null}"#,
                Some("b"),
            ),
            (
                r#"{"has_more":false,"data":[{"id":"a"},{"id":"b"}],"last_id":"z"}"#,
                None,
            ),
            (
                r#"{"models":[{"id":"a"},{"id":"b"}],"nextPageToken":"t"}"#,
                Some("t"),
            ),
            (
                r#"{"models":[{"id":"a"},{"id":"b"}],"nextPageToken":""}"#,
                None,
            ),
        ] {
            assert_eq!(ids(body), (two(), next.map(str::to_owned)), "{body}");
        }
        assert_eq!(ids(r#"{"data":null}"#), (vec![], None));
        let long = format!(
            r#"[{{"id":"a"}},{{"id":"x","y":"{}"}},"b"]"#,
            "y".repeat(MAX_ENTRY_BYTES)
        );
        assert_eq!(ids(&long).0, two());
    }

    #[test]
    fn bytes_that_are_no_text_cost_no_more_than_their_name() {
        let body = b"\xef\xbb\xbf{\"data\":[{\"id\":\"a\",\"name\":\"\xff\"},{\"id\":\"\xfe\"},{\"id\":\"b\"}]}";
        let page = Page::read(body, id).unwrap();
        let ids: Vec<_> = page.models.iter().map(|model| &*model.id).collect();
        assert_eq!(ids, ["a", "\u{fffd}", "b"]);
    }

    #[test]
    fn what_is_no_list_is_a_failure() {
        for (body, kind) in [
            ("", ErrorKind::Malformed),
            ("<html>", ErrorKind::Malformed),
            ("{}", ErrorKind::Malformed),
            ("7", ErrorKind::Malformed),
            (r#"{"data":7}"#, ErrorKind::Malformed),
            (r#"{"data":[{"id":"a"}"#, ErrorKind::Malformed),
            (r#"{"data":[]}]"#, ErrorKind::Malformed),
            (
                r#"{"error":{"message":"overloaded","type":"overloaded_error"}}"#,
                ErrorKind::Overloaded,
            ),
        ] {
            let error = Page::read(body.as_bytes(), id).unwrap_err();
            assert_eq!(error.kind(), kind, "{body}");
        }
        let deep = format!("[{}]", "[".repeat(100_000));
        assert!(Page::read(deep.as_bytes(), id).is_err());
    }

    #[test]
    fn as_many_entries_are_kept_as_a_catalog_holds() {
        let all = vec![r#"{"id":"a"}"#; MAX_DISCOVERED + 1].join(",");
        assert_eq!(ids(&format!("[{all}]")).0.len(), MAX_DISCOVERED);
    }
}
