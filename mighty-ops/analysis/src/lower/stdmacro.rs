//! Calls of the standard macros: their raw arguments become expressions, holes of templates included.
//! Must not judge templates or argument counts; expansion does (MT6002, MT6009 to MT6012).

use syntax::ast::{self, AstNode, Expr as AstExpr, HasName};
use syntax::{Node, SyntaxKind, TextRange};

use super::body::Cx;
use super::names::{Meaning, Usage};
use crate::expand::format;
use crate::hir::*;

/// Levels of trees of arguments that are lowered inside each other; what is deeper is left alone. The stack of
/// a check has room for them above the tree of the file.
const MAX_LEVELS: u32 = 1024;

/// What the raw arguments are wrapped into before they are parsed.
const HEAD: &str = "fn a(){";

/// A standard macro by its name.
pub(super) fn by_name(name: &str) -> Option<StdMacro> {
    Some(match name {
        "assert" => StdMacro::Assert,
        "assert_eq" => StdMacro::AssertEq,
        "assert_ne" => StdMacro::AssertNe,
        "debug" => StdMacro::Debug,
        "unreachable" => StdMacro::Unreachable,
        "format" => StdMacro::Format,
        "vec" => StdMacro::Vec,
        _ => return None,
    })
}

impl Cx<'_, '_> {
    pub(super) fn std_macro(&mut self, mac: StdMacro, m: ast::MacroCall<'_>) -> ExprId {
        let node = m.syntax();
        let Some(tree) = m.args() else {
            return self.missing(node);
        };
        // Brackets hold arguments as parentheses do.
        let raw = tree.text();
        let text = match raw.strip_prefix('[').and_then(|r| r.strip_suffix(']')) {
            Some(inner) => format!("{HEAD}({inner})}}"),
            None => format!("{HEAD}{raw}}}"),
        };
        let parse = syntax::parse(text);
        let _ = m.name();
        let body = parse.file().items().next().and_then(|i| match i {
            ast::Item::FnDef(f) if parse.errors.is_empty() => f.block()?.tail(),
            _ => None,
        });
        let levels = self.macro_depth + parse.tree.max_depth();
        let Some(body) = body.filter(|_| levels <= MAX_LEVELS) else {
            return self.missing(node);
        };
        let parts: Vec<AstExpr<'_>> = match body {
            AstExpr::TupleExpr(t) => t.elements().collect(),
            AstExpr::ParenExpr(p) => p.inner().into_iter().collect(),
            other => vec![other],
        };
        let outer = self.inside;
        let call = self.node_id(node);
        let shift = i64::from(self.at(tree.range()).start) - HEAD.len() as i64;
        self.inside = Some((shift, call));
        let depth = std::mem::replace(&mut self.macro_depth, levels);
        let mut args: Vec<ExprId> = parts.iter().map(|e| self.expr(*e)).collect();
        if mac == StdMacro::Format
            && let Some(AstExpr::Literal(l)) = parts.first()
        {
            self.holes(*l, &mut args);
        }
        self.macro_depth = depth;
        self.inside = outer;
        let args = self.expr_list(&args);
        self.add(ExprKind::StdMacro { mac, args }, node)
    }

    /// The plain call, the legacy form.
    pub(super) fn legacy_macro(
        &mut self,
        mac: StdMacro,
        args: Option<ast::ArgList<'_>>,
        node: Node<'_>,
    ) -> ExprId {
        let values: Vec<AstExpr<'_>> = args
            .into_iter()
            .flat_map(|l| l.args())
            .filter_map(ast::Arg::value)
            .collect();
        let mut found: Vec<ExprId> = values.iter().map(|e| self.expr(*e)).collect();
        if mac == StdMacro::Format
            && let Some(AstExpr::Literal(l)) = values.first()
        {
            self.holes(*l, &mut found);
        }
        let args = self.expr_list(&found);
        self.add(ExprKind::StdMacro { mac, args }, node)
    }

    /// `{name}` and `{name:spec}` read the variable of that name.
    fn holes(&mut self, template: ast::Literal<'_>, args: &mut Vec<ExprId>) {
        let ast::LitToken::Str(s) = template.token() else {
            return;
        };
        let raw = s.raw();
        let Some(quote) = s.token().text().find('"') else {
            return;
        };
        let start = s.token().range().start + quote as u32 + 1;
        let plain = s.token().kind() == SyntaxKind::Str;
        for hole in format::scan(raw, plain).holes {
            let Some(name) = hole.name else { continue };
            let at = start + name.start as u32;
            let range = self.at(TextRange::new(at, start + name.end as u32));
            args.push(self.hole(&raw[name], range, template.syntax()));
        }
    }

    fn hole(&mut self, name: &str, range: TextRange, node: Node<'_>) -> ExprId {
        let name = self.lower.hir.names.intern(name);
        let res = match self.meaning(name, Usage::Plain) {
            Meaning::Res(res) => res,
            Meaning::Prefix(_) => self.unknown(name, range, Usage::Plain),
        };
        self.add_at(ExprKind::Path(res), range, node)
    }
}
