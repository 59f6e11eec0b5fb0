//! Secrets known by their own form: reads `data/shapes.txt` once and finds what it describes.
//! No issuer's form stands here; key blocks and addresses, which are no runs of characters, stand in `blocks`.

use std::sync::{LazyLock, OnceLock};

use super::alphabet::Alphabet;
use super::random::is_random;
use super::tail::Tail;
use super::{Found, steps};

/// Most bytes of all runs but the last that are looked at; a stream holds more. Where the last run ends is found by walking there once.
const RUN_BYTES: usize = 384;
/// Most bytes of the last run that are looked at.
const LAST_BYTES: usize = 128;

/// One line of the data file.
struct Shape {
    parts: Vec<Part>,
    /// The part at which the mask begins.
    shown: usize,
    /// From so many characters on the last run needs no digit.
    whole: usize,
    random: bool,
}

enum Part {
    Text(&'static [u8]),
    Run {
        alphabet: Alphabet,
        least: usize,
        most: usize,
    },
}

/// What a look at one place came to.
enum Look {
    /// The mask begins and the known part ends at these distances.
    Secret(usize, usize, Alphabet),
    Nothing,
    /// The text ends before it can be told.
    More,
}

/// A line of the data file, which is read when a text begins as it does: most lines never are.
struct LazyShape {
    text: &'static str,
    /// The text that its shape begins with; none where it begins with a run.
    prefix: &'static [u8],
    /// It may begin within a word.
    within: bool,
    shape: OnceLock<Shape>,
}

struct Shapes {
    all: Vec<LazyShape>,
    /// For each byte the shapes that may begin with it.
    by_first: [Vec<u16>; 256],
}

static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let mut all = Vec::new();
    let mut by_first = [const { Vec::new() }; 256];
    for text in include_str!("../data/shapes.txt").lines() {
        let Some(first) = text
            .split(' ')
            .next()
            .filter(|word| !matches!(*word, "" | "#"))
        else {
            continue;
        };
        let index = all.len() as u16;
        let prefix = match Part::read(first) {
            Part::Text(text) => {
                by_first[usize::from(text[0])].push(index);
                text
            }
            Part::Run { alphabet, .. } => {
                let own = (0..=u8::MAX).filter(|&byte| alphabet.allows(byte));
                own.for_each(|byte| by_first[usize::from(byte)].push(index));
                &[]
            }
        };
        let shape = OnceLock::new();
        all.push(LazyShape {
            text,
            prefix,
            within: parts(text).any(|word| word == "within"),
            shape,
        });
    }
    Shapes { all, by_first }
});

impl LazyShape {
    /// Its shape, if `text` may begin with it.
    fn of(&self, text: &[u8]) -> Option<&Shape> {
        let both = text.len().min(self.prefix.len());
        (text[..both] == self.prefix[..both])
            .then(|| self.shape.get_or_init(|| Shape::read(self.text)))
    }
}

/// The words of a line up to its comment.
fn parts(line: &'static str) -> impl Iterator<Item = &'static str> {
    let words = line.split_ascii_whitespace();
    words.take_while(|word| !word.starts_with('#'))
}

impl Shape {
    fn read(line: &'static str) -> Self {
        let mut shape = Self {
            parts: Vec::new(),
            shown: 0,
            whole: usize::MAX,
            random: false,
        };
        for word in parts(line) {
            match word {
                "^" => shape.shown = shape.parts.len(),
                "random" => shape.random = true,
                "within" => {}
                _ => match word.strip_prefix("whole=") {
                    Some(whole) => shape.whole = whole.parse().unwrap_or(usize::MAX),
                    None => shape.parts.push(Part::read(word)),
                },
            }
        }
        shape
    }

    /// Looks at the beginning of `bytes`.
    fn look(&self, bytes: &[u8], complete: bool) -> Look {
        let (mut at, mut shown) = (0, 0);
        for (index, part) in self.parts.iter().enumerate() {
            if index == self.shown {
                shown = at;
            }
            let rest = &bytes[at..];
            let (alphabet, least, most) = match part {
                Part::Text(text) if rest.starts_with(text) => {
                    at += text.len();
                    continue;
                }
                Part::Text(text) if text.starts_with(rest) && !complete => return Look::More,
                Part::Text(_) => return Look::Nothing,
                Part::Run {
                    alphabet,
                    least,
                    most,
                } => (*alphabet, *least, *most),
            };
            let last = index + 1 == self.parts.len();
            let most_seen = match (last, least == most) {
                (true, _) => LAST_BYTES,
                (false, true) => most,
                (false, false) => RUN_BYTES.saturating_sub(at),
            };
            let window = &rest[..rest.len().min(most_seen)];
            let end = window.iter().position(|&byte| !alphabet.allows(byte));
            let len = end.unwrap_or(window.len());
            steps(len + 1);
            let open = len == rest.len() && !complete;
            let run = std::str::from_utf8(&window[..len]).unwrap_or_default();
            if end.is_none() && !last && most == usize::MAX && at + len >= RUN_BYTES {
                // Longer than what is looked at: its beginning must do.
                let all = std::str::from_utf8(&bytes[shown..at + len]).unwrap_or_default();
                return match is_random(all, 12) {
                    true => Look::Secret(shown, at + len, Alphabet::RANDOM),
                    false => Look::Nothing,
                };
            }
            let run = if alphabet.has_dots() {
                run.trim_end_matches('.')
            } else {
                run
            };
            if run.len() < least && !(last && open) || run.len() > most {
                return if open && run.len() < least {
                    Look::More
                } else {
                    Look::Nothing
                };
            }
            if last {
                let told = run.len() >= least && (most == usize::MAX || !open);
                return match told && self.is_secret(run, alphabet) {
                    true => Look::Secret(shown, at + run.len(), alphabet),
                    false if open => Look::More,
                    false => Look::Nothing,
                };
            }
            if open {
                return Look::More;
            }
            at += len;
        }
        Look::Nothing
    }

    /// Whether the last run, which is long enough, is one.
    fn is_secret(&self, run: &str, alphabet: Alphabet) -> bool {
        if self.random {
            return is_random(run, 12);
        }
        !alphabet.is_of_names()
            || run.len() >= self.whole && !is_name(run)
            || run.bytes().any(|b| b.is_ascii_digit())
    }
}

/// Words with hyphens or underscores between.
fn is_name(run: &str) -> bool {
    let mut words = run.split(['-', '_', '.']);
    run.contains(['-', '_', '.'])
        && words.all(|word| word.len() < 16 && word.bytes().all(|b| b.is_ascii_lowercase()))
}

impl Part {
    fn read(word: &'static str) -> Self {
        let run = word.split_once('{').and_then(|(name, bounds)| {
            let (least, most) = match bounds.strip_suffix('}')?.split_once(',') {
                Some((least, most)) => (least, most.parse().ok()?),
                None => (bounds.strip_suffix('}')?, usize::MAX),
            };
            Some(Self::Run {
                alphabet: Alphabet::named(name)?,
                least: least.parse().ok()?,
                most,
            })
        });
        run.unwrap_or(Self::Text(word.as_bytes()))
    }
}

/// How the shapes begin, those that begin with a text.
#[cfg(test)]
pub(super) fn prefixes() -> impl Iterator<Item = &'static str> {
    let texts = SHAPES.all.iter().map(|line| line.prefix);
    texts.filter_map(|text| {
        std::str::from_utf8(text)
            .ok()
            .filter(|text| !text.is_empty())
    })
}

/// Whether something may begin at `at`: no letter stands before it, or one that only writes another sign.
fn begins(bytes: &[u8], at: usize) -> bool {
    match &bytes[at.saturating_sub(3)..at] {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [b'%', a, b] => {
            a.is_ascii_hexdigit() && b.is_ascii_hexdigit() || !b.is_ascii_alphanumeric()
        }
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}

pub(super) fn find(text: &str, found: &mut Found) {
    let bytes = text.as_bytes();
    let shapes = &*SHAPES;
    let mut at = 0;
    steps(bytes.len());
    while at < bytes.len() {
        let own = &shapes.by_first[bytes[at] as usize];
        let begins = own.is_empty() || begins(bytes, at);
        let mut end = at + 1;
        for &index in own {
            let line = &shapes.all[usize::from(index)];
            if !(begins || line.within) {
                continue;
            }
            let Some(shape) = line.of(&bytes[at..]) else {
                continue;
            };
            match shape.look(&bytes[at..], found.complete) {
                Look::Secret(shown, known, alphabet) => {
                    end = found.hit(text, at + shown, at + known, Tail::run(alphabet));
                    break;
                }
                // A full stop or a digit is not held for what hardly ever follows; its mask begins behind it.
                Look::More if line.within && bytes.len() - at < 3 => {}
                Look::More => {
                    // A beginning that is an issuer's own, and some of what follows it.
                    let prefix = line.prefix.len();
                    match prefix >= 3 && bytes.len() - at >= prefix + 4 {
                        true => found.expect(at),
                        false => found.wait(at),
                    }
                }
                Look::Nothing => {}
            }
        }
        at = end;
    }
}
