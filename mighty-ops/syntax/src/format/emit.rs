//! From the plan to the document: walks the tokens once, with the comments between them (formatting.md §7).
//! Must not know nodes.

use super::layout::{Blank, Op, Printer, Tail};
use super::plan::{Blanks, Break, Copied, Gap, Plan, Sep};
use crate::SyntaxKind::{self, *};

/// Ops at which a document is printed as soon as it may be.
const CHUNK: usize = 4096;

struct Comment<'t> {
    text: &'t str,
    /// Begins its line in the source.
    own_line: bool,
    /// An empty line stands before it.
    blank: bool,
    block: bool,
}

struct Emitter<'p, 't> {
    plan: &'p Plan<'t>,
    printer: Printer<'t>,
    /// Comments since the last printed token.
    comments: Vec<Comment<'t>>,
    /// A line feed, an empty line since the last printed token or comment.
    line: bool,
    blank: bool,
    /// The last printed token.
    prev: Option<SyntaxKind>,
    /// Groups and nested parts that are open.
    depth: usize,
    doc_len: usize,
}

pub(super) fn emit(plan: &Plan<'_>) -> String {
    let mut e = Emitter {
        plan,
        printer: Printer::new(plan.tree.text().len() + plan.tree.text().len() / 8),
        comments: Vec::new(),
        line: false,
        blank: false,
        prev: None,
        depth: 0,
        doc_len: 0,
    };
    e.tokens();
    e.gap(
        &Gap {
            brk: Break::None,
            blanks: Blanks::Keep,
            ..Gap::default()
        },
        Eof,
    );
    e.printer.finish()
}

impl<'t> Emitter<'_, 't> {
    fn tokens(&mut self) {
        let plan = self.plan;
        let mut copied = plan.copied.iter().peekable();
        let count = plan.tree.token_count();
        let mut i = 0;
        while i < count {
            let token = plan.token(i);
            let kind = token.kind();
            if kind.is_trivia() {
                self.trivia(kind, token.text());
                i += 1;
                continue;
            }
            let gap = &plan.gaps[i];
            if gap.dropped {
                self.ends(gap);
                i += 1;
                continue;
            }
            self.gap(gap, kind);
            if gap.item_start {
                self.push(Op::ItemStart);
            }
            let tail = if gap.rigid { Tail::Rigid } else { Tail::Loose };
            for _ in 0..gap.opens {
                self.push(Op::Open(tail));
            }
            self.depth += usize::from(gap.opens);
            let mut last = i;
            if let Some(c) = copied.next_if(|c| c.first == i) {
                self.copy(c);
                last = c.last;
            } else if matches!(kind, Str | RawStr | ByteStr | HtmlStr) {
                self.verbatim(token.text());
            } else {
                self.push(Op::Text(token.text()));
            }
            self.ends(&plan.gaps[last]);
            self.prev = Some(plan.kind(last));
            self.line = false;
            self.blank = false;
            i = last + 1;
        }
    }

    fn push(&mut self, op: Op<'t>) {
        self.doc_len += 1;
        self.printer.push(op);
    }

    fn verbatim(&mut self, text: &'t str) {
        let op = if memchr::memchr(b'\n', text.as_bytes()).is_some() {
            Op::Verbatim(text)
        } else {
            Op::Text(text)
        };
        self.push(op);
    }

    fn trivia(&mut self, kind: SyntaxKind, text: &'t str) {
        if kind == Newline {
            self.line = true;
            self.blank |= memchr::memchr_iter(b'\n', text.as_bytes()).nth(1).is_some();
        } else if kind.is_comment() {
            let block = kind == BlockComment;
            self.comments.push(Comment {
                text: if block {
                    text
                } else {
                    // A carriage return would become part of the line end.
                    text.trim_end_matches([' ', '\t', '\r'])
                },
                own_line: self.line,
                blank: self.blank,
                block,
            });
            self.line = false;
            self.blank = false;
        }
    }

    /// What ends behind a token.
    fn ends(&mut self, gap: &Gap) {
        for _ in 0..gap.unnests {
            self.push(Op::Unnest);
        }
        for _ in 0..gap.closes {
            self.push(Op::Close);
        }
        self.depth -= usize::from(gap.closes) + usize::from(gap.unnests);
        if let Some(spans) = gap.item_end {
            self.push(Op::ItemEnd(spans));
        }
    }

    fn copy(&mut self, c: &Copied) {
        let plan = self.plan;
        let text = plan.tree.text();
        let (first, last) = (plan.token(c.first), plan.token(c.last));
        if !c.trim {
            self.verbatim(&text[first.range().start as usize..last.range().end as usize]);
            return;
        }
        let inner = &text[first.range().end as usize..last.range().start as usize];
        let mut inner = inner.trim_start_matches([' ', '\t', '\n']);
        // A line comment at the end needs its line feed.
        let ends_in_comment = (c.first..c.last)
            .rev()
            .map(|t| plan.kind(t))
            .find(|k| !matches!(k, Whitespace | Newline))
            .is_some_and(|k| matches!(k, LineComment | DocComment));
        if !ends_in_comment {
            inner = inner.trim_end_matches([' ', '\t', '\n']);
        }
        self.push(Op::Text("("));
        if !inner.is_empty() {
            self.verbatim(inner);
        }
        self.push(Op::Text(")"));
    }

    /// All that stands between the token printed last and the next one, of kind `next`.
    fn gap(&mut self, gap: &Gap, next: SyntaxKind) {
        match gap.sep {
            Sep::None => {}
            Sep::Comma => self.push(Op::Text(",")),
            Sep::CommaIfBroken => self.push(Op::IfBroken(",")),
            Sep::SemiIfFlat => self.push(Op::IfFlat(";")),
        }
        if self.comments.is_empty() {
            self.plain(gap);
            return;
        }
        let mut comments = std::mem::take(&mut self.comments);
        if self.prev.is_some_and(wants_operand)
            && let Some(first) = comments.first_mut().filter(|c| !c.block)
        {
            // Between an operator and its operand, it goes to the end of the operator's line.
            first.own_line = false;
        }
        let mut brk = gap.brk;
        let (mut enter, mut leave) = (gap.enter, gap.leave);
        let mut blanks = gap.blanks;
        let after_opener = self.prev.is_some_and(SyntaxKind::is_opener);
        let empty_body = after_opener && next.is_closer() && !leave;
        if empty_body
            && (self.prev == Some(LBrace) || comments.iter().any(|c| c.own_line || !c.block))
        {
            (enter, leave, brk) = (true, true, Break::Hard);
        }
        if enter {
            self.nest();
        }
        let mut breaks = Breaks {
            continued: self.prev.is_some()
                && matches!(brk, Break::None | Break::Space)
                && !matches!(next, LBrace | ElseKw | Eof)
                && !next.is_closer(),
            choice: matches!(brk, Break::Choice | Break::ChoiceHug),
            done: false,
        };
        // The comment before ends its line.
        let mut ended = false;
        for (i, c) in comments.iter().enumerate() {
            let alone = c.own_line || ended || (empty_body && brk == Break::Hard && c.block);
            if self.prev.is_none() && i == 0 {
                // Nothing stands before the first comment of a file.
            } else if alone {
                let blank = if breaks.done {
                    yes(c.blank)
                } else {
                    match blanks {
                        Blanks::Drop => yes(c.blank && !after_opener),
                        b => wanted(b, c.blank),
                    }
                };
                self.hard(&mut breaks, blank);
            } else if !(i == 0
                && after_opener
                && matches!(brk, Break::None | Break::Soft)
                && c.block)
            {
                self.push(Op::Space);
            }
            if c.block {
                self.verbatim(c.text);
            } else {
                self.push(Op::Comment(c.text));
            }
            ended = !c.block;
        }
        if next == Eof {
            return;
        }
        if leave {
            self.unnest();
        }
        let own_lines = breaks.done || self.prev.is_none();
        if ended || (own_lines && (self.line || leave)) {
            if leave || next.is_closer() || (breaks.done && blanks != Blanks::Keep) {
                // Behind comments on their own lines, only the source's empty lines count.
                blanks = if leave || next.is_closer() {
                    Blanks::Drop
                } else {
                    Blanks::Keep
                };
            }
            let blank = if self.prev.is_none() {
                yes(self.blank)
            } else {
                wanted(blanks, self.blank)
            };
            self.hard(&mut breaks, blank);
        } else if own_lines {
            self.push(Op::Space);
        } else {
            let bare = matches!(next, Semi | Comma) || next.is_closer();
            let brk = match brk {
                Break::None if !bare => Break::Space,
                Break::Soft if !bare => Break::Line,
                b => b,
            };
            self.separate(brk, wanted(blanks, self.blank));
        }
    }

    /// A gap without comments.
    fn plain(&mut self, gap: &Gap) {
        if gap.enter {
            self.nest();
        }
        if gap.leave {
            self.unnest();
        }
        if self.prev.is_some() {
            self.separate(gap.brk, wanted(gap.blanks, self.blank));
        }
    }

    fn separate(&mut self, brk: Break, blank: Blank) {
        match brk {
            Break::None => {}
            Break::Space => self.push(Op::Space),
            Break::Soft => self.push(Op::Soft),
            Break::Line => self.push(Op::Line),
            Break::Hard => {
                self.flush();
                self.push(Op::Hard(blank));
            }
            Break::Choice | Break::ChoiceHug => {
                self.depth += 1;
                self.push(Op::Choice {
                    hug: brk == Break::ChoiceHug,
                });
            }
        }
    }

    fn hard(&mut self, breaks: &mut Breaks, blank: Blank) {
        let op = if breaks.continued {
            Op::HardContinued(blank)
        } else if breaks.choice && !breaks.done {
            self.depth += 1;
            Op::ChoiceHard(blank)
        } else {
            self.flush();
            Op::Hard(blank)
        };
        breaks.done = true;
        self.push(op);
    }

    fn nest(&mut self) {
        self.depth += 1;
        self.push(Op::Nest);
    }

    fn unnest(&mut self) {
        self.depth -= 1;
        self.push(Op::Unnest);
    }

    /// Outside every group, what has been collected can be printed.
    fn flush(&mut self) {
        if self.depth == 0 && self.doc_len >= CHUNK {
            self.printer.flush();
            self.doc_len = 0;
        }
    }
}

/// How the forced breaks of one gap look.
struct Breaks {
    /// In the middle of a line of code.
    continued: bool,
    choice: bool,
    /// One has been made.
    done: bool,
}

/// Operators, and signs behind which a value comes.
fn wants_operand(kind: SyntaxKind) -> bool {
    (Plus..=DotDotEq).contains(&kind) || matches!(kind, Arrow | FatArrow | AsKw)
}

fn yes(blank: bool) -> Blank {
    if blank { Blank::Yes } else { Blank::No }
}

fn wanted(blanks: Blanks, in_source: bool) -> Blank {
    match blanks {
        Blanks::Drop => Blank::No,
        Blanks::Keep => yes(in_source),
        Blanks::One => Blank::Yes,
        Blanks::Item if in_source => Blank::Yes,
        Blanks::Item => Blank::Item,
    }
}
