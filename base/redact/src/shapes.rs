//! Secrets known by their own form: keys with a known beginning, JSON web tokens, private key blocks, URL passwords.
//! What is secret only for the word beside it is not decided here.

use super::placeholder::is_filled_in;
use super::random::is_random;
use super::tail::{KeyEnd, Tail};
use super::{Found, WINDOW_BYTES, steps};

/// Characters after a key's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// Letters, digits, `_` and `-`.
    Plain,
    /// The same and `.`.
    Dotted,
    /// Letters, digits, `_`, `-` and `/`.
    Path,
    /// Upper-case letters and digits.
    Upper,
    /// Three or five parts with dots between.
    Jwt,
}

/// A known beginning and how many characters at least must follow it.
struct Shape {
    prefix: &'static [u8],
    least: usize,
    rest: Rest,
}

const fn shape(prefix: &'static str, least: usize, rest: Rest) -> Shape {
    Shape {
        prefix: prefix.as_bytes(),
        least,
        rest,
    }
}

/// The lengths are somewhat below the issuers' own, so that a shortened key is caught too.
const SHAPES: &[Shape] = &[
    shape("sk-", 20, Rest::Plain), // OpenAI, Anthropic (sk-ant-), OpenRouter, and many that copy them
    shape("sk_live_", 16, Rest::Plain), // Stripe, and the next five
    shape("sk_test_", 16, Rest::Plain),
    shape("rk_live_", 16, Rest::Plain),
    shape("rk_test_", 16, Rest::Plain),
    shape("pk_live_", 16, Rest::Plain),
    shape("whsec_", 16, Rest::Plain),
    shape("ghp_", 20, Rest::Plain), // GitHub
    shape("gho_", 20, Rest::Plain),
    shape("ghu_", 20, Rest::Plain),
    shape("ghs_", 20, Rest::Plain),
    shape("ghr_", 20, Rest::Plain),
    shape("github_pat_", 22, Rest::Plain),
    shape("glpat-", 16, Rest::Dotted), // GitLab
    shape("gldt-", 16, Rest::Plain),
    shape("glrt-", 16, Rest::Dotted),
    shape("xoxb-", 10, Rest::Plain), // Slack
    shape("xoxp-", 10, Rest::Plain),
    shape("xoxa-", 10, Rest::Plain),
    shape("xoxr-", 10, Rest::Plain),
    shape("xoxs-", 10, Rest::Plain),
    shape("xoxe-", 10, Rest::Plain),
    shape("xoxc-", 10, Rest::Plain),
    shape("xoxd-", 10, Rest::Plain),
    shape("xapp-", 10, Rest::Plain),
    shape("AKIA", 16, Rest::Upper), // AWS
    shape("ASIA", 16, Rest::Upper),
    shape("AIza", 30, Rest::Plain), // Google
    shape("ya29.", 16, Rest::Dotted),
    shape("GOCSPX-", 20, Rest::Plain),
    shape("npm_", 30, Rest::Plain),
    shape("pypi-", 40, Rest::Plain),
    shape("hf_", 30, Rest::Plain),  // Hugging Face
    shape("gsk_", 40, Rest::Plain), // Groq
    shape("xai-", 40, Rest::Plain),
    shape("pplx-", 40, Rest::Plain),
    shape("r8_", 30, Rest::Plain), // Replicate
    shape("tvly-", 20, Rest::Plain),
    shape("dop_v1_", 40, Rest::Plain), // DigitalOcean
    shape("SG.", 40, Rest::Dotted),    // SendGrid
    shape("shpat_", 30, Rest::Plain),  // Shopify
    shape("shpss_", 30, Rest::Plain),
    shape("lin_api_", 30, Rest::Plain),
    shape("ntn_", 40, Rest::Plain), // Notion
    shape("hvs.", 20, Rest::Plain), // HashiCorp Vault
    shape("dapi", 32, Rest::Plain), // Databricks
    shape("sntrys_", 30, Rest::Dotted),
    shape("glsa_", 30, Rest::Plain),   // Grafana
    shape("dp.pt.", 40, Rest::Plain),  // Doppler
    shape("PMAK-", 40, Rest::Plain),   // Postman
    shape("NRAK-", 25, Rest::Upper),   // New Relic
    shape("ATATT3", 50, Rest::Plain),  // Atlassian
    shape("sq0atp-", 20, Rest::Plain), // Square
    shape("sq0csp-", 20, Rest::Plain),
    shape("AGE-SECRET-KEY-1", 40, Rest::Upper),
    // Whoever knows such an address may post there.
    shape("hooks.slack.com/services/", 20, Rest::Path),
    shape("discord.com/api/webhooks/", 40, Rest::Path),
    shape("discordapp.com/api/webhooks/", 40, Rest::Path),
    shape("eyJ", 20, Rest::Jwt),
];

/// The first bytes of all shapes, as a set.
const FIRST: [bool; 256] = {
    let mut set = [false; 256];
    let mut i = 0;
    while i < SHAPES.len() {
        set[SHAPES[i].prefix[0] as usize] = true;
        i += 1;
    }
    set
};

const KEY_BEGIN: &[u8] = b"-----BEGIN ";
pub(super) const KEY_END: &[u8] = b"-----END";
const DASHES: &[u8] = b"-----";
const LINE_END_SIGN: &[u8] = "⏎".as_bytes();
/// Longest label between the dashes of a key block.
const MAX_LABEL_BYTES: usize = 64;
/// How far behind the label its first line may begin: line ends, indents, numbers of lines.
const MAX_GAP_BYTES: usize = 64;
/// Letters that make the first line of a key; the last is shorter, but never the first.
const MIN_BODY_BYTES: usize = 16;
/// A web token's first part can be long. A stream holds more than this.
const JWT_WINDOW_BYTES: usize = 384;
/// No host is longer: what is, holds a password whose `@` is yet to come.
const MAX_HOST_BYTES: usize = 256;

impl Rest {
    pub(super) fn allows(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted | Self::Jwt => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
            }
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

impl Shape {
    /// Whether a secret of this shape stands at the beginning of `bytes`.
    fn matches(&self, bytes: &[u8]) -> bool {
        let Some(rest) = bytes.strip_prefix(self.prefix) else {
            return false;
        };
        let window = match self.rest {
            Rest::Jwt => JWT_WINDOW_BYTES,
            _ => WINDOW_BYTES,
        };
        let window = &rest[..rest.len().min(window)];
        let len = window
            .iter()
            .position(|&byte| !self.rest.allows(byte))
            .unwrap_or(window.len());
        steps(len);
        // It goes on behind the window.
        let longer = len == window.len() && len < rest.len();
        let run = &window[..len];
        let run = match run.iter().rposition(|&byte| byte != b'.') {
            Some(last) if !longer => &run[..=last],
            _ => run,
        };
        let real = match self.rest {
            Rest::Jwt => is_web_token(run, longer),
            Rest::Upper => true,
            // Names of things (`sk-folding-cube-wrapper`) have no digits; keys have.
            Rest::Plain | Rest::Dotted | Rest::Path => run.iter().any(u8::is_ascii_digit),
        };
        real && run.len() >= self.least
    }
}

/// `run` follows `eyJ`: the parts of a signed token (3) or an encrypted one (5, of which the
/// second may be empty).
fn is_web_token(run: &[u8], longer: bool) -> bool {
    let mut parts = run.split(|&byte| byte == b'.');
    let count = parts.clone().count();
    let first = parts.next().is_some_and(|part| part.len() >= 4);
    let second = parts.next().map_or(0, <[u8]>::len);
    if longer {
        // The first part may itself be longer than what is looked at.
        let text = std::str::from_utf8(run).unwrap_or_default();
        return first && (count >= 2 || is_random(text, 12));
    }
    let rest = parts.all(|part| part.len() >= 4);
    first && rest && (count == 3 && second >= 4 || count == 5)
}

#[cfg(test)]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    SHAPES
        .iter()
        .filter_map(|shape| std::str::from_utf8(shape.prefix).ok())
}

fn shapes_at(bytes: &[u8]) -> impl Iterator<Item = &'static Shape> {
    SHAPES
        .iter()
        .filter(|shape| bytes.first() == shape.prefix.first())
}

fn starts_word(bytes: &[u8], at: usize) -> bool {
    FIRST[bytes[at] as usize] && (at == 0 || !bytes[at - 1].is_ascii_alphanumeric())
}

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    let mut at = 0;
    steps(bytes.len());
    while at < bytes.len() {
        if starts_word(bytes, at)
            && let Some(shape) = shapes_at(&bytes[at..]).find(|s| s.matches(&bytes[at..]))
        {
            let end = found.hit(text, at, at + shape.prefix.len(), Tail::Shape(shape.rest));
            // The full stop that ends a sentence is no part of the key.
            if let Some(range) = found.ranges.last_mut() {
                let dots = bytes[..end].iter().rev().take_while(|&&b| b == b'.');
                range.end = end - dots.count();
            }
            at = end;
            continue;
        }
        if bytes[at] == b'-' && bytes[at..].starts_with(KEY_BEGIN) {
            at = private_key(text, at, found);
            continue;
        }
        if bytes[at] == b':' {
            let after = &bytes[at + 1..];
            // The second is how some write JSON.
            let slashes = [&b"//"[..], b"\\/\\/"];
            if let Some(slashes) = slashes.iter().find(|s| after.starts_with(s)) {
                url_password(text, at + 1 + slashes.len(), found);
            }
        }
        at += 1;
    }
}

/// A private key block that may begin at `at`; where to look on. The text may only speak of such blocks:
/// it is one if a line of a key follows.
fn private_key(text: &str, at: usize, found: &mut Found) -> usize {
    let bytes = &text.as_bytes()[at..];
    let Some(header) = key_header(bytes) else {
        return at + KEY_BEGIN.len();
    };
    let start = at + header;
    match key_body(&bytes[header..]) {
        Some(true) => found.hit(text, start, start, Tail::Key(KeyEnd::default())),
        Some(false) => start,
        None => {
            found.wait(start);
            start
        }
    }
}

/// The length of the line that opens a private key block at the beginning of `bytes`.
fn key_header(bytes: &[u8]) -> Option<usize> {
    let label = &bytes[KEY_BEGIN.len()..];
    let label = &label[..label.len().min(MAX_LABEL_BYTES)];
    steps(label.len());
    let end = memchr::memmem::find(label, DASHES)?;
    memchr::memmem::find(&label[..end], b"PRIVATE KEY")?;
    Some(KEY_BEGIN.len() + end + DASHES.len())
}

/// Whether `bytes`, behind a block's opening line, begin with a line of a key, or one of the
/// headers before it; `None` if more must come to tell.
fn key_body(bytes: &[u8]) -> Option<bool> {
    let mut rest = bytes;
    loop {
        let gap = bytes.len() - rest.len();
        steps(MIN_BODY_BYTES);
        let word = rest
            .iter()
            .take(MIN_BODY_BYTES)
            .take_while(|&&b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/' | b'='))
            .count();
        let header = [
            &b"Proc-Type:"[..],
            b"DEK-Info:",
            b"Version:",
            b"Comment:",
            b"Hash:",
        ]
        .iter()
        .any(|name| rest.starts_with(name));
        if word == MIN_BODY_BYTES || header {
            return Some(true);
        }
        if gap > MAX_GAP_BYTES {
            return Some(false);
        }
        let next = match rest {
            [] => return None,
            [b'\\', b'n' | b'r' | b't', ..] => 2,
            // A line number, or what marks a quotation.
            [
                b'0'..=b'9' | b'|' | b'>' | b'"' | b'\'' | b',' | b'+' | b'\\',
                ..,
            ] => 1,
            [byte, ..] if byte.is_ascii_whitespace() => 1,
            // A line end that is shown within one line.
            _ if rest.starts_with(LINE_END_SIGN) => LINE_END_SIGN.len(),
            // The end of the text may cut a line short.
            _ if rest.len() <= "Proc-Type:".len().max(word) => return None,
            _ => return Some(false),
        };
        rest = &rest[next..];
    }
}

/// Whether the part of a URL that names user, host and port ends before `c`.
pub(super) fn ends_authority(c: char) -> bool {
    c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`' | '\\')
}

fn url_password(text: &str, from: usize, found: &mut Found) {
    let rest = &text[from..];
    // It ends at a slash, so that no part of a text is looked at twice.
    let end = rest.find(ends_authority);
    let authority = &rest[..end.unwrap_or(rest.len())];
    steps(2 * authority.len());
    let (user, open) = match authority.rfind('@') {
        Some(at) => (&authority[..at], false),
        None if authority.len() > MAX_HOST_BYTES => (authority, true),
        None => return,
    };
    let secret = match user.find(':') {
        Some(colon) => colon + 1,
        None if is_random(user, 12) => 0,
        None => return,
    };
    // A template of an address.
    let filled_in = !open && secret > 0 && is_filled_in(&user[secret..]);
    if secret < user.len() && !filled_in {
        found.ranges.push(from + secret..from + user.len());
        if open && end.is_none() {
            found.open.push(Tail::Url);
        }
    }
}

/// Where, at or after `from`, the end of `text` may be the beginning of a secret known by its
/// form. `word` is where the last word begins.
pub(super) fn may_begin(text: &str, from: usize, word: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let from = from.max(word);
    // Where what each kind allows has lasted since.
    let since = |rest: Rest| {
        bytes[from..]
            .iter()
            .rposition(|&byte| !rest.allows(byte))
            .map_or(from, |at| from + at + 1)
    };
    let (plain, dotted, path, upper) = (
        since(Rest::Plain),
        since(Rest::Dotted),
        since(Rest::Path),
        since(Rest::Upper),
    );
    steps(4 * (bytes.len() - from));
    // A beginning may hold what its rest does not; no other letter stands before what lasts.
    let shape = (from..bytes.len()).find(|&at| {
        steps(1);
        starts_word(bytes, at)
            && shapes_at(&bytes[at..]).any(|shape| {
                let since = match shape.rest {
                    Rest::Plain => plain,
                    Rest::Dotted | Rest::Jwt => dotted,
                    Rest::Path => path,
                    Rest::Upper => upper,
                };
                if bytes.len() - at < shape.prefix.len() {
                    shape.prefix.starts_with(&bytes[at..])
                } else {
                    at + shape.prefix.len() >= since && bytes[at..].starts_with(shape.prefix)
                }
            })
    });
    let url = text[word..]
        .rfind("://")
        .or_else(|| text[word..].rfind(":\\/\\/").map(|at| at + 2))
        .map(|at| word + at + 3)
        .filter(|&at| text[at..].find(ends_authority).is_none())
        .map(|at| at.max(from));
    match (shape, url) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
