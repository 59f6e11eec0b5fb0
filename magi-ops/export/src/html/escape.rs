//! Texts that are words of a page and nothing else.

use std::fmt::{self, Display, Write as _};

use crate::words::is_odd;

/// A text without a mark of HTML in it, also within quotes of an attribute. Characters that act on a reader are shown by
/// their numbers.
pub(super) struct Escaped<'t>(pub(super) &'t str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut from = 0;
        for (at, c) in self.0.char_indices() {
            let entity = match c {
                '&' => "&amp;",
                '<' => "&lt;",
                '>' => "&gt;",
                '"' => "&quot;",
                '\'' => "&#39;",
                '\r' => "",
                c if is_odd(c) => "\u{fffd}",
                _ => continue,
            };
            f.write_str(&self.0[from..at])?;
            f.write_str(entity)?;
            from = at + c.len_utf8();
        }
        f.write_str(&self.0[from..])
    }
}

/// The same where elements may stand: characters that act on a reader are told by their numbers.
pub(super) struct Told<'t>(pub(super) &'t str);

impl Display for Told<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut from = 0;
        for (at, c) in self
            .0
            .char_indices()
            .filter(|(_, c)| is_odd(*c) && *c != '\r')
        {
            Escaped(&self.0[from..at]).fmt(f)?;
            write!(f, "<span class=\"unseen\">U+{:04X}</span>", u32::from(c))?;
            from = at + c.len_utf8();
        }
        Escaped(&self.0[from..]).fmt(f)
    }
}

impl Told<'_> {
    pub(super) fn into_string(self) -> String {
        let mut text = String::with_capacity(self.0.len());
        // Writing to a string can't fail.
        let _ = write!(text, "{self}");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_of_markup() {
        let hostile = "</script><img src=x onerror='a'>\"&\u{202e}\u{1b}\r\n";
        let expected = "&lt;/script&gt;&lt;img src=x onerror=&#39;a&#39;&gt;&quot;&amp;";
        assert_eq!(
            Escaped(hostile).to_string(),
            format!("{expected}\u{fffd}\u{fffd}\n")
        );
        let told = format!(
            "{expected}<span class=\"unseen\">U+202E</span><span class=\"unseen\">U+001B</span>\n"
        );
        assert_eq!(Told(hostile).into_string(), told);
    }
}
