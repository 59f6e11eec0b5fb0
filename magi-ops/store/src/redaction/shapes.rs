//! Secrets known by their own form: keys with a known beginning, JSON web tokens, private key blocks, URL passwords.
//! What is secret only for the word beside it is not decided here.

use super::{Found, words};

/// Characters after a key's beginning.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// Letters, digits, `_` and `-`.
    Plain,
    /// The same and `.`.
    Dotted,
    /// Upper-case letters and digits.
    Upper,
    /// Three parts with dots between.
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
/// Longest label between the dashes of a key block.
const MAX_LABEL_BYTES: usize = 64;

impl Rest {
    fn allows(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted | Self::Jwt => {
                byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
            }
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

impl Shape {
    /// The length of the secret at the beginning of `bytes`.
    fn matches(&self, bytes: &[u8]) -> Option<usize> {
        let rest = bytes.strip_prefix(self.prefix)?;
        let mut len = rest
            .iter()
            .position(|&byte| !self.rest.allows(byte))
            .unwrap_or(rest.len());
        // The full stop that ends a sentence is no part of the key.
        while len > 0 && rest[len - 1] == b'.' {
            len -= 1;
        }
        let rest = &rest[..len];
        let real = match self.rest {
            Rest::Jwt => {
                let mut parts = rest.split(|&byte| byte == b'.');
                parts.clone().count() == 3 && parts.all(|part| part.len() >= 4)
            }
            Rest::Upper => true,
            // Names of things (`sk-folding-cube-wrapper`) have no digits; keys have.
            Rest::Plain | Rest::Dotted => rest.iter().any(u8::is_ascii_digit),
        };
        (real && len >= self.least).then_some(self.prefix.len() + len)
    }

    /// Whether `bytes`, the end of what has arrived, may yet become this secret.
    fn may_begin(&self, bytes: &[u8]) -> bool {
        match bytes.strip_prefix(self.prefix) {
            Some(rest) => rest.iter().all(|&byte| self.rest.allows(byte)),
            None => self.prefix.starts_with(bytes),
        }
    }
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
    while at < bytes.len() {
        let byte = bytes[at];
        if starts_word(bytes, at)
            && let Some(len) = shapes_at(&bytes[at..]).find_map(|s| s.matches(&bytes[at..]))
        {
            found.ranges.push(at..at + len);
            at += len;
            continue;
        }
        if byte == b'-'
            && bytes[at..].starts_with(KEY_BEGIN)
            && let Some(header) = key_header(&bytes[at..])
        {
            let start = at + header;
            let end = key_end(&bytes[start..]);
            found.open_key = end.is_none().then_some(start);
            let end = end.map_or(bytes.len(), |end| start + end);
            found.ranges.push(start..end);
            at = end;
            continue;
        }
        if byte == b':' && bytes[at..].starts_with(b"://") {
            url_password(text, at + 3, found);
        }
        at += 1;
    }
}

/// The length of the line that opens a private key block at the beginning of `bytes`.
fn key_header(bytes: &[u8]) -> Option<usize> {
    let label = &bytes[KEY_BEGIN.len()..];
    let label = &label[..label.len().min(MAX_LABEL_BYTES)];
    let end = memchr::memmem::find(label, DASHES)?;
    memchr::memmem::find(&label[..end], b"PRIVATE KEY")?;
    Some(KEY_BEGIN.len() + end + DASHES.len())
}

/// Where a key block ends in `bytes`, its last dashes included.
pub(super) fn key_end(bytes: &[u8]) -> Option<usize> {
    let label = memchr::memmem::find(bytes, KEY_END)? + KEY_END.len();
    memchr::memmem::find(&bytes[label..], DASHES).map(|at| label + at + DASHES.len())
}

/// Where the authority that begins `text` ends; `None` while it may go on.
fn authority_end(text: &str) -> Option<usize> {
    text.find(|c: char| {
        c.is_whitespace() || matches!(c, '/' | '?' | '#' | '"' | '\'' | '<' | '>' | '`' | ')')
    })
}

fn url_password(text: &str, from: usize, found: &mut Found) {
    let rest = &text[from..];
    let authority = &rest[..authority_end(rest).unwrap_or(rest.len())];
    let Some(at) = authority.rfind('@') else {
        return;
    };
    match authority[..at].find(':') {
        Some(colon) if colon + 1 < at => found.ranges.push(from + colon + 1..from + at),
        None if words::is_random(&authority[..at], 12) => found.ranges.push(from..from + at),
        _ => {}
    }
}

/// Where, at or after `from`, the end of `text` may be the beginning of a secret known by its
/// form. `word` is where the last word begins.
pub(super) fn may_begin(text: &str, from: usize, word: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let shape = (from.max(word)..bytes.len()).find(|&at| {
        starts_word(bytes, at) && shapes_at(&bytes[at..]).any(|s| s.may_begin(&bytes[at..]))
    });
    let url = text[word..]
        .rfind("://")
        .map(|at| word + at + 3)
        .filter(|&at| authority_end(&text[at..]).is_none())
        .map(|at| at.max(from));
    match (shape, url) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    }
}
