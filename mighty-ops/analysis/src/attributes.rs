//! The `@` attributes: MT1003, MT1004, `@tool` (MT6013 to MT6016) and `@computer_use` (MT6017 to MT6020).
//! Must not touch `#[…]`: other attributes are kept and ignored, derive lists belong to the traits ([R:G77]).

use syntax::ast::{AstNode, Attr, FnDef};
use syntax::{Node, SyntaxKind, TextRange, Token, Tree};

use crate::diagnostic::{Diagnostic, FixHint, Sink};
use crate::package::{FileId, Package};
use crate::resolve::suggest;

const TOOL: &str = "tool";
const COMPUTER_USE: &str = "computer_use";

/// Checks all attributes of a package. Ranges are those of the written text.
pub(crate) fn check(package: &Package, sink: &mut Sink) {
    for (i, file) in package.files.iter().enumerate() {
        check_tree(&file.parse.tree, FileId(i as u32), sink);
    }
}

fn check_tree(tree: &Tree, file: FileId, sink: &mut Sink) {
    for node in tree.nodes().filter(|n| n.kind() == SyntaxKind::Attr) {
        let Some(attr) = Attr::cast(node).filter(|a| a.is_at()) else {
            continue;
        };
        let (Some(name), Some(owner)) = (attr.name(), node.parent()) else {
            continue;
        };
        let place = Place {
            file,
            attr: node.range(),
            name,
            owner,
        };
        place.check(&arguments(attr), sink);
    }
}

/// An argument: its key, if it is named, and its tokens.
struct Arg<'t> {
    key: Option<Token<'t>>,
    value: Vec<Token<'t>>,
    range: TextRange,
}

fn arguments(attr: Attr<'_>) -> Vec<Arg<'_>> {
    let tokens: Vec<Token<'_>> = attr.args().collect();
    let [open, inner @ .., close] = tokens.as_slice() else {
        return Vec::new();
    };
    if open.kind() != SyntaxKind::LParen || close.kind() != SyntaxKind::RParen {
        return Vec::new();
    }
    let mut depth = 0i32;
    let parts = inner.split(|t| {
        depth += i32::from(t.kind().is_opener()) - i32::from(t.kind().is_closer());
        depth == 0 && t.kind() == SyntaxKind::Comma
    });
    parts
        .filter_map(|part| {
            let (first, last) = (part.first()?, part.last()?);
            let named = part
                .get(1)
                .is_some_and(|t| matches!(t.kind(), SyntaxKind::Colon | SyntaxKind::Eq));
            let value = if named { &part[2..] } else { part };
            let from = value.first().unwrap_or(first);
            Some(Arg {
                key: named.then_some(*first),
                value: value.to_vec(),
                range: TextRange::new(from.range().start, last.range().end),
            })
        })
        .collect()
}

struct Place<'t> {
    file: FileId,
    attr: TextRange,
    name: Token<'t>,
    owner: Node<'t>,
}

impl Place<'_> {
    fn error(&self, code: u16, range: TextRange, title: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.file, range, title)
    }

    fn check(&self, args: &[Arg<'_>], sink: &mut Sink) {
        let name = self.name.text();
        let function = match self.owner.kind() {
            SyntaxKind::FnDef => FnDef::cast(self.owner),
            // `export c fn` is a function with a word before it.
            SyntaxKind::ExportItem => self.owner.child(SyntaxKind::FnDef).and_then(FnDef::cast),
            SyntaxKind::AgentDef | SyntaxKind::ProtocolDef => None,
            _ => {
                return self.misplaced(
                    "an attribute with `@` describes a function, agent or protocol",
                    sink,
                );
            }
        };
        match name {
            TOOL => match function {
                Some(f) => self.tool(args, f, sink),
                None => self.misplaced("`@tool` describes a function", sink),
            },
            COMPUTER_USE => {
                self.computer_use(args, self.owner.kind() == SyntaxKind::AgentDef, sink)
            }
            _ => {
                let mut d = self.error(
                    1003,
                    self.name.range(),
                    format!("there is no attribute `@{name}`"),
                );
                match suggest::nearest(name, [TOOL, COMPUTER_USE]) {
                    Some((to, distance)) => {
                        d = d
                            .note(format!("did you mean `@{to}`?"))
                            .hint(FixHint::Rename {
                                to: to.to_owned(),
                                distance,
                            });
                    }
                    None => d = d.note("the attributes are `@tool` and `@computer_use`"),
                }
                sink.push(d);
            }
        }
    }

    fn misplaced(&self, why: &str, sink: &mut Sink) {
        let title = format!("`@{}` does not belong here", self.name.text());
        sink.push(
            self.error(1004, self.name.range(), title)
                .note(why)
                .hint(FixHint::Delete { range: self.attr }),
        );
    }

    fn tool(&self, args: &[Arg<'_>], function: FnDef<'_>, sink: &mut Sink) {
        let described = args
            .first()
            .is_some_and(|a| a.key.is_none() && is_text(&a.value));
        if !described {
            let at = args.first().map_or(self.name.range(), |a| a.range);
            let mut d = self.error(
                6013,
                at,
                "the first argument of `@tool` has to be a description in quotes",
            );
            // Before a named argument or in place of a wrong one.
            d = d.hint(match args.first() {
                None if self.attr.end == self.name.range().end => FixHint::Insert {
                    at: self.attr.end,
                    text: "(\"TODO\")".into(),
                },
                None => FixHint::Insert {
                    at: self.attr.end - 1,
                    text: "\"TODO\"".into(),
                },
                Some(Arg { key: Some(key), .. }) => FixHint::Insert {
                    at: key.range().start,
                    text: "\"TODO\", ".into(),
                },
                Some(a) => FixHint::Replace {
                    range: a.range,
                    text: "\"TODO\"".into(),
                },
            });
            sink.push(d);
        }
        for arg in args
            .iter()
            .filter(|a| a.key.is_some_and(|k| k.text() == "cap"))
        {
            if !is_paths(&arg.value) {
                let title = "`cap` of `@tool` has to be a capability path such as `fs.read`";
                sink.push(self.error(6014, arg.range, title));
            }
        }
        if let Some(generics) = function.generics().filter(|g| g.params().next().is_some()) {
            let title = "a tool has one schema, so its function takes no type parameters";
            sink.push(self.error(6015, generics.range(), title));
        }
        for param in function.params().into_iter().flat_map(|l| l.params()) {
            if param.ty().is_none() {
                let at = param.range();
                sink.push(
                    self.error(
                        6016,
                        at,
                        format!("parameter `{}` of a tool needs a type", param.text()),
                    )
                    .hint(FixHint::Annotate {
                        at: at.end,
                        ty: "Str".into(),
                    }),
                );
            }
        }
    }

    fn computer_use(&self, args: &[Arg<'_>], is_agent: bool, sink: &mut Sink) {
        let named = |key: &'static str| {
            args.iter()
                .filter(move |a| a.key.is_some_and(|k| k.text() == key))
        };
        if is_agent && named("cap").next().is_none() {
            let cap = "cap: computer.screen + computer.input";
            let (at, text) = if self.attr.end == self.name.range().end {
                (self.attr.end, format!("({cap})"))
            } else if args.is_empty() {
                (self.attr.end - 1, cap.to_owned())
            } else {
                (args[args.len() - 1].range.end, format!(", {cap}"))
            };
            sink.push(
                self.error(
                    6017,
                    self.name.range(),
                    "`@computer_use` does not say which capabilities it needs",
                )
                .hint(FixHint::Insert { at, text }),
            );
        }
        for key in ["width", "height"] {
            for arg in named(key).filter(|a| !is_positive(&a.value)) {
                let title = format!("`{key}` has to be a positive whole number of pixels");
                sink.push(self.error(6018, arg.range, title));
            }
        }
        for arg in named("cap").filter(|a| !is_paths(&a.value)) {
            let title = "`cap` has to be made of paths such as `computer.screen + computer.input`";
            sink.push(self.error(6019, arg.range, title));
        }
        for arg in named("model").filter(|a| !is_text(&a.value)) {
            sink.push(self.error(6020, arg.range, "`model` has to be a name in quotes"));
        }
    }
}

fn is_text(value: &[Token<'_>]) -> bool {
    matches!(value, [t] if matches!(t.kind(), SyntaxKind::Str | SyntaxKind::RawStr))
}

fn is_positive(value: &[Token<'_>]) -> bool {
    let [t] = value else { return false };
    match syntax::ast::LitToken::of(*t) {
        Some(syntax::ast::LitToken::Int(n)) => n.value().is_some_and(|v| v > 0),
        _ => false,
    }
}

/// `a.b`, or several of them joined with `+`.
fn is_paths(value: &[Token<'_>]) -> bool {
    let word = |t: &Token<'_>| match t.kind() {
        SyntaxKind::TrueKw | SyntaxKind::FalseKw => false,
        k => k == SyntaxKind::Ident || k.is_keyword(),
    };
    let mut want_word = true;
    for t in value {
        let fits = if want_word {
            word(t)
        } else {
            matches!(t.kind(), SyntaxKind::Dot | SyntaxKind::Plus)
        };
        if !fits {
            return false;
        }
        want_word = !want_word;
    }
    !want_word
}
