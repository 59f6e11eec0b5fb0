//! The one redaction seam: whatever a provider, a tool or a file said passes here on its way out.
//! It finds and masks secrets; what is secret stands in `shapes`, `words` and `logins`, streaming in `stream`.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

mod assigned;
mod code;
mod logins;
mod place;
mod placeholder;
mod random;
mod shapes;
mod stream;
mod tail;
mod values;
mod words;

use tail::Tail;
use values::Value;

pub use stream::{MAX_HELD_BYTES, StreamRedactor};

/// What stands in a secret's place.
pub const MASK: &str = "[redacted]";

/// Shortest value of a credential variable that is looked for; shorter ones would mask
/// ordinary words.
const MIN_VALUE_BYTES: usize = 8;
const MAX_VALUES: usize = 1024;
/// Shortest line of a value of many lines that is looked for by itself, if it looks random.
const MIN_LINE_BYTES: usize = 16;
/// How far the rules look ahead to decide whether something is a secret. Where a secret ends is
/// found by walking there once, whatever its length.
const WINDOW_BYTES: usize = 128;

/// Counts the work done, so that tests can tell linear from quadratic without a clock.
#[inline(always)]
fn steps(_count: usize) {
    #[cfg(test)]
    tests::STEPS.set(tests::STEPS.get() + _count as u64);
}

/// Text without secrets. Only the redactor makes it, so that raw text can't take its place.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Redacted(String);

impl Redacted {
    /// Text that stands in the program itself and can hold no secret.
    pub fn fixed(text: &'static str) -> Self {
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn into_string(self) -> String {
        self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Appends text that was redacted too.
    pub fn push(&mut self, more: &Self) {
        self.0.push_str(&more.0);
    }

    /// A copy of a part, which must begin and end at characters' ends.
    ///
    /// # Panics
    /// If it does not.
    pub fn part(&self, range: Range<usize>) -> Self {
        Self(self.0[range].to_owned())
    }

    /// On one line and within `bytes` UTF-8 bytes: control characters and those that turn the
    /// direction of writing become spaces, and an ellipsis marks what was cut.
    pub fn summary(self, bytes: usize) -> Self {
        const ELLIPSIS: &str = "…";
        let mut text: String = self
            .0
            .chars()
            .map(|c| if is_layout(c) { ' ' } else { c })
            .collect();
        if text.len() > bytes {
            let room = bytes.saturating_sub(ELLIPSIS.len());
            text.truncate(text.floor_char_boundary(room));
            if bytes >= ELLIPSIS.len() {
                text.push_str(ELLIPSIS);
            }
        }
        Self(text)
    }
}

impl std::fmt::Display for Redacted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// The text without control characters, but for tabs and line ends.
fn displayable(text: &str) -> Cow<'_, str> {
    // 0xC2 begins the controls above ASCII, and other characters too: these take the slow way for nothing.
    let suspect = |b: &u8| {
        (*b < 0x20) & (*b != b'\t') & (*b != b'\n') & (*b != b'\r') | (*b == 0x7f) | (*b == 0xc2)
    };
    if !text
        .as_bytes()
        .iter()
        .fold(false, |found, b| found | suspect(b))
    {
        return Cow::Borrowed(text);
    }
    let shown = |c: &char| !c.is_control() || matches!(c, '\t' | '\n' | '\r');
    text.chars().filter(shown).collect::<String>().into()
}

/// Line ends, and what could make a summary read otherwise than it is.
fn is_layout(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Finds and masks secrets. A handle: clones share what is known, so that what one of them
/// [learns](Self::learn) all of them and all streams mask from then on. Keeps no text that it has seen.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Arc<RwLock<Known>>,
}

/// The secrets that are known by their value.
#[derive(Default)]
struct Known {
    values: Arc<[Arc<Value>]>,
    /// How many of the first came with the process's environment, and stay.
    fixed: usize,
    /// How often something was learned.
    generation: u64,
}

impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor")
            .field("values", &self.values().len())
            .finish()
    }
}

/// What a search came to.
#[derive(Default)]
struct Found {
    /// In the end sorted, not touching each other.
    ranges: Vec<Range<usize>>,
    /// Secrets that reach the end of the text and may go on.
    open: Vec<Tail>,
    /// Where something begins that more text may make a secret.
    pending: Option<usize>,
}

impl Found {
    /// Notes a secret that is masked from `start`, known up to `known` and goes on like `tail`.
    /// Returns where it ends.
    fn hit(&mut self, text: &str, start: usize, known: usize, mut tail: Tail) -> usize {
        let (len, ended) = tail.walk(&text[known..]);
        let end = known + len - tail.give_back();
        self.ranges.push(start..end);
        if !ended {
            self.open.push(tail);
        }
        end
    }

    fn wait(&mut self, from: usize) {
        self.pending = Some(self.pending.map_or(from, |other| other.min(from)));
    }
}

impl Redactor {
    /// Knows the secrets of the environment `vars` too: values of 8 bytes and more whose names
    /// contain KEY, TOKEN, SECRET, PASSWORD and the like, in any case; and the passwords of URLs
    /// in any other.
    pub fn new<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let mut secrets = Vec::new();
        for (name, value) in vars {
            if names_credential(name) {
                secrets.push(value);
            } else if value.contains("://") {
                let mut found = Found::default();
                shapes::find(value, &mut found);
                secrets.extend(found.ranges.into_iter().map(|range| &value[range]));
            }
        }
        let this = Self::default();
        this.learn(secrets);
        let mut known = this.known.write().unwrap_or_else(PoisonError::into_inner);
        known.fixed = known.values.len();
        drop(known);
        this
    }

    /// From now on these are secrets too, for all clones and for streams that are open. Those below
    /// 8 bytes are left out, they would mask ordinary words. At most 1,024 forms are known in all:
    /// beyond that the ones learned first are forgotten, those of the environment never.
    ///
    /// A value is known as it is, and as it stands in JSON, and in JSON within JSON: a tool's
    /// input is shown as JSON, and may hold some (a request's body in a command line). Of a value of
    /// many lines, each that looks random is known by itself too: tools show files by lines.
    pub fn learn<'a>(&self, secrets: impl IntoIterator<Item = &'a str>) {
        let forms: Vec<String> = secrets.into_iter().flat_map(forms).collect();
        let values = self.values();
        let unknown = |form: &String| !values.iter().any(|value| value.is(form));
        if !forms.iter().any(unknown) {
            return;
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let mut values = known.values.to_vec();
        for form in forms {
            if values.iter().any(|value| value.is(&form)) {
                continue;
            }
            if values.len() == MAX_VALUES {
                if known.fixed == MAX_VALUES {
                    break;
                }
                values.remove(known.fixed);
            }
            values.push(Arc::new(Value::new(&form)));
        }
        known.values = values.into();
        known.generation += 1;
    }

    /// A number that grows with each secret learned: text that was redacted under another one may
    /// hold a secret that is known by now.
    pub fn generation(&self) -> u64 {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.generation
    }

    fn values(&self) -> Arc<[Arc<Value>]> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&known.values)
    }

    /// Masks every secret in a whole text. Linear in its length.
    ///
    /// Control characters other than tabs and line ends are left out first: they can't be shown, they
    /// would be commands to a terminal, and they could stand within a secret to hide it.
    pub fn redact(&self, text: &str) -> Redacted {
        let text = &*displayable(text);
        let found = self.find(text);
        if found.ranges.is_empty() {
            return Redacted(text.to_owned());
        }
        let mut out = String::with_capacity(text.len());
        let mut from = 0;
        for range in found.ranges {
            out.push_str(&text[from..range.start]);
            out.push_str(MASK);
            from = range.end;
        }
        out.push_str(&text[from..]);
        Redacted(out)
    }

    /// A redactor for text that arrives in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    /// Whether a name (of a provider, a model) looks like a secret put in the wrong place.
    pub fn is_secret_like(&self, name: &str) -> bool {
        !self.find(name).ranges.is_empty() || random::is_random(name, 20)
    }

    fn find(&self, text: &str) -> Found {
        let mut found = Found::default();
        shapes::find(text, &mut found);
        logins::find(text, &mut found);
        words::find(text, &mut found);
        for value in self.values().iter() {
            let before = found.ranges.len();
            let open = value.find(text.as_bytes(), &mut found.ranges);
            found.open.extend(open.map(|state| Tail::Value {
                value: Arc::clone(value),
                state,
            }));
            for range in &mut found.ranges[before..] {
                // A value that is left within a character.
                range.end = text.floor_char_boundary(range.end);
            }
        }
        merge(&mut found.ranges);
        found
    }
}

/// Every form in which a secret is looked for.
fn forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    if secret.len() < MIN_VALUE_BYTES {
        return Vec::new();
    }
    let once = in_json(secret);
    // By itself as it is looked for: without what is left out of every text.
    let mut forms = vec![displayable(secret).into_owned(), in_json(&once), once];
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim);
        let telling = lines
            .filter(|line| line.len() >= MIN_LINE_BYTES && random::is_random(line, MIN_LINE_BYTES));
        forms.extend(telling.map(str::to_owned));
    }
    // What is left of it may be too short to tell.
    forms.retain(|form| form.len() >= MIN_VALUE_BYTES);
    forms
}

/// Names of variables that hold secrets.
fn names_credential(name: &str) -> bool {
    const WITHIN: [&str; 7] = [
        "KEY",
        "TOKEN",
        "SECRET",
        "PASS",
        "CREDENTIAL",
        "COOKIE",
        "WEBHOOK",
    ];
    const AT_END: [&str; 5] = ["_PWD", "_AUTH", "_CREDS", "_PAT", "_JWT"];
    let name = name.to_ascii_uppercase();
    WITHIN.iter().any(|word| name.contains(word)) || AT_END.iter().any(|end| name.ends_with(end))
}

fn starts_with_ignoring_case(bytes: &[u8], word: &str) -> bool {
    bytes
        .get(..word.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

/// How `text` stands between the quotes of JSON.
fn in_json(text: &str) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

fn merge(ranges: &mut Vec<Range<usize>>) {
    if ranges.len() < 2 {
        return;
    }
    ranges.sort_by_key(|range| range.start);
    let mut kept: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..) {
        match kept.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => kept.push(range),
        }
    }
    *ranges = kept;
}

#[cfg(test)]
mod tests;
