//! The one redaction seam: whatever a provider, a tool or a file said passes here on its way out.
//! It finds and masks secrets and what must not be shown; what is a secret stand in the data files and in the rooms.

use std::ops::Range;
use std::sync::{Arc, PoisonError, RwLock};

mod alphabet;
mod approval;
mod assigned;
mod base64;
mod blocks;
mod code;
mod commands;
mod display;
mod masks;
mod message;
mod place;
mod placeholder;
mod programs;
mod random;
mod redacted;
mod shapes;
mod stream;
mod tail;
mod texts;
mod values;
mod vocabulary;
mod words;

use display::displayable;
use tail::Tail;
use values::Value;
use vocabulary::list;

pub use display::is_unseen;
pub use message::{REACH_BYTES, reach};
pub use redacted::Redacted;
pub use stream::{MAX_HELD_BYTES, StreamRedactor};

/// How a text of a question is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// A shell runs it: no mask covers a program's name but that of a known secret or of a line of a key.
    CommandLine,
    /// Nothing of it runs: a path, a pattern, a prompt.
    Words,
    /// JSON, of which each text is read by itself too.
    Json,
}

/// What stands in a secret's place.
pub const MASK: &str = "[redacted]";

/// Shortest value of a credential variable that is looked for; shorter ones would mask
/// ordinary words.
const MIN_VALUE_BYTES: usize = 8;
/// Most forms in all: a secret of letters and digits has four, a thousand of them have room.
const MAX_VALUES: usize = 4096;
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
    /// The text ends here; else more may come.
    complete: bool,
    /// In the end sorted, not touching each other.
    ranges: Vec<Range<usize>>,
    /// Secrets that reach the end of the text and may go on.
    open: Vec<Tail>,
    /// Where something begins that more text may make a secret.
    pending: Option<usize>,
    /// The same for what hardly can be anything else.
    likely: Option<usize>,
}

impl Found {
    fn new(complete: bool) -> Self {
        Self {
            complete,
            ..Self::default()
        }
    }

    /// Notes a secret that is masked from `start`, known up to `known` and goes on like `tail`.
    /// Returns where it ends.
    fn hit(&mut self, text: &str, start: usize, known: usize, mut tail: Tail) -> usize {
        let (len, ended) = tail.walk(&text[known..]);
        let mut end = known + len;
        if ended || self.complete {
            end = (end - tail.give_back()).max(start);
        } else {
            self.open.push(tail);
        }
        self.ranges.push(start..end);
        end
    }

    /// Notes that from here on more text may make a secret.
    fn wait(&mut self, from: usize) {
        self.pending = Some(self.pending.map_or(from, |other| other.min(from)));
    }

    /// The same where a secret is likely: if the text breaks off there, this is the first half of one.
    fn expect(&mut self, from: usize) {
        self.wait(from);
        self.likely = Some(self.likely.map_or(from, |other| other.min(from)));
    }
}

impl Redactor {
    /// Knows the secrets of the environment `vars` too: values of 8 bytes and more whose names
    /// contain KEY, TOKEN, SECRET, PASSWORD and the like, in any case; and the passwords of URLs
    /// in any other.
    pub fn new<'a>(vars: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let this = Self::default();
        this.learn_variables(vars);
        let mut known = this.known.write().unwrap_or_else(PoisonError::into_inner);
        known.fixed = known.values.len();
        drop(known);
        this
    }

    /// From now on the secrets of these variables are known too, by the same names; see [`Self::learn`].
    pub fn learn_variables<'a>(&self, vars: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let mut secrets = Vec::new();
        for (name, value) in vars {
            if names_credential(name) {
                secrets.push(value);
            } else if value.contains("://") {
                let mut found = Found::new(true);
                blocks::find(value, &mut found);
                secrets.extend(found.ranges.into_iter().map(|range| &value[range]));
            }
        }
        self.learn(secrets);
    }

    /// Knows the secrets of this process's own environment.
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let vars: Vec<(String, String)> = std::env::vars_os().filter_map(text).collect();
        Self::new(vars.iter().map(|(name, value)| (&**name, &**value)))
    }

    /// From now on these are secrets too, for all clones and for streams that are open. Those below
    /// 8 bytes are left out, they would mask ordinary words. At most 4,096 forms are known in all:
    /// beyond that the ones learned first are forgotten, those of the environment never.
    ///
    /// A value is known as it is, and as it stands in JSON, in JSON within JSON (a request's body in a command line),
    /// percent-encoded, between quotes and in HTML; from 16 bytes on also in base64, by itself or within a longer text. Of a value of
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
    /// What must not be shown is left out first: controls but tabs and line ends, escape sequences whole, characters
    /// that hide or turn the direction of writing. They would be commands to a terminal, and they could stand within a
    /// secret to hide it.
    pub fn redact(&self, text: &str) -> Redacted {
        let text = &*displayable(text);
        Redacted(masked(text, self.find(text, true).ranges))
    }

    /// Masks every secret in a text that is kept and not shown: what must not be shown stays, unless a secret is hidden by it.
    pub fn mask(&self, text: &str) -> Redacted {
        let shown = self.redact(text);
        let exact = masked(text, self.find(text, true).ranges);
        match *displayable(&exact) == *shown.as_str() {
            true => Redacted(exact),
            false => shown,
        }
    }

    /// A redactor for text that arrives in pieces.
    pub fn stream(&self) -> StreamRedactor {
        StreamRedactor::new(self.clone())
    }

    /// Whether a name (of a provider, a model) looks like a secret put in the wrong place.
    pub fn is_secret_like(&self, name: &str) -> bool {
        !self.find(name, true).ranges.is_empty() || random::is_random(name, 20)
    }

    /// Whether a name can be shown as it is: no secret, and nothing in it that must not be shown.
    pub fn is_presentable(&self, name: &str) -> bool {
        let plain = !name.chars().any(char::is_control) && *displayable(name) == *name;
        plain && !self.is_secret_like(name)
    }

    fn find(&self, text: &str, complete: bool) -> Found {
        let mut found = Found::new(complete);
        shapes::find(text, &mut found);
        blocks::find(text, &mut found);
        commands::find(text, &mut found);
        words::find(text, &mut found);
        self.find_values(text, &mut found);
        merge(&mut found.ranges);
        found
    }

    fn find_values(&self, text: &str, found: &mut Found) {
        for value in self.values().iter() {
            let before = found.ranges.len();
            let open = value.find(text.as_bytes(), &mut found.ranges);
            let open = open.map(|state| Tail::Value(Arc::clone(value), state));
            found.open.extend(open);
            for range in &mut found.ranges[before..] {
                // A value that is left within a character.
                range.end = text.floor_char_boundary(range.end);
            }
        }
    }
}

/// `text` with a mask for each of `ranges`, which are in order.
fn masked(text: &str, ranges: Vec<Range<usize>>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for range in ranges {
        out.push_str(&text[from..range.start]);
        out.push_str(MASK);
        from = range.end;
    }
    out.push_str(&text[from..]);
    out
}

/// Every form in which a secret is looked for.
fn forms(secret: &str) -> Vec<String> {
    let secret = secret.trim();
    if secret.len() < MIN_VALUE_BYTES {
        return Vec::new();
    }
    let once = in_json(secret);
    // By itself as it is looked for: without what is left out of every text.
    let shown = displayable(secret).into_owned();
    let uncontrolled = secret.chars().filter(|c| !c.is_control()).collect();
    let mut forms = vec![
        shown,
        uncontrolled,
        in_json(&once),
        once.replace('/', "\\/"),
    ];
    // As other writers of JSON do, as in a path of an address, a form, between quotes, in HTML.
    let unicode = |c: char| !c.is_ascii() || "<>&'+/=".contains(c);
    let reserved = |c: char| !(c.is_ascii_alphanumeric() || "-_.~".contains(c));
    let component = |c: char| reserved(c) && !"!*'()".contains(c);
    let utf_16 = |c: char| c.encode_utf16(&mut [0; 2]).to_vec();
    let upper = |unit: &u16| format!("\\u{unit:04X}");
    let lower = |unit: &u16| format!("\\u{unit:04x}");
    forms.push(encoded(&once, unicode, |c| {
        utf_16(c).iter().map(upper).collect()
    }));
    forms.push(encoded(&once, unicode, |c| {
        utf_16(c).iter().map(lower).collect()
    }));
    for escape in [
        |byte| format!("%{byte:02X}"),
        |byte: u8| format!("%{byte:02x}"),
    ] {
        let percent = |c: char| c.encode_utf8(&mut [0; 4]).bytes().map(escape).collect();
        let all = encoded(secret, reserved, percent);
        forms.push(all.replace("%20", "+"));
        forms.push(all);
        forms.push(encoded(secret, component, percent));
    }
    for (quote, escaped) in [
        ("'", "\\'"),
        ("'", "'\\''"),
        ("'", "'\"'\"'"),
        ("\"", "\\\""),
    ] {
        forms.push(secret.replace(quote, escaped));
    }
    let html = secret.replace('&', "&amp;").replace('<', "&lt;");
    let html = html.replace('>', "&gt;").replace('"', "&quot;");
    forms.push(html.replace('\'', "&#39;"));
    forms.push(once);
    forms.extend(base64::forms(secret));
    if secret.contains('\n') {
        let lines = secret.lines().map(str::trim);
        let telling = lines
            .filter(|line| line.len() >= MIN_LINE_BYTES && random::is_random(line, MIN_LINE_BYTES));
        forms.extend(telling.map(str::to_owned));
    }
    // What is left of it may be too short to tell.
    forms.retain(|form| form.len() >= MIN_VALUE_BYTES);
    forms.sort_unstable();
    forms.dedup();
    forms
}

/// `text` with another writing of the characters of a kind.
fn encoded(text: &str, kind: impl Fn(char) -> bool, write: impl Fn(char) -> String) -> String {
    let each = |c: char| if kind(c) { write(c) } else { c.into() };
    text.chars().map(each).collect()
}

/// Names of variables that hold secrets.
fn names_credential(name: &str) -> bool {
    let ends = |end: &&str| ends_with_ignoring_case(name.as_bytes(), end);
    list("credentials")
        .iter()
        .any(|word| code::contains(name, word))
        || list("credential endings").iter().any(ends)
}

fn starts_with_ignoring_case(bytes: &[u8], word: &str) -> bool {
    bytes
        .get(..word.len())
        .is_some_and(|head| head.eq_ignore_ascii_case(word.as_bytes()))
}

fn ends_with_ignoring_case(bytes: &[u8], word: &str) -> bool {
    let from = bytes.len().checked_sub(word.len());
    from.is_some_and(|from| bytes[from..].eq_ignore_ascii_case(word.as_bytes()))
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
