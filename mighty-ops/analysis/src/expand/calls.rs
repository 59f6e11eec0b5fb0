//! Calls of macros in a tree: where they are, what they mean and whether they can be expanded.
//! Must not build text.

use rustc_hash::{FxHashMap, FxHashSet};
use syntax::ast::{AstNode, CallExpr, Expr, FieldPat, MacroCall};
use syntax::{Node, NodeId, SyntaxKind, TextRange, Token, Tree};

use super::names::{Meaning, Scope};
use super::template::{is_call_bang, split_args};

/// A call that a round has to replace.
#[derive(Debug)]
pub(super) struct Site {
    /// The whole call.
    pub(super) range: TextRange,
    pub(super) name: TextRange,
    /// The arguments, between the parentheses.
    pub(super) inside: TextRange,
    pub(super) args: Vec<TextRange>,
    pub(super) meaning: Meaning,
    /// The function, handler or initialiser it stands in.
    pub(super) owner: Option<NodeId>,
    /// Bytes among the arguments that are no token.
    pub(super) unknown: Option<TextRange>,
}

/// A call of a standard macro, which stays in the tree.
#[derive(Debug)]
pub(super) struct StandardCall<'t> {
    /// Index into `names::STANDARD`.
    pub(super) which: usize,
    pub(super) name: TextRange,
    pub(super) inside: TextRange,
    pub(super) args: Vec<TextRange>,
    /// The first token of the first argument.
    pub(super) first: Option<Token<'t>>,
    /// Bytes among the arguments that are no token.
    pub(super) unknown: Option<TextRange>,
    /// Whether a `;` stands between the arguments, as in `vec!(0; 4)`.
    pub(super) repeats: bool,
}

/// What a tree holds.
#[derive(Debug, Default)]
pub(super) struct Found<'t> {
    /// In source order; none inside another one.
    pub(super) sites: Vec<Site>,
    /// In source order, those inside others included.
    pub(super) standard: Vec<StandardCall<'t>>,
}

/// The names that the code around a call binds, by the node of that code.
pub(super) struct Locals<'t> {
    tree: &'t Tree,
    sets: FxHashMap<NodeId, FxHashSet<&'t str>>,
}

impl<'t> Locals<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            sets: FxHashMap::default(),
        }
    }

    /// Whether the code at `owner` binds a name anywhere.
    pub(super) fn binds(&mut self, owner: Option<NodeId>, name: &str) -> bool {
        let Some(id) = owner else { return false };
        let tree = self.tree;
        self.sets
            .entry(id)
            .or_insert_with(|| bound_in(tree.node(id)))
            .contains(name)
    }
}

fn bound_in(node: Node<'_>) -> FxHashSet<&str> {
    let mut names = FxHashSet::default();
    let words = |n: Node<'_>| n.kind() == SyntaxKind::IdentPat;
    for n in node.descendants() {
        match n.kind() {
            _ if words(n) => names.extend(
                n.own_tokens()
                    .find(|t| t.kind() == SyntaxKind::Ident)
                    .map(Token::text),
            ),
            SyntaxKind::FieldPat => {
                names.extend(
                    FieldPat::cast(n)
                        .and_then(FieldPat::shorthand)
                        .map(Token::text),
                );
            }
            SyntaxKind::FnDef | SyntaxKind::ConstDef => {
                names.extend(
                    n.own_tokens()
                        .find(|t| t.kind() == SyntaxKind::Ident)
                        .map(Token::text),
                );
            }
            _ => {}
        }
    }
    // State, constructor parameters and methods are in scope in every member of an agent.
    let agent = node.ancestors().find(|n| n.kind() == SyntaxKind::AgentDef);
    let Some(agent) = agent else { return names };
    let params = agent.child(SyntaxKind::ParamList);
    let patterns = params
        .into_iter()
        .flat_map(Node::descendants)
        .filter(|n| words(*n));
    names.extend(patterns.filter_map(Node::first_token).map(Token::text));
    let body = agent.child(SyntaxKind::AgentBody);
    for n in body.into_iter().flat_map(Node::children) {
        let fields = match n.kind() {
            SyntaxKind::StateBlock => n
                .descendants()
                .filter(|c| c.kind() == SyntaxKind::StateField)
                .collect(),
            SyntaxKind::StateField => vec![n],
            SyntaxKind::FnDef => {
                let name = n.own_tokens().find(|t| t.kind() == SyntaxKind::Ident);
                names.extend(name.map(Token::text));
                continue;
            }
            _ => continue,
        };
        for f in fields {
            // `state x = 1`: both words count, which can only make one name more hygienic.
            names.extend(f.own_tokens().take(2).map(Token::text));
        }
    }
    names
}

fn owner_of(node: Node<'_>) -> Option<NodeId> {
    use SyntaxKind::{ConstDef, FnDef, Handler, InitDef, SandboxItem, StateField};
    let all = std::iter::once(node).chain(node.ancestors());
    // The outermost function counts, so that nested ones see a superset.
    all.filter(|n| {
        matches!(
            n.kind(),
            FnDef | Handler | InitDef | ConstDef | StateField | SandboxItem
        )
    })
    .last()
    .map(Node::id)
}

/// Finds all calls. `at` gives the written offset of an offset of the tree.
pub(super) fn find<'t>(
    tree: &'t Tree,
    scope: &Scope<'_>,
    locals: &mut Locals<'t>,
    at: impl Fn(u32) -> u32,
) -> Found<'t> {
    let mut found = Found::default();
    let plain = scope.has_macros();
    // The end of the last call taken: what is inside waits for the next round.
    let mut end = 0;
    for node in tree.nodes() {
        let kind = node.kind();
        if kind != SyntaxKind::MacroCall && !(plain && kind == SyntaxKind::CallExpr) {
            continue;
        }
        if node.range().start < end {
            continue;
        }
        if let Some(call) = MacroCall::cast(node) {
            let (Some(name), Some(args)) = (node.first_token(), call.args()) else {
                continue;
            };
            let tokens: Vec<Token<'t>> = args.inner().collect();
            let call = Call {
                name,
                range: node.range(),
                inside: inner(args.range()),
                tokens: &tokens,
            };
            end = call
                .take(scope, &at, node, locals, &mut found)
                .unwrap_or(end);
        } else if let Some(call) = CallExpr::cast(node) {
            let Some(name) = plain_callee(call) else {
                continue;
            };
            let meaning = scope.lookup(name.text(), at(name.range().start));
            if !matches!(meaning, Meaning::Declared(_)) || scope.functions.contains(name.text()) {
                continue;
            }
            let owner = owner_of(node);
            if locals.binds(owner, name.text()) {
                continue;
            }
            let Some(list) = node.child(SyntaxKind::ArgList) else {
                continue;
            };
            let inside = inner(list.range());
            let tokens = list.tokens().filter(|t| inside.covers(t.range()));
            found.sites.push(Site {
                range: node.range(),
                name: name.range(),
                inside,
                args: split_args(tokens),
                meaning,
                owner,
                unknown: None,
            });
            end = node.range().end;
        }
    }
    found
}

fn plain_callee(call: CallExpr<'_>) -> Option<Token<'_>> {
    match Expr::cast(call.syntax().children().next()?)? {
        Expr::PathExpr(p) => p.name().filter(|t| t.kind() == SyntaxKind::Ident),
        _ => None,
    }
}

fn inner(brackets: TextRange) -> TextRange {
    TextRange::new(brackets.start + 1, brackets.end.max(brackets.start + 2) - 1)
}

struct Call<'a, 't> {
    name: Token<'t>,
    range: TextRange,
    inside: TextRange,
    tokens: &'a [Token<'t>],
}

impl<'t> Call<'_, 't> {
    /// Sorts a `name!(…)` in; the end of the site if it is one.
    fn take(
        &self,
        scope: &Scope<'_>,
        at: &impl Fn(u32) -> u32,
        node: Node<'t>,
        locals: &mut Locals<'t>,
        found: &mut Found<'t>,
    ) -> Option<u32> {
        let meaning = scope.lookup(self.name.text(), at(self.name.range().start));
        if let Meaning::Standard(which) = meaning {
            found.standard.push(StandardCall::new(
                which,
                self.name,
                self.inside,
                self.tokens,
            ));
            self.nested(scope, at, node, locals, found);
            return None;
        }
        found.sites.push(Site {
            range: self.range,
            name: self.name.range(),
            inside: self.inside,
            args: split_args(self.tokens.iter().copied()),
            meaning,
            owner: owner_of(node),
            unknown: unknown(self.tokens),
        });
        Some(self.range.end)
    }

    /// Calls among the raw arguments of a standard macro.
    fn nested(
        &self,
        scope: &Scope<'_>,
        at: &impl Fn(u32) -> u32,
        node: Node<'t>,
        locals: &mut Locals<'t>,
        found: &mut Found<'t>,
    ) {
        let tokens = self.tokens;
        let plain = scope.has_macros();
        let mut i = 0;
        while i < tokens.len() {
            let name = tokens[i];
            i += 1;
            if name.kind() != SyntaxKind::Ident {
                continue;
            }
            let bang = is_call_bang(tokens, i);
            let open = if bang { i + 1 } else { i };
            let called = bang || plain && is_plain_call(tokens, i - 1);
            if !called {
                continue;
            }
            let meaning = scope.lookup(name.text(), at(name.range().start));
            let owner = owner_of(node);
            let is_function = || scope.functions.contains(name.text());
            if !bang
                && (!matches!(meaning, Meaning::Declared(_))
                    || is_function()
                    || locals.binds(owner, name.text()))
            {
                continue;
            }
            let close = closer(tokens, open);
            let Some(last) = tokens.get(close) else {
                continue;
            };
            let inside = TextRange::new(tokens[open].range().end, last.range().start);
            let args = &tokens[open + 1..close];
            if let Meaning::Standard(which) = meaning {
                found
                    .standard
                    .push(StandardCall::new(which, name, inside, args));
                // Its own arguments follow in this very scan.
                i = open + 1;
                continue;
            }
            found.sites.push(Site {
                range: TextRange::new(name.range().start, last.range().end),
                name: name.range(),
                inside,
                args: split_args(args.iter().copied()),
                meaning,
                owner,
                unknown: unknown(args),
            });
            i = close + 1;
        }
    }
}

impl<'t> StandardCall<'t> {
    fn new(which: usize, name: Token<'t>, inside: TextRange, tokens: &[Token<'t>]) -> Self {
        let mut depth = 0i32;
        let repeats = tokens.iter().any(|t| {
            depth += i32::from(t.kind().is_opener()) - i32::from(t.kind().is_closer());
            depth == 0 && t.kind() == SyntaxKind::Semi
        });
        Self {
            which,
            name: name.range(),
            inside,
            args: split_args(tokens.iter().copied()),
            first: tokens.iter().find(|t| !t.kind().is_trivia()).copied(),
            unknown: unknown(tokens),
            repeats,
        }
    }
}

fn unknown(tokens: &[Token<'_>]) -> Option<TextRange> {
    tokens
        .iter()
        .find(|t| t.kind() == SyntaxKind::Error)
        .map(|t| t.range())
}

/// Whether the identifier at `i` is called by its plain name: no method, message, declaration or spawn.
fn is_plain_call(tokens: &[Token<'_>], i: usize) -> bool {
    let next = tokens.get(i + 1).filter(|t| t.kind() == SyntaxKind::LParen);
    let Some(before) = tokens[i].prev_significant() else {
        return false;
    };
    let message = || {
        // `a!Go(…)` is a send, `!go(…)` a negation.
        before.prev_significant().is_some_and(|t| {
            t.kind() == SyntaxKind::Ident || t.kind().is_closer() || t.kind().is_literal()
        })
    };
    next.is_some()
        && match before.kind() {
            SyntaxKind::Dot
            | SyntaxKind::ColonColon
            | SyntaxKind::Question
            | SyntaxKind::FnKw
            | SyntaxKind::SpawnKw => false,
            SyntaxKind::Bang => !message(),
            _ => true,
        }
}

/// Index of the bracket that closes the one at `open`, or the number of tokens.
fn closer(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0usize;
    for (i, t) in tokens.iter().enumerate().skip(open) {
        if t.kind().is_opener() {
            depth += 1;
        } else if t.kind().is_closer() {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return i;
            }
        }
    }
    tokens.len()
}
