//! The alphabets that secrets are made of. Which secret has which is said by the data files.
//! No judgement of a string stands here.

/// Characters of a run, all of ASCII.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    Digit,
    Hex,
    /// Capital letters and digits.
    Upper,
    Alnum,
    /// Letters, digits, `_` and `-`.
    Plain,
    /// The same and `.`.
    Dotted,
    /// The same and `~`.
    Tilde,
    /// [`Self::Plain`] and `/`.
    Path,
    /// [`Self::Path`], `+` and `=`: base64 and its URL variant.
    Base64,
    /// Hashed passwords of crypt(5).
    Crypt,
    /// [`Self::Base64`] and `.`: what strings drawn by lot are made of.
    Random,
    /// What stands between a name in JSON and its value.
    Glue,
}

impl Alphabet {
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "digit" => Self::Digit,
            "hex" => Self::Hex,
            "upper" => Self::Upper,
            "alnum" => Self::Alnum,
            "plain" => Self::Plain,
            "dotted" => Self::Dotted,
            "tilde" => Self::Tilde,
            "path" => Self::Path,
            "base64" => Self::Base64,
            "crypt" => Self::Crypt,
            "glue" => Self::Glue,
            _ => return None,
        })
    }

    pub(super) fn allows(self, byte: u8) -> bool {
        match self {
            Self::Digit => byte.is_ascii_digit(),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Glue => matches!(byte, b'"' | b'\\' | b':' | b' '),
            _ if byte.is_ascii_alphanumeric() => true,
            Self::Alnum => false,
            Self::Plain => matches!(byte, b'_' | b'-'),
            Self::Dotted => matches!(byte, b'_' | b'-' | b'.'),
            Self::Tilde => matches!(byte, b'_' | b'-' | b'.' | b'~'),
            Self::Path => matches!(byte, b'_' | b'-' | b'/'),
            Self::Base64 => matches!(byte, b'_' | b'-' | b'/' | b'+' | b'='),
            Self::Crypt => matches!(byte, b'.' | b'/' | b'$' | b'=' | b',' | b'+' | b'-'),
            Self::Random => matches!(byte, b'_' | b'-' | b'/' | b'+' | b'=' | b'.'),
        }
    }

    /// Whether a full stop may stand within, but not at the end: there it ends a sentence.
    pub(super) fn has_dots(self) -> bool {
        matches!(self, Self::Dotted | Self::Tilde | Self::Crypt)
    }

    /// Whether names of things are made of it too, which have no digits.
    pub(super) fn is_of_names(self) -> bool {
        !matches!(self, Self::Digit | Self::Hex | Self::Upper | Self::Glue)
    }
}
