//! The syntax errors of a parse and the byte ranges they point at.
//! Must not hold explain texts or fixes: those belong to the analysis.

/// A half-open range of byte offsets into the normalised text of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TextRange {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl TextRange {
    /// A range from `start` to `end`.
    #[must_use]
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// Number of bytes.
    #[must_use]
    pub fn len(self) -> u32 {
        self.end - self.start
    }

    /// Whether it covers no byte.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.start == self.end
    }

    /// Whether `offset` lies inside.
    #[must_use]
    pub fn contains(self, offset: u32) -> bool {
        self.start <= offset && offset < self.end
    }

    /// Whether `other` lies inside as a whole.
    #[must_use]
    pub fn covers(self, other: TextRange) -> bool {
        self.start <= other.start && other.end <= self.end
    }
}

impl From<TextRange> for std::ops::Range<usize> {
    fn from(r: TextRange) -> Self {
        r.start as usize..r.end as usize
    }
}

/// One report of the lexer or parser; always of error severity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The catalogue number, `MT0001` … `MT0030`.
    pub code: &'static str,
    /// Where, in the normalised text (see [`crate::Parse::file_range`]).
    pub range: TextRange,
    /// One line that says what was found and what was expected.
    pub title: String,
    /// Further facts about this site.
    pub notes: Vec<String>,
    /// Another place that has to do with it: the opener of a mismatched closer, the first of two handlers.
    pub related: Option<TextRange>,
}

impl SyntaxError {
    pub(crate) fn new(code: &'static str, range: TextRange, title: String) -> Self {
        Self {
            code,
            range,
            title,
            notes: Vec::new(),
            related: None,
        }
    }

    /// Whether later stages must not run: every code here but MT0020 and MT0021 (language.md §27).
    #[must_use]
    pub fn is_hard(&self) -> bool {
        !matches!(
            self.code,
            code::DUPLICATE_ON_HANDLER | code::PUB_NEEDS_RETURN_TYPE
        )
    }
}

/// The numbers this crate reports, by their registered names.
pub mod code {
    /// No grammar rule accepts this token.
    pub const UNEXPECTED_TOKEN: &str = "MT0001";
    /// A string or character literal without its closing quote.
    pub const UNTERMINATED_STRING: &str = "MT0002";
    /// An unknown escape.
    pub const INVALID_ESCAPE: &str = "MT0003";
    /// A duration-like word glued to a number.
    pub const UNKNOWN_DURATION_UNIT: &str = "MT0004";
    /// A block comment without its end; shares its number with the one above.
    pub const UNTERMINATED_COMMENT: &str = "MT0004";
    /// A number that breaks the rules of its form.
    pub const MALFORMED_NUMERIC_LITERAL: &str = "MT0006";
    /// No item begins here.
    pub const EXPECTED_ITEM: &str = "MT0010";
    /// An operand is missing.
    pub const EXPECTED_EXPR: &str = "MT0011";
    /// A bracket closed by another kind, or never.
    pub const MISMATCHED_DELIMITER: &str = "MT0012";
    /// Two handlers for one message.
    pub const DUPLICATE_ON_HANDLER: &str = "MT0020";
    /// A module-level `pub fn` without `->`.
    pub const PUB_NEEDS_RETURN_TYPE: &str = "MT0021";
    /// Too many brackets open or prefix operators in a row.
    pub const DEPTH_LIMIT_EXCEEDED: &str = "MT0030";
}
