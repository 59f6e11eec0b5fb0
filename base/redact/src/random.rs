//! Whether a string looks drawn by lot. Works on a bounded window, whatever the string's length.
//! Which strings are looked at, and what follows from it, is decided elsewhere.

use super::alphabet::Alphabet;
use super::{WINDOW_BYTES, steps};

/// Letters and digits both.
pub(super) fn is_mixed(value: &str) -> bool {
    steps(value.len());
    value.bytes().any(|b| b.is_ascii_digit()) && value.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether `run` looks drawn by lot: an unbroken piece of at least `least` characters with
/// letters and digits in disorder, or a long base64 string. Names, paths, versions and dates
/// fall into pieces that are shorter or of one kind. Only the beginning counts: what is drawn
/// by lot is so everywhere.
pub(super) fn is_random(run: &str, least: usize) -> bool {
    let run = &run[..run.floor_char_boundary(WINDOW_BYTES)];
    steps(run.len());
    let piece = run
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|piece| piece.len() >= least)
        .any(|piece| is_mixed(piece) && !is_worded(piece) && entropy(piece) >= 3.0);
    let has = |test: fn(&u8) -> bool| run.as_bytes().iter().any(test);
    piece
        || (run.len() >= 32
            && !is_worded(run)
            && !run.contains('.')
            && run.bytes().all(|b| Alphabet::RANDOM.allows(b))
            && has(u8::is_ascii_uppercase)
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_digit)
            && entropy(run) >= 4.0)
}

/// The number of a thing, 8-4-4-4-12 hexadecimal digits; what stands before it in a path may be there.
pub(super) fn is_uuid(run: &str) -> bool {
    let last = run.rsplit(['/', '=']).next().unwrap_or_default();
    steps(run.len());
    last.len() == 36
        && last.bytes().enumerate().all(|(at, b)| match at {
            8 | 13 | 18 | 23 => b == b'-',
            _ => b.is_ascii_hexdigit(),
        })
}

/// Whether a piece falls into words as names in code do, `getTokenBudget2For`: half of it and more are runs of
/// three small letters, of which strings drawn by lot from both cases have a sixth.
fn is_worded(piece: &str) -> bool {
    let has = |test: fn(&u8) -> bool| piece.as_bytes().iter().any(test);
    if !has(u8::is_ascii_uppercase) || !has(u8::is_ascii_lowercase) {
        return false;
    }
    // `Ed25519SigningKey`, `PrivateSec1KeyDer`: each capital begins a word, and there is a number or two.
    let bytes = piece.as_bytes();
    let lower = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_lowercase);
    let words = (0..bytes.len())
        .filter(|&at| bytes[at].is_ascii_uppercase())
        .all(|at| lower(at + 1) && (lower(at + 2) || at == 0));
    let numbers = piece
        .split(|c: char| !c.is_ascii_digit())
        .filter(|number| !number.is_empty());
    if bytes[0].is_ascii_uppercase() && words && numbers.count() <= 2 {
        return true;
    }
    let runs = piece.split(|c: char| !c.is_ascii_lowercase());
    let worded: usize = runs.map(str::len).filter(|len| *len >= 3).sum();
    worded * 2 >= piece.len()
}

/// Shannon entropy in bits a character.
fn entropy(text: &str) -> f64 {
    steps(text.len());
    let mut counts = [0u16; 256];
    for byte in text.bytes() {
        counts[byte as usize] += 1;
    }
    let total = text.len() as f64;
    counts
        .iter()
        .filter(|&&count| count > 0)
        .map(|&count| {
            let share = f64::from(count) / total;
            -share * share.log2()
        })
        .sum()
}
