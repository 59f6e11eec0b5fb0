//! Syntax of the Mighty language: lexer, lossless tree, parser and typed views of the tree.
//! Must not resolve names or know types, and must not know any wire or command line.
//!
//! [`parse`] (and [`parse_interface`]) takes any text and gives a [`Tree`] whose tokens concatenate to it, with the list of
//! syntax errors. [`ast`] has one view per construct; they are `Copy` handles into the tree.

pub mod ast;
mod brackets;
pub mod error;
pub mod format;
mod grammar;
mod kind;
mod lexer;
mod normalise;
mod parser;
mod tree;
mod validate;

use std::sync::Arc;

pub use brackets::MAX_BRACKETS;
pub use error::{SyntaxError, TextRange};
pub use kind::SyntaxKind;
pub use tree::{Children, Element, Elements, MAX_DEPTH, Node, NodeId, Token, TokenId, Tree};

/// What [`parse`] gives.
#[derive(Debug)]
pub struct Parse {
    /// The tree of the normalised text.
    pub tree: Tree,
    /// Syntax errors by position, then code; empty for a well-formed text.
    pub errors: Vec<SyntaxError>,
    /// Offsets, in the normalised text, of the line feeds that were CRLF in the file.
    crlf: Vec<u32>,
}

impl Parse {
    /// The typed root.
    #[must_use]
    pub fn file(&self) -> ast::SourceFile<'_> {
        ast::SourceFile::new(self.tree.root())
    }

    /// Whether an error forbids every later stage (language.md §27).
    #[must_use]
    pub fn has_hard_error(&self) -> bool {
        self.errors.iter().any(SyntaxError::is_hard)
    }

    /// The offset in the file, before CRLF became LF, of an offset in the tree's text.
    #[must_use]
    pub fn file_offset(&self, offset: u32) -> u32 {
        offset + self.crlf.partition_point(|at| *at < offset) as u32
    }

    /// [`Parse::file_offset`] of both ends.
    #[must_use]
    pub fn file_range(&self, range: TextRange) -> TextRange {
        TextRange::new(self.file_offset(range.start), self.file_offset(range.end))
    }

    /// Whether the file had CRLF line ends.
    #[must_use]
    pub fn had_crlf(&self) -> bool {
        !self.crlf.is_empty()
    }
}

/// Parses a source file. Never fails and never panics: what is no Mighty is in the tree as
/// error nodes and in the errors as reports. Linear in the size of the text.
///
/// CRLF line ends become LF first; the tree's text and all ranges are those of the normalised text.
///
/// # Panics
/// If the text has 1 GiB or more; callers bound their input far below.
#[must_use]
pub fn parse(text: impl Into<Arc<str>>) -> Parse {
    parse_as(text.into(), false)
}

/// [`parse`] for an interface file (`.mtyi`), whose functions and constants need no bodies.
///
/// # Panics
/// As [`parse`].
#[must_use]
pub fn parse_interface(text: impl Into<Arc<str>>) -> Parse {
    parse_as(text.into(), true)
}

fn parse_as(text: Arc<str>, interface: bool) -> Parse {
    let (text, crlf) = normalise::line_ends(text);
    assert!(text.len() < 1 << 30, "text of 1 GiB or more");
    let first = parse_lf(&text, lexer::Mode::Plain, interface);
    let (tree, errors) = if !first.1.is_empty() && first.2 {
        // A quote missing on one line pairs up with a later literal's quote; see `Mode::Suspicious`.
        let second = parse_lf(&text, lexer::Mode::Suspicious, interface);
        let found = second
            .1
            .iter()
            .any(|e| e.code == error::code::UNTERMINATED_STRING);
        if found {
            (second.0, second.1)
        } else {
            (first.0, first.1)
        }
    } else {
        (first.0, first.1)
    };
    Parse { tree, errors, crlf }
}

fn parse_lf(text: &Arc<str>, mode: lexer::Mode, interface: bool) -> (Tree, Vec<SyntaxError>, bool) {
    let mut lexed = lexer::lex(text, mode);
    brackets::balance(text, &mut lexed);
    let mut p = parser::Parser::new(text, &lexed);
    p.interface = interface;
    grammar::source_file(&mut p);
    let parser::Parser {
        nodes,
        errors: mut found,
        macro_args,
        ..
    } = p;
    let multi_line = lexed.multi_line_str;
    let mut errors = lexed.errors;
    errors.retain(|e| {
        // Unknown bytes in macro arguments are reported by the expansion instead (§22).
        e.code != error::code::UNEXPECTED_TOKEN || {
            let i = macro_args.partition_point(|r| r.end <= e.range.start);
            macro_args.get(i).is_none_or(|r| !r.covers(e.range))
        }
    });
    errors.append(&mut found);
    let (tree, cut) = Tree::build(Arc::clone(text), lexed.kinds, lexed.starts, &nodes);
    if let Some(range) = cut {
        errors.push(SyntaxError::new(
            error::code::DEPTH_LIMIT_EXCEEDED,
            range,
            format!("this construct is more than {MAX_DEPTH} levels deep"),
        ));
    }
    validate::check(&tree, &mut errors);
    errors.sort_by(|a, b| {
        (a.range.start, a.code, a.range.end).cmp(&(b.range.start, b.code, b.range.end))
    });
    (tree, errors, multi_line)
}
