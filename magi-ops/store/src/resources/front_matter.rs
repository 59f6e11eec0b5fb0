//! Markdown with YAML front matter, as skills and profiles are written: flat fields and a body.
//! Knows the form only; which fields there must be is their readers' matter.

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle};

use crate::reason::{did_you_mean, near_miss, shown};

/// Longest front matter, in bytes.
pub(super) const MAX_BYTES: usize = 16 * 1024;

/// What is wrong, as the end of a sentence, and where: line and column from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) reason: String,
    pub(super) place: Place,
    /// What to do about it.
    pub(super) help: String,
}

/// A line and a column, in characters, both from 1.
pub(super) type Place = (usize, usize);

/// The beginning of a file.
pub(super) const START: Place = (1, 1);

impl Fault {
    /// About the file as a whole.
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self::at(START, reason)
    }

    /// About what stands at a place.
    pub(super) fn at(place: Place, reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            place,
            help: "mend this, or disable it with `disabled: true`".to_owned(),
        }
    }

    /// The same with what to do about it.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    fields: BTreeMap<String, (Field, Place)>,
    /// What follows the front matter, without space around it.
    pub(super) body: &'a str,
}

#[derive(Debug, PartialEq, Eq)]
enum Field {
    Null,
    Flag(bool),
    Text(String),
    List(Vec<String>),
    /// Something deeper: a field of somebody else's.
    Other,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, Fault> {
        let (header, body) = split(text).ok_or_else(|| {
            Fault::new("has no front matter between lines of `---`")
                .help("begin the file with a line of `---`, its members, and another such line")
        })?;
        if header.len() > MAX_BYTES {
            let help = format!("shorten it to {MAX_BYTES} bytes");
            return Err(Fault::new("has a front matter that is too long").help(help));
        }
        Ok(Self {
            fields: fields(header)?,
            body: body.trim(),
        })
    }

    /// A field of text, without space around it; absent when null or blank.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Fault> {
        let text = self.field(key, "text", "write a text", |field| match field {
            Field::Text(text) => Some(text.trim()),
            _ => None,
        });
        Ok(text?.filter(|text| !text.is_empty()))
    }

    pub(super) fn flag(&self, key: &str) -> Result<bool, Fault> {
        let help = "write `true` or `false`, without quotes";
        let flag = self.field(key, "true or false", help, |field| match field {
            Field::Flag(flag) => Some(*flag),
            _ => None,
        });
        Ok(flag?.unwrap_or_default())
    }

    pub(super) fn list(&self, key: &str) -> Result<Option<&[String]>, Fault> {
        let help = "write a list such as `[read, grep]`";
        self.field(key, "a list of texts", help, |field| match field {
            Field::List(list) => Some(list.as_slice()),
            _ => None,
        })
    }

    /// A field of one kind; absent when null.
    fn field<'f, T>(
        &'f self,
        key: &str,
        kind: &str,
        help: &str,
        of_kind: impl FnOnce(&'f Field) -> Option<T>,
    ) -> Result<Option<T>, Fault> {
        match self.fields.get(key) {
            None | Some((Field::Null, _)) => Ok(None),
            Some((field, place)) => of_kind(field).map(Some).ok_or_else(|| {
                Fault::at(*place, format!("has a field that should be {kind}")).help(help)
            }),
        }
    }

    /// The fields beside the `known` ones, and where they stand.
    ///
    /// # Errors
    /// When one is a misspelt `guard`: it would guard nothing.
    pub(super) fn unknown(
        &self,
        known: &[&str],
        guards: &[&str],
    ) -> Result<Vec<(&str, Place)>, Fault> {
        let mut found = Vec::new();
        for (name, (_, place)) in &self.fields {
            if known.contains(&name.as_str()) {
                continue;
            }
            if let Some(meant) = near_miss(name, guards.iter().copied()) {
                let (name, end) = (shown(name), did_you_mean(Some(meant)));
                let why = format!("has an unknown member `{name}`, which guards nothing{end}");
                return Err(Fault::at(*place, why).help(format!("rename it to `{meant}`")));
            }
            found.push((name.as_str(), *place));
        }
        Ok(found)
    }

    /// Where a field stands; the beginning where there is none.
    pub(super) fn place(&self, key: &str) -> Place {
        self.fields.get(key).map_or(START, |(_, place)| *place)
    }
}

/// The YAML between the first line, which is `---`, and the next such line; and the rest.
fn split(text: &str) -> Option<(&str, &str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != "---" {
        return None;
    }
    let start = first.len();
    let mut end = start;
    for line in lines {
        let next = end + line.len();
        if line.trim_end() == "---" {
            return Some((&text[start..end], &text[next..]));
        }
        end = next;
    }
    None
}

const NOT_YAML: &str = "has a front matter that is not valid YAML";
const NO_MAPPING: &str = "has a front matter that is not a mapping";

/// The place of a marker, which stands in what follows the first line.
fn place(marker: &Marker) -> Place {
    (marker.line() + 1, marker.col() + 1)
}

/// The top level of one YAML document. Events, not a tree: what an alias names is never copied,
/// so that a small file can't become a large value.
fn fields(yaml: &str) -> Result<BTreeMap<String, (Field, Place)>, Fault> {
    let mut events = Parser::new_from_str(yaml);
    let mut next = move || match events.next_event() {
        Some(Ok((event, span))) => Ok((event, place(&span.start))),
        Some(Err(error)) => Err(Fault::at(place(error.marker()), NOT_YAML)),
        None => Err(Fault::new(NOT_YAML)),
    };
    let mut fields = BTreeMap::new();
    loop {
        match next()? {
            (Event::StreamStart | Event::DocumentStart(_) | Event::Nothing, _) => {}
            (Event::MappingStart(..), _) => break,
            (_, place) => return Err(Fault::at(place, NO_MAPPING)),
        }
    }
    loop {
        let (key, at) = match next()? {
            (Event::MappingEnd, _) => break,
            (Event::Scalar(key, ..), place) => (key.into_owned(), place),
            (_, place) => {
                return Err(Fault::at(
                    place,
                    "has a front matter with a key that is not text",
                ));
            }
        };
        let (first, _) = next()?;
        let value = value(first, &mut next)?;
        if fields.insert(key, (value, at)).is_some() {
            return Err(
                Fault::at(at, "has a front matter with a field twice").help("keep one of the two")
            );
        }
    }
    loop {
        match next()? {
            (Event::StreamEnd, _) => return Ok(fields),
            (Event::DocumentEnd | Event::Nothing, _) => {}
            (_, place) => return Err(Fault::at(place, "has a front matter of several documents")),
        }
    }
}

fn value<'a>(
    first: Event<'a>,
    next: &mut impl FnMut() -> Result<(Event<'a>, Place), Fault>,
) -> Result<Field, Fault> {
    match first {
        Event::Scalar(text, style, _, tag) => {
            let plain = style == ScalarStyle::Plain && tag.is_none();
            Ok(match &*text {
                "" | "~" | "null" | "Null" | "NULL" if plain => Field::Null,
                "true" | "True" | "TRUE" if plain => Field::Flag(true),
                "false" | "False" | "FALSE" if plain => Field::Flag(false),
                _ => Field::Text(text.into_owned()),
            })
        }
        Event::SequenceStart(..) => {
            let mut list = Vec::new();
            let mut flat = true;
            loop {
                match next()?.0 {
                    Event::SequenceEnd => break,
                    Event::Scalar(text, ..) => list.push(text.into_owned()),
                    Event::SequenceStart(..) | Event::MappingStart(..) => {
                        flat = false;
                        skip(next)?;
                    }
                    _ => flat = false,
                }
            }
            Ok(if flat {
                Field::List(list)
            } else {
                Field::Other
            })
        }
        Event::MappingStart(..) => skip(next).map(|()| Field::Other),
        Event::Alias(_) => Ok(Field::Other),
        _ => Err(Fault::new(NOT_YAML)),
    }
}

/// Reads on behind the end of what was just begun.
fn skip<'a>(next: &mut impl FnMut() -> Result<(Event<'a>, Place), Fault>) -> Result<(), Fault> {
    let mut depth = 1_usize;
    while depth > 0 {
        match next()? {
            (Event::SequenceStart(..) | Event::MappingStart(..), _) => depth += 1,
            (Event::SequenceEnd | Event::MappingEnd, _) => depth -= 1,
            (Event::StreamEnd, place) => return Err(Fault::at(place, NOT_YAML)),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_and_body() {
        let text = "---\r\nname: a-b\ndescription: >\n  two\n  lines\ndisabled: true\n\
                    tools: [read, 'grep']\nempty: []\nnothing:\nquoted: \"true\"\nnumber: 7\n\
                    metadata:\n  deep: [{a: 1}, [b]]\n---  \n\n# Body\n---\nmore\n\n";
        let document = Document::parse(text).unwrap();
        assert_eq!(document.text("name"), Ok(Some("a-b")));
        assert_eq!(document.text("description"), Ok(Some("two lines")));
        assert_eq!(document.flag("disabled"), Ok(true));
        assert_eq!(document.flag("absent"), Ok(false));
        let tools = ["read".to_owned(), "grep".to_owned()];
        assert_eq!(document.list("tools"), Ok(Some(tools.as_slice())));
        assert_eq!(document.list("empty"), Ok(Some([].as_slice())));
        assert_eq!(document.list("nothing"), Ok(None));
        assert_eq!(document.text("number"), Ok(Some("7")));
        assert!(document.flag("quoted").is_err());
        assert!(document.text("disabled").is_err());
        assert!(document.text("metadata").is_err());
        assert!(document.list("name").is_err());
        assert_eq!(document.body, "# Body\n---\nmore");
    }

    #[test]
    fn what_is_no_front_matter() {
        let reason = |text: &str| Document::parse(text).unwrap_err().reason;
        for text in ["", "# Title", "---\nname: a\n", " ---\na: b\n---\n"] {
            assert_eq!(reason(text), "has no front matter between lines of `---`");
        }
        let header = |yaml: &str| reason(&format!("---\n{yaml}\n---\n"));
        for yaml in ["- a", "just words", "", "&a *a"] {
            assert!(
                [NO_MAPPING, NOT_YAML].contains(&header(yaml).as_str()),
                "{yaml}"
            );
        }
        for yaml in ["a: [", "a: 'b", "a: %", "a: b\n c: d: e"] {
            assert_eq!(header(yaml), NOT_YAML, "{yaml}");
        }
        assert_eq!(
            header("a: 1\na: 2"),
            "has a front matter with a field twice"
        );
        assert_eq!(
            header("[a]: b"),
            "has a front matter with a key that is not text"
        );
        assert_eq!(
            header(&format!("a: {}", "x".repeat(MAX_BYTES))),
            "has a front matter that is too long"
        );
    }

    #[test]
    fn a_fault_stands_where_it_is() {
        let place = |text: &str| Document::parse(text).unwrap_err().place;
        assert_eq!(place("words"), (1, 1));
        assert_eq!(place("---\na: 1\né: 2\na: 3\n---\n"), (4, 1));
        assert_eq!(place("---\na: 1\n- b\n---\n").0, 3);
        let text = "---\nname: a\n  \ntools: read\nmodel: [m]\n---\n";
        let document = Document::parse(text).unwrap();
        assert_eq!(document.list("tools").unwrap_err().place, (4, 1));
        assert_eq!(document.text("model").unwrap_err().place, (5, 1));
        assert_eq!(document.place("name"), (2, 1));
    }

    #[test]
    fn aliases_are_not_expanded_and_depth_is_harmless() {
        let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for i in 1..40 {
            let before = format!("*a{}", i - 1);
            let list = vec![before; 9].join(", ");
            yaml.push_str(&format!("a{i}: &a{i} [{list}]\n"));
        }
        yaml.push_str("name: *a39\n");
        let text = format!("---\n{yaml}---\n");
        assert!(Document::parse(&text).unwrap().text("name").is_err());
        for open in ["[", "{a: ", "- ", "? "] {
            let deep = format!("---\na:\n  {}\n---\n", open.repeat(4000));
            let _ = Document::parse(&deep);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(header in "([ -~\\n\\t]|\\PC){0,300}", body in "\\PC{0,50}") {
            let _ = Document::parse(&format!("---\n{header}\n---\n{body}"));
        }

        #[test]
        fn yaml_like_text_does_not_panic(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a: ", "b", "\n", "  ", "- ", "[", "]", "{", "}", "&x ", "*x", "!t ", "|\n",
                    ">-\n", "'", "\"", "\\", "? ", ", ", "#", "%YAML 1.2\n", "<<: ", "...\n", "\t",
                ]),
                0..60,
            )
        ) {
            let _ = Document::parse(&format!("---\n{}\n---\n", parts.concat()));
        }

        #[test]
        fn quoted_text_comes_back(value in "[ -~]{0,200}", body in "[a-z]{1,20}") {
            let quoted = value.replace('\'', "''");
            let text = format!("---\nname: '{quoted}'\n---\n{body}");
            let document = Document::parse(&text).unwrap();
            let expected = Some(value.trim()).filter(|text| !text.is_empty());
            prop_assert_eq!(document.text("name"), Ok(expected));
            prop_assert_eq!(document.body, body);
        }
    }
}
