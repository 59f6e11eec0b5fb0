//! Text that may be shown: what the redactor makes, and what may be done with it without looking for secrets again.
//! Finding secrets is not its matter.

use std::ops::Range;

/// Text without secrets and without what must not be shown. Only the redactor makes it, so that raw text can't take its
/// place.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Redacted(pub(super) String);

impl Redacted {
    /// Text that stands in the program itself and can hold no secret.
    pub fn fixed(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text itself, for good.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its length in UTF-8 bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends text that was redacted too.
    pub fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// A copy of a part, in bytes, which must begin and end at characters' ends.
    ///
    /// # Panics
    /// If it does not.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self(self.0[range].to_owned())
    }

    /// As [`Self::summary`], but what is too long loses its middle: a path says the most at its end. For a text that was
    /// redacted whole, as every one that is cut.
    pub fn ends(self, bytes: usize) -> Self {
        const ELLIPSIS: &str = "…";
        if self.0.len() <= bytes {
            return self.summary(bytes);
        }
        let room = bytes.saturating_sub(ELLIPSIS.len());
        let begin = self.0.floor_char_boundary(room - room / 2);
        let end = self.0.ceil_char_boundary(self.0.len() - room / 2);
        let text = format!("{}{ELLIPSIS}{}", &self.0[..begin], &self.0[end..]);
        Self(text).summary(bytes)
    }

    /// On one line and within `bytes` UTF-8 bytes: line ends and tabs become spaces, and an ellipsis marks what was cut.
    pub fn summary(self, bytes: usize) -> Self {
        const ELLIPSIS: &str = "…";
        let space = |c: char| if c.is_control() { ' ' } else { c };
        let mut text: String = self.0.chars().map(space).collect();
        if text.len() > bytes {
            let room = bytes.saturating_sub(ELLIPSIS.len());
            text.truncate(text.floor_char_boundary(room));
            if bytes >= ELLIPSIS.len() {
                text.push_str(ELLIPSIS);
            }
        }
        Self(text)
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}
