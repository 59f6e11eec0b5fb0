//! Secrets known by the word beside them: assignments, authorization headers, random strings near `token` and its like.
//! Hand-made rather than regular expressions: it runs for each delta of a stream, and at process start.

use std::ops::Range;

use super::logins::cookies;
use super::placeholder::is_placeholder;
use super::random::{in_random, is_mixed, is_random};
use super::tail::{Quoted, Tail};
use super::{Found, WINDOW_BYTES, starts_with_ignoring_case, steps};

/// How far after its word a random string is looked for, in bytes.
const NEAR_BYTES: usize = 40;
/// Most bytes of a name before and behind the word within it: a bound keeps a long run of letters from being
/// walked again and again.
const NAME_BYTES: usize = 64;
/// Characters of letters and digits that make a session's or a signature's value. An id that is no secret
/// falls into shorter pieces, or is a number.
const SESSION_BYTES: usize = 16;
/// A quoted value that has not ended is told by this many bytes.
const QUOTED_BYTES: usize = 8;
/// One that looks like a placeholder, as `<what to put here>`, may turn out to be none up to this many.
const PLACEHOLDER_BYTES: usize = 64;
/// How far before the end of a stream a word still counts: a name's rest, what stands between it and the
/// value, or the reach of a random string.
pub(super) const REACH_BYTES: usize = 160;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// What follows is secret whatever it looks like.
    Password,
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
    ("key", Class::Weak),
    ("passphrase", Class::Password),
    ("password", Class::Password),
    ("passwd", Class::Password),
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

/// Words that make a `key` a secret one.
const QUALIFIERS: &[&str] = &[
    "api",
    "access",
    "secret",
    "private",
    "auth",
    "account",
    "signing",
    "encryption",
    "license",
    "service",
    "subscription",
    "master",
];

/// The word at the beginning of `bytes`.
fn word_at(bytes: &[u8]) -> Option<(usize, Class)> {
    // Three letters dismiss nearly every position.
    let [first, second, third, ..] = bytes else {
        return None;
    };
    if !matches!(
        &[first | 0x20, second | 0x20, third | 0x20],
        b"aut"
            | b"bea"
            | b"coo"
            | b"cre"
            | b"key"
            | b"pas"
            | b"pwd"
            | b"sec"
            | b"ses"
            | b"sid"
            | b"sig"
            | b"tok"
    ) {
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
        .chain(QUALIFIERS.iter().copied())
}

/// Whether any of the words stands in `text`.
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
struct Word<'a> {
    text: &'a str,
    /// The whole name, as `DB_PASSWORD_2`.
    name: Range<usize>,
    /// Where the word itself begins and ends.
    start: usize,
    end: usize,
    class: Class,
}

pub(super) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// White space within a line, and what has no width at all.
fn is_blank(c: char) -> bool {
    match c {
        ' ' | '\t' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}' => true,
        '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => false,
        _ => c.is_whitespace(),
    }
}

/// What may stand between a name and its operator: quotes, brackets, emphasis.
fn is_wrapping(c: char) -> bool {
    matches!(c, '\\' | ']' | '*' | '_') || closing(c).is_some() || "”’»」".contains(c)
}

fn is_operator(c: char) -> bool {
    matches!(c, ':' | '=' | '>' | '：' | '＝')
}

/// The quote that ends what `opening` begins.
fn closing(opening: char) -> Option<char> {
    match opening {
        '"' | '\'' | '`' | '＂' => Some(opening),
        '“' => Some('”'),
        '‘' => Some('’'),
        '«' => Some('»'),
        '「' => Some('」'),
        _ => None,
    }
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
            let before = &bytes[at.saturating_sub(16)..at];
            let before = before.strip_suffix(b"_").unwrap_or(before);
            let before = before.strip_suffix(b"-").unwrap_or(before);
            let before = before.strip_suffix(b" ").unwrap_or(before);
            QUALIFIERS.iter().any(|q| {
                before.len() >= q.len()
                    && before[before.len() - q.len()..].eq_ignore_ascii_case(q.as_bytes())
            })
        };
        Self {
            text,
            name: start..end,
            start: at,
            end: at + len,
            class: if qualified { Class::Token } else { class },
        }
    }

    /// As in `.env` files and shells.
    fn is_variable(&self) -> bool {
        let name = &self.text[self.name.clone()];
        name.len() >= 3
            && name
                .bytes()
                .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    }

    /// Behind at most `most` characters of a kind.
    fn skip(&self, at: usize, kind: fn(char) -> bool, most: usize) -> usize {
        let rest = &self.text[at..];
        let skipped = rest.chars().take(most).take_while(|&c| kind(c));
        let len = skipped.map(char::len_utf8).sum::<usize>();
        steps(len + 1);
        at + len
    }

    /// What a decision looks at.
    fn window(&self, from: usize) -> &'a str {
        let rest = &self.text[from..];
        &rest[..rest.floor_char_boundary(WINDOW_BYTES)]
    }

    /// `name = value` in its many notations. Returns where what it masked ends.
    fn assigned(&self, found: &mut Found) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at;
        let spaced;
        let colon;
        // `password == stored`: code about a value, which is one only when it is quoted.
        let mut compared = false;
        if self.class == Class::Scheme {
            spaced = true;
            colon = false;
            at = self.skip(self.name.end, is_blank, 8);
            if at == self.name.end {
                return None;
            }
        } else {
            let wrapped = self.skip(self.name.end, is_wrapping, 4);
            let named = self.skip(wrapped, is_blank, 8);
            let operator = self.skip(named, is_operator, 2);
            // A path in code is no assignment.
            if operator == named || &self.text[named..operator] == "::" {
                return None;
            }
            compared = matches!(&self.text[named..operator], "==" | "=>");
            at = self.skip(operator, |c| c == '*', 2);
            at = self.skip(at, is_blank, 8);
            spaced = at > operator || named > self.name.end;
            colon = self.text[..operator].ends_with([':', '：']);
        }
        if self.class == Class::Header {
            // `Authorization: Bearer x`: the scheme itself is no secret.
            let opened = self.skip(at, is_wrapping, 4);
            for scheme in ["bearer", "basic", "token", "digest", "apikey", "negotiate"] {
                if starts_with_ignoring_case(&bytes[opened..], scheme) {
                    let value = self.skip(opened + scheme.len(), is_blank, 8);
                    if value > opened + scheme.len() {
                        return self.unquoted(value, false, found, |value| value.len() >= 4);
                    }
                }
            }
        }
        if self.class == Class::Cookie {
            return cookies(self.text, self.skip(at, is_wrapping, 4), found);
        }
        let opened = self.skip(at, |c| c == '\\', 4);
        let mark = self.text[opened..].chars().next();
        if let Some((mark, closing)) = mark.and_then(|mark| Some((mark, closing(mark)?))) {
            return self.quoted(opened + mark.len_utf8(), closing, opened - at, found);
        }
        if compared {
            return None;
        }
        let class = self.class;
        // `XDG_SESSION=wayland`.
        let variable = self.is_variable() && !spaced && !colon && class != Class::Session;
        let name_ends = bytes.get(self.end).is_none_or(|b| !b.is_ascii_alphabetic())
            || self.text[self.end..self.name.end] == *"s";
        self.unquoted(at, variable, found, |value| match class {
            _ if is_placeholder(value) => false,
            // A counter (`MAX_TOKENS=4096`) or a directory (`PWD=/home`).
            _ if variable => {
                let counter = class != Class::Password && value.bytes().all(|b| b.is_ascii_digit());
                !counter && !value.starts_with('/')
            }
            _ if !name_ends || value.contains('(') || value.contains("::") => false,
            _ if self.names_itself(value) => false,
            Class::Password => value.len() >= 4 && (!spaced && !colon || is_password(value)),
            Class::Token | Class::Header => is_mixed(value) && value.len() >= 8,
            Class::Scheme => is_mixed(value) && value.len() >= 16,
            Class::Weak => is_random(value, 12),
            Class::Session | Class::Cookie => is_random(value, SESSION_BYTES),
        })
    }

    /// Whether the word is one by itself: `secretKey` and `tokens`, but not `secretary`.
    fn ends_name(&self) -> bool {
        let bytes = self.text.as_bytes();
        let upper = bytes[self.end - 1].is_ascii_uppercase();
        self.text[self.end..self.name.end].eq_ignore_ascii_case("s")
            || bytes
                .get(self.end)
                .is_none_or(|b| !b.is_ascii_alphabetic() || b.is_ascii_uppercase() && !upper)
    }

    /// `password=args.password`: a piece of code that passes a value on, and shows none.
    fn names_itself(&self, value: &str) -> bool {
        let word = &self.text[self.start..self.end];
        let mut path = value.bytes();
        path.all(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'?' | b'!'))
            && value
                .as_bytes()
                .windows(word.len())
                .any(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn quoted(&self, from: usize, mark: char, level: usize, found: &mut Found) -> Option<usize> {
        let window = self.window(from);
        let mut tail = Quoted::new(mark, level).into();
        let (len, ended) = Tail::walk(&mut tail, window, &[]);
        let value = &window[..len - tail.give_back()];
        let placeholder = is_placeholder(value) || value.starts_with('<');
        let most = if placeholder {
            PLACEHOLDER_BYTES
        } else {
            QUOTED_BYTES
        };
        if !ended && len < most {
            found.wait(from);
        }
        let secret = match self.class {
            _ if !self.ends_name() => false,
            Class::Password => value.len() >= 4,
            // A counter has no letters.
            Class::Token => {
                value.len() >= 4 && (value.len() >= 8 || !value.bytes().all(|b| b.is_ascii_digit()))
            }
            Class::Header | Class::Scheme => value.len() >= 8,
            Class::Weak => is_random(value, 12),
            Class::Session | Class::Cookie => is_random(value, SESSION_BYTES),
        };
        if secret && !is_placeholder(value) {
            return Some(found.hit(self.text, from, from, Quoted::new(mark, level).into()));
        }
        None
    }

    /// Masks what stands at `from` if `secret` says so of it, or of its beginning.
    fn unquoted(
        &self,
        from: usize,
        to_blank: bool,
        found: &mut Found,
        secret: impl Fn(&str) -> bool,
    ) -> Option<usize> {
        let window = self.window(from);
        // What is random has digits; most that follows a mere `key=` has none.
        let weak = matches!(self.class, Class::Weak | Class::Session);
        if weak && !to_blank && !window.bytes().any(|b| b.is_ascii_digit()) {
            return None;
        }
        let (len, _) = Tail::Unquoted { to_blank }.walk(window, &[]);
        let value = &window[..len];
        steps(4 * len);
        (!value.is_empty() && secret(value))
            .then(|| found.hit(self.text, from, from, Tail::Unquoted { to_blank }))
    }

    /// A random string on the same line, a few words further, behind what is `masked`. Returns where it ends.
    /// `judged` is the last one that was none: the words within it don't look at it again.
    fn near(
        &self,
        masked: Option<usize>,
        judged: &mut Range<usize>,
        found: &mut Found,
    ) -> Option<usize> {
        if self.class == Class::Session {
            return None;
        }
        let bytes = self.text.as_bytes();
        // The rest of the word itself stands not beside it: `KeyboardEventHandler2Provider`.
        let glued = self.text[self.end..self.name.end]
            .bytes()
            .take_while(u8::is_ascii_alphanumeric)
            .count();
        let mut at = masked.unwrap_or(self.end + glued);
        let stop = bytes.len().min(self.end + glued + NEAR_BYTES);
        while at < stop && bytes[at] != b'\n' {
            if judged.contains(&at) {
                at = judged.end;
                continue;
            }
            if !in_random(bytes[at]) {
                at += 1;
                continue;
            }
            let most = bytes.len().min(at + WINDOW_BYTES);
            let end = (at..most).find(|&i| !in_random(bytes[i])).unwrap_or(most);
            steps(end - at);
            let run = &self.text[at..end];
            if run.len() >= 16 && is_random(run, 12) && !self.is_digest(at, run) {
                return Some(found.hit(self.text, at, at, Tail::Random));
            }
            *judged = at..end;
            at = end;
        }
        None
    }

    /// Whether `run` is the name of a commit or the like: hexadecimal, and called so.
    fn is_digest(&self, at: usize, run: &str) -> bool {
        const NAMES: [&str; 12] = [
            "commit", "merge", "sha", "sha1", "sha256", "hash", "rev", "revision", "digest",
            "checksum", "tree", "blob",
        ];
        let line = &self.text.as_bytes()[self.end.min(at)..at];
        let last = line
            .rsplit(|b| !b.is_ascii_alphanumeric())
            .find(|word| !word.is_empty());
        run.bytes().all(|b| b.is_ascii_hexdigit())
            && last.is_some_and(|last| {
                NAMES
                    .iter()
                    .any(|name| last.eq_ignore_ascii_case(name.as_bytes()))
            })
    }
}

impl From<Quoted> for Tail {
    fn from(quoted: Quoted) -> Self {
        Self::Quoted(quoted)
    }
}

/// Whether the value of a password may be one, where prose and code look the same: digits, or
/// signs within. Names with dots and underscores are code.
fn is_password(value: &str) -> bool {
    let code = |b: u8| b.is_ascii_alphabetic() || matches!(b, b'_' | b'.' | b'[');
    let mut inner = value.chars();
    inner.next_back();
    !value.bytes().all(code)
        && (value.bytes().any(|b| b.is_ascii_digit())
            || inner.as_str().bytes().any(|b| b.is_ascii_punctuation()))
}
