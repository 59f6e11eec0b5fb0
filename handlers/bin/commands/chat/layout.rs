//! Text on its way into rows of a terminal: wrapped between words, each row written once.
//! Knows no Markdown and writes nothing itself; what is to be written is taken from it.

use std::fmt::Write as _;

use unicode_width::UnicodeWidthChar as _;

/// How characters look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Style {
    pub(crate) bold: bool,
    pub(crate) italic: bool,
    pub(crate) underline: bool,
    pub(crate) dim: bool,
    pub(crate) code: bool,
}

impl Style {
    /// The sequence that turns any other look into this one.
    fn sequence(self) -> String {
        let mut codes = String::from("0");
        for (is_on, code) in [
            (self.bold, ";1"),
            (self.dim, ";2"),
            (self.italic, ";3"),
            (self.underline, ";4"),
            (self.code, ";36"),
        ] {
            if is_on {
                codes.push_str(code);
            }
        }
        format!("\u{1b}[{codes}m")
    }
}

/// Rows of at most `width` columns. A row that stands is never written again, but for a last word that turned out not to
/// fit.
#[derive(Debug)]
pub(crate) struct Layout {
    width: usize,
    /// Whether looks are shown.
    styled: bool,
    out: String,
    column: usize,
    shown: Style,
    /// The word that the row ends with, which goes to the next row if more of it doesn't fit.
    word: Vec<(char, Style)>,
    /// What further rows of this paragraph begin with.
    hanging: Vec<(char, Style)>,
}

impl Layout {
    pub(crate) fn new(width: usize, styled: bool) -> Self {
        Self {
            width: usable(width),
            styled,
            out: String::new(),
            column: 0,
            shown: Style::default(),
            word: Vec::new(),
            hanging: Vec::new(),
        }
    }

    /// The terminal has this many columns now.
    pub(crate) fn resize(&mut self, columns: usize) {
        self.width = usable(columns);
        if self.column > 0 {
            self.next_row();
        }
    }

    /// The column that the next character goes to, from 0.
    pub(crate) fn column(&self) -> usize {
        self.column
    }

    pub(crate) fn is_styled(&self) -> bool {
        self.styled
    }

    /// What is to be written; the look is the usual one behind it.
    pub(crate) fn take(&mut self) -> String {
        self.look(Style::default());
        std::mem::take(&mut self.out)
    }

    /// Further rows begin with this until the paragraph ends.
    pub(crate) fn hang(&mut self, text: &str, style: Style) {
        self.hanging.extend(text.chars().map(|c| (c, style)));
    }

    /// Ends the row and the paragraph.
    pub(crate) fn end_line(&mut self) {
        self.break_row();
        self.hanging.clear();
    }

    /// Ends the row that stands open, if one does.
    pub(crate) fn end_open_line(&mut self) {
        if self.column > 0 {
            self.end_line();
        }
        self.hanging.clear();
    }

    /// Text that is broken wherever the row ends.
    pub(crate) fn verbatim(&mut self, text: &str, style: Style) {
        self.word.clear();
        for c in text.chars() {
            self.put_or_break(c, style);
        }
    }

    /// Text that is broken between words.
    pub(crate) fn words(&mut self, text: &str, style: Style) {
        for c in text.chars() {
            if c == ' ' || c == '\t' {
                self.word.clear();
                // A blank at the end of a row is not seen, and would begin the next one.
                if self.column < self.width {
                    self.put(' ', style);
                }
                continue;
            }
            if self.column + columns(c) > self.width {
                self.carry_word();
            }
            self.put_or_break(c, style);
            self.word.push((c, style));
        }
    }

    /// Takes the last word from this row to a new one, if it is not all there is.
    fn carry_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        let wide: usize = word.iter().map(|(c, _)| columns(*c)).sum();
        let hanging: usize = self.hanging.iter().map(|(c, _)| columns(*c)).sum();
        if wide + hanging >= self.width || wide >= self.column {
            self.next_row();
            return;
        }
        if wide > 0 {
            let _ = write!(self.out, "\u{1b}[{wide}D\u{1b}[K");
            self.column -= wide;
        }
        self.next_row();
        for (c, style) in &word {
            self.put(*c, *style);
        }
        self.word = word;
    }

    fn put_or_break(&mut self, c: char, style: Style) {
        if self.column + columns(c) > self.width {
            self.next_row();
        }
        self.put(c, style);
    }

    fn next_row(&mut self) {
        self.break_row();
        let hanging = std::mem::take(&mut self.hanging);
        let all: usize = hanging.iter().map(|(c, _)| columns(*c)).sum();
        if all + 2 <= self.width {
            for (c, style) in &hanging {
                self.put(*c, *style);
            }
        }
        self.hanging = hanging;
    }

    fn break_row(&mut self) {
        self.look(Style::default());
        self.out.push('\n');
        self.column = 0;
        self.word.clear();
    }

    fn put(&mut self, c: char, style: Style) {
        self.look(style);
        self.out.push(c);
        self.column += columns(c);
    }

    fn look(&mut self, style: Style) {
        if self.styled && self.shown != style {
            self.out.push_str(&style.sequence());
            self.shown = style;
        }
    }
}

/// The columns that are used of a terminal's: not the last one, where terminals differ in when the row ends.
fn usable(columns: usize) -> usize {
    columns.saturating_sub(1).max(8)
}

/// How many columns a character takes. What steers a terminal does not come here.
fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}
