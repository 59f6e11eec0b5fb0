//! Procedural macros at their declaration: purity and plain excess (MT6005, MT6008; language.md §22).
//! Must not run them; nothing does.

use rustc_hash::FxHashSet;
use syntax::ast::{AstNode, HasName, IntLit, LitToken, ProcMacroDef, TokenTree};
use syntax::{Node, SyntaxKind, Token, Tree};

use crate::diagnostic::{Diagnostic, Sink};
use crate::package::FileId;

/// Bytes or elements of which a body may plainly ask.
const MAX_SIZE: u128 = 16 << 20;

/// Heads of paths that lead to the outside world.
const IMPURE: &[&str] = &["effect", "env", "io", "model", "rand", "time"];

/// Checks the declarations of a file.
pub(super) fn check(tree: &Tree, file: FileId, sink: &mut Sink) {
    for node in tree
        .nodes()
        .filter(|n| n.kind() == SyntaxKind::ProcMacroDef)
    {
        let Some(def) = ProcMacroDef::cast(node) else {
            continue;
        };
        let (Some(name), Some(body)) = (def.name(), def.body()) else {
            continue;
        };
        if let Some(path) = impure(def, body) {
            let title = format!(
                "the procedural macro `{}` is not pure: it uses `{path}`",
                name.text()
            );
            sink.push(
                Diagnostic::error(6005, file, name.range(), title)
                    .note("its result has to depend on its input alone"),
            );
        }
        let parse = syntax::parse(format!("fn t() {}", body.text()));
        if parse.has_hard_error() {
            continue;
        }
        if let Some(why) = parse.tree.nodes().find_map(excess) {
            let title = format!(
                "the procedural macro `{}` needs too much: {why}",
                name.text()
            );
            sink.push(
                Diagnostic::error(6008, file, name.range(), title)
                    .note("a procedural macro stays within 100 ms, 16 MiB and 100,000 steps"),
            );
        }
    }
}

/// The first path of a call that leads outside, as written.
fn impure(def: ProcMacroDef<'_>, body: TokenTree<'_>) -> Option<String> {
    let tokens: Vec<Token<'_>> = body.inner().filter(|t| !t.kind().is_trivia()).collect();
    // Names that the macro binds itself are values, not modules.
    let params = def
        .params()
        .into_iter()
        .flat_map(|p| p.params())
        .filter_map(|p| p.name());
    let mut own: FxHashSet<&str> = params.map(Token::text).collect();
    for pair in tokens.windows(3) {
        if pair[0].kind() == SyntaxKind::LetKw {
            own.extend(
                pair[1..]
                    .iter()
                    .filter(|t| t.kind() == SyntaxKind::Ident)
                    .map(|t| t.text()),
            );
        }
    }
    let separator = |i: usize| {
        tokens
            .get(i)
            .is_some_and(|t| matches!(t.kind(), SyntaxKind::Dot | SyntaxKind::ColonColon))
    };
    let word = |i: usize| {
        tokens
            .get(i)
            .is_some_and(|t| t.kind() == SyntaxKind::Ident || t.kind().is_keyword())
    };
    let mut i = 0;
    while i < tokens.len() {
        let start = i;
        i += 1;
        if !word(start) || (start > 0 && separator(start - 1)) {
            continue;
        }
        while separator(i) && word(i + 1) {
            i += 2;
        }
        // `std.time.now()` is the same path with its library in front.
        let head = if tokens[start].text() == "std" && i > start + 1 {
            start + 2
        } else {
            start
        };
        let name = tokens[head].text();
        if !IMPURE.contains(&name) || own.contains(name) {
            continue;
        }
        let called = tokens
            .get(i)
            .is_some_and(|t| t.kind() == SyntaxKind::LParen);
        if called || (name == "effect" && i > head + 1) {
            return Some(tokens[start..i].iter().map(|t| t.text()).collect());
        }
    }
    None
}

/// Why a construct cannot stay within the limits.
fn excess(node: Node<'_>) -> Option<String> {
    match node.kind() {
        SyntaxKind::LoopExpr if !leaves(node) => {
            Some("a `loop` without `break` or `return`".to_owned())
        }
        SyntaxKind::RepeatExpr => {
            let n = node
                .children()
                .nth(1)
                .and_then(size)
                .filter(|n| *n > MAX_SIZE)?;
            Some(format!("an array of {n} elements"))
        }
        SyntaxKind::CallExpr | SyntaxKind::MethodCallExpr => {
            let list = node.child(SyntaxKind::ArgList)?;
            let head = list.first_token()?.prev_significant()?;
            if !matches!(head.text(), "with_capacity" | "repeat") {
                return None;
            }
            let n = list
                .children()
                .filter_map(size)
                .max()
                .filter(|n| *n > MAX_SIZE)?;
            Some(format!("`{}({n})`", head.text()))
        }
        _ => None,
    }
}

/// The value of a literal.
fn size(node: Node<'_>) -> Option<u128> {
    if node.kind() != SyntaxKind::Literal {
        return None;
    }
    match LitToken::of(node.first_token()?)? {
        LitToken::Int(n) => IntLit::value(n),
        LitToken::Size(t) => syntax::ast::size_value(t),
        _ => None,
    }
}

/// Whether something in a loop may end it. Inner loops take their own `break`s, lambdas their own `return`s.
fn leaves(node: Node<'_>) -> bool {
    let mut todo: Vec<(Node<'_>, bool)> = node.children().map(|c| (c, true)).collect();
    while let Some((n, breaks)) = todo.pop() {
        match n.kind() {
            SyntaxKind::BreakExpr if breaks => return true,
            SyntaxKind::ReturnExpr | SyntaxKind::PropagateExpr => return true,
            SyntaxKind::LambdaExpr | SyntaxKind::FnDef => continue,
            SyntaxKind::CallExpr if n.text().starts_with("panic") => return true,
            SyntaxKind::MacroCall if n.text().starts_with("unreachable!") => return true,
            _ => {}
        }
        let inner = matches!(
            n.kind(),
            SyntaxKind::LoopExpr | SyntaxKind::WhileExpr | SyntaxKind::ForExpr
        );
        todo.extend(n.children().map(|c| (c, breaks && !inner)));
    }
    false
}
