//! What a person types: lines with editing and history at a terminal, lines of any input without one.
//! Knows no conversation.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use reedline::{
    ColumnarMenu, Completer, CompletionResult, EditCommand, Emacs, FileBackedHistory, History,
    HistoryItem, HistoryItemId, HistorySessionId, KeyCode, KeyModifiers, MenuBuilder as _, Prompt,
    PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus, Reedline, ReedlineEvent,
    ReedlineMenu, SearchQuery, Signal, Span, Suggestion, ValidationResult, Validator,
    default_emacs_keybindings,
};

use super::view::View;
use super::{files, slash};

/// Lines that are remembered, and the longest one.
const REMEMBERED: usize = 1_000;
const LONGEST_REMEMBERED: usize = 4_096;
/// Longest line of an input that is kept; of a longer one only the length is.
const LONGEST_LINE: usize = 64 * 1024;

/// The next thing that was typed.
pub(super) enum Line {
    Text(String),
    Interrupted,
    End,
}

/// Where lines come from.
pub(super) trait Typed {
    /// Blocks.
    fn next(&mut self, view: &mut dyn View) -> io::Result<Line>;
}

/// A person at a terminal.
pub(super) struct Editor {
    editor: Reedline,
}

impl Editor {
    pub(super) fn new(styled: bool, cwd: Option<PathBuf>) -> Self {
        let mut keys = default_emacs_keybindings();
        let menu = || ReedlineEvent::Menu("names".to_owned());
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![menu(), ReedlineEvent::MenuNext]),
        );
        let newline = || ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline());
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::Enter, newline());
        let names = ColumnarMenu::default().with_name("names").with_columns(2);
        let cwd = cwd.unwrap_or_else(|| PathBuf::from("."));
        let editor = Reedline::create()
            .with_ansi_colors(styled)
            .use_bracketed_paste(true)
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_history(history())
            // A line that begins with a blank is not remembered, as shells have it.
            .with_history_exclusion_prefix(Some(" ".to_owned()))
            .with_validator(Box::new(Backslash))
            .with_completer(Box::new(Names { cwd }))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(names)))
            .with_edit_mode(Box::new(Emacs::new(keys)));
        Self { editor }
    }
}

impl Typed for Editor {
    fn next(&mut self, _: &mut dyn View) -> io::Result<Line> {
        let typed = self.editor.read_line(&Sign).map_err(io::Error::other)?;
        // What can't be written is forgotten with the process.
        let _ = self.editor.sync_history();
        Ok(match typed {
            Signal::Success(text) => Line::Text(text.replace("\\\n", "\n")),
            Signal::CtrlC => Line::Interrupted,
            _ => Line::End,
        })
    }
}

/// What stands before the line.
struct Sign;

impl Prompt for Sign {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }
    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("› ")
    }
    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("  ")
    }
    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let failing = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "no ",
        };
        Cow::Owned(format!("({failing}search: {}) ", search.term))
    }
}

/// A line goes on behind a backslash.
struct Backslash;

impl Validator for Backslash {
    fn validate(&self, line: &str) -> ValidationResult {
        match line.ends_with('\\') {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Complete,
        }
    }
}

/// Completes files behind `@`, and commands of the chat at the beginning.
struct Names {
    cwd: PathBuf,
}

impl Completer for Names {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let line = line.get(..pos).unwrap_or(line);
        let (start, names) = match files::named_at(line) {
            Some(start) => (start, files::completions(&line[start..], &self.cwd)),
            None if line.starts_with('/') => {
                let known = slash::names().iter().filter(|name| name.starts_with(line));
                (0, known.map(|&name| name.to_owned()).collect())
            }
            None => (pos, Vec::new()),
        };
        let offered = names.into_iter().map(|value| Suggestion {
            append_whitespace: !value.ends_with('/'),
            value,
            span: Span::new(start, pos),
            ..Suggestion::default()
        });
        CompletionResult::fresh(offered.collect::<Vec<_>>())
    }
}

/// The lines of earlier chats, which only the person may read; in memory alone where there can be no file.
fn history() -> Box<dyn History> {
    let redactor = redact::Redactor::of_process();
    let lines = file()
        .and_then(|file| FileBackedHistory::with_file(REMEMBERED, file).ok())
        .unwrap_or_default();
    Box::new(Masked { lines, redactor })
}

/// The file, made for the person alone.
fn file() -> Option<PathBuf> {
    let own = std::env::var_os("MC_HOME").filter(|home| !home.is_empty());
    let home = match own {
        Some(home) => std::path::absolute(home).ok()?,
        None => std::env::home_dir()?.join(".magi-code"),
    };
    let file = home.join("chat-history");
    private(&file).ok()?;
    Some(file)
}

fn private(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let no_link = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let opened = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .custom_flags(no_link)
        .open(file)?;
    opened.set_permissions(std::fs::Permissions::from_mode(0o600))
}

/// A history in which secrets are masked before they are kept.
struct Masked {
    lines: FileBackedHistory,
    redactor: redact::Redactor,
}

impl History for Masked {
    fn save(&mut self, mut item: HistoryItem) -> reedline::Result<HistoryItem> {
        if item.command_line.len() > LONGEST_REMEMBERED {
            // As if it had been blank: nothing is kept.
            item.command_line.clear();
        }
        let masked = self.redactor.redact(&item.command_line);
        item.command_line = masked.as_str().to_owned();
        self.lines.save(item)
    }
    fn load(&self, id: HistoryItemId) -> reedline::Result<HistoryItem> {
        self.lines.load(id)
    }
    fn count(&self, query: SearchQuery) -> reedline::Result<i64> {
        self.lines.count(query)
    }
    fn search(&self, query: SearchQuery) -> reedline::Result<Vec<HistoryItem>> {
        self.lines.search(query)
    }
    fn update(
        &mut self,
        id: HistoryItemId,
        updater: &dyn Fn(HistoryItem) -> HistoryItem,
    ) -> reedline::Result<()> {
        self.lines.update(id, updater)
    }
    fn clear(&mut self) -> reedline::Result<()> {
        self.lines.clear()
    }
    fn delete(&mut self, id: HistoryItemId) -> reedline::Result<()> {
        self.lines.delete(id)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.lines.sync()
    }
    fn session(&self) -> Option<HistorySessionId> {
        self.lines.session()
    }
}

/// Lines of an input that is no terminal.
pub(super) struct Lines {
    input: BufReader<File>,
}

impl Lines {
    pub(super) fn new(input: File) -> Self {
        Self {
            input: BufReader::new(input),
        }
    }
}

impl Typed for Lines {
    fn next(&mut self, view: &mut dyn View) -> io::Result<Line> {
        let mut line = Vec::new();
        let mut length = 0;
        loop {
            let there = self.input.fill_buf()?;
            let end = there.iter().position(|&byte| byte == b'\n');
            let count = end.unwrap_or(there.len());
            length += count;
            let room = LONGEST_LINE.saturating_sub(line.len()).min(count);
            line.extend_from_slice(&there[..room]);
            let is_over = there.is_empty();
            self.input.consume(count + usize::from(end.is_some()));
            if is_over && length == 0 {
                return Ok(Line::End);
            }
            if end.is_none() && !is_over {
                continue;
            }
            if length > LONGEST_LINE {
                view.remark(&format!(
                    "the prompt has {length} bytes; at most 16,384 are taken"
                ))?;
            } else {
                match String::from_utf8(std::mem::take(&mut line)) {
                    Ok(text) if text.trim().is_empty() => {}
                    Ok(text) => return Ok(Line::Text(text.trim_end_matches('\r').to_owned())),
                    Err(error) => view.remark(&format!("the prompt is not UTF-8: {error}"))?,
                }
            }
            (length, line) = (0, Vec::new());
        }
    }
}
