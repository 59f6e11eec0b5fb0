//! Words that tell of a secret beside them, and random strings near one; what is assigned to one is judged in `assigned`.
//! Hand-made rather than regular expressions: it runs for each delta of a stream, and at process start.

use std::ops::Range;

use super::alphabet::Alphabet;
use super::random::{is_random, is_uuid};
use super::tail::Tail;
use super::vocabulary::{list, lists};
use super::{Found, WINDOW_BYTES, ends_with_ignoring_case, starts_with_ignoring_case, steps};

/// How far after its word a random string is looked for, in bytes.
const NEAR_BYTES: usize = 40;
/// Most bytes of a name before and behind the word within it: a bound keeps a long run of letters from being
/// walked again and again.
const NAME_BYTES: usize = 64;
/// Characters of letters and digits that make a session's or a signature's value. An id that is no secret
/// falls into shorter pieces, or is a number.
pub(super) const SESSION_BYTES: usize = 16;
/// How far before the end of a stream a word still counts: a name's rest, what stands between it and the
/// value, or the reach of a random string.
pub(super) const REACH_BYTES: usize = 160;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// What follows is secret whatever it looks like.
    Password,
    /// The same where it ends a longer name: `DB_PASS`, and nothing in `bypass` or `two passes`.
    Pass,
    /// What follows is secret if it looks like a value.
    Token,
    /// Says little by itself: `key`.
    Weak,
    /// `Authorization`, with a scheme before the secret.
    Header,
    /// `Bearer`, with the secret right behind.
    Scheme,
    /// Names what stands for a login, a signature or a session; and much else, so that only a long
    /// random value behind a sign is secret, and none that merely stands near.
    Session,
    /// A header of pairs.
    Cookie,
}

const WORDS: &[(&str, Class)] = &[
    ("authorization", Class::Header),
    ("auth", Class::Session),
    ("bearer", Class::Scheme),
    ("cookie", Class::Cookie),
    ("credential", Class::Token),
    ("identified by", Class::Password),
    ("jwt", Class::Session),
    ("key", Class::Weak),
    ("passphrase", Class::Password),
    ("password", Class::Password),
    ("passwd", Class::Password),
    ("pass", Class::Pass),
    ("pat", Class::Session),
    ("pwd", Class::Password),
    ("secret", Class::Password),
    ("sessid", Class::Session),
    ("sessionid", Class::Session),
    ("session", Class::Session),
    ("sid", Class::Session),
    ("signature", Class::Session),
    ("sig", Class::Session),
    ("token", Class::Token),
];

/// For each first letter of a word its second ones, a bit each.
const STARTS: [u32; 256] = {
    let mut starts = [0; 256];
    let mut at = 0;
    while at < WORDS.len() {
        let word = WORDS[at].0.as_bytes();
        starts[word[0] as usize] |= 1 << (word[1] - b'a');
        at += 1;
    }
    starts
};

/// The word at the beginning of `bytes`.
fn word_at(bytes: &[u8]) -> Option<(usize, Class)> {
    // Two letters dismiss nearly every position.
    let [first, second, ..] = bytes else {
        return None;
    };
    let second = (second | 0x20).wrapping_sub(b'a');
    if second > 25 || STARTS[usize::from(first | 0x20)] >> second & 1 == 0 {
        return None;
    }
    WORDS
        .iter()
        .find(|(word, _)| starts_with_ignoring_case(bytes, word))
        .map(|(word, class)| (word.len(), *class))
}

#[cfg(test)]
pub(super) fn trigger_words() -> impl Iterator<Item = &'static str> {
    WORDS
        .iter()
        .map(|(word, _)| *word)
        .chain(list("qualifiers").iter().copied())
}

/// Whether any of the words stands in `text`.
#[cfg(test)]
pub(super) fn any(text: &[u8]) -> bool {
    steps(text.len());
    (0..text.len()).any(|at| word_at(&text[at..]).is_some())
}

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut judged = 0..0;
    steps(bytes.len());
    while at < bytes.len() {
        let Some((len, class)) = word_at(&bytes[at..]) else {
            at += 1;
            continue;
        };
        let word = Word::new(text, at, len, class);
        // `pass` and `pat` are words, and parts of others.
        if (class == Class::Pass || word.is("pat")) && !word.ends_longer() {
            at += len;
            continue;
        }
        let masked = word.assigned(found);
        let masked = word.near(masked, &mut judged, found).or(masked);
        at += len;
        if let Some(end) = masked {
            // A word at the end of what is masked may have a value that goes further.
            at = at.max(text.floor_char_boundary(end.saturating_sub(NAME_BYTES)));
        }
    }
}

/// One of the words, with the name it is a part of.
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    /// The whole name, as `DB_PASSWORD_2`.
    pub(super) name: Range<usize>,
    /// Where the word itself begins and ends.
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) class: Class,
}

pub(super) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

impl<'a> Word<'a> {
    fn new(text: &'a str, at: usize, len: usize, class: Class) -> Self {
        let bytes = text.as_bytes();
        let mut start = (at.saturating_sub(NAME_BYTES)..at)
            .rev()
            .take_while(|&i| in_name(bytes[i]))
            .last()
            .unwrap_or(at);
        // The `n` of an escaped line end is no part of the name.
        if start < at && start > 0 && bytes[start - 1] == b'\\' && b"nrt".contains(&bytes[start]) {
            start += 1;
        }
        let most = bytes.len().min(at + len + NAME_BYTES);
        let end = (at + len..most)
            .find(|&i| !in_name(bytes[i]))
            .unwrap_or(most);
        steps(end - start);
        let qualified = class == Class::Weak && {
            let mut before = &bytes[at.saturating_sub(16)..at];
            for sign in [b"_", b"-", b" "] {
                before = before.strip_suffix(sign).unwrap_or(before);
            }
            let ends = |q: &&str| ends_with_ignoring_case(before, q);
            list("qualifiers").iter().any(ends)
        };
        Self {
            text,
            name: start..end,
            start: at,
            end: at + len,
            class: if qualified { Class::Token } else { class },
        }
    }

    /// The word itself.
    pub(super) fn word(&self) -> &'a str {
        &self.text[self.start..self.end]
    }

    /// What of the name stands before the word.
    pub(super) fn before(&self) -> &'a str {
        &self.text[self.name.start..self.start]
    }

    /// What of the name stands behind the word.
    pub(super) fn behind(&self) -> &'a str {
        &self.text[self.end..self.name.end]
    }

    /// Whether `word` is the word, in any case.
    pub(super) fn is(&self, word: &str) -> bool {
        self.word().eq_ignore_ascii_case(word)
    }

    /// Whether the word and perhaps a number end the name.
    pub(super) fn is_last(&self) -> bool {
        let mut behind = self.behind().bytes();
        behind.all(|b| b.is_ascii_digit() || b == b'_')
    }

    /// Whether a part of a name stands before the word and none behind it, or it is a pair of a query.
    fn ends_longer(&self) -> bool {
        let before = self.before();
        let capital = self.text.as_bytes()[self.start].is_ascii_uppercase();
        let part = before.ends_with(['_', '-', '.'])
            || capital && before.ends_with(|c: char| c.is_ascii_lowercase())
            || list("passes").iter().any(|part| before.ends_with(part));
        let pair = before.is_empty() && self.text[..self.start].ends_with(['?', '&', ';']);
        self.is_last() && (part || pair)
    }

    /// A random string on the same line, a few words further, behind what is `masked`. Returns where it ends.
    /// `judged` is the last one that was none: the words within it don't look at it again.
    fn near(
        &self,
        masked: Option<usize>,
        judged: &mut Range<usize>,
        found: &mut Found,
    ) -> Option<usize> {
        if matches!(self.class, Class::Session | Class::Pass) {
            return None;
        }
        let bytes = self.text.as_bytes();
        // The rest of the word itself stands not beside it: `KeyboardEventHandler2Provider`.
        let glued = self.behind().bytes();
        let end = self.end + glued.take_while(u8::is_ascii_alphanumeric).count();
        let mut at = masked.unwrap_or(end);
        let stop = bytes.len().min(end + NEAR_BYTES);
        while at < stop && bytes[at] != b'\n' {
            if judged.contains(&at) {
                at = judged.end;
                continue;
            }
            if !Alphabet::RANDOM.allows(bytes[at]) {
                at += 1;
                continue;
            }
            let most = bytes.len().min(at + WINDOW_BYTES);
            let end = (at..most)
                .find(|&i| !Alphabet::RANDOM.allows(bytes[i]))
                .unwrap_or(most);
            steps(end - at);
            let run = &self.text[at..end];
            if end == bytes.len() && end < at + WINDOW_BYTES {
                found.wait(at);
            }
            let known = |run: &str| {
                self.is_digest(at, run)
                    || self.class == Class::Weak && is_uuid(run)
                    || is_public_key(run)
            };
            if run.len() >= 16 && is_random(run, 12) && !known(run) {
                // `TOKEN=x` beside another word: its name is no part of it.
                let name = run.trim_end_matches('=').rfind('=');
                let name = name.map_or(0, |sign| sign + 1);
                let own = is_random(&run[name..], 12) && !is_random(&run[..name], 12);
                let from = if own { at + name } else { at };
                return Some(found.hit(self.text, from, from, Tail::run(Alphabet::RANDOM)));
            }
            *judged = at..end;
            at = end;
        }
        None
    }

    /// Whether `run` is the name of a commit or the like: hexadecimal, and called so.
    fn is_digest(&self, at: usize, run: &str) -> bool {
        let line = &self.text.as_bytes()[self.end.min(at)..at];
        let last = line
            .rsplit(|b| !b.is_ascii_alphanumeric())
            .find(|word| !word.is_empty());
        let named = last.and_then(|last| std::str::from_utf8(last).ok());
        run.bytes().all(|b| b.is_ascii_hexdigit())
            && named.is_some_and(|last| lists("digests", last))
    }
}

/// The half of a pair that everyone may see, as `ssh-keygen` writes it.
fn is_public_key(run: &str) -> bool {
    list("public keys")
        .iter()
        .any(|begin| run.starts_with(begin))
}
