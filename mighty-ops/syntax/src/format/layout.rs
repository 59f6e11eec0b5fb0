//! The layout engine: a flat document of the Wadler/Lindig family and its printer (formatting.md §2).
//! Must not know tokens, nodes or any rule of the language.
//!
//! A document is a sequence of [`Op`]s; `Open`/`Close` bracket a group, `Nest`/`Unnest` an indented part.
//! One backward pass measures every group, one forward pass prints: both linear, neither recursive.

/// Columns of a line, counted in Unicode scalars.
pub(super) const WIDTH: i32 = 100;
/// Columns of one level of indent.
pub(super) const INDENT: i32 = 2;

/// Whether an empty line stands before the next line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blank {
    No,
    Yes,
    /// Only next to an item that takes several lines.
    Item,
}

/// How much of a group must fit behind the group before it on the same line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tail {
    /// What stands before its first possible break. The rule for all groups whose contents may keep line
    /// breaks of the source: were such a group measured flat, then its neighbour would be laid out in
    /// another way once it has been broken, and the result would not be stable.
    Loose,
    /// All of it, so that the group before breaks first.
    Rigid,
}

/// One element of a document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Op<'t> {
    /// Text without a line feed.
    Text(&'t str),
    /// Text whose line feeds are copied as they are; it breaks no group.
    Verbatim(&'t str),
    /// Text up to the end of the line that never decides whether a group fits.
    Comment(&'t str),
    /// A space in any case.
    Space,
    /// A space or a line break.
    Line,
    /// Nothing or a line break.
    Soft,
    /// A line break; every group around it breaks.
    Hard(Blank),
    /// [`Op::Hard`] in the middle of a line of code: what follows is indented by one more level.
    HardContinued(Blank),
    /// Before a group: a space, or a line break if only that lets the group stay on one line; begins a
    /// nested part in the second case, to be ended by `Unnest` in both. With `hug`, a group that fits on
    /// no line begins on this one.
    Choice {
        hug: bool,
    },
    /// `Choice` that has been settled as a hard line break.
    ChoiceHard(Blank),
    /// Text only if the group is broken.
    IfBroken(&'static str),
    /// Text only if the group is flat.
    IfFlat(&'static str),
    Open(Tail),
    Close,
    Nest,
    Unnest,
    ItemStart,
    /// The end of an item; `true` if it counts as one of several lines in any case.
    ItemEnd(bool),
}

#[derive(Default)]
struct Item {
    first_line: usize,
    /// Of the items inside, whether the last one took several lines.
    last_spans: bool,
    /// Where in the output an empty line belongs if the next item inside takes several lines.
    pending: Option<usize>,
}

/// What is known of a group while the document is walked backwards.
#[derive(Clone, Copy)]
struct Frame {
    /// Width of the text behind the nearest place at which this group, broken, ends the line.
    limit: i32,
    /// The same for the groups around it, at the end of this one.
    tail: i32,
    forced: bool,
}

/// Prints documents one after the other onto one text.
pub(super) struct Printer<'t> {
    doc: Vec<Op<'t>>,
    /// Width that each group and what must follow it on the line take when flat, in order of `Open`.
    needs: Vec<i32>,
    frames: Vec<Frame>,
    out: String,
    column: i32,
    lines: usize,
    indents: Vec<i32>,
    flat: Vec<bool>,
    items: Vec<Item>,
    /// Places in `out` where a line feed is missing.
    blanks: Vec<usize>,
}

fn width(text: &str) -> i32 {
    let n = if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    };
    i32::try_from(n).unwrap_or(i32::MAX)
}

const FORCED: i32 = i32::MAX;

impl<'t> Printer<'t> {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            doc: Vec::with_capacity(1024),
            needs: Vec::new(),
            frames: Vec::new(),
            out: String::with_capacity(capacity),
            column: 0,
            lines: 0,
            indents: vec![0],
            flat: vec![false],
            items: vec![Item::default()],
            blanks: Vec::new(),
        }
    }

    /// Appends to the document at hand.
    #[inline]
    pub(super) fn push(&mut self, op: Op<'t>) {
        self.doc.push(op);
    }

    /// Prints the document at hand. Call it outside every group, before a line break.
    pub(super) fn flush(&mut self) {
        self.measure();
        self.print();
        self.doc.clear();
    }

    /// The text, ending with a line feed unless it is empty.
    pub(super) fn finish(mut self) -> String {
        self.flush();
        if !self.out.is_empty() {
            self.out.push('\n');
        }
        if self.blanks.is_empty() {
            return self.out;
        }
        // Those around an outer item come after those inside it.
        self.blanks.sort_unstable();
        let mut text = String::with_capacity(self.out.len() + self.blanks.len());
        let mut from = 0;
        for at in self.blanks {
            text.push_str(&self.out[from..at]);
            text.push('\n');
            from = at;
        }
        text.push_str(&self.out[from..]);
        text
    }

    /// Fills `needs`. `rest` is the flat width of all that follows, so that the width between two places is
    /// the difference of their `rest`s.
    fn measure(&mut self) {
        self.needs.clear();
        self.frames.clear();
        let mut top = Frame {
            limit: 0,
            tail: 0,
            forced: false,
        };
        let mut rest = 0_i32;
        // The nearest line feed inside a verbatim text: it ends the line whatever the groups do.
        let mut verbatim = 0_i32;
        for op in self.doc.iter().rev() {
            match *op {
                Op::Text(t) => rest = rest.saturating_add(width(t)),
                Op::Verbatim(t) => {
                    let first = t.find('\n').map_or(t, |n| &t[..n]);
                    if first.len() < t.len() {
                        verbatim = rest;
                    }
                    rest = rest.saturating_add(width(first));
                }
                Op::Comment(_) | Op::Nest | Op::Unnest | Op::ItemStart | Op::ItemEnd(_) => {}
                Op::Space => rest += 1,
                Op::Line | Op::Choice { .. } => {
                    rest += 1;
                    top.limit = rest;
                }
                Op::Soft => top.limit = rest,
                Op::Hard(_) | Op::HardContinued(_) | Op::ChoiceHard(_) => {
                    top.limit = rest;
                    top.forced = true;
                }
                // A group inside asks for the limit only if this one is broken.
                Op::IfBroken(t) => top.limit -= width(t),
                Op::IfFlat(t) => rest = rest.saturating_add(width(t)),
                Op::Close => {
                    self.frames.push(top);
                    top.tail = top.limit;
                    top.forced = false;
                }
                Op::Open(kind) => {
                    let need = if top.forced {
                        FORCED
                    } else {
                        rest - top.tail.max(verbatim)
                    };
                    self.needs.push(need);
                    let inner = top;
                    if let Some(outer) = self.frames.pop() {
                        top = outer;
                    }
                    top.forced |= inner.forced;
                    if inner.forced || kind == Tail::Loose {
                        top.limit = inner.limit;
                    }
                }
            }
        }
    }

    fn print(&mut self) {
        let doc = std::mem::take(&mut self.doc);
        let mut group = self.needs.len();
        let mut flat = false;
        for op in &doc {
            match *op {
                Op::Text(t) => self.text(t),
                Op::Comment(t) => self.out.push_str(t),
                Op::Verbatim(t) => self.verbatim(t),
                Op::Space => self.space(),
                Op::Line if flat => self.space(),
                Op::Soft if flat => {}
                Op::Line | Op::Soft => self.newline(Blank::No, 0),
                Op::Hard(blank) => self.newline(blank, 0),
                Op::HardContinued(blank) => self.newline(blank, INDENT),
                Op::Choice { hug } => {
                    let indent = self.indent();
                    let need = group.checked_sub(1).map_or(0, |g| self.needs[g]);
                    let on_next = !flat
                        && need != FORCED
                        && self.column + 1 + need > WIDTH
                        && (!hug || indent + INDENT + need <= WIDTH);
                    self.indents.push(indent + i32::from(on_next) * INDENT);
                    if on_next {
                        self.newline(Blank::No, 0);
                    } else {
                        self.space();
                    }
                }
                Op::ChoiceHard(blank) => {
                    let indent = self.indent();
                    self.indents.push(indent + INDENT);
                    self.newline(blank, 0);
                }
                Op::IfBroken(t) if !flat => self.text(t),
                Op::IfFlat(t) if flat => self.text(t),
                Op::IfBroken(_) | Op::IfFlat(_) => {}
                Op::Open(_) => {
                    group -= 1;
                    self.flat.push(flat);
                    flat = flat || self.column.saturating_add(self.needs[group]) <= WIDTH;
                }
                Op::Close => flat = self.flat.pop().unwrap_or(false),
                Op::Nest => self.indents.push(self.indent() + INDENT),
                Op::Unnest => {
                    self.indents.pop();
                }
                Op::ItemStart => self.items.push(Item {
                    first_line: self.lines,
                    ..Item::default()
                }),
                Op::ItemEnd(spans) => self.item_end(spans),
            }
        }
        self.doc = doc;
    }

    fn indent(&self) -> i32 {
        self.indents.last().copied().unwrap_or(0)
    }

    fn text(&mut self, text: &str) {
        self.out.push_str(text);
        self.column = self.column.saturating_add(width(text));
    }

    fn space(&mut self) {
        self.out.push(' ');
        self.column += 1;
    }

    fn verbatim(&mut self, text: &str) {
        self.out.push_str(text);
        match text.rfind('\n') {
            Some(n) => {
                self.lines += memchr::memchr_iter(b'\n', text.as_bytes()).count();
                self.column = width(&text[n + 1..]);
            }
            None => self.column = self.column.saturating_add(width(text)),
        }
    }

    fn newline(&mut self, blank: Blank, extra: i32) {
        const SPACES: &str = "                                                                ";
        self.out.push('\n');
        let empty = match blank {
            Blank::No => false,
            Blank::Yes => true,
            Blank::Item => {
                let at = self.out.len();
                self.items.last_mut().is_some_and(|item| {
                    item.pending = (!item.last_spans).then_some(at);
                    item.last_spans
                })
            }
        };
        if empty {
            self.out.push('\n');
            self.lines += 1;
        }
        self.lines += 1;
        self.column = self.indent() + extra;
        let mut left = usize::try_from(self.column).unwrap_or(0);
        while left > 0 {
            let n = left.min(SPACES.len());
            self.out.push_str(&SPACES[..n]);
            left -= n;
        }
    }

    fn item_end(&mut self, spans: bool) {
        let Some(item) = self.items.pop() else { return };
        let spans = spans || self.lines > item.first_line;
        if let Some(outer) = self.items.last_mut() {
            outer.last_spans = spans;
            if let Some(at) = outer.pending.take()
                && spans
            {
                self.blanks.push(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn print(ops: &[Op<'static>]) -> String {
        let mut p = Printer::new(0);
        for op in ops {
            p.push(*op);
        }
        p.finish()
    }

    fn list(name: &'static str, items: &[&'static str]) -> Vec<Op<'static>> {
        let mut ops = vec![
            Op::Text(name),
            Op::Open(Tail::Loose),
            Op::Text("("),
            Op::Nest,
        ];
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                ops.extend([Op::Text(","), Op::Line]);
            } else {
                ops.push(Op::Soft);
            }
            ops.push(Op::Text(item));
        }
        ops.extend([
            Op::IfBroken(","),
            Op::Unnest,
            Op::Soft,
            Op::Text(")"),
            Op::Close,
        ]);
        ops
    }

    #[test]
    fn a_group_is_flat_up_to_the_hundredth_column() {
        let long: &'static str = Box::leak("x".repeat(95).into_boxed_str());
        assert_eq!(print(&list("f", &[long, "y"])).lines().count(), 4);
        // `f(`, 95 columns, `, `, and the bracket: 100.
        let fits: &'static str = Box::leak("x".repeat(94).into_boxed_str());
        let text = print(&list("f", &[fits, "y"]));
        assert_eq!(text.lines().count(), 1, "{text}");
        assert_eq!(text.trim_end().chars().count(), 100);
    }

    #[test]
    fn what_must_follow_a_group_counts_as_its_own() {
        let mut ops = list("f", &["a", "b"]);
        let tail: &'static str = Box::leak("t".repeat(93).into_boxed_str());
        ops.push(Op::Text(tail));
        assert_eq!(print(&ops).chars().filter(|c| *c == '\n').count(), 1);
        ops.push(Op::Text("!"));
        assert_eq!(
            print(&ops),
            format!("f(\n  a,\n  b,\n){tail}!\n"),
            "101 columns"
        );
    }

    #[test]
    fn a_trailing_comma_to_come_counts() {
        let item: &'static str = Box::leak("x".repeat(92).into_boxed_str());
        let inner = list("g", &[item, "y"]);
        let mut ops = vec![
            Op::Open(Tail::Loose),
            Op::Text("("),
            Op::Nest,
            Op::Hard(Blank::No),
        ];
        ops.extend(inner.iter().copied());
        ops.extend([
            Op::IfBroken(","),
            Op::Unnest,
            Op::Soft,
            Op::Text(")"),
            Op::Close,
        ]);
        // `  g(`, 92 columns, `, y)` are 100; the comma makes 101.
        assert_eq!(print(&ops).lines().count(), 6, "{}", print(&ops));
    }

    #[test]
    fn a_hard_line_breaks_all_groups_around_it() {
        let ops = [
            Op::Open(Tail::Loose),
            Op::Text("a"),
            Op::Line,
            Op::Open(Tail::Loose),
            Op::Text("b"),
            Op::Hard(Blank::No),
            Op::Text("c"),
            Op::Close,
            Op::Open(Tail::Loose),
            Op::Line,
            Op::Text("d"),
            Op::Close,
            Op::Close,
        ];
        assert_eq!(print(&ops), "a\nb\nc d\n");
    }

    #[test]
    fn an_empty_line_comes_next_to_an_item_of_several_lines() {
        let item = |two: bool| {
            let mut v = vec![Op::ItemStart, Op::Text("i")];
            if two {
                v.extend([Op::Hard(Blank::No), Op::Text("j")]);
            }
            v.push(Op::ItemEnd(false));
            v
        };
        let mut ops = Vec::new();
        for (n, two) in [false, false, true, false, false].into_iter().enumerate() {
            if n > 0 {
                ops.push(Op::Hard(Blank::Item));
            }
            ops.extend(item(two));
        }
        assert_eq!(print(&ops), "i\ni\n\ni\nj\n\ni\ni\n");
    }

    #[test]
    fn width_counts_scalars() {
        assert_eq!(width("aé中"), 3);
    }
}
