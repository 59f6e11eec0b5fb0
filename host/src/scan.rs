//! One pass over a frame before any value is built: syntax, depth, duplicate keys, sizes, member spans.
//! Allocates only the key index and the top-level members; holds no dialect's words.

use std::borrow::Cow;

/// Bounds that a scan checks. `usize::MAX` means unbounded.
#[derive(Clone, Copy, Debug)]
pub struct ScanLimits {
    /// Containers open at once, the outermost included.
    pub depth: usize,
    /// UTF-8 bytes of one decoded string or object key.
    pub string_bytes: usize,
    pub array_items: usize,
    pub object_fields: usize,
}

impl ScanLimits {
    pub const UNBOUNDED: Self = Self {
        depth: usize::MAX,
        string_bytes: usize::MAX,
        array_items: usize::MAX,
        object_fields: usize::MAX,
    };
}

/// A member of the top-level object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    pub key: Cow<'a, str>,
    /// The value's JSON text, without surrounding whitespace.
    pub value: &'a str,
    /// The value's length in bytes when written without whitespace and with minimal escapes;
    /// numbers count as written.
    pub compact_bytes: usize,
}

/// What one pass found in syntactically valid JSON.
#[derive(Clone, Debug, Default)]
pub struct Scan<'a> {
    /// The top-level members in order; empty unless `is_object`.
    pub members: Vec<Member<'a>>,
    pub is_object: bool,
    pub too_deep: bool,
    /// A string, array or object passed its bound.
    pub too_large: bool,
    pub duplicate_top: bool,
    pub duplicate_nested: bool,
    /// A key that is given twice, if there is one.
    pub duplicate_key: Option<Cow<'a, str>>,
}

impl<'a> Scan<'a> {
    /// The only member of that name, or `None` when it is missing or given twice.
    #[must_use]
    pub fn unique(&self, key: &str) -> Option<&Member<'a>> {
        let mut found = self.members.iter().filter(|m| m.key == key);
        let first = found.next()?;
        found.next().is_none().then_some(first)
    }
}

/// Text that is not one JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxFault {
    /// Byte offset of the fault.
    pub offset: usize,
    /// What would have been right there.
    pub expected: &'static str,
    /// The depth bound was passed before the fault.
    pub too_deep: bool,
}

/// Scans `text` as exactly one JSON value.
pub fn scan<'a>(text: &'a str, limits: &ScanLimits) -> Result<Scan<'a>, SyntaxFault> {
    let mut scanner = Scanner::new(text, limits);
    scanner.value_and_end()?;
    Ok(scanner.found)
}

/// Scans the first JSON value of `text` and gives the offset just past it.
pub fn scan_prefix<'a>(
    text: &'a str,
    limits: &ScanLimits,
) -> Result<(Scan<'a>, usize), SyntaxFault> {
    let mut scanner = Scanner::new(text, limits);
    scanner.value()?;
    Ok((scanner.found, scanner.pos))
}

/// Decodes a JSON string's text, quotes included.
#[must_use]
pub fn decode_string(raw: &str) -> Option<Cow<'_, str>> {
    let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
    if inner.as_bytes().contains(&b'\\') {
        serde_json::from_str::<String>(raw).ok().map(Cow::Owned)
    } else {
        Some(Cow::Borrowed(inner))
    }
}

struct Container {
    object: bool,
    items: usize,
    /// Where this object's keys begin in the key index.
    keys: usize,
}

struct Scanner<'a, 'l> {
    text: &'a str,
    bytes: &'a [u8],
    limits: &'l ScanLimits,
    pos: usize,
    compact: usize,
    stack: Vec<Container>,
    /// Raw spans (quotes included) of the keys of all open objects.
    keys: Vec<(usize, usize)>,
    found: Scan<'a>,
}

impl<'a, 'l> Scanner<'a, 'l> {
    fn new(text: &'a str, limits: &'l ScanLimits) -> Self {
        Self {
            text,
            bytes: text.as_bytes(),
            limits,
            pos: 0,
            compact: 0,
            stack: Vec::new(),
            keys: Vec::new(),
            found: Scan::default(),
        }
    }

    fn fault(&self, expected: &'static str) -> SyntaxFault {
        SyntaxFault {
            offset: self.pos,
            expected,
            too_deep: self.found.too_deep,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.pos).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\r' | b'\n') = self.peek() {
            self.pos += 1;
        }
    }

    fn value_and_end(&mut self) -> Result<(), SyntaxFault> {
        self.value()?;
        self.skip_space();
        if self.pos < self.bytes.len() {
            return Err(self.fault("end of input"));
        }
        Ok(())
    }

    /// One value with everything in it; iterative, so depth costs heap and not stack.
    fn value(&mut self) -> Result<(), SyntaxFault> {
        let mut member: Option<OpenMember<'a>> = None;
        let mut expects_value = true;
        loop {
            if expects_value {
                self.skip_space();
                expects_value = match self.peek() {
                    Some(b'{') => self.open(true, &mut member)?,
                    Some(b'[') => self.open(false, &mut member)?,
                    Some(b'"') => self.string().map(|_| false)?,
                    Some(b'-' | b'0'..=b'9') => self.number().map(|()| false)?,
                    Some(b't') => self.word("true").map(|()| false)?,
                    Some(b'f') => self.word("false").map(|()| false)?,
                    Some(b'n') => self.word("null").map(|()| false)?,
                    _ => return Err(self.fault("a value")),
                };
                continue;
            }
            if self.stack.len() == 1
                && let Some(open) = member.take()
            {
                self.found.members.push(Member {
                    key: open.key,
                    value: &self.text[open.start..self.pos],
                    compact_bytes: self.compact - open.compact,
                });
            }
            let Some(container) = self.stack.last() else {
                return Ok(());
            };
            let object = container.object;
            self.skip_space();
            match (self.peek(), object) {
                (Some(b','), _) => {
                    self.pos += 1;
                    self.compact += 1;
                    if object {
                        self.member_key(&mut member)?;
                    }
                    self.count_item();
                    expects_value = true;
                }
                (Some(b'}'), true) | (Some(b']'), false) => {
                    self.pos += 1;
                    self.close_container();
                }
                (_, true) => return Err(self.fault("`,` or `}`")),
                (_, false) => return Err(self.fault("`,` or `]`")),
            }
        }
    }

    /// Opens a container; says whether a value follows (an empty one closes at once).
    fn open(
        &mut self,
        object: bool,
        member: &mut Option<OpenMember<'a>>,
    ) -> Result<bool, SyntaxFault> {
        if self.stack.is_empty() {
            self.found.is_object = object;
        }
        self.pos += 1;
        self.compact += 2;
        self.stack.push(Container {
            object,
            items: 0,
            keys: self.keys.len(),
        });
        self.found.too_deep |= self.stack.len() > self.limits.depth;
        self.skip_space();
        if self.peek() == Some(if object { b'}' } else { b']' }) {
            self.pos += 1;
            self.close_container();
            return Ok(false);
        }
        if object {
            self.member_key(member)?;
        }
        self.count_item();
        Ok(true)
    }

    fn count_item(&mut self) {
        let (items, fields) = (self.limits.array_items, self.limits.object_fields);
        if let Some(container) = self.stack.last_mut() {
            container.items += 1;
            self.found.too_large |= container.items > if container.object { fields } else { items };
        }
    }

    fn member_key(&mut self, member: &mut Option<OpenMember<'a>>) -> Result<(), SyntaxFault> {
        self.skip_space();
        if self.peek() != Some(b'"') {
            return Err(self.fault("an object key"));
        }
        let start = self.pos;
        self.string()?;
        self.keys.push((start, self.pos));
        let key_end = self.pos;
        self.skip_space();
        if self.peek() != Some(b':') {
            return Err(self.fault("`:`"));
        }
        self.pos += 1;
        self.compact += 1;
        if self.stack.len() == 1 && self.found.is_object {
            self.skip_space();
            // The string was just scanned, so decoding it cannot fail.
            let key = decode_string(&self.text[start..key_end]).unwrap_or_default();
            *member = Some(OpenMember {
                key,
                start: self.pos,
                compact: self.compact,
            });
        }
        Ok(())
    }

    fn close_container(&mut self) {
        let Some(container) = self.stack.pop() else {
            return;
        };
        if !container.object {
            return;
        }
        if self.keys.len() - container.keys > 1 && self.has_duplicates(container.keys) {
            if self.found.duplicate_key.is_none() {
                self.found.duplicate_key = self.first_duplicate(container.keys);
            }
            if self.stack.is_empty() {
                self.found.duplicate_top = true;
            } else {
                self.found.duplicate_nested = true;
            }
        }
        self.keys.truncate(container.keys);
    }

    fn has_duplicates(&mut self, from: usize) -> bool {
        let text = self.text;
        let span = |&(start, end): &(usize, usize)| &text[start..end];
        let keys = &mut self.keys[from..];
        if keys.iter().any(|key| span(key).as_bytes().contains(&b'\\')) {
            let mut decoded: Vec<_> = keys
                .iter()
                .filter_map(|key| decode_string(span(key)))
                .collect();
            decoded.sort_unstable();
            return decoded.windows(2).any(|pair| pair[0] == pair[1]);
        }
        if keys.len() <= 8 {
            return keys
                .iter()
                .enumerate()
                .any(|(i, a)| keys[..i].iter().any(|b| span(a) == span(b)));
        }
        // Sorting keeps a hostile object at n log n; a hash table would need a secret seed.
        keys.sort_unstable_by(|a, b| span(a).cmp(span(b)));
        keys.windows(2).any(|pair| span(&pair[0]) == span(&pair[1]))
    }

    #[cold]
    fn first_duplicate(&self, from: usize) -> Option<Cow<'a, str>> {
        let text = self.text;
        let mut decoded: Vec<_> = self.keys[from..]
            .iter()
            .filter_map(|&(start, end)| decode_string(&text[start..end]))
            .collect();
        decoded.sort_unstable();
        let at = decoded.windows(2).position(|pair| pair[0] == pair[1])?;
        Some(decoded.swap_remove(at))
    }
}

struct OpenMember<'a> {
    key: Cow<'a, str>,
    start: usize,
    compact: usize,
}

#[cfg(test)]
mod tests;
mod tokens;
