//! Reasons: what is wrong with a configuration, or ignored of it, where it stands, and what to do about it.
//! Their form only; who finds one says what it is, and who shows one passes it through the redaction seam.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most reasons that one look at a configuration collects of a kind; the last one says that there are more.
pub const MAX_REASONS: usize = 64;

/// One thing that is wrong with the configuration, or that is ignored of it. Carries paths and words of the
/// files: for the person's own eyes and the log, never for the wire.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reason {
    /// The file that it stands in.
    pub file: Option<PathBuf>,
    /// From 1; only with a file.
    pub line: Option<usize>,
    /// In characters, from 1; only with a line.
    pub column: Option<usize>,
    /// The names of the members that lead there, joined by dots.
    pub key: Option<String>,
    /// The environment variable that it is about.
    pub variable: Option<String>,
    /// What is wrong or ignored; one line without a full stop.
    pub reason: String,
    /// What to do about it; one line without a full stop.
    pub help: Option<String>,
}

impl Reason {
    /// A reason that stands nowhere in particular.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            ..Self::default()
        }
    }

    /// Of a file as a whole.
    #[must_use]
    pub fn of_file(file: &Path, reason: impl Into<String>) -> Self {
        Self {
            file: Some(file.to_owned()),
            ..Self::new(reason)
        }
    }

    /// Of an environment variable.
    #[must_use]
    pub fn of_variable(variable: &str, reason: impl Into<String>) -> Self {
        Self {
            variable: Some(variable.to_owned()),
            ..Self::new(reason)
        }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl Reason {
    /// `PATH:LINE:COLUMN: reason`, or with the variable in the place of a path; one line, whatever the files' words hold.
    #[must_use]
    pub fn place_and_reason(&self) -> String {
        let place = match (&self.file, self.line, self.column, &self.variable) {
            (Some(file), Some(line), Some(column), _) => {
                format!("{}:{line}:{column}: ", shown_path(file))
            }
            (Some(file), ..) => format!("{}: ", shown_path(file)),
            (None, .., Some(variable)) => format!("{variable}: "),
            (None, .., None) => String::new(),
        };
        place + &on_a_line(&self.reason)
    }
}

/// Where it stands and what it is, and what to do behind it.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place_and_reason())?;
        match &self.help {
            Some(help) => write!(f, "; {}", on_a_line(help)),
            None => Ok(()),
        }
    }
}

/// A word of a file as a reason may repeat it: bounded, without what a terminal would act on.
pub fn shown(word: &str) -> String {
    const LONGEST: usize = 64;
    let mut chars = word.chars();
    let mut shown: String = chars.by_ref().take(LONGEST).map(harmless).collect();
    if chars.next().is_some() {
        shown.push('…');
    }
    shown
}

/// Words of a closed list as a sentence repeats them: the first eight.
pub fn listed(words: &[impl AsRef<str>]) -> String {
    /// More would hide what the sentence is about.
    const MOST: usize = 8;
    let named = words.iter().take(MOST);
    let mut named: Vec<_> = named
        .map(|word| format!("`{}`", shown(word.as_ref())))
        .collect();
    if words.len() > MOST {
        named.push("…".to_owned());
    }
    named.join(", ")
}

/// A path on one line, without what a terminal would act on.
pub fn shown_path(path: &Path) -> String {
    on_a_line(&path.to_string_lossy())
}

/// A text on one line, without what a terminal would act on or nobody would see.
#[must_use]
pub fn on_a_line(text: &str) -> String {
    text.chars().map(harmless).collect()
}

/// A word as one word of a command line to copy: as it is, or in single quotes. `None` for what could not be seen whole
/// there, or is taken for an option: no command is to be suggested with it.
#[must_use]
pub fn command_word(word: &str) -> Option<String> {
    let is_shown = shown(word) == word && !word.is_empty() && !word.starts_with('-');
    is_shown.then(|| quoted(word))
}

/// Any text as one word of a shell's line.
#[must_use]
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@=,+%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// What nobody sees, or moves what stands around it, gives way: a name must not seem to be another.
fn harmless(c: char) -> char {
    match redact::is_unseen(c) {
        true => '\u{fffd}',
        false => c,
    }
}

/// Reasons in the order they were found, at most [`MAX_REASONS`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Reasons(Vec<Reason>);

impl Reasons {
    /// Adds one; beyond the bound only that there are more.
    pub fn add(&mut self, reason: Reason) {
        if self.0.len() + 1 < MAX_REASONS {
            self.0.push(reason);
        } else if self.0.len() < MAX_REASONS {
            self.0.push(Reason::new("there is more of this kind"));
        }
    }

    /// Whether nothing was found.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In the order they were found.
    #[must_use]
    pub fn into_vec(self) -> Vec<Reason> {
        self.0
    }
}

impl Extend<Reason> for Reasons {
    fn extend<I: IntoIterator<Item = Reason>>(&mut self, more: I) {
        more.into_iter().for_each(|reason| self.add(reason));
    }
}

/// A text file as it was read: what a place in it is called.
#[derive(PartialEq, Eq)]
pub(crate) struct SourceText {
    /// Where it was read.
    pub path: PathBuf,
    /// Without a byte order mark.
    pub text: String,
    /// Where each line begins.
    lines: Vec<usize>,
}

impl fmt::Debug for SourceText {
    /// Without the text, which may hold what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SourceText").field(&self.path).finish()
    }
}

impl SourceText {
    pub(crate) fn new(path: &Path, text: String) -> Arc<Self> {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|end| end + 1);
        Arc::new(Self {
            path: path.to_owned(),
            lines: std::iter::once(0).chain(ends).collect(),
            text,
        })
    }

    /// The line and column of a byte, both from 1.
    pub(crate) fn position(&self, offset: usize) -> (usize, usize) {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.lines.partition_point(|start| *start <= offset);
        let start = self.lines[line - 1];
        (line, self.text[start..offset].chars().count() + 1)
    }

    /// A reason that stands at a byte of this file.
    pub(crate) fn reason(&self, offset: usize, reason: impl Into<String>) -> Reason {
        let (line, column) = self.position(offset);
        Reason {
            line: Some(line),
            column: Some(column),
            ..Reason::of_file(&self.path, reason)
        }
    }
}

/// The byte of `text` at which `serde_json` found an error: it counts lines and bytes from 1, the byte 0 before the first
/// one.
pub(crate) fn offset_of(error: &serde_json::Error, text: &str) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    let offset = lines.map(str::len).sum::<usize>() + error.column().saturating_sub(1);
    offset.min(text.len())
}

/// The end of a sentence about a word that somebody probably meant otherwise.
pub fn did_you_mean(meant: Option<&str>) -> String {
    meant
        .map(|meant| format!("; did you mean `{}`?", shown(meant)))
        .unwrap_or_default()
}

/// The first of some reasons, for who can say only one.
pub(crate) fn first(reasons: &[Reason]) -> String {
    reasons.first().map(Reason::to_string).unwrap_or_default()
}

/// The word that somebody probably meant by `word`: one of `known` that differs by little.
pub fn near_miss<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A word beyond this was not meant as one.
    const LONGEST: usize = 64;
    if word.len() > LONGEST {
        return None;
    }
    let plain = |word: &str| word.to_lowercase().replace('-', "_");
    let joined = |word: &str| plain(word).replace('_', "");
    let (meant, meant_joined) = (plain(word), joined(word));
    known
        .into_iter()
        .filter_map(|known| {
            let distance = match joined(known) == meant_joined {
                // What only parts its words otherwise is nearer than any other word.
                true => 0,
                false => strsim::damerau_levenshtein(&meant, &plain(known)),
            };
            let most = match known.chars().count() {
                0..=2 => 0,
                3..=5 => 1,
                _ => 2,
            };
            (distance <= most).then_some((distance, known))
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_counts_lines_and_characters_from_one() {
        let source = SourceText::new(Path::new("/f"), "a\néb\n\nc".to_owned());
        for (offset, place) in [
            (0, (1, 1)),
            (1, (1, 2)),
            (2, (2, 1)),
            (4, (2, 2)),
            (6, (3, 1)),
            (7, (4, 1)),
            (99, (4, 2)),
        ] {
            assert_eq!(source.position(offset), place, "{offset}");
        }
        let reason = source.reason(4, "is odd").help("mend it");
        assert_eq!(reason.to_string(), "/f:2:2: is odd; mend it");
    }

    #[test]
    fn what_files_say_is_one_line_and_one_word() {
        let reason = Reason::new("a\u{1b}[31m\nfoo: approved\u{ad}").help("b\nc");
        assert_eq!(
            reason.to_string(),
            "a\u{fffd}[31m\u{fffd}foo: approved\u{fffd}; b\u{fffd}c"
        );
        for (word, quoted) in [
            ("files", Some("files")),
            ("my server", Some("'my server'")),
            ("x`; touch /tmp/pwned #", Some("'x`; touch /tmp/pwned #'")),
            ("it's", Some(r"'it'\''s'")),
            ("a\nb", None),
            ("a\u{200b}", None),
            ("--help", None),
            ("", None),
        ] {
            assert_eq!(command_word(word).as_deref(), quoted, "{word:?}");
        }
        assert_eq!(command_word(&"x".repeat(65)), None);
    }

    #[test]
    fn a_near_miss_is_near() {
        let known = [
            "permissions",
            "provider",
            "providers",
            "bash",
            "read",
            "mcp_servers",
            "hooks",
        ];
        for (word, meant) in [
            ("permisions", Some("permissions")),
            ("Bash", Some("bash")),
            ("bahs", Some("bash")),
            ("providrs", Some("providers")),
            ("mcpServers", Some("mcp_servers")),
            ("mcp-servers", Some("mcp_servers")),
            ("theme", None),
            ("rad", Some("read")),
            ("", None),
        ] {
            assert_eq!(near_miss(word, known), meant, "{word}");
        }
    }

    #[test]
    fn reasons_are_bounded_and_say_so() {
        let mut reasons = Reasons::default();
        reasons.extend((0..MAX_REASONS * 2).map(|i| Reason::new(i.to_string())));
        let all = reasons.into_vec();
        assert_eq!(all.len(), MAX_REASONS);
        assert_eq!(all[MAX_REASONS - 1].reason, "there is more of this kind");
    }
}
