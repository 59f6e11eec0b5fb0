//! Looks up the long text of a diagnostic code. The words live in `explain.txt`, one block per
//! number; nothing here is parsed before somebody asks.

use crate::catalogue;
use crate::code::{Code, NotACode};

/// All texts: blocks in ascending order, separated by one blank line, LF only. A block begins
/// with `MTnnnn: ` and its only other blank line is the one after the title, so the next block
/// begins at the next `MT` after a blank line. The tests hold the file to that.
static TEXTS: &str = include_str!("explain.txt");

/// The explanation of one assigned code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Explanation {
    /// Canonical spelling, `MT` and four digits.
    pub code: &'static str,
    /// 6 to 14 lines of at most 76 columns, without a final newline.
    pub text: &'static str,
}

/// Why there is no explanation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ExplainError {
    /// The text is in none of the spellings of a code.
    #[error(transparent)]
    NotACode(#[from] NotACode),
    /// Well-formed, but no such number is assigned.
    #[error("unknown diagnostic code {code}")]
    Unknown { code: Code },
}

/// The text for `code` in any accepted spelling (toolchain, section 8).
///
/// # Errors
/// [`ExplainError::NotACode`] for text that spells no code, whatever its length;
/// [`ExplainError::Unknown`] for a number that the catalogue does not hold.
pub fn explain(code: &str) -> Result<Explanation, ExplainError> {
    let code: Code = code.parse()?;
    let unknown = ExplainError::Unknown { code };
    catalogue::lookup(code.number()).ok_or(unknown)?;
    block(code).ok_or(unknown)
}

/// One pass over the file: some 80 KB, well under a millisecond, and no index to build or carry.
fn block(code: Code) -> Option<Explanation> {
    let head = format!("{code}: ");
    let start = if TEXTS.starts_with(&head) {
        0
    } else {
        TEXTS.find(&format!("\n\n{head}"))? + 2
    };
    let rest = TEXTS.get(start..)?;
    let text = match rest.find("\n\nMT") {
        Some(end) => rest.get(..end)?,
        None => rest.trim_end_matches('\n'),
    };
    Some(Explanation {
        code: text.get(..6)?,
        text,
    })
}
