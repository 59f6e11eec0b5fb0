//! A JSON text as a tree that knows where everything stands; comments and commas behind the last member are let through.
//! The grammar is `serde_json`'s to check, comments are `jsonc-parser`'s to find; this file only walks what they have
//! accepted. Knows no key.

use std::borrow::Cow;
use std::ops::Range;

use jsonc_parser::errors::ParseError;
use jsonc_parser::tokens::Token;
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};

use super::fault::{Fault, Finding};
use crate::reason::offset_of;

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

/// A value and the bytes that it stands in.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) span: Range<usize>,
    pub(super) value: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    /// As it is written.
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    Object(Vec<Member>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Member {
    pub(super) name: String,
    /// With its quotes.
    pub(super) name_span: Range<usize>,
    pub(super) value: Node,
}

/// The tree of one JSON text; or where it is none, and why.
pub(super) fn parse(text: &str) -> Result<Node, Finding> {
    let plain = plain(text)?;
    let mut walk = Walk {
        text: &plain,
        at: 0,
    };
    walk.node(0)
}

/// The text with blanks in place of what a settings file may have beyond JSON: comments, and a comma behind the last member
/// or element. Everything else stands where it stood.
pub(super) fn plain(text: &str) -> Result<Cow<'_, str>, Finding> {
    let Err(error) = checked(text) else {
        return Ok(Cow::Borrowed(text));
    };
    match blanked(text, true) {
        Ok(plain) => match checked(&plain) {
            Ok(()) => Ok(Cow::Owned(plain)),
            Err(error) => Err(syntax(&plain, &error)),
        },
        Err(loose) => {
            let strict = syntax(text, &error);
            // What is let through is no reason.
            let is_comma = strict.fault.reason.ends_with("trailing comma");
            let is_let_through = is_comma || text[strict.offset..].starts_with('/');
            Err(if is_let_through {
                unclear(&loose)
            } else {
                strict
            })
        }
    }
}

fn checked(text: &str) -> Result<(), serde_json::Error> {
    serde_json::from_str::<serde_json::Value>(text).map(drop)
}

/// The text with blanks in place of comments.
pub(super) fn without_comments(text: &str) -> Result<String, Finding> {
    blanked(text, false).map_err(|error| unclear(&error))
}

fn blanked(text: &str, last_commas: bool) -> Result<String, ParseError> {
    let collect = CollectOptions {
        comments: CommentCollectionStrategy::AsTokens,
        tokens: true,
    };
    let tokens = parse_to_ast(text, &collect, &ParseOptions::default())?.tokens;
    let mut plain = text.as_bytes().to_vec();
    let mut comma = None;
    for token in tokens.unwrap_or_default() {
        let range = token.range.start..token.range.end;
        match token.token {
            Token::CommentLine(_) | Token::CommentBlock(_) => blank(&mut plain[range]),
            Token::Comma => comma = Some(range),
            Token::CloseBrace | Token::CloseBracket if last_commas => {
                comma
                    .take()
                    .into_iter()
                    .for_each(|at| blank(&mut plain[at]));
            }
            _ => comma = None,
        }
    }
    // Whole comments and commas were characters too.
    Ok(String::from_utf8_lossy(&plain).into_owned())
}

/// Lines stay lines.
fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if !matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

impl Node {
    pub(super) fn members(&self) -> &[Member] {
        match &self.value {
            Value::Object(members) => members,
            _ => &[],
        }
    }

    /// The member or element of that name: where it begins (a member at its name), and its value.
    pub(super) fn child(&self, name: &str) -> Option<(usize, &Self)> {
        match &self.value {
            Value::Object(members) => members
                .iter()
                .find(|member| member.name == name)
                .map(|member| (member.name_span.start, &member.value)),
            Value::List(list) => {
                let node = list.get(name.parse::<usize>().ok()?)?;
                Some((node.span.start, node))
            }
            _ => None,
        }
    }

    /// Every member and element below, with the names that lead to it and where it begins (a member at its name), and its value.
    pub(super) fn walk(&self, each: &mut impl FnMut(&[String], usize, &Self)) {
        self.walk_below(&mut Vec::new(), each);
    }

    fn walk_below(&self, path: &mut Vec<String>, each: &mut impl FnMut(&[String], usize, &Self)) {
        let mut step = |name: String, at: usize, node: &Self| {
            path.push(name);
            each(path, at, node);
            node.walk_below(path, each);
            path.pop();
        };
        match &self.value {
            Value::Object(members) => members.iter().for_each(|member| {
                step(member.name.clone(), member.name_span.start, &member.value);
            }),
            Value::List(list) => list.iter().enumerate().for_each(|(index, node)| {
                step(index.to_string(), node.span.start, node);
            }),
            _ => {}
        }
    }

    /// Leaves out the member or element whose value begins at `offset`. Whether there was one.
    pub(super) fn leave_out(&mut self, offset: usize) -> bool {
        match &mut self.value {
            Value::Object(members) => {
                let before = members.len();
                members.retain(|member| member.value.span.start != offset);
                members.len() < before
                    || members
                        .iter_mut()
                        .any(|member| member.value.leave_out(offset))
            }
            Value::List(list) => {
                let before = list.len();
                list.retain(|node| node.span.start != offset);
                list.len() < before || list.iter_mut().any(|node| node.leave_out(offset))
            }
            _ => false,
        }
    }

    /// Leaves out every member whose name stood before it in the same object, and tells where it stands.
    pub(super) fn leave_out_repeated(&mut self, found: &mut impl FnMut(&str, usize)) {
        match &mut self.value {
            Value::Object(members) => {
                let mut seen = std::collections::HashSet::new();
                members.retain(|member| {
                    let first = seen.insert(member.name.clone());
                    if !first {
                        found(&member.name, member.name_span.start);
                    }
                    first
                });
                for member in members {
                    member.value.leave_out_repeated(found);
                }
            }
            Value::List(list) => list
                .iter_mut()
                .for_each(|node| node.leave_out_repeated(found)),
            _ => {}
        }
    }
}

fn syntax(text: &str, error: &serde_json::Error) -> Finding {
    let offset = offset_of(error, text);
    // `serde_json` names the place itself; here it stands in front, as an editor counts.
    let mut reason = error.to_string();
    if let Some(end) = reason.rfind(" at line ") {
        reason.truncate(end);
    }
    let help = match reason.as_str() {
        _ if text.trim().is_empty() => "write {} where there is nothing to say",
        _ if error.is_eof() => "close what was opened",
        "key must be a string" => "put the name in double quotes",
        "expected `,` or `}`" | "expected `,` or `]`" => {
            "put a comma in front of this, or close what is open"
        }
        "expected value" => "write a text in double quotes, a number, true, false or null",
        "recursion limit exceeded" => "write it with fewer levels",
        "trailing characters" => "keep one object and nothing behind it",
        _ => "compare this place with the examples in docs/configuration.md",
    };
    Fault::new(format!("this is no JSON: {reason}"), help).at(offset)
}

/// Of a text that would be none even if comments were JSON.
fn unclear(error: &ParseError) -> Finding {
    let mut words = error.kind().to_string();
    words[..1].make_ascii_lowercase();
    let help = "close what was opened, and put one comma between two members";
    Fault::new(format!("this is no JSON: {words}"), help).at(error.range().start)
}

fn odd(offset: usize, reason: impl Into<String>) -> Finding {
    Fault::new(reason, "write it in a simpler way").at(offset)
}

/// Over a text that is JSON: where something else is expected, there is nothing else.
struct Walk<'a> {
    text: &'a str,
    at: usize,
}

impl Walk<'_> {
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(self.at) {
            self.at += 1;
        }
        bytes.get(self.at).copied().unwrap_or_default()
    }

    fn node(&mut self, depth: usize) -> Result<Node, Finding> {
        let first = self.peek();
        let start = self.at;
        if depth > MAX_DEPTH {
            return Err(odd(start, "this is nested too deeply"));
        }
        let value = match first {
            b'{' => Value::Object(self.all(b'}', |walk| {
                walk.peek();
                let start = walk.at;
                let name = walk.string()?;
                let name_span = start..walk.at;
                walk.peek();
                walk.at += 1;
                let value = walk.node(depth + 1)?;
                Ok(Member {
                    name,
                    name_span,
                    value,
                })
            })?),
            b'[' => Value::List(self.all(b']', |walk| walk.node(depth + 1))?),
            b'"' => Value::Text(self.string()?),
            _ => self.word()?,
        };
        Ok(Node {
            span: start..self.at,
            value,
        })
    }

    fn all<T>(
        &mut self,
        close: u8,
        mut one: impl FnMut(&mut Self) -> Result<T, Finding>,
    ) -> Result<Vec<T>, Finding> {
        self.at += 1;
        let mut all = Vec::new();
        while self.peek() != close {
            all.push(one(self)?);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(all)
    }

    fn string(&mut self) -> Result<String, Finding> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while let Some(byte) = bytes.get(self.at) {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        let written = self.text.get(start..self.at).unwrap_or_default();
        serde_json::from_str(written)
            .map_err(|error| odd(start, format!("this text cannot be read: {error}")))
    }

    fn word(&mut self) -> Result<Value, Finding> {
        let start = self.at;
        let is_end = |byte: &u8| matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r');
        let rest = &self.text.as_bytes()[start..];
        self.at += rest.iter().position(is_end).unwrap_or(rest.len());
        Ok(match &self.text[start..self.at] {
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            number => Value::Number(
                serde_json::from_str(number)
                    .map_err(|error| odd(start, format!("this number cannot be read: {error}")))?,
            ),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn plain(node: &Node) -> serde_json::Value {
        match &node.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(value) => (*value).into(),
            Value::Number(number) => number.clone().into(),
            Value::Text(text) => text.clone().into(),
            Value::List(list) => list.iter().map(plain).collect(),
            Value::Object(members) => members
                .iter()
                .map(|member| (member.name.clone(), plain(&member.value)))
                .collect(),
        }
    }

    fn spans_hold(text: &str, node: &Node) {
        let again = parse(&text[node.span.clone()]).unwrap();
        assert_eq!(plain(&again), plain(node));
        for member in node.members() {
            let name: String = serde_json::from_str(&text[member.name_span.clone()]).unwrap();
            assert_eq!(name, member.name);
            spans_hold(text, &member.value);
        }
    }

    #[test]
    fn it_knows_where_everything_stands() {
        let text = " {\"a\" : [1, {\"b\\n\":-2.5e1}],\r\n\"é\":null , \"t\":true}\n";
        let node = parse(text).unwrap();
        spans_hold(text, &node);
        let mut seen = Vec::new();
        node.walk(&mut |path, at, _| {
            let begins: String = text[at..].chars().take(2).collect();
            seen.push(format!("{} {begins}", path.join("/")));
        });
        assert_eq!(
            seen,
            [
                "a \"a",
                "a/0 1,",
                "a/1 {\"",
                "a/1/b\n \"b",
                "é \"é",
                "t \"t"
            ]
        );
    }

    #[test]
    fn what_is_no_json_is_named_at_its_place() {
        for (text, offset, reason) in [
            ("", 0, "EOF while parsing a value"),
            ("{\"a\":1,,}", 7, "key must be a string"),
            ("{\"a\":1 /* b }", 7, "unterminated comment block"),
            (
                "{\n // c\n  \"a\" 1\n}",
                14,
                "expected colon after the string or word in object property",
            ),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", 13, "expected `,` or `}`"),
            ("{\"a\":tru}", 8, "expected ident"),
            ("{} {}", 3, "trailing characters"),
            ("{a:1}", 1, "key must be a string"),
        ] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.offset, offset, "{text}: {error:?}");
            assert_eq!(
                error.fault.reason,
                format!("this is no JSON: {reason}"),
                "{text}"
            );
        }
        let deeper = parse(&"[".repeat(200)).unwrap_err();
        let help = deeper.fault.help.unwrap_or_default();
        assert!(help.contains("fewer levels"), "{help}");
        let deep = format!("{}{}", "[".repeat(70), "]".repeat(70));
        assert_eq!(
            parse(&deep).unwrap_err().fault.reason,
            "this is nested too deeply"
        );
        assert!(parse(r#"["\ud800"]"#).is_err());
    }

    proptest! {
        #[test]
        fn a_text_is_read_as_serde_json_reads_it(text in r#"[\[\]{}:, \n"\\a0-9.eE+tru-]{0,40}"#) {
            let found = parse(&text);
            let is_json = checked(&text).is_ok();
            prop_assert!(found.is_ok() || !is_json);
            if let Ok(node) = found {
                spans_hold(&text, &node);
                // Beyond JSON only a comma is let through here.
                let commas = |text: &str| text.matches(',').count();
                prop_assert!(is_json || commas(&super::plain(&text).unwrap()) < commas(&text));
            }
        }
    }
}
