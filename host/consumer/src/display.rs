//! Text from a model, a tool or a peer on its way to a terminal: nothing in it may steer the terminal.
//! No colours, no layout, no I/O.

use std::borrow::Cow;

/// Makes untrusted text safe to show: line feeds and tabs stay, carriage returns go, every other
/// control character (C0, DEL, C1) and every character that reorders or hides text becomes a
/// visible `\u{..}`. Idempotent, and never longer than nine bytes for each input byte.
#[must_use]
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(steers) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\r' => {}
            c if steers(c) => safe.extend(c.escape_unicode()),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// As [`plain`], on one line and at most `width` characters: for status lines and summaries.
#[must_use]
pub fn one_line(text: &str, width: usize) -> String {
    let flat: String = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    if flat.chars().count() <= width {
        return flat;
    }
    let mut cut: String = flat.chars().take(width.saturating_sub(1)).collect();
    cut.push('…');
    cut
}

fn steers(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' // marks of direction
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' // embeddings, overrides, isolates
            | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn escape_sequences_become_visible() {
        assert_eq!(
            plain("\u{1b}[2J\u{1b}]0;t\u{7}ok"),
            "\\u{1b}[2J\\u{1b}]0;t\\u{7}ok"
        );
        assert_eq!(plain("\u{9b}31m"), "\\u{9b}31m");
        assert_eq!(plain("a\r\nb\tc"), "a\nb\tc");
        assert_eq!(plain("x\u{202e}y"), "x\\u{202e}y");
        assert!(matches!(plain("Grüße, 世界"), Cow::Borrowed(_)));
    }

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(one_line("a\n\n  b\tc", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }

    proptest! {
        #[test]
        fn nothing_that_steers_survives(text in any::<String>(), width in 1usize..40) {
            let safe = plain(&text);
            prop_assert!(!safe.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert_eq!(plain(&safe), safe.as_ref());
            let line = one_line(&text, width);
            prop_assert!(line.chars().count() <= width && !line.contains('\n'));
        }
    }
}
