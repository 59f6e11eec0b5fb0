//! Markdown as it comes, character by character: what is known of a line is shown at once, and nothing is shown twice.
//! Headings, emphasis, code, lists, quotes and rules have looks; everything else stands as it was written.

use super::layout::{Layout, Style};

/// Where in the text the next character stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// At a line's beginning, of which too little is there to say what line it is.
    Start,
    /// In a line of words.
    Words,
    /// In a line that is shown as it stands.
    Verbatim,
    /// Behind the marks that open or close code.
    Fence,
}

/// What was read of a text so far, and what of it still waits to be understood. Where looks are not shown, marks are.
#[derive(Debug)]
pub(crate) struct Markdown {
    at: At,
    /// The beginning of the line, or a run of marks, that waits for what follows.
    held: String,
    /// Code stands between these marks.
    fence: Option<(char, usize)>,
    /// The look of the line.
    line: Style,
    bold: bool,
    italic: bool,
    /// How many marks opened code within the line.
    code: usize,
    before: char,
}

impl Default for Markdown {
    fn default() -> Self {
        Self {
            at: At::Start,
            held: String::new(),
            fence: None,
            line: Style::default(),
            bold: false,
            italic: false,
            code: 0,
            before: ' ',
        }
    }
}

/// Most marks or blanks that are held back.
const MOST_HELD: usize = 80;

impl Markdown {
    /// Takes the next piece, which holds nothing that steers a terminal.
    pub(crate) fn push(&mut self, text: &str, to: &mut Layout) {
        for c in text.chars() {
            self.next(c, to);
        }
    }

    /// The text ends here: what was held back is shown.
    pub(crate) fn finish(&mut self, to: &mut Layout) {
        if !self.held.is_empty() || self.at == At::Fence {
            self.next('\n', to);
        }
        to.end_open_line();
        *self = Self::default();
    }

    fn next(&mut self, c: char, to: &mut Layout) {
        match self.at {
            At::Start => self.at_start(c, to),
            At::Words => self.in_words(c, to),
            At::Verbatim if c == '\n' => self.end_line(to),
            At::Verbatim => to.verbatim(c.encode_utf8(&mut [0; 4]), self.line),
            At::Fence if c == '\n' => {
                if !to.is_styled() {
                    to.end_line();
                }
                self.at = At::Start;
            }
            At::Fence if to.is_styled() => {}
            At::Fence => to.verbatim(c.encode_utf8(&mut [0; 4]), Style::default()),
        }
    }

    fn end_line(&mut self, to: &mut Layout) {
        to.end_line();
        (self.bold, self.italic, self.code) = (false, false, 0);
        self.line = Style::default();
        self.before = ' ';
        self.at = At::Start;
    }

    /// At the beginning of a line.
    fn at_start(&mut self, c: char, to: &mut Layout) {
        if c == '\n' {
            let held = std::mem::take(&mut self.held);
            match is_rule(&held) && self.fence.is_none() {
                true if to.is_styled() => to.verbatim(&"─".repeat(24), DIM),
                _ => self.begin(&held, to),
            }
            // A mark at the end of a line waits for what follows.
            return match self.at {
                At::Start => self.end_line(to),
                _ => self.next('\n', to),
            };
        }
        self.held.push(c);
        if self.held.len() < MOST_HELD && self.waits() {
            return;
        }
        let held = std::mem::take(&mut self.held);
        self.begin(&held, to);
    }

    /// Whether what is held could still become something else.
    fn waits(&self) -> bool {
        let text = self.held.trim_start_matches(' ');
        if let Some((mark, count)) = self.fence {
            // Its end: as many marks and nothing else.
            return text.chars().all(|c| c == mark) && text.len() < count;
        }
        let Some(first) = text.chars().next() else {
            return true;
        };
        let run = text.chars().take_while(|c| *c == first).count();
        let whole = run == text.chars().count();
        match first {
            '#' => whole && run <= 6,
            '`' | '~' => whole && run < 3,
            // A rule, or the mark of a list.
            '-' | '*' | '_' | '+' => whole,
            '>' => whole && run == 1,
            '0'..='9' => {
                let digits = text.bytes().take_while(u8::is_ascii_digit).count();
                digits <= 9 && matches!(&text[digits..], "" | "." | ")")
            }
            _ => false,
        }
    }

    /// Shows the beginning of a line, which is known now.
    fn begin(&mut self, held: &str, to: &mut Layout) {
        let text = held.trim_start_matches(' ');
        let indent = &held[..held.len() - text.len()];
        let first = text.chars().next().unwrap_or(' ');
        let run = text.chars().take_while(|c| *c == first).count();
        if let Some((mark, count)) = self.fence {
            if first == mark && run >= count {
                self.fence = None;
                self.open_fence(held, to);
            } else {
                self.at = At::Verbatim;
                self.line = CODE;
                to.verbatim(held, CODE);
            }
            return;
        }
        if matches!(first, '`' | '~') && run >= 3 {
            self.fence = Some((first, run));
            self.open_fence(held, to);
            return;
        }
        self.at = At::Words;
        if first == '#' && text[run..].starts_with(' ') && run <= 6 {
            self.line = Style {
                bold: true,
                underline: run == 1,
                ..Style::default()
            };
            let from = if to.is_styled() { run + 1 } else { 0 };
            to.words(&text[from..], self.line);
            return;
        }
        if first == '|' {
            self.at = At::Verbatim;
            to.verbatim(held, self.line);
            return;
        }
        to.words(indent, self.line);
        to.hang(indent, self.line);
        if first == '>' {
            let (shown, style) = match to.is_styled() {
                true => ("│ ", DIM),
                false => ("> ", self.line),
            };
            to.words(shown, style);
            to.hang(shown, style);
            let rest = &text[1..];
            self.words(rest.strip_prefix(' ').unwrap_or(rest), to);
            return;
        }
        if let Some(rest) = text
            .strip_prefix(['-', '*', '+'])
            .and_then(|it| it.strip_prefix(' '))
        {
            let mark = if to.is_styled() { '•' } else { first };
            to.words(&format!("{mark} "), self.line);
            to.hang("  ", self.line);
            return self.words(rest, to);
        }
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        if digits > 0 && text[digits..].starts_with(['.', ')']) {
            let mark = &text[..=digits];
            to.words(mark, self.line);
            to.hang(&" ".repeat(mark.len() + 1), self.line);
            return self.words(&text[mark.len()..], to);
        }
        self.words(text, to);
    }

    fn open_fence(&mut self, held: &str, to: &mut Layout) {
        self.at = At::Fence;
        if !to.is_styled() {
            to.verbatim(held, Style::default());
        }
    }

    fn words(&mut self, text: &str, to: &mut Layout) {
        for c in text.chars() {
            self.in_words(c, to);
        }
    }

    /// In a line of words: marks are held until what follows says what they are.
    fn in_words(&mut self, c: char, to: &mut Layout) {
        let mark = self.held.chars().next();
        match mark {
            Some('\\') => {
                self.held.clear();
                if !to.is_styled() || !c.is_ascii_punctuation() {
                    self.show("\\", to);
                }
                if c.is_ascii_punctuation() {
                    return self.show(c.encode_utf8(&mut [0; 4]), to);
                }
            }
            Some(mark) if mark == c && self.held.len() < MOST_HELD => return self.held.push(c),
            Some(mark) => {
                let held = std::mem::take(&mut self.held);
                match mark {
                    '`' => self.ticks(&held, to),
                    _ => self.emphasis(mark, &held, c, to),
                }
            }
            None => {}
        }
        match c {
            '\n' => self.end_line(to),
            '`' => self.held.push(c),
            '*' | '_' | '\\' if self.code == 0 => self.held.push(c),
            c => self.show(c.encode_utf8(&mut [0; 4]), to),
        }
    }

    fn show(&mut self, text: &str, to: &mut Layout) {
        let style = Style {
            bold: self.line.bold || self.bold,
            italic: self.line.italic || self.italic,
            code: self.code > 0,
            ..self.line
        };
        to.words(text, style);
        self.before = text.chars().next_back().unwrap_or(self.before);
    }

    /// A run of marks of code.
    fn ticks(&mut self, run: &str, to: &mut Layout) {
        let keeps = !to.is_styled();
        let (opens, closes) = (self.code == 0, self.code == run.len());
        if keeps || !(opens || closes) {
            self.show(run, to);
        }
        if opens {
            self.code = run.len();
        } else if closes {
            self.code = 0;
        }
        self.before = '`';
    }

    /// A run of marks of emphasis between `self.before` and `after`.
    fn emphasis(&mut self, mark: char, run: &str, after: char, to: &mut Layout) {
        let inner = mark == '_';
        let opens = !(after.is_whitespace() || inner && self.before.is_alphanumeric());
        let closes = !(self.before.is_whitespace() || inner && after.is_alphanumeric());
        let fits = |is_on: bool| if is_on { closes } else { opens };
        let (bold, italic) = match run.len() {
            1 => (false, true),
            2 => (true, false),
            3 => (true, true),
            _ => (false, false),
        };
        let changes =
            (bold || italic) && (!bold || fits(self.bold)) && (!italic || fits(self.italic));
        if !changes || !to.is_styled() {
            self.show(run, to);
        }
        if changes {
            self.bold ^= bold;
            self.italic ^= italic;
        }
        self.before = mark;
    }
}

const DIM: Style = Style {
    bold: false,
    italic: false,
    underline: false,
    dim: true,
    code: false,
};
const CODE: Style = Style {
    dim: false,
    code: true,
    ..DIM
};

/// Whether a line is a rule: three marks or more and nothing else.
fn is_rule(line: &str) -> bool {
    let line = line.trim();
    let first = line.chars().next().unwrap_or(' ');
    matches!(first, '-' | '*' | '_') && line.len() >= 3 && line.chars().all(|c| c == first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What stands on the screen: a terminal that knows the few sequences that are used.
    fn screen(bytes: &str) -> Vec<String> {
        let mut rows = vec![String::new()];
        let mut chars = bytes.chars();
        while let Some(c) = chars.next() {
            let row = rows.len() - 1;
            match c {
                '\n' => rows.push(String::new()),
                '\u{1b}' => {
                    let code: String = chars
                        .by_ref()
                        .skip(1)
                        .take_while(|c| !c.is_ascii_alphabetic())
                        .collect();
                    if let Ok(back) = code.parse::<usize>() {
                        // Only `D` has a number alone here; looks begin with 0.
                        if back > 0 {
                            for _ in 0..back {
                                rows[row].pop();
                            }
                        }
                    }
                }
                c => rows[row].push(c),
            }
        }
        rows
    }

    fn rendered(text: &str, width: usize, styled: bool, pieces: usize) -> String {
        let mut layout = Layout::new(width, styled);
        let mut markdown = Markdown::default();
        let chars: Vec<char> = text.chars().collect();
        let mut out = String::new();
        for piece in chars.chunks(pieces) {
            markdown.push(&piece.iter().collect::<String>(), &mut layout);
            out += &layout.take();
        }
        markdown.finish(&mut layout);
        out + &layout.take()
    }

    const TEXT: &str = "# Title\n\nSome **bold** and *slanted* words with `code` and 2 * 3 * 4, snake_case_name.\n\n\
        - one item that is long enough to be wrapped\n  - nested\n1. first\n12) twelfth\n\n> quoted words that go on and on\n\
        ---\n```rust\nfn main() {\n    let x = \"**no**\";\n}\n```\n| a | b |\n\\*plain\\* **open";

    #[test]
    fn however_it_comes_the_screen_is_the_same() {
        for styled in [true, false] {
            for width in [20, 33, 80] {
                let whole = screen(&rendered(TEXT, width, styled, 10_000));
                for pieces in [1, 2, 3, 7] {
                    let same = screen(&rendered(TEXT, width, styled, pieces));
                    assert_eq!(same, whole, "{pieces} {width}");
                }
                for row in &whole {
                    assert!(row.chars().count() < width, "{row}");
                }
            }
        }
    }

    #[test]
    fn marks_become_looks() {
        let out = rendered(TEXT, 200, true, 10_000);
        for part in [
            "\u{1b}[0;1;4mTitle\u{1b}[0m\n",
            "\u{1b}[0;1mbold\u{1b}[0m and \u{1b}[0;3mslanted\u{1b}[0m",
            "\u{1b}[0;36mcode\u{1b}[0m and 2 * 3 * 4, snake_case_name.",
            "• one item",
            "\n  • nested\n1. first\n12) twelfth\n",
            "│ \u{1b}[0mquoted",
            "────",
            "\u{1b}[0;36m    let x = \"**no**\";\u{1b}[0m\n",
            "\n| a | b |\n*plain* ",
        ] {
            assert!(out.contains(part), "{part:?} in {out:?}");
        }
        assert!(!out.contains("```") && !out.contains("rust"), "{out:?}");
    }

    #[test]
    fn without_looks_the_text_stands_as_it_was_written() {
        let out = rendered(TEXT, 200, false, 5);
        assert!(!out.contains('\u{1b}'), "{out:?}");
        assert_eq!(out.trim_end(), TEXT.trim_end());
    }

    #[test]
    fn further_rows_of_an_item_stand_below_its_words() {
        let rows = screen(&rendered(
            "- aa bb cc dd ee ff\n12. aa bb cc dd ee",
            13,
            true,
            1,
        ));
        assert_eq!(
            rows,
            ["• aa bb cc ", "  dd ee ff", "12. aa bb cc", "    dd ee", ""]
        );
    }

    #[test]
    fn nothing_is_kept_back_for_long() {
        let mut layout = Layout::new(40, true);
        let mut markdown = Markdown::default();
        markdown.push("Hello wor", &mut layout);
        assert_eq!(layout.take(), "Hello wor");
        markdown.push("ld\n", &mut layout);
        assert_eq!(layout.take(), "ld\n");
        let long =
            "#".repeat(10_000) + &" ".repeat(10_000) + &"*".repeat(10_000) + &"1".repeat(10_000);
        markdown.push(&long, &mut layout);
        assert!(layout.take().len() > 30_000);
    }
}
