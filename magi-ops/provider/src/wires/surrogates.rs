//! Characters whose two surrogate escapes a server sends in two events: JSON lets no half of one pass.
//! Halves travel as private-use characters from the reading of an event to the joining of its text.

/// A lone surrogate `0xD800..=0xDFFF` travels as `0x10D800..=0x10DFFF`, which no server's text holds.
const OFFSET: u32 = 0x10_0000;

/// The character that stands for half of one.
pub(crate) fn half(surrogate: u16) -> char {
    char::from_u32(OFFSET + u32::from(surrogate)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn surrogate(c: char) -> Option<u16> {
    let code = (c as u32).checked_sub(OFFSET)?;
    (0xD800..=0xDFFF).contains(&code).then_some(code as u16)
}

/// Puts the halves of one text together, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// The first half of a character, which waits for the second.
    waiting: Option<u16>,
}

impl Joiner {
    /// The next piece with whole characters only. `lone`: halves may be in it.
    pub(crate) fn join(&mut self, piece: String, lone: bool) -> String {
        if piece.is_empty() || (!lone && self.waiting.is_none()) {
            return piece;
        }
        let mut joined = String::with_capacity(piece.len());
        for c in piece.chars() {
            let next = surrogate(c).filter(|_| lone);
            let before = self.waiting.take();
            match (before, next) {
                (Some(first), Some(second)) if second >= 0xDC00 => {
                    joined.extend(char::decode_utf16([first, second]).flatten());
                    continue;
                }
                (Some(_), _) => joined.push(char::REPLACEMENT_CHARACTER),
                (None, _) => {}
            }
            match next {
                Some(first) if first < 0xDC00 => self.waiting = Some(first),
                Some(_) => joined.push(char::REPLACEMENT_CHARACTER),
                None => joined.push(c),
            }
        }
        joined
    }

    /// What is left when the text has ended.
    pub(crate) fn finish(&mut self) -> Option<String> {
        self.waiting
            .take()
            .map(|_| char::REPLACEMENT_CHARACTER.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_find_each_other_and_nothing_else() {
        let (first, second) = (half(0xD83D), half(0xDE00));
        let mut joiner = Joiner::default();
        assert_eq!(joiner.join(format!("a{first}"), true), "a");
        assert_eq!(joiner.join(String::new(), false), "");
        assert_eq!(joiner.join(format!("{second}b"), true), "\u{1F600}b");
        assert_eq!(joiner.join(format!("{first}"), true), "");
        assert_eq!(joiner.join("c".into(), false), "\u{FFFD}c");
        assert_eq!(
            joiner.join(format!("{second}{first}{first}"), true),
            "\u{FFFD}\u{FFFD}"
        );
        assert_eq!(joiner.finish(), Some("\u{FFFD}".into()));
        assert_eq!(joiner.finish(), None);
        // A server's own private-use character is left alone.
        assert_eq!(joiner.join(first.to_string(), false), first.to_string());
    }
}
