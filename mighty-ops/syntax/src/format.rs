//! The one canonical text of a file (formatting.md): `rules` plan it, `emit` writes it, `check` proves it.
//! Must not read or write files, and must not know the command line.

mod check;
mod emit;
mod layout;
mod plan;
mod rules;

use crate::Parse;

/// Why there is no canonical text. In both cases the file stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// The file has syntax errors ([`Parse::has_hard_error`]).
    SyntaxErrors,
    /// The result would not have been the same program. This is a fault of this crate; the check that
    /// found it keeps it from damaging a file.
    Unfaithful,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::SyntaxErrors => "the file has syntax errors",
            Self::Unfaithful => "the formatted text would not be the same program",
        })
    }
}

impl std::error::Error for Refused {}

/// The canonical text of a parsed file: LF line ends, no byte order mark, one final line feed; empty for a
/// file of blanks only. Formatting the result again changes nothing.
///
/// Only inside what is copied (literals, block comments, macro bodies) may a carriage return end a line; it is
/// written twice there, since the first LF after it takes one away when the text is read (language.md §1.1).
///
/// Tokens and comments are kept, in order; only the separators of formatting.md §6 are added or dropped.
/// This is checked for every result, in release builds too, by parsing it. Linear in the size of the text.
///
/// # Errors
/// [`Refused`]: the text must then be left alone, byte for byte.
pub fn format(parse: &Parse) -> Result<String, Refused> {
    if parse.has_hard_error() {
        return Err(Refused::SyntaxErrors);
    }
    let text = lay_out(parse);
    // A text as it was read needs no proof, unless reading it again would take something away.
    let same = text == parse.tree.text() && !text.contains("\r\n");
    if same || check::same_program(parse, &text) {
        Ok(text)
    } else {
        debug_assert!(false, "unfaithful: {:?}\n{text}", parse.tree.text());
        Err(Refused::Unfaithful)
    }
}

fn lay_out(parse: &Parse) -> String {
    let text = emit::emit(&rules::plan(&parse.tree));
    if memchr::memmem::find(text.as_bytes(), b"\r\n").is_none() {
        return text;
    }
    // Reading takes the CR in front of a LF away: the CR of a copied text has to be there twice.
    text.replace("\r\n", "\r\r\n")
}
