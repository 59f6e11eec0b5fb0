//! The parser's machine: a cursor over the significant tokens, markers that become nodes, reports.
//! Must not know any production; those are in `grammar`.

use crate::SyntaxKind::{self, *};
use crate::error::{SyntaxError, TextRange, code};
use crate::lexer::{INDEX, Lexed, MAX_ERRORS, NL, VIRTUAL};
use crate::tree::PostNode;

/// Grammar levels (expressions, types, patterns) that may be open at once. Brackets have their own
/// limit; this one bounds what nests without them, such as `return return …`.
pub(crate) const MAX_LEVELS: u32 = 1024;

/// A place where a node may begin.
#[derive(Clone, Copy)]
pub(crate) struct Marker {
    tok: u32,
    node: u32,
}

/// An infix operator that waits for its right operand.
#[derive(Clone, Copy)]
pub(crate) struct Pending {
    pub(crate) marker: Marker,
    pub(crate) kind: SyntaxKind,
    pub(crate) rbp: u8,
}

/// What a speculation can go back to.
pub(crate) struct Snapshot {
    pos: usize,
    last_end: u32,
    nodes: usize,
    errors: usize,
    reported_at: usize,
    after_block: usize,
    macro_args: usize,
}

pub(crate) struct Parser<'a> {
    pub(crate) text: &'a str,
    lexed: &'a Lexed,
    kinds: &'a [SyntaxKind],
    pos: usize,
    /// One past the last consumed token.
    last_end: u32,
    pub(crate) nodes: Vec<PostNode>,
    pub(crate) errors: Vec<SyntaxError>,
    /// Newlines are live: the innermost bracket is `{` or none (language.md §2(c)).
    pub(crate) live: bool,
    /// `Path {` is no struct literal here.
    pub(crate) no_struct: bool,
    pub(crate) in_loop: bool,
    /// Position behind the `}` of a block-like statement: counts as a newline (S4).
    pub(crate) after_block: usize,
    /// An interface file: functions and constants need no bodies.
    pub(crate) interface: bool,
    levels: u32,
    reported_at: usize,
    pub(crate) pending: Vec<Pending>,
    pub(crate) prefixes: Vec<(Marker, SyntaxKind)>,
    /// Ranges of macro arguments, where unknown bytes are the macro's business (§22).
    pub(crate) macro_args: Vec<TextRange>,
}

impl<'a> Parser<'a> {
    pub(crate) fn new(text: &'a str, lexed: &'a Lexed) -> Self {
        Self {
            text,
            lexed,
            kinds: &lexed.sig.kinds,
            pos: 0,
            last_end: 0,
            nodes: Vec::with_capacity(lexed.sig.kinds.len()),
            errors: Vec::new(),
            live: true,
            no_struct: false,
            in_loop: false,
            after_block: usize::MAX,
            interface: false,
            levels: 0,
            reported_at: usize::MAX,
            pending: Vec::new(),
            prefixes: Vec::new(),
            macro_args: Vec::new(),
        }
    }

    // ---- looking

    #[inline]
    pub(crate) fn cur(&self) -> SyntaxKind {
        self.kinds[self.pos]
    }

    #[inline]
    pub(crate) fn nth(&self, n: usize) -> SyntaxKind {
        self.kinds.get(self.pos + n).copied().unwrap_or(Eof)
    }

    #[inline]
    pub(crate) fn at(&self, kind: SyntaxKind) -> bool {
        self.cur() == kind
    }

    #[inline]
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// NL(t) of the token `n` ahead.
    #[inline]
    pub(crate) fn nl_at(&self, n: usize) -> bool {
        self.lexed
            .sig
            .toks
            .get(self.pos + n)
            .is_some_and(|t| t & NL != 0)
    }

    #[inline]
    pub(crate) fn nl(&self) -> bool {
        self.lexed.sig.nl(self.pos)
    }

    /// A newline, or what counts as one, ends a complete operand before the current token unless it is
    /// in CONT (S2, S4).
    #[inline]
    pub(crate) fn line_ends(&self) -> bool {
        (self.live && self.nl()) || self.after_block == self.pos
    }

    pub(crate) fn range_at(&self, n: usize) -> TextRange {
        let i = (self.pos + n).min(self.kinds.len() - 1);
        let t = self.lexed.sig.tok(i) as usize;
        let start = self.lexed.starts[t];
        if self.kinds[i] == Eof || self.lexed.sig.toks[i] & VIRTUAL != 0 {
            return TextRange::new(start, start);
        }
        TextRange::new(start, self.lexed.starts[t + 1])
    }

    pub(crate) fn text_at(&self, n: usize) -> &'a str {
        &self.text[std::ops::Range::from(self.range_at(n))]
    }

    pub(crate) fn at_word(&self, word: &str) -> bool {
        self.cur() == Ident && self.text_at(0) == word
    }

    /// Whether the token `n` ahead touches the one before it.
    pub(crate) fn glued(&self, n: usize) -> bool {
        let (a, b) = (self.pos + n - 1, self.pos + n);
        self.lexed
            .sig
            .toks
            .get(b)
            .is_some_and(|t| t & INDEX == self.lexed.sig.tok(a) + 1)
    }

    /// An identifier, or any keyword where a name is wanted (§1.4).
    pub(crate) fn name_at(&self, n: usize) -> bool {
        let k = self.nth(n);
        k == Ident || k.is_keyword()
    }

    /// The significant token consumed last.
    pub(crate) fn prev(&self) -> SyntaxKind {
        self.pos.checked_sub(1).map_or(Eof, |i| self.kinds[i])
    }

    // ---- moving

    #[inline]
    pub(crate) fn bump(&mut self) {
        let tok = self.lexed.sig.toks[self.pos];
        if self.kinds[self.pos] == Eof {
            return;
        }
        self.pos += 1;
        if tok & VIRTUAL == 0 {
            self.last_end = (tok & INDEX) + 1;
        }
    }

    #[inline]
    pub(crate) fn eat(&mut self, kind: SyntaxKind) -> bool {
        let hit = self.cur() == kind;
        if hit {
            self.bump();
        }
        hit
    }

    /// Consumes `kind` or reports what stands there.
    pub(crate) fn expect(&mut self, kind: SyntaxKind, what: &str) -> bool {
        let hit = self.eat(kind);
        if !hit {
            self.unexpected(what);
        }
        hit
    }

    /// Consumes one token, or a whole bracketed group.
    pub(crate) fn skip(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.cur() {
                Eof => return,
                LParen | LBracket | LBrace | TooDeep => depth += 1,
                RParen | RBracket | RBrace | TooDeepEnd => {
                    if depth == 0 {
                        return;
                    }
                    depth -= 1;
                }
                _ => {}
            }
            self.bump();
            if depth == 0 {
                return;
            }
        }
    }

    /// Whether nothing of the current bracket is left.
    pub(crate) fn at_end(&self) -> bool {
        let k = self.cur();
        k.is_closer() || matches!(k, Eof | TooDeepEnd)
    }

    /// Whether the closer of the current bracket is missing in the text.
    pub(crate) fn closes_virtually(&self) -> bool {
        let mut depth = 0usize;
        for (k, t) in self.kinds[self.pos..]
            .iter()
            .zip(&self.lexed.sig.toks[self.pos..])
        {
            if k.is_opener() || *k == TooDeep {
                depth += 1;
            } else if k.is_closer() || *k == TooDeepEnd {
                if depth == 0 {
                    return t & VIRTUAL != 0;
                }
                depth -= 1;
            }
        }
        true
    }

    // ---- nodes

    #[inline]
    pub(crate) fn marker(&self) -> Marker {
        Marker {
            tok: self.lexed.sig.toks[self.pos] & INDEX,
            node: self.nodes.len() as u32,
        }
    }

    /// Makes a node of everything since the marker; nothing consumed makes none.
    #[inline]
    pub(crate) fn done(&mut self, m: Marker, kind: SyntaxKind) {
        if self.last_end > m.tok {
            self.nodes.push(PostNode {
                kind,
                tok_start: m.tok,
                tok_end: self.last_end,
                first: m.node,
            });
        }
    }

    /// The kind of the node finished last.
    pub(crate) fn last_kind(&self) -> SyntaxKind {
        self.nodes.last().map_or(Eof, |n| n.kind)
    }

    /// Whether a finished node's first token is `*`.
    pub(crate) fn starts_with_star(&self, n: PostNode) -> bool {
        self.lexed.kinds[n.tok_start as usize] == Star
    }

    pub(crate) fn range_since(&self, m: Marker) -> TextRange {
        let starts = &self.lexed.starts;
        TextRange::new(
            starts[m.tok as usize],
            starts[(self.last_end as usize).max(m.tok as usize)],
        )
    }

    pub(crate) fn finish_root(&mut self) {
        self.nodes.push(PostNode {
            kind: SourceFile,
            tok_start: 0,
            tok_end: self.lexed.kinds.len() as u32,
            first: 0,
        });
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            pos: self.pos,
            last_end: self.last_end,
            nodes: self.nodes.len(),
            errors: self.errors.len(),
            reported_at: self.reported_at,
            after_block: self.after_block,
            macro_args: self.macro_args.len(),
        }
    }

    pub(crate) fn failed_since(&self, s: &Snapshot) -> bool {
        self.errors.len() > s.errors || self.reported_at != s.reported_at
    }

    pub(crate) fn restore(&mut self, s: &Snapshot) {
        self.pos = s.pos;
        self.last_end = s.last_end;
        self.nodes.truncate(s.nodes);
        self.errors.truncate(s.errors);
        self.reported_at = s.reported_at;
        self.after_block = s.after_block;
        self.macro_args.truncate(s.macro_args);
    }

    /// Runs `f` inside a bracket: newlines as given, struct literals allowed again.
    pub(crate) fn inside<T>(&mut self, live: bool, f: impl FnOnce(&mut Self) -> T) -> T {
        let old = (self.live, self.no_struct);
        (self.live, self.no_struct) = (live, false);
        let out = f(self);
        (self.live, self.no_struct) = old;
        out
    }

    /// Runs `f` one grammar level deeper, or reports MT0030 and skips the rest of the bracket.
    pub(crate) fn deeper(&mut self, f: impl FnOnce(&mut Self)) {
        if self.levels >= MAX_LEVELS {
            let title = format!("more than {MAX_LEVELS} constructs are nested here");
            self.report(code::DEPTH_LIMIT_EXCEEDED, title);
            let m = self.marker();
            while !self.at_end() {
                self.skip();
            }
            self.done(m, ErrorNode);
            // What the constructs around it miss now is an echo.
            self.reported_at = self.pos;
            return;
        }
        self.levels += 1;
        f(self);
        self.levels -= 1;
    }

    // ---- reports

    /// Whether something already reported stands directly before or at the current token, so that a
    /// complaint here would only be its echo.
    fn echo(&self) -> bool {
        if self.reported_at == self.pos || matches!(self.cur(), TooDeep | TooDeepEnd) {
            return true;
        }
        let here = self.lexed.sig.tok(self.pos);
        let from = self.last_end.min(here) as usize;
        let gap = self.lexed.kinds[from..here as usize].contains(&Error);
        let open = !self.lexed.open_literals.is_empty()
            && self.pos > 0
            && self
                .lexed
                .open_literals
                .binary_search(&(self.pos as u32 - 1))
                .is_ok();
        let missing = |i: usize| self.lexed.sig.toks[i] & VIRTUAL != 0;
        gap || open || missing(self.pos) || self.pos > 0 && missing(self.pos - 1)
    }

    pub(crate) fn error_at(&mut self, code: &'static str, range: TextRange, title: String) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(SyntaxError::new(code, range, title));
        }
    }

    /// Reports the current token once, unless it is an echo.
    pub(crate) fn report(&mut self, code: &'static str, title: String) {
        if !self.echo() {
            let range = self.range_at(0);
            self.error_at(code, range, title);
        }
        self.reported_at = self.pos;
    }

    /// Whether the current token is a word that touches the number before it.
    pub(crate) fn at_glued_word(&self) -> bool {
        self.cur() == Ident && self.prev().is_number() && self.glued(0)
    }

    /// A token for which the grammar has no use: MT0001, or MT0004 for a duration word glued to a number.
    pub(crate) fn unexpected(&mut self, wanted: &str) {
        let word = self.text_at(0);
        if self.at_glued_word() && DURATION_WORDS.contains(&word) {
            self.report(
                code::UNKNOWN_DURATION_UNIT,
                format!("`{word}` is no duration unit"),
            );
            return;
        }
        let title = format!("unexpected {}, {wanted} was to come", self.describe());
        self.report(code::UNEXPECTED_TOKEN, title);
    }

    pub(crate) fn describe(&self) -> String {
        match self.cur() {
            Eof => "end of file".into(),
            _ => {
                let text: String = self.text_at(0).chars().take(40).collect();
                format!("`{}`", text.escape_debug())
            }
        }
    }
}

const DURATION_WORDS: [&str; 22] = [
    "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "hr", "hrs", "hour",
    "hours", "day", "days", "week", "weeks", "msec", "usec", "nsec", "millis", "micros", "nanos",
];
