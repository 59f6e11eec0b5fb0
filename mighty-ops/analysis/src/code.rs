//! A diagnostic code and its spellings. Whether a number is assigned is the catalogue's to say;
//! this file only tells a code from any other text.

use std::fmt;
use std::str::FromStr;

/// A well-formed code, assigned or not. Shows itself as `MT` and four digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(u16);

/// The text is in none of the accepted spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a diagnostic code: expected a form like MT0001, SD0001, 0001 or 1")]
pub struct NotACode;

impl Code {
    /// The code of a number that the catalogue holds.
    pub(crate) fn assigned(number: u16) -> Self {
        Self(number)
    }

    /// The bare number, 0 to 9999.
    #[must_use]
    pub fn number(self) -> u16 {
        self.0
    }
}

/// Reads `MT0001`, `SD0001` (the legacy prefix), `0001` and `1` alike, letters in either case
/// (toolchain, section 8). At most four digits, so the longest code has six bytes; longer text
/// is refused after a look at its length only. Blanks around a code are not part of any spelling.
impl FromStr for Code {
    type Err = NotACode;

    fn from_str(text: &str) -> Result<Self, NotACode> {
        if text.len() > 6 {
            return Err(NotACode);
        }
        let digits = match text.split_at_checked(2) {
            Some((prefix, rest))
                if prefix.eq_ignore_ascii_case("MT") || prefix.eq_ignore_ascii_case("SD") =>
            {
                rest
            }
            _ => text,
        };
        // `parse` alone would take a sign, or six digits of leading zeros.
        if digits.len() > 4 || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(NotACode);
        }
        digits.parse().ok().map(Code).ok_or(NotACode)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MT{:04}", self.0)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn spellings_of_one_code_are_equal() {
        for text in ["MT0001", "mt0001", "SD0001", "sd0001", "0001", "1"] {
            let code: Code = text.parse().unwrap();
            assert_eq!(
                (code.number(), code.to_string().as_str()),
                (1, "MT0001"),
                "{text}"
            );
        }
        assert_eq!("4099".parse::<Code>().unwrap().to_string(), "MT4099");
        assert_eq!("9999".parse::<Code>().unwrap().number(), 9999);
    }

    #[test]
    fn other_texts_are_no_codes() {
        let long = "1".repeat(1 << 20);
        let texts = [
            "",
            " ",
            "MT",
            "sd",
            "MT ",
            "MT-1",
            "+1",
            "-1",
            "10000",
            "00001",
            "MT00001",
            " MT0001",
            "MT0001 ",
            "MT0001\n",
            "XX0001",
            "MTMT01",
            "0x01",
            "1.0",
            "M1",
            "MT٠٠٠١",
            "é1",
            "١",
            "ＭＴ1",
            &long,
        ];
        for text in texts {
            assert_eq!(
                text.parse::<Code>(),
                Err(NotACode),
                "{:?}",
                text.get(..8).unwrap_or(text)
            );
        }
    }

    proptest! {
        #[test]
        fn any_number_round_trips(n in 0u16..10_000) {
            let code: Code = n.to_string().parse().unwrap();
            prop_assert_eq!(code.number(), n);
            prop_assert_eq!(code.to_string().parse::<Code>().unwrap(), code);
            prop_assert_eq!(format!("sD{n:04}").parse::<Code>().unwrap(), code);
        }

        #[test]
        fn any_text_is_answered(text in any::<String>()) {
            if let Ok(code) = text.parse::<Code>() {
                prop_assert!(text.len() <= 6 && code.number() <= 9999);
            }
        }
    }
}
