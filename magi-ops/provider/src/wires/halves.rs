//! Characters that a server sends in two events: each a surrogate escape, or some of their bytes. JSON and
//! UTF-8 let no half of one pass, so halves travel as private-use characters until their texts are joined.

/// Lone surrogates `0xD800..=0xDFFF` travel as `0x10D800..=0x10DFFF`, bytes `0x80..=0xFF` that are no UTF-8 as
/// `0x10E080..=0x10E0FF`: no server's text holds those.
const SURROGATES: u32 = 0x10_0000;
const BYTES: u32 = 0x10_E000;

/// The character that stands for half of one.
pub(crate) fn surrogate(half: u16) -> char {
    char::from_u32(SURROGATES + u32::from(half)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The character that stands for a byte.
fn byte(byte: u8) -> char {
    char::from_u32(BYTES + u32::from(byte)).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// `data` with characters that stand for its bytes that are no UTF-8.
pub(crate) fn marked(data: &[u8]) -> String {
    let mut text = String::with_capacity(data.len());
    for chunk in data.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().copied().map(byte));
    }
    text
}

/// What a character is.
enum Piece {
    Surrogate(u16),
    Byte(u8),
    Whole(char),
}

impl Piece {
    fn of(c: char) -> Self {
        match c as u32 {
            code @ 0x10_D800..=0x10_DFFF => Self::Surrogate((code - SURROGATES) as u16),
            code @ 0x10_E080..=0x10_E0FF => Self::Byte((code - BYTES) as u8),
            _ => Self::Whole(c),
        }
    }
}

/// Puts the halves of one text together, piece by piece.
#[derive(Debug, Default)]
pub(crate) struct Joiner {
    /// The first half of a character, which waits for the second.
    surrogate: Option<u16>,
    /// The first bytes of a character, which wait for the others: at most three.
    bytes: Vec<u8>,
}

impl Joiner {
    /// The next piece with whole characters only. `lone`: halves may be in it.
    pub(crate) fn join(&mut self, piece: String, lone: bool) -> String {
        if piece.is_empty() || (!lone && self.surrogate.is_none() && self.bytes.is_empty()) {
            return piece;
        }
        let mut joined = String::with_capacity(piece.len());
        for c in piece.chars() {
            let next = match lone {
                true => Piece::of(c),
                false => Piece::Whole(c),
            };
            let before = self.surrogate.take();
            if let (Some(first), Piece::Surrogate(second @ 0xDC00..)) = (before, &next) {
                joined.extend(char::decode_utf16([first, *second]).flatten());
                continue;
            }
            joined.extend(before.map(|_| char::REPLACEMENT_CHARACTER));
            if let Piece::Byte(byte) = next {
                self.byte(byte, &mut joined);
                continue;
            }
            joined.extend(self.finish());
            match next {
                Piece::Surrogate(first @ ..0xDC00) => self.surrogate = Some(first),
                Piece::Whole(c) => joined.push(c),
                _ => joined.push(char::REPLACEMENT_CHARACTER),
            }
        }
        joined
    }

    fn byte(&mut self, byte: u8, joined: &mut String) {
        self.bytes.push(byte);
        match std::str::from_utf8(&self.bytes) {
            Ok(whole) => {
                joined.push_str(whole);
                self.bytes.clear();
            }
            Err(error) if error.error_len().is_none() => {}
            Err(error) => {
                joined.push(char::REPLACEMENT_CHARACTER);
                // What broke the character may begin another one.
                let rest = self.bytes.split_off(error.error_len().unwrap_or(1));
                self.bytes.clear();
                for byte in rest {
                    self.byte(byte, joined);
                }
            }
        }
    }

    /// What is left when the text has ended.
    pub(crate) fn finish(&mut self) -> Option<char> {
        let waits = self.surrogate.take().is_some() | !self.bytes.is_empty();
        self.bytes.clear();
        waits.then_some(char::REPLACEMENT_CHARACTER)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn halves_find_each_other_and_nothing_else() {
        let (first, second) = (surrogate(0xD83D), surrogate(0xDE00));
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
        assert_eq!(joiner.finish(), Some('\u{FFFD}'));
        assert_eq!(joiner.finish(), None);
        // A server's own private-use character is left alone.
        assert_eq!(joiner.join(first.to_string(), false), first.to_string());
    }

    proptest! {
        /// However a text's bytes are cut, it comes together, and what is no text costs what it costs whole.
        #[test]
        fn bytes_find_each_other(
            bytes in prop_oneof![
                "[aé世😀]{0,8}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..12),
            ],
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        ) {
            let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let mut joiner = Joiner::default();
            let mut joined = String::new();
            for cut in cuts.windows(2) {
                joined.push_str(&joiner.join(marked(&bytes[cut[0]..cut[1]]), true));
            }
            joined.extend(joiner.finish());
            prop_assert_eq!(joined, String::from_utf8_lossy(&bytes));
        }
    }
}
