//! A guess at a type from the syntax alone, for the few fixes that need one before types are known (MT0021).
//! Gives up on anything that is not plain; it must not grow into the type checker.

use syntax::ast::{self, AstNode, Expr, HasName, LitToken};
use syntax::{SyntaxKind, TextRange};

use super::cx::Cx;
use super::draft::{Draft, Edit, Kind};
use crate::diagnostic::FixHint;

/// MT0021
pub(super) fn return_type(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let function: ast::FnDef<'_> = cx.enclosing()?;
    let at = function.params()?.range().end;
    let inferred = match cx.hint() {
        FixHint::Annotate { ty, .. } => Some(ty.clone()),
        _ => of_body(cx, function),
    };
    let (ty, hundredths, why) = match inferred {
        Some(ty) => (
            ty,
            100,
            "This is the type of the value that the body ends with.",
        ),
        None => (
            "Unit".to_owned(),
            70,
            "`Unit` says that callers get nothing back; write another type if the body has a value.",
        ),
    };
    Some(vec![Draft::new(
        Kind::AddReturnType,
        hundredths,
        format!("add `-> {ty}`"),
        why,
        vec![Edit::insert(at, format!(" -> {ty}"))],
    )])
}

fn of_body(cx: &Cx<'_>, function: ast::FnDef<'_>) -> Option<String> {
    let params = |name: &str| {
        function.params()?.params().find_map(|p| {
            (p.name()?.text() == name).then(|| p.ty().map(|t| t.text().to_owned()))?
        })
    };
    let scope = Scope {
        cx,
        params: &params,
    };
    if let Some(body) = function.expr_body() {
        return scope.of(body.expr()?, 0);
    }
    let block = function.block()?;
    if block.tail().is_some() {
        return scope.of(Expr::Block(block), 0);
    }
    // Without a tail the value is that of the `return`s.
    let mut found: Option<String> = None;
    for node in block.syntax().descendants() {
        if node.kind() == SyntaxKind::LambdaExpr {
            return None;
        }
        if let Some(ret) = ast::ReturnExpr::cast(node) {
            let ty = match ret.value() {
                Some(value) => scope.of(value, 0)?,
                None => "Unit".into(),
            };
            if found.as_ref().is_some_and(|f| *f != ty) {
                return None;
            }
            found = Some(ty);
        }
    }
    Some(found.unwrap_or_else(|| "Unit".into()))
}

struct Scope<'c, 'a> {
    cx: &'c Cx<'a>,
    params: &'c dyn Fn(&str) -> Option<String>,
}

impl Scope<'_, '_> {
    /// `depth` bounds the way down; a guess is not worth more.
    fn of(&self, expr: Expr<'_>, depth: u8) -> Option<String> {
        if depth > 32 {
            return None;
        }
        let of = |e: Expr<'_>| self.of(e, depth + 1);
        match expr {
            Expr::Literal(literal) => literal_type(literal),
            Expr::ParenExpr(p) => of(p.inner()?),
            Expr::TupleExpr(t) if t.elements().next().is_none() => Some("Unit".into()),
            Expr::PathExpr(p) => self.of_name(p.name()?.text(), expr.range(), depth),
            Expr::StructLit(s) => {
                let path = s.path()?.path_segments()?;
                (path.len() == 1).then(|| path[0].text().to_owned())
            }
            Expr::MacroCall(m) => match m.name()?.text() {
                "format" => Some("Str".into()),
                "assert" | "assert_eq" | "assert_ne" => Some("Unit".into()),
                _ => None,
            },
            Expr::BinaryExpr(_) => self.of_binary(expr, depth),
            Expr::CastExpr(c) => Some(c.ty()?.text().to_owned()),
            Expr::AssignExpr(_) | Expr::WhileExpr(_) | Expr::ForExpr(_) => Some("Unit".into()),
            Expr::Block(block) => match block.tail() {
                Some(tail) => of(tail),
                None if block.is_empty() => Some("Unit".into()),
                None => None,
            },
            Expr::IfExpr(_) => {
                let mut blocks = expr.syntax().children().filter_map(ast::Block::cast);
                let first = of(Expr::Block(blocks.next()?))?;
                let second = of(Expr::Block(blocks.next()?))?;
                (first == second).then_some(first)
            }
            Expr::MethodCallExpr(m) => match m.name()?.text() {
                "to_str" | "trim" | "to_upper" | "to_lower" => Some("Str".into()),
                "is_empty" | "contains" | "starts_with" | "ends_with" | "is_some" | "is_none"
                | "is_ok" | "is_err" => Some("Bool".into()),
                _ => None,
            },
            Expr::CallExpr(c) => {
                let path = c.callee()?.path_segments()?;
                let [name] = path.as_slice() else { return None };
                match name.text() {
                    "String" => return Some("String".into()),
                    "log" | "print" | "println" | "eprint" | "eprintln" => {
                        return Some("Unit".into());
                    }
                    _ => {}
                }
                let callee: ast::FnDef<'_> = self.cx.item(name.text())?;
                callee.generics().is_none().then_some(())?;
                Some(callee.ret_type()?.ty()?.text().to_owned())
            }
            _ => None,
        }
    }

    fn of_binary(&self, expr: Expr<'_>, depth: u8) -> Option<String> {
        let op = expr.syntax().own_tokens().next()?;
        match op.kind() {
            SyntaxKind::EqEq
            | SyntaxKind::NotEq
            | SyntaxKind::Lt
            | SyntaxKind::LtEq
            | SyntaxKind::Gt
            | SyntaxKind::GtEq
            | SyntaxKind::AmpAmp
            | SyntaxKind::PipePipe => return Some("Bool".into()),
            SyntaxKind::Shl | SyntaxKind::Shr => return None,
            _ => {}
        }
        let mut sides = expr.syntax().children().filter_map(Expr::cast);
        let (left, right) = (sides.next()?, sides.next()?);
        let open = |e: Expr<'_>| matches!(e.unparen(), Some(Expr::Literal(_)));
        match (self.of(left, depth + 1), self.of(right, depth + 1)) {
            (Some(a), Some(b)) if a == b => Some(a),
            // An unsuffixed number takes the type of the other side.
            (Some(a), Some(_)) if open(right) && !open(left) => Some(a),
            (Some(_), Some(b)) if open(left) && !open(right) => Some(b),
            _ => None,
        }
    }

    fn of_name(&self, name: &str, at: TextRange, depth: u8) -> Option<String> {
        let function: ast::FnDef<'_> = self.cx.enclosing()?;
        let block = function.block();
        let mut found = None;
        for stmt in block.into_iter().flat_map(ast::Block::stmts) {
            let ast::Stmt::LetStmt(binding) = stmt else {
                continue;
            };
            if binding.range().start >= at.start {
                break;
            }
            if binding.pattern().is_some_and(|p| p.text() == name) {
                found = Some(binding);
            }
        }
        match found {
            Some(binding) => match binding.ty() {
                Some(ty) => Some(ty.text().to_owned()),
                None => self.of(binding.value()?, depth + 1),
            },
            None => (self.params)(name),
        }
    }
}

fn literal_type(literal: ast::Literal<'_>) -> Option<String> {
    let text = literal.text();
    let suffixed = |all: &[&str], other: &str| {
        let found = all.iter().find(|s| text.ends_with(&s.to_lowercase()));
        Some(found.map_or(other, |s| s).to_owned())
    };
    match literal.token() {
        LitToken::Int(_) if text.starts_with("0x") => None,
        LitToken::Int(_) => suffixed(
            &[
                "I8", "I16", "I32", "I64", "I128", "ISize", "U8", "U16", "U32", "U64", "U128",
                "USize",
            ],
            "I32",
        ),
        LitToken::Float(_) => suffixed(&["F32", "F64"], "F64"),
        _ => match literal.syntax().first_token()?.kind() {
            SyntaxKind::Str | SyntaxKind::RawStr => Some("Str".into()),
            SyntaxKind::ByteStr => Some("Bytes".into()),
            SyntaxKind::Char => Some("Char".into()),
            SyntaxKind::TrueKw | SyntaxKind::FalseKw => Some("Bool".into()),
            SyntaxKind::DurationLit => Some("Duration".into()),
            SyntaxKind::SizeLit => Some("Size".into()),
            _ => None,
        },
    }
}
