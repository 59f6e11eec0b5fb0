//! The body of a declarative macro made ready: where parameters go and which names are the body's own
//! (language.md §22, rule 3). Must not look at calls.

use rustc_hash::FxHashMap;
use syntax::ast::{AstNode, FieldPat, MacroCall, TokenTree};
use syntax::{Node, SyntaxKind, TextRange, Token};

use super::format;
use super::map::Builder;

/// A part of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Text as it is written.
    Text(String),
    /// An argument.
    Param(usize),
    /// A name that the body binds: its index in [`Template::binders`].
    Bound(usize),
}

/// A name that the body binds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Binder {
    pub(super) name: String,
    /// By `let`: always renamed. Others (`for`, `match`, lambda parameters) only where an argument uses a
    /// name of the caller that they would capture.
    pub(super) by_let: bool,
}

/// A compiled body.
#[derive(Debug, Default)]
pub(super) struct Template {
    parts: Vec<Part>,
    pub(super) binders: Vec<Binder>,
}

/// What the body does with one of its tokens.
#[derive(Clone, Copy)]
enum Use {
    Param(usize),
    Bound(usize),
    /// `x` of `P { x }`, which has to become `x: renamed`.
    Shorthand(usize),
}

impl Template {
    /// Compiles the braces of a macro. `None` if the body is empty.
    pub(super) fn compile(body: TokenTree<'_>, params: &[&str]) -> Option<Self> {
        let tokens: Vec<Token<'_>> = body.inner().collect();
        let significant = |t: &&Token<'_>| !t.kind().is_trivia();
        let first = tokens.iter().find(significant)?.range().start;
        let last = tokens.iter().rfind(significant)?.range().end;
        let inside = |t: &&Token<'_>| t.range().start >= first && t.range().end <= last;
        let mut uses: FxHashMap<u32, Use> = FxHashMap::default();
        for t in tokens.iter().filter(inside) {
            let param = params.iter().position(|p| *p == t.text());
            if let Some(i) = param.filter(|_| t.kind() == SyntaxKind::Ident) {
                uses.insert(t.range().start, Use::Param(i));
            }
        }
        let body: Vec<Token<'_>> = tokens.iter().filter(inside).copied().collect();
        let mut walk = Walk {
            origin: Vec::new(),
            uses,
            holes: FxHashMap::default(),
            binders: Vec::new(),
            scope: Vec::new(),
            hidden: Vec::new(),
        };
        // Calls in the body read best as calls of functions, whose arguments have a shape; but they may hold
        // any tokens. A body that does not parse at all is expanded as it is; the call reports what comes out.
        for plain_calls in [true, false] {
            let parse = walk.parse(&body, plain_calls);
            if !parse.has_hard_error() {
                walk.walk(parse.tree.root());
                break;
            }
        }
        let mut out = Self {
            parts: Vec::new(),
            binders: std::mem::take(&mut walk.binders),
        };
        for t in tokens.iter().filter(inside) {
            match walk.uses.get(&t.range().start) {
                None => match walk.holes.get(&t.range().start) {
                    Some(holes) => out.literal(t.text(), holes),
                    None => out.text(t.text()),
                },
                Some(Use::Param(i)) => out.parts.push(Part::Param(*i)),
                Some(Use::Bound(i)) => out.parts.push(Part::Bound(*i)),
                Some(Use::Shorthand(i)) => {
                    out.text(t.text());
                    out.text(": ");
                    out.parts.push(Part::Bound(*i));
                }
            }
        }
        Some(out)
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(t)) => t.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// A `format!` template some of whose holes name variables of the body.
    fn literal(&mut self, text: &str, holes: &[(std::ops::Range<usize>, usize)]) {
        let mut at = 0;
        for (range, binder) in holes {
            self.text(&text[at..range.start]);
            self.parts.push(Part::Bound(*binder));
            at = range.end;
        }
        self.text(&text[at..]);
    }

    /// Appends the block that replaces a call. `rename` says which binders get
    /// the number `n`. Stops, with
    /// `false`, as soon as the text is longer than `limit`.
    pub(super) fn expand(
        &self,
        out: &mut Builder<'_>,
        call: TextRange,
        args: &[TextRange],
        n: usize,
        rename: &[bool],
        limit: usize,
    ) -> bool {
        // Parentheses, because a bare block would be a statement of its own (§2(c) S4).
        out.push("({ ", call);
        for part in &self.parts {
            if out.text.len() > limit {
                return false;
            }
            match part {
                Part::Text(t) => out.push(t, call),
                Part::Param(i) => {
                    out.push("(", call);
                    out.copy(args[*i]);
                    out.push(")", call);
                }
                Part::Bound(i) => {
                    let b = &self.binders[*i];
                    if rename[*i] {
                        out.push(&format!("__mac_{n}_{}", b.name), call);
                    } else {
                        out.push(&b.name, call);
                    }
                }
            }
        }
        // A comment may stand last.
        out.push("\n})", call);
        out.text.len() <= limit
    }
}

struct Walk {
    /// Offsets of kept tokens in the parsed text and in the written one, ascending.
    origin: Vec<(u32, u32)>,
    /// By written offset.
    uses: FxHashMap<u32, Use>,
    /// By written offset of a literal: what its holes name.
    holes: FxHashMap<u32, Vec<(std::ops::Range<usize>, usize)>>,
    binders: Vec<Binder>,
    scope: Vec<(String, usize)>,
    /// Scopes around nested functions.
    hidden: Vec<Vec<(String, usize)>>,
}

/// A step of [`Walk::walk`].
enum Step<'t> {
    Enter(Node<'t>),
    /// Bind what the patterns under a node bind; `true` for `let`.
    Bind(Node<'t>, bool),
    /// Forget the names beyond a depth.
    Leave(usize),
    /// Begin with an empty scope.
    Hide,
    /// Go back to the scope before the last `Hide`.
    Show,
}

impl Walk {
    /// The body with `(name)` for every parameter, which has the shape of each of its expansions; the loop
    /// around it allows `break`.
    fn parse(&mut self, body: &[Token<'_>], plain_calls: bool) -> syntax::Parse {
        let mut text = String::from("fn t() { loop {\n");
        self.origin.clear();
        for (i, t) in body.iter().enumerate() {
            if matches!(self.uses.get(&t.range().start), Some(Use::Param(_))) {
                text.push('(');
                text.push_str(t.text());
                text.push(')');
            } else if !(plain_calls && is_call_bang(body, i)) {
                self.origin.push((text.len() as u32, t.range().start));
                text.push_str(t.text());
            }
        }
        text.push_str("\n} }");
        syntax::parse(text)
    }

    fn origin(&self, t: Token<'_>) -> Option<u32> {
        let i = self
            .origin
            .binary_search_by_key(&t.range().start, |o| o.0)
            .ok()?;
        Some(self.origin[i].1)
    }

    fn lookup(&self, name: &str) -> Option<usize> {
        self.scope
            .iter()
            .rev()
            .find(|(n, _)| n == name)
            .map(|(_, i)| *i)
    }

    fn refer(&mut self, t: Token<'_>, make: fn(usize) -> Use) {
        if let Some(binder) = self.lookup(t.text())
            && let Some(at) = self.origin(t)
        {
            self.uses.insert(at, make(binder));
        }
    }

    /// Goes through a tree in the order in which names come into scope. Bodies may nest deeply, so the way is
    /// kept in a list of steps, not on the stack.
    fn walk(&mut self, root: Node<'_>) {
        let mut steps = vec![Step::Enter(root)];
        let mut next = Vec::new();
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(node) => {
                    self.enter(node, &mut next);
                    // The last step pushed is the first one taken.
                    steps.extend(next.drain(..).rev());
                }
                Step::Bind(node, by_let) => self.patterns(node, by_let),
                Step::Leave(depth) => self.scope.truncate(depth),
                Step::Hide => {
                    let outer = std::mem::take(&mut self.scope);
                    self.hidden.push(outer);
                }
                Step::Show => self.scope = self.hidden.pop().unwrap_or_default(),
            }
        }
    }

    /// What to do about a node, in order.
    fn enter<'t>(&mut self, node: Node<'t>, steps: &mut Vec<Step<'t>>) {
        let depth = self.scope.len();
        let others = || {
            node.children()
                .filter(|c| !c.kind().is_pattern())
                .map(Step::Enter)
        };
        let parameters = || {
            let lists = node
                .children()
                .filter(|c| c.kind() == SyntaxKind::ParamList);
            lists.flat_map(Node::children).map(|p| Step::Bind(p, false))
        };
        match node.kind() {
            SyntaxKind::LetStmt | SyntaxKind::LetCond => {
                // The initialiser does not see the new names, the block around sees them to its end.
                steps.extend(others());
                steps.push(Step::Bind(node, true));
                return;
            }
            SyntaxKind::PathExpr => {
                if let Some(t) = node.first_token() {
                    self.refer(t, Use::Bound);
                }
                return;
            }
            SyntaxKind::StructLitField => {
                let short = node.own_token(SyntaxKind::Colon).is_none();
                if let Some(t) = node.first_token().filter(|_| short) {
                    self.refer(t, Use::Shorthand);
                }
                steps.extend(others());
            }
            SyntaxKind::MacroCall => self.raw_call(node),
            SyntaxKind::CallExpr => {
                let mut parts = node.children();
                let callee = parts.next().is_some_and(|c| c.text() == "format");
                let first = parts.next().and_then(|list| list.children().next());
                if let Some(t) = first.and_then(|a| a.first_token()).filter(|_| callee) {
                    self.holes(t);
                }
                steps.extend(others());
            }
            SyntaxKind::ForExpr => {
                // Of what is no pattern the first is the iterable, which does not see the new names.
                let mut parts = others();
                steps.extend(parts.next());
                steps.push(Step::Bind(node, false));
                steps.extend(parts);
            }
            SyntaxKind::MatchArm => {
                steps.push(Step::Bind(node, false));
                steps.extend(others());
            }
            SyntaxKind::IfExpr => {
                // What `if let` binds ends with the first block.
                for (i, child) in node.children().enumerate() {
                    steps.push(Step::Enter(child));
                    if i == 1 {
                        steps.push(Step::Leave(depth));
                    }
                }
            }
            SyntaxKind::LambdaExpr => {
                steps.extend(parameters());
                steps.extend(others());
            }
            SyntaxKind::FnDef => {
                // A nested function sees no locals around it.
                steps.push(Step::Hide);
                steps.extend(parameters());
                steps.extend(others());
                steps.push(Step::Show);
                return;
            }
            SyntaxKind::Block | SyntaxKind::WhileExpr => steps.extend(others()),
            _ => {
                steps.extend(node.children().map(Step::Enter));
                return;
            }
        }
        steps.push(Step::Leave(depth));
    }

    /// Binds what the patterns directly under a node bind.
    fn patterns(&mut self, node: Node<'_>, by_let: bool) {
        // An alternative binds the same names again.
        let first = self.scope.len();
        for pattern in node.children().filter(|c| c.kind().is_pattern()) {
            for p in pattern.descendants() {
                let (token, make): (_, fn(usize) -> Use) = match p.kind() {
                    SyntaxKind::IdentPat => (
                        p.own_tokens().find(|t| t.kind() == SyntaxKind::Ident),
                        Use::Bound,
                    ),
                    SyntaxKind::FieldPat => (
                        FieldPat::cast(p).and_then(FieldPat::shorthand),
                        Use::Shorthand,
                    ),
                    _ => continue,
                };
                let Some(t) = token else { continue };
                // A capital is a unit variant or a constant. What is no token of the body is a parameter.
                if t.text().starts_with(char::is_uppercase) {
                    continue;
                }
                let Some(at) = self.origin(t) else { continue };
                let known = self.scope[first..]
                    .iter()
                    .find(|(n, _)| n == t.text())
                    .map(|(_, i)| *i);
                let binder = known.unwrap_or_else(|| {
                    self.binders.push(Binder {
                        name: t.text().to_owned(),
                        by_let,
                    });
                    self.scope
                        .push((t.text().to_owned(), self.binders.len() - 1));
                    self.binders.len() - 1
                });
                self.uses.insert(at, make(binder));
            }
        }
    }

    /// Arguments that are no expressions: names of the body mean themselves there too.
    fn raw_call(&mut self, node: Node<'_>) {
        let Some(call) = MacroCall::cast(node) else {
            return;
        };
        let Some(args) = call.args() else { return };
        for t in args.inner() {
            if t.kind() == SyntaxKind::Ident {
                let after_dot = t
                    .prev_significant()
                    .is_some_and(|p| matches!(p.kind(), SyntaxKind::Dot | SyntaxKind::ColonColon));
                let key = t
                    .next_significant()
                    .is_some_and(|n| n.kind() == SyntaxKind::Colon);
                let message = t
                    .prev_significant()
                    .is_some_and(|p| matches!(p.kind(), SyntaxKind::Bang | SyntaxKind::Question))
                    && t.next_significant()
                        .is_some_and(|n| n.kind() == SyntaxKind::LParen);
                if !after_dot && !key && !message {
                    self.refer(t, Use::Bound);
                }
            }
        }
    }

    fn holes(&mut self, t: Token<'_>) {
        if !matches!(t.kind(), SyntaxKind::Str | SyntaxKind::RawStr) {
            return;
        }
        let text = t.text();
        let Some(open) = text.find('"') else { return };
        let found = format::scan(&text[open + 1..], t.kind() == SyntaxKind::Str);
        let mut named = Vec::new();
        for name in found.holes.into_iter().filter_map(|h| h.name) {
            let name = name.start + open + 1..name.end + open + 1;
            if let Some(binder) = self.lookup(&text[name.clone()]) {
                named.push((name, binder));
            }
        }
        if let Some(at) = self.origin(t).filter(|_| !named.is_empty()) {
            self.holes.insert(at, named);
        }
    }
}

/// Whether the token is the `!` of `name!(`.
pub(super) fn is_call_bang(tokens: &[Token<'_>], i: usize) -> bool {
    let kind = |i: usize| tokens.get(i).map(|t| t.kind());
    let dotted = i >= 2
        && tokens[i - 1]
            .prev_significant()
            .is_some_and(|t| matches!(t.kind(), SyntaxKind::Dot | SyntaxKind::ColonColon));
    kind(i) == Some(SyntaxKind::Bang)
        && i >= 1
        && kind(i - 1) == Some(SyntaxKind::Ident)
        && kind(i + 1) == Some(SyntaxKind::LParen)
        && !dotted
}

/// Significant tokens of macro arguments split at the commas of depth 0, as ranges without outer blanks.
/// One comma may end the list; an empty range stands for an argument that is not there.
pub(crate) fn split_args<'t>(tokens: impl Iterator<Item = Token<'t>>) -> Vec<TextRange> {
    let mut args = Vec::new();
    let mut depth = 0i32;
    let mut current: Option<TextRange> = None;
    let mut comma = None;
    for t in tokens {
        // Unknown bytes are trivia for the grammar, but part of the argument they stand in.
        if t.kind().is_trivia() && t.kind() != SyntaxKind::Error {
            continue;
        }
        if t.kind() == SyntaxKind::Comma && depth == 0 {
            let at = t.range().start;
            args.push(current.take().unwrap_or(TextRange::new(at, at)));
            comma = Some(t.range().end);
            continue;
        }
        depth += i32::from(t.kind().is_opener()) - i32::from(t.kind().is_closer());
        let r = t.range();
        current = Some(TextRange::new(
            current.map_or(r.start, |c: TextRange| c.start),
            r.end,
        ));
    }
    if let Some(last) = current {
        args.push(last);
    } else if let (Some(at), true) = (comma, args.iter().all(|a| a.is_empty())) {
        args.push(TextRange::new(at, at));
    }
    args
}
