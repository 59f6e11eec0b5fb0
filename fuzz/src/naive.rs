//! JSON measured the slow way: RFC 8259's grammar as a token machine that decodes every string and
//! remembers every key. Shares no code and no method with what it is held against.

use std::collections::HashSet;
use std::ops::Range;

/// A member of the outermost object.
#[derive(Clone, Debug)]
pub struct Member {
    pub key: String,
    /// Where its value stands.
    pub value: Range<usize>,
    /// The value's bytes without whitespace and with minimal escapes.
    pub compact: usize,
}

/// What a text holds, up to its end or its first fault.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// The text begins with one whole JSON value…
    pub whole: bool,
    /// …which begins and ends here.
    pub value: Range<usize>,
    /// After it comes nothing but whitespace.
    pub alone: bool,
    pub is_object: bool,
    pub members: Vec<Member>,
    /// Most containers open at once.
    pub depth: usize,
    /// Longest string or key, in decoded bytes.
    pub string: usize,
    /// Most items of an array.
    pub items: usize,
    /// Most members of an object, repeated ones included.
    pub fields: usize,
    pub duplicate_top: bool,
    pub duplicate_nested: bool,
    /// Bytes of the whole value without whitespace and with minimal escapes.
    pub compact: usize,
    /// A number is so near the end of an `f64`'s range that parsers may differ on it, or beyond.
    pub extreme_number: bool,
    /// Every number is an integer of at most 18 digits, so writing it again changes nothing.
    pub plain_numbers: bool,
    /// A key that serde_json's `Value` keeps for itself.
    pub reserved_key: bool,
}

impl Found {
    /// The text is exactly one JSON value.
    pub fn ok(&self) -> bool {
        self.whole && self.alone
    }

    /// The only member of that name.
    pub fn unique(&self, key: &str) -> Option<&Member> {
        let mut found = self.members.iter().filter(|member| member.key == key);
        found.next().filter(|_| found.next().is_none())
    }
}

enum Token {
    Punctuation(char),
    Text(String),
    Number(String),
    Word(&'static str),
}

#[derive(Clone, Copy, PartialEq)]
enum Want {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    CommaOrClose,
}

struct Open {
    object: bool,
    count: usize,
    keys: HashSet<String>,
}

/// Measures `text`.
pub fn measure(text: &str) -> Found {
    let mut found = Found {
        plain_numbers: true,
        ..Found::default()
    };
    let mut stack: Vec<Open> = Vec::new();
    let mut want = Want::Value;
    let mut at = 0;
    let mut member: Option<(String, usize, usize)> = None;
    let mut first = true;
    loop {
        at = skip_space(text, at);
        let start = at;
        let Some((token, end)) = token(text, at) else {
            return found;
        };
        at = end;
        if first {
            found.value.start = start;
            first = false;
        }
        if want != Want::Colon
            && let Some((_, from @ usize::MAX, _)) = &mut member
        {
            *from = start;
        }
        let before = found.compact;
        found.compact += match &token {
            Token::Punctuation(_) => 1,
            Token::Text(text) => serde_json::to_string(text).map_or(0, |text| text.len()),
            Token::Number(digits) => digits.len(),
            Token::Word(word) => word.len(),
        };
        let mut ended = false;
        match (token, want) {
            (Token::Punctuation(open @ ('{' | '[')), Want::Value | Want::ValueOrClose) => {
                count(&mut stack, &mut found);
                if stack.is_empty() {
                    found.is_object = open == '{';
                }
                stack.push(Open {
                    object: open == '{',
                    count: 0,
                    keys: HashSet::new(),
                });
                found.depth = found.depth.max(stack.len());
                want = if open == '{' {
                    Want::KeyOrClose
                } else {
                    Want::ValueOrClose
                };
            }
            (Token::Punctuation(close @ ('}' | ']')), _) => {
                let fits = stack.last().is_some_and(|open| {
                    open.object == (close == '}')
                        && match want {
                            Want::CommaOrClose => true,
                            Want::KeyOrClose => open.object,
                            Want::ValueOrClose => !open.object,
                            _ => false,
                        }
                });
                if !fits {
                    return found;
                }
                stack.pop();
                ended = true;
            }
            (Token::Punctuation(','), Want::CommaOrClose) => {
                let object = stack.last().is_some_and(|open| open.object);
                want = if object { Want::Key } else { Want::Value };
            }
            (Token::Punctuation(':'), Want::Colon) => {
                if stack.len() == 1
                    && let Some((_, _, compact)) = &mut member
                {
                    *compact = found.compact;
                }
                want = Want::Value;
            }
            (Token::Text(key), Want::Key | Want::KeyOrClose) => {
                found.string = found.string.max(key.len());
                found.reserved_key |= key.starts_with("$serde_json::private::");
                let outermost = stack.len() == 1;
                if let Some(open) = stack.last_mut() {
                    open.count += 1;
                    found.fields = found.fields.max(open.count);
                    if !open.keys.insert(key.clone()) {
                        found.duplicate_top |= outermost;
                        found.duplicate_nested |= !outermost;
                    }
                }
                if outermost {
                    member = Some((key, usize::MAX, 0));
                }
                want = Want::Colon;
            }
            (Token::Text(text), Want::Value | Want::ValueOrClose) => {
                count(&mut stack, &mut found);
                found.string = found.string.max(text.len());
                ended = true;
            }
            (Token::Number(digits), Want::Value | Want::ValueOrClose) => {
                count(&mut stack, &mut found);
                let size = digits.parse::<f64>().map_or(f64::INFINITY, f64::abs);
                found.extreme_number |= size > 1e308;
                found.plain_numbers &= digits.len() <= 18
                    && digits != "-0"
                    && digits.bytes().all(|b| b == b'-' || b.is_ascii_digit());
                ended = true;
            }
            (Token::Word(_), Want::Value | Want::ValueOrClose) => {
                count(&mut stack, &mut found);
                ended = true;
            }
            _ => {
                found.compact = before;
                return found;
            }
        }
        if !ended {
            continue;
        }
        if stack.len() == 1
            && found.is_object
            && let Some((key, from, compact)) = member.take()
        {
            found.members.push(Member {
                key,
                value: from..at,
                compact: found.compact - compact,
            });
        }
        if stack.is_empty() {
            found.whole = true;
            found.value.end = at;
            found.alone = skip_space(text, at) == text.len();
            return found;
        }
        want = Want::CommaOrClose;
    }
}

/// An item of an array begins; members are counted by their keys.
fn count(stack: &mut [Open], found: &mut Found) {
    if let Some(open) = stack.last_mut()
        && !open.object
    {
        open.count += 1;
        found.items = found.items.max(open.count);
    }
}

fn skip_space(text: &str, at: usize) -> usize {
    let rest = &text[at..];
    at + rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len()
}

fn token(text: &str, at: usize) -> Option<(Token, usize)> {
    let rest = &text[at..];
    let first = rest.chars().next()?;
    match first {
        '{' | '}' | '[' | ']' | ',' | ':' => Some((Token::Punctuation(first), at + 1)),
        '"' => string(rest).map(|(text, length)| (Token::Text(text), at + length)),
        '-' | '0'..='9' => {
            let length = number(rest)?;
            Some((Token::Number(rest[..length].to_owned()), at + length))
        }
        _ => ["true", "false", "null"]
            .into_iter()
            .find(|word| rest.starts_with(word))
            .map(|word| (Token::Word(word), at + word.len())),
    }
}

/// A string at the beginning of `rest`, and how long it is as written.
fn string(rest: &str) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut chars = rest.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((out, at + 1)),
            '\0'..='\x1f' => return None,
            '\\' => match chars.next()?.1 {
                'b' => out.push('\x08'),
                'f' => out.push('\x0c'),
                'n' => out.push('\n'),
                'r' => out.push('\r'),
                't' => out.push('\t'),
                'u' => {
                    let mut units = vec![unit(&mut chars)?];
                    if (0xD800..0xDC00).contains(&units[0]) {
                        if (chars.next()?.1, chars.next()?.1) != ('\\', 'u') {
                            return None;
                        }
                        units.push(unit(&mut chars)?);
                    }
                    out.push_str(&String::from_utf16(&units).ok()?);
                }
                c @ ('"' | '\\' | '/') => out.push(c),
                _ => return None,
            },
            c => out.push(c),
        }
    }
    None
}

/// Four hexadecimal digits.
fn unit(chars: &mut impl Iterator<Item = (usize, char)>) -> Option<u16> {
    let digits: String = chars.take(4).map(|(_, c)| c).collect();
    let hex = digits.len() == 4 && digits.chars().all(|c| c.is_ascii_hexdigit());
    u16::from_str_radix(&digits, 16).ok().filter(|_| hex)
}

/// The length of a number at the beginning of `rest`; a part that was begun must be whole.
fn number(rest: &str) -> Option<usize> {
    let digits = |from: usize| {
        let tail = rest.get(from..).unwrap_or_default();
        tail.len() - tail.trim_start_matches(|c: char| c.is_ascii_digit()).len()
    };
    let mut at = usize::from(rest.starts_with('-'));
    at += match (rest[at..].chars().next()?, digits(at)) {
        ('0', _) => 1,
        (_, 0) => return None,
        (_, count) => count,
    };
    if rest[at..].starts_with('.') {
        let count = digits(at + 1);
        at += 1 + (count > 0).then_some(count)?;
    }
    if rest[at..].starts_with(['e', 'E']) {
        let sign = usize::from(rest[at + 1..].starts_with(['+', '-']));
        let count = digits(at + 1 + sign);
        at += 1 + sign + (count > 0).then_some(count)?;
    }
    Some(at)
}
