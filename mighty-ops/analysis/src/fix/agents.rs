//! Fixes between agents and their protocols. Protocols of other files are read but never edited.

use syntax::ast::{self, AstNode, HasName};

use super::cx::Cx;
use super::draft::{Draft, Edit, Kind};
use super::types::append;
use crate::diagnostic::FixHint;
use crate::resolve::suggest::nearest;

/// The protocols of an agent that the package holds: of several with a name, the one in the agent's module.
fn protocols<'a>(cx: &Cx<'a>, agent: ast::AgentDef<'a>) -> Vec<ast::ProtocolDef<'a>> {
    agent
        .protocols()
        .filter_map(|path| {
            let name = path.last()?.text();
            own_protocol(cx, agent, path).or_else(|| cx.item(name))
        })
        .collect()
}

/// The protocol of the agent's own module that a path names.
fn own_protocol<'a>(
    cx: &Cx<'a>,
    agent: ast::AgentDef<'a>,
    path: ast::Path<'a>,
) -> Option<ast::ProtocolDef<'a>> {
    let module = agent.syntax().parent()?.range();
    let mut segments = path.segments();
    let (only, None) = (segments.next()?, segments.next()) else {
        return None;
    };
    cx.index
        .named(only.text())
        .into_iter()
        .filter(|n| cx.is_own(*n) && n.parent().is_some_and(|p| p.range() == module))
        .find_map(ast::ProtocolDef::cast)
}

fn message<'a>(cx: &Cx<'a>, agent: ast::AgentDef<'a>, name: &str) -> Option<ast::Message<'a>> {
    protocols(cx, agent)
        .into_iter()
        .flat_map(ast::ProtocolDef::messages)
        .find(|m| m.name().is_some_and(|n| n.text() == name))
}

/// MT2026
pub(super) fn unknown_message(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let agent: ast::AgentDef<'_> = cx.enclosing()?;
    let handler: ast::Handler<'_> = cx.enclosing()?;
    let name = handler.name()?;
    let known = protocols(cx, agent);
    let mut drafts = Vec::new();
    // What another module declares is not this agent's to extend.
    let own = agent
        .protocols()
        .find_map(|path| own_protocol(cx, agent, path));
    if let Some(protocol) = own {
        let params: Vec<String> = handler
            .params()
            .into_iter()
            .flat_map(ast::ParamList::params)
            .map(|p| {
                let ty = p.ty().map_or("I32", AstNode::text);
                format!("{}: {ty}", p.name().map_or("value", |n| n.text()))
            })
            .collect();
        let ret = handler
            .ret_type()
            .and_then(ast::RetType::ty)
            .map_or_else(String::new, |t| format!(" -> {}", t.text()));
        let line = format!("{}({}){ret}", name.text(), params.join(", "));
        let list = protocol.message_list()?;
        if let Some(edit) = append(cx, list.syntax(), &[line]) {
            drafts.push(Draft::new(
                Kind::DeclareProtocolMessage,
                80,
                format!("declare `{}`", name.text()),
                "Declared in the protocol, the message can be sent; check the types of its parameters.",
                vec![edit],
            ));
        }
    }
    let handled: Vec<&str> = agent
        .handlers()
        .filter_map(|h| Some(h.name()?.text()))
        .collect();
    let free: Vec<&str> = known
        .iter()
        .flat_map(|p| p.messages())
        .filter_map(|m| Some(m.name()?.text()))
        .filter(|m| !handled.contains(m))
        .collect();
    let near = match cx.hint() {
        FixHint::Rename { to, .. } => Some(to.as_str()),
        _ => nearest(name.text(), free).map(|(n, _)| n),
    };
    if let Some(near) = near {
        drafts.push(Draft::new(
            Kind::RenameToMatchDecl,
            85,
            format!("rename to `{near}`"),
            format!("The protocol declares `{near}`, which has no handler yet."),
            vec![Edit::replace(name.range(), near)],
        ));
    }
    Some(drafts)
}

/// MT4030 and MT4031
pub(super) fn parameters(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let agent: ast::AgentDef<'_> = cx.enclosing()?;
    let handler: ast::Handler<'_> = cx.enclosing()?;
    let declared = message(cx, agent, handler.name()?.text())?;
    let list = handler.params()?;
    let given: Vec<ast::Param<'_>> = list.params().collect();
    let typed = given.iter().any(|p| p.ty().is_some());
    let params: Vec<String> = declared
        .param_views()
        .enumerate()
        .map(|(i, wanted)| {
            let name = given.get(i).and_then(|p| p.name()).or(wanted.name());
            let name = name.map_or("value", |n| n.text());
            match wanted.ty() {
                Some(ty) if typed => format!("{name}: {}", ty.text()),
                _ => name.to_owned(),
            }
        })
        .collect();
    let (kind, label) = if cx.code() == 4030 {
        (Kind::Other, "take the protocol's parameters")
    } else {
        (Kind::TypeConversion, "take the protocol's types")
    };
    Some(vec![Draft::new(
        kind,
        85,
        label,
        "A handler takes what its message carries, in number and type.",
        vec![Edit::replace(
            list.range(),
            format!("({})", params.join(", ")),
        )],
    )])
}

/// MT4032
pub(super) fn missing_handler(cx: &Cx<'_>) -> Option<Vec<Draft>> {
    let agent: ast::AgentDef<'_> = cx.enclosing()?;
    let handled: Vec<&str> = agent
        .handlers()
        .filter_map(|h| Some(h.name()?.text()))
        .collect();
    let missing: Vec<ast::Message<'_>> = protocols(cx, agent)
        .into_iter()
        .flat_map(ast::ProtocolDef::messages)
        .filter(|m| m.name().is_some_and(|n| !handled.contains(&n.text())))
        .collect();
    // The report names the message; where it does not, the first one is meant.
    let named = |m: &&ast::Message<'_>| {
        let quoted = |n: syntax::Token<'_>| format!("`{}`", n.text());
        m.name()
            .is_some_and(|n| cx.diagnostic.title.contains(&quoted(n)))
    };
    let wanted = missing.iter().find(named).or(missing.first())?;
    let name = wanted.name()?.text();
    let params: Vec<&str> = wanted
        .param_views()
        .filter_map(|p| Some(p.name()?.text()))
        .collect();
    let body = match wanted.ret_type() {
        Some(ret) if ret.ty().is_some_and(|t| t.text() != "Unit") => "{ panic(\"todo\") }",
        _ => "{ }",
    };
    let stub = match cx.hint() {
        FixHint::Declare { text, .. } => text.trim().trim_end_matches(',').to_owned(),
        _ => format!("on {name}({}) {body}", params.join(", ")),
    };
    Some(vec![Draft::new(
        Kind::DeclareProtocolMessage,
        85,
        format!("add a handler for `{name}`"),
        "An agent answers every message of its protocols; write what this one does.",
        vec![append(cx, agent.body()?.syntax(), &[stub])?],
    )])
}
