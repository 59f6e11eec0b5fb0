//! What a builder sees: the diagnostic, its file and small questions about the tree around its range.
//! Must not know codes beyond telling syntax errors apart.

use syntax::ast::{self, AstNode, HasName};
use syntax::{Node, Parse, SyntaxKind, TextRange, Token};

use super::diff::{line_end, line_start};
use super::draft::Edit;
use super::index::Index;
use crate::diagnostic::{Diagnostic, FixHint, Place};
use crate::package::SourceFile;

pub(super) struct Cx<'a> {
    pub(super) index: &'a Index<'a>,
    pub(super) diagnostic: &'a Diagnostic,
    pub(super) parse: &'a Parse,
    pub(super) text: &'a str,
    /// Of the diagnostic, in `text`.
    pub(super) range: TextRange,
}

impl<'a> Cx<'a> {
    /// `None` if the diagnostic's range does not lie in the file.
    pub(super) fn new(
        index: &'a Index<'a>,
        file: &'a SourceFile,
        diagnostic: &'a Diagnostic,
    ) -> Option<Self> {
        let text = file.parse.tree.text();
        text.get(std::ops::Range::<usize>::from(diagnostic.range))?;
        Some(Self {
            index,
            diagnostic,
            parse: &file.parse,
            text,
            range: diagnostic.range,
        })
    }

    pub(super) fn code(&self) -> u16 {
        self.diagnostic.code.number()
    }

    /// The facts; none if a place in them lies outside the text, as it would in another text than the checked one.
    pub(super) fn hint(&self) -> &'a FixHint {
        const NONE: &FixHint = &FixHint::None;
        if fits(&self.diagnostic.hint, self.text) {
            &self.diagnostic.hint
        } else {
            NONE
        }
    }

    /// MT0001 to MT0012 and MT0030: nothing after parsing has run.
    pub(super) fn is_hard_syntax_error(&self) -> bool {
        matches!(self.code(), 1..=12 | 30)
    }

    pub(super) fn slice(&self, range: TextRange) -> &'a str {
        self.text
            .get(std::ops::Range::<usize>::from(range))
            .unwrap_or_default()
    }

    /// The reported text.
    pub(super) fn reported(&self) -> &'a str {
        self.slice(self.range)
    }

    /// The innermost node that covers a range. Costs the depth of the tree, not its width.
    pub(super) fn node_at(&self, range: TextRange) -> Node<'a> {
        let root = self.parse.tree.root();
        let Some(token) = self.parse.tree.token_at(range.start) else {
            return root;
        };
        let mut node = token.parent();
        while !node.range().covers(range) {
            match node.parent() {
                Some(parent) => node = parent,
                None => break,
            }
        }
        node
    }

    /// The innermost node that covers the reported range.
    pub(super) fn node(&self) -> Node<'a> {
        self.node_at(self.range)
    }

    /// The innermost view of a type at or around the reported range.
    pub(super) fn enclosing<N: AstNode<'a>>(&self) -> Option<N> {
        enclosing(self.node())
    }

    /// The outermost expression that is exactly the reported range, or the innermost around it.
    pub(super) fn expr(&self) -> Option<ast::Expr<'a>> {
        self.expr_at(self.range)
    }

    pub(super) fn expr_at(&self, range: TextRange) -> Option<ast::Expr<'a>> {
        let node = self.node_at(range);
        let exact = node
            .ancestors()
            .take_while(|n| n.range() == range)
            .chain([node])
            .filter_map(ast::Expr::cast)
            .next();
        exact.or_else(|| enclosing(node))
    }

    /// The last identifier of the reported range: the name the report is about.
    pub(super) fn name(&self) -> Option<Token<'a>> {
        let mut at = self.parse.tree.token_at(self.range.end.checked_sub(1)?);
        while let Some(token) = at {
            if token.range().start < self.range.start {
                return None;
            }
            if token.kind() == SyntaxKind::Ident || token.kind().is_keyword() {
                return Some(token);
            }
            at = token.prev();
        }
        None
    }

    /// The identifier where the reported range begins, else the first inside.
    pub(super) fn first_name(&self) -> Option<Token<'a>> {
        let mut at = self.parse.tree.token_at(self.range.start);
        while let Some(token) = at {
            if token.range().start >= self.range.end && !self.range.is_empty() {
                return None;
            }
            if token.kind() == SyntaxKind::Ident {
                return Some(token);
            }
            at = token.next();
        }
        None
    }

    /// Blanks at the start of the line that holds `at`.
    pub(super) fn indent(&self, at: u32) -> &'a str {
        let line = &self.text[line_start(self.text, at as usize)..];
        let body = line.trim_start_matches([' ', '\t']);
        &line[..line.len() - body.len()]
    }

    /// Whether only blanks stand before `at` on its line.
    pub(super) fn starts_line(&self, at: u32) -> bool {
        let start = line_start(self.text, at as usize);
        self.text[start..at as usize].trim().is_empty()
    }

    /// Whether only blanks stand after `at` on its line.
    pub(super) fn ends_line(&self, at: u32) -> bool {
        let end = line_end(self.text, at as usize);
        self.text[at as usize..end].trim().is_empty()
    }

    /// Takes out a construct: with its lines where it has them for itself, else with the separator after it
    /// or, where it is the last, before it.
    pub(super) fn take_out(&self, range: TextRange) -> Edit {
        let bytes = self.text.as_bytes();
        let (mut start, mut end) = (range.start as usize, range.end as usize);
        let after = |mut at: usize| {
            while matches!(bytes.get(at), Some(b' ' | b'\t')) {
                at += 1;
            }
            at
        };
        let separator = matches!(bytes.get(after(end)), Some(b',' | b';'));
        if separator {
            end = after(end) + 1;
        }
        if self.starts_line(start as u32) && self.ends_line(end as u32) {
            start = line_start(self.text, start);
            end = line_end(self.text, end);
        } else if separator {
            end = after(end);
        } else {
            while start > 0 && matches!(bytes[start - 1], b' ' | b'\t') {
                start -= 1;
            }
            if start > 0 && matches!(bytes[start - 1], b',' | b';') {
                start -= 1;
            }
        }
        Edit::delete(TextRange::new(start as u32, end as u32))
    }

    /// A name near `wanted` that the file does not use.
    pub(super) fn fresh(&self, wanted: &str) -> String {
        let taken = |name: &str| self.index.has_word(&self.parse.tree, name);
        if !taken(wanted) {
            return wanted.to_owned();
        }
        (2..)
            .map(|n| format!("{wanted}{n}"))
            .find(|name| !taken(name))
            .unwrap_or_default()
    }

    /// Every item of a kind in the package.
    pub(super) fn items<N: AstNode<'a>>(&self) -> impl Iterator<Item = N> {
        self.index.items().filter_map(N::cast)
    }

    /// The item of a kind and name: this file's if it has one, else the package's first.
    pub(super) fn item<N: HasName<'a>>(&self, name: &str) -> Option<N> {
        let named = self.index.named(name);
        let own = named.iter().filter(|n| self.is_own(**n));
        own.chain(&named).copied().find_map(N::cast)
    }

    /// Whether a node stands in the file of the diagnostic, and may be edited.
    pub(super) fn is_own(&self, node: Node<'_>) -> bool {
        std::ptr::eq(node.tree(), &raw const self.parse.tree)
    }

    /// The function whose body holds the report, lambdas and handlers between them excluded.
    pub(super) fn function(&self) -> Option<ast::FnDef<'a>> {
        std::iter::once(self.node())
            .chain(self.node().ancestors())
            .take_while(|n| !matches!(n.kind(), SyntaxKind::LambdaExpr | SyntaxKind::Handler))
            .find_map(ast::FnDef::cast)
    }
}

/// Where the doc comments begin that stand directly before a token; the token's own start without any.
pub(super) fn doc_start(first: Token<'_>) -> u32 {
    let mut start = first.range().start;
    let mut at = first.prev();
    while let Some(token) = at {
        match token.kind() {
            SyntaxKind::DocComment => start = token.range().start,
            SyntaxKind::Whitespace => {}
            SyntaxKind::Newline if token.text().matches('\n').count() < 2 => {}
            _ => break,
        }
        at = token.prev();
    }
    start
}

/// Whether every place that a hint names is one of a text.
fn fits(hint: &FixHint, text: &str) -> bool {
    let at = |offset: u32| text.is_char_boundary(offset as usize);
    let mut fits = true;
    hint.clone().each_place(|place| {
        fits &= match place {
            Place::At(offset) => at(*offset),
            Place::Range(r) => r.start <= r.end && at(r.start) && at(r.end),
        };
    });
    fits
}

/// The innermost view of a type at or around a node.
pub(super) fn enclosing<'a, N: AstNode<'a>>(node: Node<'a>) -> Option<N> {
    std::iter::once(node)
        .chain(node.ancestors())
        .find_map(N::cast)
}

/// The statement that a node is part of, and the block around it.
pub(super) fn statement(node: Node<'_>) -> Option<(Node<'_>, ast::Block<'_>)> {
    let mut at = node;
    loop {
        let parent = at.parent()?;
        if let Some(block) = ast::Block::cast(parent) {
            return Some((at, block));
        }
        at = parent;
    }
}

/// Whether an expression needs no parentheses before a postfix operator.
pub(super) fn is_postfix(expr: ast::Expr<'_>) -> bool {
    use ast::Expr;
    matches!(
        expr,
        Expr::Literal(_)
            | Expr::SelfExpr(_)
            | Expr::PathExpr(_)
            | Expr::FieldExpr(_)
            | Expr::ScopeExpr(_)
            | Expr::TurbofishExpr(_)
            | Expr::ParenExpr(_)
            | Expr::TupleExpr(_)
            | Expr::ArrayExpr(_)
            | Expr::RepeatExpr(_)
            | Expr::MapLit(_)
            | Expr::StructLit(_)
            | Expr::MacroCall(_)
            | Expr::CallExpr(_)
            | Expr::MethodCallExpr(_)
            | Expr::IndexExpr(_)
            | Expr::PropagateExpr(_)
    )
}

/// The text of an expression, ready to be followed by a postfix operator.
pub(super) fn receiver(expr: ast::Expr<'_>) -> String {
    if is_postfix(expr) {
        expr.text().to_owned()
    } else {
        format!("({})", expr.text())
    }
}

/// A value of a type given as source text: its zero, or a panic where none is known.
pub(super) fn default_value(ty: &str) -> String {
    let ty = ty.trim();
    let head = ty.split(['[', '!', ' ']).next().unwrap_or_default();
    match head {
        _ if ty.starts_with('[') => "[]".into(),
        _ if ty.contains('!') => "panic(\"todo\")".into(),
        "I8" | "I16" | "I32" | "I64" | "I128" | "ISize" | "U8" | "U16" | "U32" | "U64" | "U128"
        | "USize" => "0".into(),
        "F32" | "F64" => "0.0".into(),
        "Bool" => "false".into(),
        "Char" => "' '".into(),
        "Str" => "\"\"".into(),
        "String" => "String(\"\")".into(),
        "Bytes" => "b\"\"".into(),
        "Duration" => "0s".into(),
        "Size" => "0B".into(),
        "Unit" | "()" => "()".into(),
        "Option" => "None".into(),
        "Vec" => "[]".into(),
        "Map" => "Map.new()".into(),
        _ => "panic(\"todo\")".into(),
    }
}

/// Whether [`default_value`] knows a value rather than a panic.
pub(super) fn has_default(ty: &str) -> bool {
    !default_value(ty).starts_with("panic")
}
