//! Makes the brackets of the significant stream balance, so that the parser never sees one that does not:
//! missing closers become virtual, stray ones leave the stream, too deep groups become opaque (language.md §27).
//! Must not look at grammar; the line-end guess below only decides where a missing closer is put.

use crate::SyntaxKind::{self, *};
use crate::error::{SyntaxError, TextRange, code};
use crate::lexer::{INDEX, Lexed, MAX_ERRORS, NL, VIRTUAL};

/// Brackets that may be open at once.
pub const MAX_BRACKETS: usize = 256;

fn closer_of(kind: SyntaxKind) -> SyntaxKind {
    match kind {
        LParen => RParen,
        LBracket => RBracket,
        _ => RBrace,
    }
}

/// Balances `lexed.sig`; adds MT0012, MT0030 and, for stray closers, MT0001 to its errors.
pub(crate) fn balance(text: &str, lexed: &mut Lexed) {
    if lexed.open_literals.is_empty() && balanced(&lexed.sig.kinds) {
        return;
    }
    let mut b = Balancer {
        text,
        lexed,
        stack: Vec::new(),
        of_kind: Default::default(),
        insert: Vec::new(),
        remove: Vec::new(),
        deep: None,
    };
    b.run();
    b.rebuild();
}

fn balanced(kinds: &[SyntaxKind]) -> bool {
    let mut stack = [Eof; MAX_BRACKETS];
    let mut depth = 0;
    for k in kinds {
        if *k < LParen {
            continue;
        }
        if k.is_opener() {
            if depth == MAX_BRACKETS {
                return false;
            }
            stack[depth] = closer_of(*k);
            depth += 1;
        } else if k.is_closer() {
            if depth == 0 || stack[depth - 1] != *k {
                return false;
            }
            depth -= 1;
        }
    }
    depth == 0
}

struct Open {
    at: usize,
    kind: SyntaxKind,
    /// Where a virtual closer would best stand.
    guess: Option<usize>,
}

struct Balancer<'a> {
    text: &'a str,
    lexed: &'a mut Lexed,
    stack: Vec<Open>,
    /// For each kind, the places of its brackets in the stack: a search of the stack for each stray closer
    /// would make the whole quadratic.
    of_kind: [Vec<usize>; 3],
    /// Virtual closers, each before the token of its index.
    insert: Vec<(usize, SyntaxKind)>,
    /// Ranges of the stream to drop.
    remove: Vec<(usize, usize)>,
    /// Index of the opener that went over the limit.
    deep: Option<usize>,
}

fn slot(kind: SyntaxKind) -> usize {
    match kind {
        LParen | RParen => 0,
        LBracket | RBracket => 1,
        _ => 2,
    }
}

impl Balancer<'_> {
    fn run(&mut self) {
        let n = self.lexed.sig.kinds.len() - 4;
        let open_literals = std::mem::take(&mut self.lexed.open_literals);
        let mut literals = open_literals.iter().copied().peekable();
        for i in 0..n {
            let k = self.lexed.sig.kinds[i];
            self.guess(i, k);
            if literals.next_if_eq(&(i as u32)).is_some() {
                self.close_line(i);
            } else if k.is_opener() {
                self.open(i, k);
            } else if k.is_closer() {
                self.close(i, k);
            }
        }
        if let Some(top) = self.stack.last() {
            let (at, kind) = (top.at, top.kind);
            if open_literals.is_empty() && !self.lexed.open_comment {
                let what = format!("this `{}` is never closed", text_of(kind));
                self.error(code::MISMATCHED_DELIMITER, at, what);
            }
            while !self.stack.is_empty() {
                self.pop_virtual(n);
            }
        }
        self.lexed.open_literals = open_literals;
    }

    fn open(&mut self, i: usize, kind: SyntaxKind) {
        if self.stack.len() == MAX_BRACKETS {
            self.deep = Some(i);
            self.error(
                code::DEPTH_LIMIT_EXCEEDED,
                i,
                format!("more than {MAX_BRACKETS} brackets are open here"),
            );
        }
        self.of_kind[slot(kind)].push(self.stack.len());
        self.stack.push(Open {
            at: i,
            kind,
            guess: None,
        });
    }

    fn pop(&mut self) -> Option<Open> {
        let top = self.stack.pop()?;
        self.of_kind[slot(top.kind)].pop();
        Some(top)
    }

    /// Ends the innermost bracket with the token at `i`.
    fn pop_with(&mut self, i: usize) {
        let Some(top) = self.pop() else { return };
        if self.deep == Some(top.at) {
            self.deep = None;
            self.lexed.sig.kinds[top.at] = TooDeep;
            self.lexed.sig.kinds[i] = TooDeepEnd;
            self.remove.push((top.at + 1, i));
        } else if self.deep.is_none() {
            self.lexed.sig.kinds[i] = closer_of(top.kind);
        }
    }

    /// Ends the innermost bracket where the text has no closer, at the latest before token `i`.
    fn pop_virtual(&mut self, i: usize) {
        let Some(top) = self.pop() else { return };
        let at = top.guess.unwrap_or(i);
        if self.deep == Some(top.at) {
            self.deep = None;
            self.lexed.sig.kinds[top.at] = TooDeep;
            self.remove.push((top.at + 1, at));
            self.insert.push((at, TooDeepEnd));
        } else if self.deep.is_none() {
            self.insert.push((at, closer_of(top.kind)));
            if let Some(outer) = self.stack.last_mut()
                && outer.kind != LBrace
            {
                outer.guess.get_or_insert(at);
            }
        }
    }

    fn close(&mut self, i: usize, kind: SyntaxKind) {
        let Some(top) = self.stack.last() else {
            self.remove.push((i, i + 1));
            let what = format!("this `{}` closes nothing", text_of(kind));
            self.error(code::UNEXPECTED_TOKEN, i, what);
            return;
        };
        if closer_of(top.kind) == kind {
            self.pop_with(i);
            return;
        }
        let wanted = closer_of(top.kind);
        let opener = self.range(top.at);
        self.error(
            code::MISMATCHED_DELIMITER,
            i,
            format!(
                "`{}` stands where `{}` was to come",
                text_of(kind),
                text_of(wanted)
            ),
        );
        if let Some(e) = self.lexed.errors.last_mut() {
            e.related = Some(opener);
        }
        // Three ways to go on; take the one after which the next brackets fit longest.
        let insert = self.of_kind[slot(kind)]
            .last()
            .map(|at| (self.fits(*at, i + 1), *at));
        let drop = self.fits(self.stack.len(), i + 1);
        let swap = self.fits(self.stack.len() - 1, i + 1);
        match insert {
            Some((score, at)) if score >= drop && score >= swap => {
                while self.stack.len() > at + 1 {
                    self.pop_virtual(i);
                }
                self.pop_with(i);
            }
            _ if drop >= swap => self.remove.push((i, i + 1)),
            _ => self.pop_with(i),
        }
    }

    /// How many of the next brackets fit when the lowest `keep` open ones stay open.
    fn fits(&self, keep: usize, from: usize) -> usize {
        const TOKENS: usize = 64;
        const PERFECT: usize = TOKENS + 1;
        let mut base = keep;
        let mut extra: Vec<SyntaxKind> = Vec::new();
        let mut score = 0;
        for k in self.lexed.sig.kinds[from..].iter().take(TOKENS) {
            if k.is_opener() {
                extra.push(*k);
            } else if k.is_closer() {
                let top = extra.pop().or_else(|| {
                    base = base.checked_sub(1)?;
                    Some(self.stack[base].kind)
                });
                if top.map(closer_of) != Some(*k) {
                    return score;
                }
                score += 1;
            } else if *k == Eof {
                return if base == 0 && extra.is_empty() {
                    PERFECT
                } else {
                    score
                };
            }
        }
        score
    }

    /// An unclosed literal swallowed the closers of its line ([§1.6]).
    fn close_line(&mut self, i: usize) {
        // The first token of the line. Such a literal ends its line, so that each is read back once.
        let first = (1..=i).rfind(|j| self.lexed.sig.nl(*j)).unwrap_or(0);
        while (self.stack.last()).is_some_and(|top| top.kind != LBrace && top.at >= first) {
            if let Some(top) = self.stack.last_mut() {
                top.guess = Some(i + 1);
            }
            self.pop_virtual(i + 1);
        }
    }

    /// Notes the first place at which the innermost bracket may have been meant to end.
    fn guess(&mut self, i: usize, k: SyntaxKind) {
        let Some(top) = self.stack.last() else { return };
        if top.guess.is_some() || i <= top.at || k.is_closer() {
            return;
        }
        // The list behind `fn name` ends before what only stands after it.
        let kinds = &self.lexed.sig.kinds;
        let header = top.at >= 2 && kinds[top.at - 2] == FnKw && kinds[top.at - 1] == Ident;
        let after = k == LBrace
            || (k == LParen && top.kind == LBracket)
            // The arrow of a function type follows its `)`.
            || (k == Arrow && kinds[i - 1] != RParen);
        if header && after {
            if let Some(top) = self.stack.last_mut() {
                top.guess = Some(i);
            }
            return;
        }
        if !self.lexed.sig.nl(i) || i == top.at + 1 {
            return;
        }
        let prev = self.lexed.sig.kinds[i - 1];
        let fits = if top.kind == LBrace {
            let start = self.range(i).start as usize;
            let column0 = self.text.as_bytes()[..start]
                .last()
                .is_none_or(|b| *b == b'\n');
            column0 && begins_item(k)
        } else {
            let wants_more = prev == Comma
                || prev == Colon
                || prev.is_opener()
                || (prev.is_punct() && !prev.is_closer() && prev != Question)
                || prev.is_keyword() && !matches!(prev, TrueKw | FalseKw | SelfKw);
            let goes_on = k == Comma
                || k == FatArrow
                || k == Arrow
                || (k.is_punct() && !matches!(k, At | Hash | LBrace));
            !wants_more && !goes_on
        };
        if fits && let Some(top) = self.stack.last_mut() {
            top.guess = Some(i);
        }
    }

    fn range(&self, i: usize) -> TextRange {
        let t = (self.lexed.sig.toks[i] & INDEX) as usize;
        TextRange::new(self.lexed.starts[t], self.lexed.starts[t + 1])
    }

    fn error(&mut self, code: &'static str, i: usize, title: String) {
        if self.lexed.errors.len() < MAX_ERRORS {
            let range = self.range(i);
            self.lexed.errors.push(SyntaxError::new(code, range, title));
        }
    }

    fn rebuild(mut self) {
        if self.insert.is_empty() && self.remove.is_empty() {
            return;
        }
        // Stable: inner closers were pushed before outer ones.
        self.insert.sort_by_key(|(at, _)| *at);
        self.remove.sort_unstable();
        let sig = &mut self.lexed.sig;
        let kinds = std::mem::take(&mut sig.kinds);
        let toks = std::mem::take(&mut sig.toks);
        let mut removed_to = 0;
        let mut removals = self.remove.iter().copied().peekable();
        let mut inserts = self.insert.iter().copied().peekable();
        let mut nl = 0;
        for (i, (kind, tok)) in kinds.into_iter().zip(toks).enumerate() {
            while let Some((_, closer)) = inserts.next_if(|(at, _)| *at == i) {
                sig.kinds.push(closer);
                sig.toks.push((tok & INDEX) | VIRTUAL);
            }
            while let Some((_, end)) = removals.next_if(|(start, _)| *start == i) {
                removed_to = removed_to.max(end);
            }
            if i < removed_to {
                nl |= tok & NL;
                continue;
            }
            sig.kinds.push(kind);
            sig.toks.push(tok | nl);
            nl = 0;
        }
    }
}

fn begins_item(k: SyntaxKind) -> bool {
    matches!(
        k,
        PubKw
            | FnKw
            | StructKw
            | EnumKw
            | TraitKw
            | ImplKw
            | AgentKw
            | ProtocolKw
            | SupKw
            | ModKw
            | UseKw
            | TypeKw
            | ConstKw
            | ExternKw
            | ExportKw
            | MacroKw
            | DeriveKw
            | CapKw
            | Hash
            | At
    )
}

fn text_of(kind: SyntaxKind) -> char {
    match kind {
        LParen => '(',
        RParen => ')',
        LBracket => '[',
        RBracket => ']',
        LBrace => '{',
        _ => '}',
    }
}
