//! What text may hold where it is shown: no command to a terminal, nothing that hides or turns the direction of writing.
//! Works by single characters, so that pieces of a stream come out as the whole text does. Secrets are not its matter.

use std::borrow::Cow;

/// Where in an escape sequence (ECMA-48) the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Text,
    /// Behind ESC and intermediate bytes.
    Escape,
    /// In a control sequence: parameters, then one final byte.
    Control,
    /// In a control string, which has a terminator of its own. A line end ends it too: what is broken must not swallow
    /// the rest of a text.
    String,
    /// Behind ESC within one.
    StringEscape,
}

/// Leaves out what must not be shown: escape sequences whole, other controls but tabs and line ends, characters without
/// width that hide, and those that turn the direction of writing. U+2028 and U+2029 become line ends. A joiner and a
/// variation selector stay where scripts and emoji need them: between characters that they join.
#[derive(Debug, Default)]
pub(super) struct Display {
    state: State,
    /// The last visible character.
    last: Option<char>,
    /// What may follow it, if the next character is one that it joins.
    joiner: Option<char>,
    /// A carriage return came, which stays only before a line feed: alone it would let a line be written over.
    returned: bool,
}

/// The whole of `text` as it may be shown.
pub(super) fn displayable(text: &str) -> Cow<'_, str> {
    let mut display = Display::default();
    match display.push(text) {
        Cow::Borrowed(shown) => Cow::Borrowed(shown),
        Cow::Owned(mut shown) => {
            shown += &display.finish();
            Cow::Owned(shown)
        }
    }
}

/// First bytes of characters that may have to go, and of many others, which take the slow way for nothing.
const SUSPECT: [bool; 256] = {
    let mut set = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        set[byte] = matches!(
            byte as u8,
            0..=8 | 0xb..=0x1f | 0x7f | 0xc2 | 0xcd | 0xd8 | 0xe1 | 0xe2 | 0xe3 | 0xef | 0xf0..=0xf4
        );
        byte += 1;
    }
    set
};

impl Display {
    /// The next piece as it may be shown.
    pub(super) fn push<'a>(&mut self, piece: &'a str) -> Cow<'a, str> {
        let suspect = piece
            .bytes()
            .fold(false, |any, b| any | SUSPECT[b as usize]);
        if !suspect && self.state == State::Text && self.joiner.is_none() && !self.returned {
            self.last = piece.chars().next_back().or(self.last);
            return Cow::Borrowed(piece);
        }
        let mut out = String::with_capacity(piece.len());
        for c in piece.chars() {
            self.take(c, &mut out);
        }
        Cow::Owned(out)
    }

    /// The text is complete: what it ends with, if that waited for more. Begins anew.
    pub(super) fn finish(&mut self) -> String {
        let joiner = self.joiner.filter(|&c| is_selector(c));
        let shown = joiner.filter(|_| self.last.is_some_and(|last| !last.is_ascii()));
        let end = self.returned.then_some('\n');
        *self = Self::default();
        shown.into_iter().chain(end).collect()
    }

    fn take(&mut self, c: char, out: &mut String) {
        self.state = match (self.state, c) {
            (State::Text, '\u{1b}') | (State::Escape, '\u{1b}') => State::Escape,
            (State::Text, '\u{9b}') | (State::Escape, '[') => State::Control,
            (State::Text, '\u{90}' | '\u{98}' | '\u{9d}'..='\u{9f}')
            | (State::Escape, ']' | 'P' | 'X' | '^' | '_') => State::String,
            (State::Text, _) => return self.show(c, out),
            (State::Escape, ' '..='/') | (State::Control, ' '..='?') => return,
            (State::Escape, '0'..='~') | (State::Control, '@'..='~') => State::Text,
            (State::String, '\u{7}' | '\u{18}' | '\u{1a}' | '\u{9c}') => State::Text,
            (State::String, '\u{1b}') => State::StringEscape,
            (State::StringEscape, '\\') => State::Text,
            (State::String, c) if c != '\n' => return,
            // The sequence was none, or another begins.
            (before, c) => {
                self.state = match before {
                    State::StringEscape => State::Escape,
                    _ => State::Text,
                };
                return self.take(c, out);
            }
        };
    }

    fn show(&mut self, c: char, out: &mut String) {
        if is_joiner(c) || is_selector(c) {
            if self.returned {
                return;
            }
            // A selector may stand before a joiner, and nothing else twice.
            match self.joiner {
                Some(held) if is_selector(held) && is_joiner(c) => {
                    if self.last.is_some_and(|last| !last.is_ascii()) {
                        out.push(held);
                    }
                    self.joiner = Some(c);
                }
                Some(_) => {}
                None => self.joiner = Some(c),
            }
            return;
        }
        let c = match c {
            '\u{2028}' | '\u{2029}' => '\n',
            '\t' | '\n' | '\r' => c,
            c if c.is_control() || is_invisible(c) => return,
            c => c,
        };
        if std::mem::take(&mut self.returned) {
            out.push(if c == '\n' { '\r' } else { '\n' });
        }
        if let Some(held) = self.joiner.take()
            && let Some(last) = self.last
        {
            let joins = match is_selector(held) {
                // A selector belongs to what stands before it; that of a key's cap to a digit.
                true => !last.is_ascii() || c == '\u{20e3}',
                false => is_joined(last) && is_joined(c),
            };
            if joins {
                out.push(held);
            }
        }
        self.last = Some(c).filter(|c| !c.is_whitespace());
        self.returned = c == '\r';
        if !self.returned {
            out.push(c);
        }
    }
}

fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Scripts whose letters join, and emoji.
fn is_joined(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1a00}'..='\u{1cff}' | '\u{2190}'..='\u{2bff}'
        | '\u{a8e0}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10a00}'..='\u{11fff}' | '\u{1e900}'..='\u{1e95f}' | '\u{1f000}'..='\u{1faff}')
}

/// Characters that no one sees, or that only turn or annotate others: format characters of Unicode, fillers, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
        // The last two of each plane are no characters.
        || c as u32 & 0xfffe == 0xfffe
}

/// Whether a character of a question is shown as itself, or as a mark of its own kind.
pub(super) fn is_seen(c: char) -> bool {
    !is_unseen(c) || is_blank(c)
}

pub(super) fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

/// Whether a character is not seen, looks like a blank and is none, or rearranges what stands around it: what no shown text
/// holds, joiners, selectors of variants, other blanks, and what the standard leaves to private use or to nobody.
pub fn is_unseen(c: char) -> bool {
    c.is_control()
        || is_invisible(c)
        || is_joiner(c)
        || is_selector(c)
        || !c.is_ascii() && c.is_whitespace()
        || matches!(c,
            '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}' | '\u{891}' | '\u{8e2}' | '\u{fffc}'
            | '\u{110bd}' | '\u{110cd}' | '\u{13430}'..='\u{1343f}' | '\u{16fe4}' | '\u{1d159}'
            | '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}
