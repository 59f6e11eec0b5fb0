//! A Mighty text: its tree is the normalised text, sound and bounded in depth; its reports are in order and in
//! range; the same text gives the same tree.

use std::hint::black_box;

use syntax::ast::{self, LitToken};
use syntax::{MAX_DEPTH, Parse, TextRange, parse, parse_interface};

use crate::input::expand;

/// The text that an input stands for.
pub fn text_of(data: &[u8]) -> String {
    String::from_utf8_lossy(&expand(data)).into_owned()
}

/// Checks an input as a source and as an interface. Gives the codes of its reports.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<&'static str> {
    let text = text_of(data);
    let mut codes = Vec::new();
    codes.extend(check_as(|t| parse(t), &text));
    codes.extend(check_as(|t| parse_interface(t), &text));
    codes
}

fn check_as(parse: fn(&str) -> Parse, text: &str) -> Vec<&'static str> {
    let found = parse(text);
    let normal = text.replace("\r\n", "\n");
    assert_eq!(found.tree.text(), normal, "nothing is lost");
    assert_eq!(found.had_crlf(), text.len() != normal.len());
    sound(&found);
    literals(&found);
    for error in &found.errors {
        report(&found, text, error);
    }
    let order = |e: &syntax::SyntaxError| (e.range.start, e.code, e.range.end);
    assert!(found.errors.is_sorted_by_key(order), "{:?}", found.errors);
    // What is left of CRCRLF would be taken for a line end in its turn.
    if !normal.contains("\r\n") {
        let again = parse(&normal);
        assert!(!again.had_crlf());
        assert_eq!(again.errors, found.errors, "{normal:?}");
        assert_eq!(again.tree.sketch(), found.tree.sketch(), "{normal:?}");
    }
    found.errors.iter().map(|e| e.code).collect()
}

/// Tokens without gaps; nodes inside their parents, one after another, of tokens that matter.
fn sound(found: &Parse) {
    let tree = &found.tree;
    assert!(tree.max_depth() <= MAX_DEPTH, "{}", tree.max_depth());
    let mut end = 0;
    for token in tree.tokens() {
        assert_eq!(token.range().start, end, "no gap");
        assert!(!token.range().is_empty());
        assert_eq!(
            tree.text().get(std::ops::Range::from(token.range())),
            Some(token.text())
        );
        end = token.range().end;
    }
    assert_eq!(end as usize, tree.text().len());
    for node in tree.nodes().skip(1) {
        let range = node.range();
        assert!(!range.is_empty(), "{:?}", node.kind());
        let parent = node.parent().expect("only the root has none");
        assert!(parent.range().covers(range), "{:?}", node.kind());
        for edge in [node.first_token(), node.last_token()] {
            let edge = edge.expect("no node is empty");
            assert!(!edge.kind().is_trivia(), "{:?}", node.kind());
        }
        let mut end = range.start;
        for child in node.children() {
            assert!(child.range().start >= end, "children in order");
            end = child.range().end;
        }
    }
}

/// A report points into the text, also into that with CRLF, and says one line.
fn report(found: &Parse, text: &str, error: &syntax::SyntaxError) {
    let normal = found.tree.text();
    let part = |range: TextRange| {
        assert!(range.start <= range.end, "{error:?}");
        normal
            .get(std::ops::Range::from(range))
            .unwrap_or_else(|| panic!("{error:?} lies in {normal:?}"))
    };
    let written = std::ops::Range::from(found.file_range(error.range));
    let written = text.get(written).map(|t| t.replace("\r\n", "\n"));
    // Half of a CRCRLF looks like a line end that it was not.
    if !normal.contains("\r\n") {
        assert_eq!(written.as_deref(), Some(part(error.range)), "{error:?}");
    }
    if let Some(related) = error.related {
        part(related);
    }
    assert!(error.code.starts_with("MT00"), "{error:?}");
    for line in std::iter::once(&error.title).chain(&error.notes) {
        assert!(!line.is_empty() && !line.contains('\n'), "{error:?}");
    }
    let covering = found.tree.covering_node(error.range);
    assert!(covering.range().covers(error.range) || covering.parent().is_none());
    if let Some(token) = found.tree.token_at(error.range.start) {
        assert!(token.range().contains(error.range.start));
    }
}

/// The values of literals, malformed ones too, end in a value or none.
fn literals(found: &Parse) {
    let clean = found.errors.is_empty();
    for token in found.tree.tokens().filter(|t| t.kind().is_literal()) {
        let numbers = (ast::duration_ns(token), ast::size_value(token));
        let texts = (ast::char_value(token), ast::html_raw(token));
        black_box((numbers, texts, ast::bytes_value(token)));
        match LitToken::of(token) {
            Some(LitToken::Int(int)) => {
                assert!(!clean || int.value().is_some(), "{}", token.text());
                black_box(int.suffix());
            }
            Some(LitToken::Float(float)) => {
                assert!(!clean || float.value().is_some(), "{}", token.text());
            }
            Some(LitToken::Str(text)) => {
                black_box(text.value());
            }
            _ => {}
        }
    }
}
