//! What `chat` shows at a terminal: streamed Markdown, one line a call, remarks, and below them a status line.
//! Every text from the child is made plain here, once; each change is one write, so that nothing flickers.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::time::Instant;

use consumer::display::{one_line, plain};
use consumer::local_agent::{ActivityState, Segment};
use rustix::termios::tcgetwinsize;

use super::layout::{Layout, Style};
use super::markdown::Markdown;
use super::view::{About, View, about_call, new_text};

/// What a terminal that knows it takes as one picture.
const BEGIN: &str = "\u{1b}[?2026h";
const END: &str = "\u{1b}[?2026l";
const SPINNER: [char; 10] = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏'];
/// Columns where the terminal does not say how many it has.
const COLUMNS: usize = 80;

pub(super) struct Screen {
    terminal: File,
    layout: Layout,
    markdown: Markdown,
    /// Bytes of each segment's streamed text that were shown.
    shown: HashMap<String, usize>,
    last: Option<String>,
    /// The status line as it stands.
    status: Option<String>,
    /// Columns that it takes.
    status_width: usize,
    columns: usize,
    /// A line on a call stands last: words that follow stand apart from it.
    after_call: bool,
    turns: usize,
}

impl Screen {
    /// `styled` says whether colours and other looks are wanted.
    pub(super) fn new(terminal: File, styled: bool) -> Self {
        let columns = columns(&terminal);
        Self {
            terminal,
            layout: Layout::new(columns, styled),
            markdown: Markdown::default(),
            shown: HashMap::new(),
            last: None,
            status: None,
            status_width: 0,
            columns,
            after_call: false,
            turns: 0,
        }
    }

    /// Writes what the layout has, above the status line.
    fn flush(&mut self, column: usize) -> io::Result<()> {
        let text = self.layout.take();
        if text.is_empty() {
            return Ok(());
        }
        let mut out = String::with_capacity(text.len() + 64);
        out.push_str(BEGIN);
        if self.status.is_some() {
            out.push_str(&self.erase());
            if column > 0 {
                out.push_str(&format!("\u{1b}[{column}C"));
            }
        }
        out.push_str(&text);
        if let Some(status) = &self.status {
            out.push('\n');
            out.push_str(status);
        }
        out.push_str(END);
        self.terminal.write_all(out.as_bytes())
    }

    /// What takes the status line away and goes back to the row above it. Terminals that became narrower have broken it.
    fn erase(&self) -> String {
        let rows = self.status_width.div_ceil(self.columns.max(1)).max(1);
        "\r\u{1b}[K\u{1b}[1A".repeat(rows)
    }

    /// Goes on in a row of its own where the terminal has another width: what it made of the last one is not known.
    fn fit(&mut self) -> io::Result<()> {
        let columns = columns(&self.terminal);
        if std::mem::replace(&mut self.columns, columns) == columns {
            return Ok(());
        }
        let column = self.layout.column();
        self.layout.resize(columns);
        self.flush(column)
    }

    /// Ends the text that stands open.
    fn end_text(&mut self) {
        self.markdown.finish(&mut self.layout);
        self.last = None;
    }

    /// Lines that stand for themselves.
    fn lines(&mut self, text: &str, style: Style) -> io::Result<()> {
        self.fit()?;
        let column = self.layout.column();
        self.end_text();
        self.after_call = false;
        for line in plain(text).lines() {
            self.layout.words(line, style);
            self.layout.end_line();
        }
        self.flush(column)
    }
}

const DIM: Style = Style {
    bold: false,
    italic: false,
    underline: false,
    dim: true,
    code: false,
};

impl View for Screen {
    fn begin(&mut self) -> io::Result<()> {
        self.shown.clear();
        self.after_call = false;
        self.layout.end_line();
        self.flush(0)
    }

    fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        self.fit()?;
        let column = self.layout.column();
        let (text, seen, replaces) = new_text(segment, &self.shown);
        let text = plain(text);
        if replaces {
            self.remark("The text above is replaced by its authoritative copy:")?;
        } else if text.is_empty() {
            return Ok(());
        }
        let column = if replaces { 0 } else { column };
        if self.last.as_deref() != Some(segment.message_id()) {
            self.end_text();
            self.last = Some(segment.message_id().to_owned());
            if std::mem::take(&mut self.after_call) {
                self.layout.end_line();
            }
        }
        self.markdown.push(&text, &mut self.layout);
        self.shown.insert(segment.message_id().to_owned(), seen);
        self.flush(column)
    }

    fn activity(&mut self, state: ActivityState, name: &str, summary: &str) -> io::Result<()> {
        let mark = match state {
            // The status line says what runs.
            ActivityState::Started => return Ok(()),
            ActivityState::Completed => '✓',
            ActivityState::Failed => '✗',
        };
        let about = one_line(&about_call(name, summary), self.columns.max(20) - 6);
        self.lines(&format!("  {mark} {about}"), DIM)?;
        self.after_call = true;
        Ok(())
    }

    fn remark(&mut self, text: &str) -> io::Result<()> {
        self.lines(text, DIM)
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.lines(text, DIM)?;
        self.layout.end_line();
        self.flush(0)
    }

    fn say(&mut self, text: &str) -> io::Result<()> {
        self.lines(text, Style::default())
    }

    fn question(&mut self, text: &str) -> io::Result<()> {
        self.rest()?;
        let bold = Style {
            bold: true,
            ..Style::default()
        };
        self.layout.end_line();
        self.lines(text, bold)
    }

    fn status(&mut self, about: &About<'_>) -> io::Result<()> {
        self.fit()?;
        let columns = self.columns;
        self.turns = self.turns.wrapping_add(1);
        let spinner = SPINNER[self.turns % SPINNER.len()];
        let line = about.line(Instant::now());
        // Not to the last column: there terminals differ in where the cursor is.
        let line = one_line(
            &format!("{spinner} {line}"),
            columns.saturating_sub(2).max(8),
        );
        self.status_width = line.chars().count();
        let line = match self.layout.is_styled() {
            true => format!("\u{1b}[2m{line}\u{1b}[0m"),
            false => line,
        };
        let lead = if self.status.is_some() { "\r" } else { "\n" };
        let out = format!("{lead}{line}\u{1b}[K");
        self.status = Some(line);
        self.terminal.write_all(out.as_bytes())
    }

    fn rest(&mut self) -> io::Result<()> {
        let column = self.layout.column();
        self.end_text();
        self.flush(column)?;
        if self.status.take().is_some() {
            // The row above is empty.
            self.terminal.write_all(self.erase().as_bytes())?;
        }
        Ok(())
    }
}

fn columns(terminal: &File) -> usize {
    let size = tcgetwinsize(terminal).map_or(0, |size| usize::from(size.ws_col));
    if size == 0 { COLUMNS } else { size }
}
