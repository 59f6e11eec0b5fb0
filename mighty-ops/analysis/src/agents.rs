//! Agents against their protocols: MT4030 to MT4033, MT2026, and parameters of `init` (language.md §18.1).
//! Must not type bodies or calls; inference checks replies, `spawn`, sends and asks. (MT0020 is the parser's.)

use rustc_hash::FxHashSet;
use syntax::ast::{self, AstNode};
use syntax::{SyntaxKind, TextRange};

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::hir::{Agent, Handler, Hir, Message, Name, Protocol, ProtocolId};
use crate::resolve::suggest;
use crate::ty::{Ty, TyKind};

/// Near names looked for per package.
const MAX_SUGGESTIONS: usize = 200;

/// Checks all agents. Ranges are those of the expanded trees.
pub(crate) fn check(hir: &Hir, sink: &mut Sink) {
    let mut pass = Pass {
        hir,
        sink,
        suggestions: MAX_SUGGESTIONS,
    };
    for agent in &hir.agents {
        pass.init(agent);
        if !agent.protocols.is_empty() {
            pass.agent(agent);
        }
    }
}

struct Pass<'a> {
    hir: &'a Hir,
    sink: &'a mut Sink,
    suggestions: usize,
}

impl Pass<'_> {
    fn agent(&mut self, agent: &Agent) {
        let known: Vec<ProtocolId> = agent.protocols.iter().filter_map(|p| p.id).collect();
        // An imported protocol may declare anything: then only MT2026 is left, as a warning.
        let all_known = known.len() == agent.protocols.len();
        let handled: FxHashSet<Name> = agent.handlers.iter().map(|h| h.name).collect();
        for handler in &agent.handlers {
            match handler.message {
                Some((p, m)) if all_known => {
                    let message = &self.hir.protocols[p.index()].messages[m as usize];
                    self.parameters(agent, handler, message);
                }
                Some(_) => {}
                None => self.undeclared(agent, handler, &known, &handled, all_known),
            }
        }
        if all_known {
            self.missing(agent, &known, &handled);
        }
    }

    /// MT4030 and MT4031.
    fn parameters(&mut self, agent: &Agent, handler: &Handler, message: &Message) {
        let (hir, file) = (self.hir, agent.head.file);
        let name = hir.text(handler.name);
        let (want, have) = (message.params.len(), handler.params.len());
        if want != have {
            let title = format!(
                "the handler of `{name}` takes {}, the message has {want}",
                parameters(have)
            );
            let mut report = Diagnostic::error(4030, file, handler.name_range, title).note(
                format!("the protocol declares `{}`", self.signature(message)),
            );
            if let Some(list) = self.list(agent, handler, SyntaxKind::ParamList) {
                // What the body may use keeps its name.
                let own = handler
                    .params
                    .iter()
                    .map(|p| hir.text_of(file, hir.files[file.index()].tree.node(p.node).range()));
                let rest = message.params.iter().skip(have).map(|p| hir.text(p.0));
                let names: Vec<&str> = own.take(want).chain(rest).collect();
                let text = format!("({})", names.join(", "));
                report = report.hint(FixHint::Replace { range: list, text });
            }
            self.sink.push(report);
            return;
        }
        for (param, (_, _, ty)) in handler.params.iter().zip(&message.params) {
            // An untyped parameter has the type of the message.
            let Some(found) = param.ty else { continue };
            if self.agree(found, *ty) {
                continue;
            }
            let (expected, found) = (hir.show(*ty), hir.show(found));
            let range = param.ty_node.map_or(param.range, |n| {
                hir.files[file.index()].tree.node(n).range()
            });
            let title = format!("`{name}` brings `{expected}` here, the handler says `{found}`");
            self.sink.push(
                Diagnostic::error(4031, file, range, title)
                    .note(format!(
                        "the protocol declares `{}`",
                        self.signature(message)
                    ))
                    .hint(FixHint::ExpectedFound { expected, found }),
            );
        }
    }

    /// MT4033 and MT2026.
    fn undeclared(
        &mut self,
        agent: &Agent,
        handler: &Handler,
        known: &[ProtocolId],
        handled: &FxHashSet<Name>,
        all_known: bool,
    ) {
        let (hir, file) = (self.hir, agent.head.file);
        let name = hir.text(handler.name);
        if all_known {
            let title = match known {
                [one] => format!(
                    "protocol `{}` has no message `{name}`",
                    hir.text(self.protocol(*one).head.name)
                ),
                _ => format!(
                    "no protocol of `{}` has a message `{name}`",
                    hir.text(agent.head.name)
                ),
            };
            self.sink.push(
                Diagnostic::error(4033, file, handler.name_range, title).hint(FixHint::Delete {
                    range: handler.range,
                }),
            );
        }
        let title = format!(
            "no known protocol of `{}` declares `{name}`",
            hir.text(agent.head.name)
        );
        let mut report = Diagnostic::warning(2026, file, handler.name_range, title);
        if let Some((to, distance)) = self.near(name, known, handled) {
            report = report
                .note(format!("did you mean `{to}`?"))
                .hint(FixHint::Rename {
                    to: to.to_owned(),
                    distance,
                });
        } else if let Some(hint) = self.declaration(agent, handler, known) {
            report = report.hint(hint);
        }
        self.sink.push(report);
    }

    /// A message that is still without handler and has a similar name.
    fn near(
        &mut self,
        name: &str,
        known: &[ProtocolId],
        handled: &FxHashSet<Name>,
    ) -> Option<(&str, u8)> {
        self.suggestions = self.suggestions.checked_sub(1)?;
        let hir = self.hir;
        let messages = known
            .iter()
            .flat_map(|p| &hir.protocols[p.index()].messages);
        let open = messages
            .filter(|m| !handled.contains(&m.name))
            .map(|m| hir.text(m.name));
        suggest::nearest(name, open)
    }

    /// The message to declare, in the first protocol that is written in this file.
    fn declaration(
        &self,
        agent: &Agent,
        handler: &Handler,
        known: &[ProtocolId],
    ) -> Option<FixHint> {
        let hir = self.hir;
        let file = agent.head.file;
        let head = known
            .iter()
            .map(|p| &self.protocol(*p).head)
            .find(|h| h.file == file)?;
        let list = hir.files[file.index()]
            .tree
            .node(head.node)
            .child(SyntaxKind::MessageList)?;
        let last = list.children().last().map(|m| m.range().end);
        let at = last.unwrap_or(list.range().start + 1);
        let params: Vec<String> = handler
            .params
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let name = p
                    .name
                    .map_or_else(|| format!("a{i}"), |n| hir.text(n).to_owned());
                let ty = p.ty.map_or_else(|| "I32".to_owned(), |t| hir.show(t));
                format!("{name}: {ty}")
            })
            .collect();
        let reply = handler
            .written_ret
            .map_or_else(String::new, |t| format!(" -> {}", hir.show(t)));
        let text = format!(
            "\n  {}({}){reply}",
            hir.text(handler.name),
            params.join(", ")
        );
        Some(FixHint::Declare { at, text })
    }

    /// MT4032, one report per agent: they would all point at its name.
    fn missing(&mut self, agent: &Agent, known: &[ProtocolId], handled: &FxHashSet<Name>) {
        let hir = self.hir;
        let mut seen = FxHashSet::default();
        let mut missing: Vec<(&Message, &Protocol)> = Vec::new();
        for p in known {
            let protocol = self.protocol(*p);
            let open = protocol
                .messages
                .iter()
                .filter(|m| !handled.contains(&m.name));
            missing.extend(open.filter(|m| seen.insert(m.name)).map(|m| (m, protocol)));
        }
        let Some(((first, protocol), rest)) = missing.split_first() else {
            return;
        };
        let name = hir.text(agent.head.name);
        let title = match rest.len() {
            0 => format!(
                "`{name}` has no handler for `{}` of `{}`",
                hir.text(first.name),
                hir.text(protocol.head.name)
            ),
            n => format!(
                "`{name}` has no handlers for {} messages of its protocols",
                n + 1
            ),
        };
        let mut report = Diagnostic::error(4032, agent.head.file, agent.head.name_range, title);
        for (m, p) in &missing {
            report = report.note(format!(
                "protocol `{}` declares `{}`",
                hir.text(p.head.name),
                self.signature(m)
            ));
        }
        let node = hir.files[agent.head.file.index()]
            .tree
            .node(agent.head.node);
        if let Some(body) = node.child(SyntaxKind::AgentBody) {
            let last = body.children().last().map(|m| m.range().end);
            let at = last.unwrap_or(body.range().start + 1);
            let text = missing
                .iter()
                .map(|(m, _)| {
                    let params: Vec<&str> = m.params.iter().map(|p| hir.text(p.0)).collect();
                    let body = if m.ret == Ty::UNIT {
                        "{ }"
                    } else {
                        "{ panic(\"todo\") }"
                    };
                    format!("\n  on {}({}) {body}", hir.text(m.name), params.join(", "))
                })
                .collect();
            report = report.hint(FixHint::Declare { at, text });
        }
        self.sink.push(report);
    }

    /// MT2005: constructor and `init` both get the arguments of `spawn` ([R:G123]).
    fn init(&mut self, agent: &Agent) {
        let Some(init) = &agent.init else { return };
        let (ctor, own) = (agent.ctor.len(), init.params.len());
        if ctor == 0 || own == 0 || ctor == own {
            return;
        }
        let range = TextRange::new(init.range.start, init.range.start + 4);
        let name = self.hir.text(agent.head.name);
        let title = format!(
            "`init` takes {}, but `{name}` has {ctor} in its header",
            parameters(own)
        );
        self.sink
            .push(Diagnostic::error(2005, agent.head.file, range, title).note(
            "`spawn` passes the same arguments to both: leave one list empty or make them agree",
        ));
    }

    /// Whether a handler may write one type for the other. Str and String stand for each other ([R:G26]).
    fn agree(&self, a: Ty, b: Ty) -> bool {
        if a == b {
            return true;
        }
        let tys = &self.hir.tys;
        let open = |k| matches!(k, TyKind::Error | TyKind::Unknown);
        let all = |x: &[Ty], y: &[Ty]| {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| self.agree(*x, *y))
        };
        match (tys.kind(a), tys.kind(b)) {
            (x, y) if open(x) || open(y) => true,
            (TyKind::Str | TyKind::String, TyKind::Str | TyKind::String) => true,
            (TyKind::Tuple(x), TyKind::Tuple(y)) => all(tys.list(x), tys.list(y)),
            (TyKind::Struct(i, x), TyKind::Struct(j, y)) => i == j && all(tys.list(x), tys.list(y)),
            (TyKind::Enum(i, x), TyKind::Enum(j, y)) => i == j && all(tys.list(x), tys.list(y)),
            (TyKind::Fn(x, r), TyKind::Fn(y, s)) => {
                all(tys.list(x), tys.list(y)) && self.agree(r, s)
            }
            (TyKind::Array(x, n), TyKind::Array(y, m)) => {
                (n == m || n.is_none() || m.is_none()) && self.agree(x, y)
            }
            (TyKind::Ref(x, m), TyKind::Ref(y, n)) | (TyKind::Ptr(x, m), TyKind::Ptr(y, n)) => {
                m == n && self.agree(x, y)
            }
            (TyKind::Result(x, e), TyKind::Result(y, f))
            | (TyKind::Map(x, e), TyKind::Map(y, f)) => self.agree(x, y) && self.agree(e, f),
            (TyKind::Slice(x), TyKind::Slice(y))
            | (TyKind::Option(x), TyKind::Option(y))
            | (TyKind::Vec(x), TyKind::Vec(y))
            | (TyKind::List(x), TyKind::List(y))
            | (TyKind::Set(x), TyKind::Set(y))
            | (TyKind::Range(x), TyKind::Range(y))
            | (TyKind::Task(x), TyKind::Task(y))
            | (TyKind::AgentRef(x), TyKind::AgentRef(y)) => self.agree(x, y),
            _ => false,
        }
    }

    fn protocol(&self, id: ProtocolId) -> &Protocol {
        &self.hir.protocols[id.index()]
    }

    /// A message as it would be declared.
    fn signature(&self, m: &Message) -> String {
        let hir = self.hir;
        let params: Vec<String> = m
            .params
            .iter()
            .map(|(n, _, t)| format!("{}: {}", hir.text(*n), hir.show(*t)))
            .collect();
        let reply = if m.ret == Ty::UNIT {
            String::new()
        } else {
            format!(" -> {}", hir.show(m.ret))
        };
        format!("{}({}){reply}", hir.text(m.name), params.join(", "))
    }

    /// A part of a handler's node.
    fn list(&self, agent: &Agent, handler: &Handler, kind: SyntaxKind) -> Option<TextRange> {
        let node = self.hir.files[agent.head.file.index()]
            .tree
            .node(handler.node);
        ast::Handler::cast(node)?
            .syntax()
            .child(kind)
            .map(|n| n.range())
    }
}

fn parameters(n: usize) -> String {
    match n {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        n => format!("{n} parameters"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::package::{Options, Package, SourceFile};

    fn found(files: &[(&str, &str)]) -> Vec<Diagnostic> {
        let mut package = Package::default();
        for (module, text) in files {
            let mut file = SourceFile::root(format!("{module}.mty"), text);
            file.module = module
                .split('.')
                .filter(|m| !m.is_empty())
                .map(str::to_owned)
                .collect();
            package.files.push(file);
        }
        crate::check(&package, &Options::default())
            .unwrap()
            .diagnostics
    }

    fn codes(text: &str) -> Vec<u16> {
        found(&[("", text)])
            .iter()
            .map(|d| d.code.number())
            .collect()
    }

    #[test]
    fn header_and_init_have_equal_lists_or_one_is_empty() {
        let agent = |header: &str, init: &str| {
            format!("agent A{header} {{ n = 0\n init({init}) {{ n = 1 }} }}")
        };
        for (header, init) in [
            ("", "a: I32"),
            ("(x: I32)", ""),
            ("(x: I32, y: I32)", "a: I32, b: I32"),
            ("()", ""),
        ] {
            assert_eq!(codes(&agent(header, init)), [], "{header} {init}");
        }
        for (header, init) in [
            ("(x: I32)", "a: I32, b: I32"),
            ("(x: I32, y: I32)", "a: I32"),
        ] {
            assert_eq!(codes(&agent(header, init)), [2005], "{header} {init}");
        }
    }

    #[test]
    fn all_missing_handlers_are_one_report_with_all_stubs() {
        let text = "protocol P { One(n: I32), Two() -> Str }\nagent A: P { }";
        let all = found(&[("", text)]);
        assert_eq!((all.len(), all[0].notes.len()), (1, 2));
        let FixHint::Declare { at, text: stubs } = &all[0].hint else {
            panic!("{:?}", all[0].hint)
        };
        assert_eq!(&text[*at as usize - 1..*at as usize], "{");
        assert_eq!(stubs, "\n  on One(n) { }\n  on Two() { panic(\"todo\") }");
    }

    #[test]
    fn protocols_of_other_files_are_known_but_not_edited_from_here() {
        let lib = ("wire", "pub protocol P { One(n: I32) }");
        let main = "use wire.P\nagent A: P { on One(n) { }  on Unrelated() { } }";
        let all = found(&[("", main), lib]);
        let brief: Vec<(u16, bool)> = all
            .iter()
            .map(|d| (d.code.number(), matches!(d.hint, FixHint::Declare { .. })))
            .collect();
        assert_eq!(brief, [(2026, false), (4033, false)]);
    }
}
