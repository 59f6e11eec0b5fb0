//! The tokens of a scan: words, numbers, strings, with the lengths that they decode to and are written with.
//! What they stand in is the parent's.

use super::{Scanner, SyntaxFault};

impl Scanner<'_, '_> {
    pub(super) fn word(&mut self, word: &'static str) -> Result<(), SyntaxFault> {
        if self.text[self.pos..].starts_with(word) {
            self.pos += word.len();
            self.compact += word.len();
            Ok(())
        } else {
            Err(self.fault("a value"))
        }
    }

    pub(super) fn number(&mut self) -> Result<(), SyntaxFault> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        match self.peek() {
            Some(b'0') => self.pos += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return Err(self.fault("a digit")),
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.some_digits()?;
        }
        self.compact += self.pos - start;
        Ok(())
    }

    fn some_digits(&mut self) -> Result<(), SyntaxFault> {
        if !self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return Err(self.fault("a digit"));
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.pos += 1;
        }
    }

    /// A string from its opening quote; counts its decoded and its compact length.
    pub(super) fn string(&mut self) -> Result<(), SyntaxFault> {
        self.pos += 1;
        let start = self.pos;
        // Bytes that escapes take beyond what they decode to, and beyond their shortest form.
        let mut decoded_less = 0;
        let mut compact_less = 0;
        loop {
            self.pos = skip_plain(self.bytes, self.pos);
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    let escape = self.pos;
                    let (decoded, compact) = self.escape()?;
                    decoded_less += self.pos - escape - decoded;
                    compact_less += self.pos - escape - compact;
                }
                Some(_) => return Err(self.fault("an escaped control character")),
                None => return Err(self.fault("`\"`")),
            }
        }
        let raw = self.pos - start;
        self.pos += 1;
        self.compact += raw - compact_less + 2;
        self.found.too_large |= raw - decoded_less > self.limits.string_bytes;
        Ok(())
    }

    /// One escape (or surrogate pair): its decoded length and its shortest escaped length.
    fn escape(&mut self) -> Result<(usize, usize), SyntaxFault> {
        self.pos += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.pos += 1;
                Ok((1, 2))
            }
            Some(b'/') => {
                self.pos += 1;
                Ok((1, 1))
            }
            Some(b'u') => {
                let unit = self.hex4()?;
                let code = match unit {
                    0xD800..=0xDBFF => {
                        if self.peek() != Some(b'\\') || self.bytes.get(self.pos + 1) != Some(&b'u')
                        {
                            return Err(self.fault("a low surrogate"));
                        }
                        self.pos += 1;
                        let low = self.hex4()?;
                        if !(0xDC00..=0xDFFF).contains(&low) {
                            return Err(self.fault("a low surrogate"));
                        }
                        0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)
                    }
                    0xDC00..=0xDFFF => return Err(self.fault("a high surrogate")),
                    code => code,
                };
                let utf8 = char::from_u32(code).map_or(3, char::len_utf8);
                let compact = match code {
                    0x22 | 0x5C | 0x08 | 0x0C | 0x0A | 0x0D | 0x09 => 2,
                    0..=0x1F => 6,
                    _ => utf8,
                };
                Ok((utf8, compact))
            }
            _ => Err(self.fault("an escape character")),
        }
    }

    /// `uXXXX` at the cursor.
    fn hex4(&mut self) -> Result<u32, SyntaxFault> {
        self.pos += 1;
        let mut value = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|b| char::from(b).to_digit(16)) else {
                return Err(self.fault("four hexadecimal digits"));
            };
            value = value * 16 + digit;
            self.pos += 1;
        }
        Ok(value)
    }
}

/// First position at or after `pos` that holds a quote, a backslash or a control character.
fn skip_plain(bytes: &[u8], mut pos: usize) -> usize {
    const ONES: u64 = u64::MAX / 255;
    const HIGHS: u64 = ONES << 7;
    // Long plain stretches in steps that the compiler turns into vector instructions.
    while let Some(chunk) = bytes.get(pos..).and_then(|rest| rest.first_chunk::<32>()) {
        let stops = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
        if chunk.iter().fold(false, |found, byte| found | stops(byte)) {
            break;
        }
        pos += 32;
    }
    while let Some(chunk) = bytes.get(pos..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        // Each term sets the high bit of a byte that matches; a false hit can only stand above a true one.
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = (word ^ (ONES * 0x22)).wrapping_sub(ONES) & !(word ^ (ONES * 0x22));
        let slash = (word ^ (ONES * 0x5C)).wrapping_sub(ONES) & !(word ^ (ONES * 0x5C));
        let hits = (control | quote | slash) & HIGHS;
        if hits != 0 {
            return pos + hits.trailing_zeros() as usize / 8;
        }
        pos += 8;
    }
    while let Some(byte) = bytes.get(pos) {
        if *byte < 0x20 || *byte == b'"' || *byte == b'\\' {
            break;
        }
        pos += 1;
    }
    pos
}
