//! Rules of the parser's code band that need a finished construct: MT0020 and MT0021 (language.md §27).
//! Must not grow into name resolution.

use std::collections::HashMap;

use crate::SyntaxKind::*;
use crate::ast::{self, AstNode, HasName};
use crate::error::{SyntaxError, TextRange, code};
use crate::tree::Tree;

pub(crate) fn check(tree: &Tree, errors: &mut Vec<SyntaxError>) {
    for node in tree.nodes() {
        match node.kind() {
            AgentDef => {
                if let Some(agent) = ast::AgentDef::cast(node) {
                    duplicate_handlers(agent, errors);
                }
            }
            FnDef => {
                if let Some(f) = ast::FnDef::cast(node) {
                    missing_return_type(f, errors);
                }
            }
            _ => {}
        }
    }
}

fn duplicate_handlers(agent: ast::AgentDef<'_>, errors: &mut Vec<SyntaxError>) {
    let mut seen: HashMap<&str, TextRange> = HashMap::new();
    for name in agent.handlers().filter_map(HasName::name) {
        if let Some(first) = seen.get(name.text()) {
            let title = format!("this agent already has a handler for `{}`", name.text());
            let mut e = SyntaxError::new(code::DUPLICATE_ON_HANDLER, name.range(), title);
            e.related = Some(*first);
            errors.push(e);
        } else {
            seen.insert(name.text(), name.range());
        }
    }
}

/// [R:G63]: module-level `pub fn` with a body, except `main`.
fn missing_return_type(f: ast::FnDef<'_>, errors: &mut Vec<SyntaxError>) {
    let module_level = f
        .syntax()
        .parent()
        .is_some_and(|p| matches!(p.kind(), SourceFile | ItemList));
    let public = f.visibility().is_some_and(|v| !v.is_crate());
    let Some(name) = f.name() else { return };
    if module_level && public && f.ret_type().is_none() && f.has_body() && name.text() != "main" {
        let title = format!(
            "the public function `{}` does not say what it returns",
            name.text()
        );
        let mut e = SyntaxError::new(code::PUB_NEEDS_RETURN_TYPE, name.range(), title);
        e.notes.push("write `-> Unit` if it returns nothing".into());
        errors.push(e);
    }
}
