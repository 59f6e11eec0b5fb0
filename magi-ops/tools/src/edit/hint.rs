//! Why a piece was not found: what a model can do better, from what stands in the file instead.
//! Only words; bounded in time and length whatever the file is.

use std::collections::{HashMap, HashSet};

use super::excerpt;
use crate::bounds::Watch;
use crate::error::ToolError;

/// Bytes of the file that are looked through for what is closest.
const LOOK_BYTES: usize = 4 * 1024 * 1024;
/// Places in the file that are compared.
const PLACES: usize = 100_000;
/// Words of a line that are compared.
const WORDS: usize = 64;
/// Lines of the piece that are looked for.
const OLD_LINES: usize = 200;
/// Lines of the file that are shown.
const SHOWN: usize = 12;

pub(super) fn no_match(file: &[u8], old: &str, watch: &Watch) -> Result<String, ToolError> {
    if numbered(old) {
        return Ok("It begins with the line numbers that read shows; leave those out.".to_owned());
    }
    if old.contains('\u{fffd}') {
        return Ok(
            "It holds U+FFFD, which read shows for bytes that are not UTF-8; choose a piece without them."
                .to_owned(),
        );
    }
    let text = String::from_utf8_lossy(&file[..file.len().min(LOOK_BYTES)]);
    let longest = old.lines().take(OLD_LINES).max_by_key(|line| line.len());
    let old: Vec<String> = old.lines().take(OLD_LINES).map(plain).collect();
    let wanted = old.iter().filter(|line| !line.is_empty()).count();
    if wanted == 0 {
        return Ok("It is only whitespace; give the lines around it, too.".to_owned());
    }
    let (found, start) = match aligned(&text, &old, watch)? {
        Some((matching, start)) if matching == wanted => (
            "It is there but for whitespace or the case of letters; the file has:".to_owned(),
            start,
        ),
        Some((matching, start)) => (
            format!("The closest place has {matching} of its {wanted} lines; the file has there:"),
            start,
        ),
        None => match closest_line(&text, longest.unwrap_or_default(), watch)? {
            Some(start) => ("The closest line is in:".to_owned(), start),
            None => return Ok("Nothing like it is there; read the file again.".to_owned()),
        },
    };
    let end = start + old.len().min(SHOWN);
    Ok(format!("{found}\n{}", excerpt::by_number(file, start..end)))
}

/// Whether each line begins as `read` numbers them.
fn numbered(old: &str) -> bool {
    old.lines().all(|line| {
        let line = line.trim_start_matches(' ');
        let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < line.len() && rest.starts_with('\t')
    })
}

/// A line without regard to whitespace and case.
fn plain(line: &str) -> String {
    let mut out = String::new();
    for word in line.split_whitespace() {
        out.extend(word.chars().flat_map(char::to_lowercase));
    }
    out
}

/// The place where the most lines of the piece stand in their order: how many, and its first
/// line, counted from 0. A piece of one line may be a part of one.
fn aligned(text: &str, old: &[String], watch: &Watch) -> Result<Option<(usize, usize)>, ToolError> {
    let mut wanted: HashMap<&str, usize> = HashMap::new();
    for (index, line) in old.iter().enumerate().rev() {
        if !line.is_empty() {
            wanted.insert(line, index);
        }
    }
    // Which first line each line of the file that is also one of the piece speaks for.
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (number, line) in text.lines().enumerate() {
        watch.check()?;
        let line = plain(line);
        if let [only] = old
            && line.contains(only.as_str())
        {
            return Ok(Some((1, number)));
        }
        if let Some(start) = wanted
            .get(line.as_str())
            .and_then(|index| number.checked_sub(*index))
            && (votes.len() < PLACES || votes.contains_key(&start))
        {
            *votes.entry(start).or_default() += 1;
        }
    }
    let best = votes
        .into_iter()
        .max_by_key(|(start, votes)| (*votes, std::cmp::Reverse(*start)));
    Ok(best.map(|(start, _)| {
        let here = text.lines().skip(start).map(plain);
        let same = here
            .zip(old)
            .filter(|(here, old)| here == *old && !old.is_empty());
        (same.count(), start)
    }))
}

/// The line that shares the most words with the longest one of the piece, if it is half of them.
fn closest_line(text: &str, longest: &str, watch: &Watch) -> Result<Option<usize>, ToolError> {
    let wanted: HashSet<&str> = words(longest).collect();
    let mut best = (0, 0);
    for (number, line) in text.lines().enumerate() {
        watch.check()?;
        let shared: HashSet<&str> = words(line).filter(|word| wanted.contains(word)).collect();
        if shared.len() > best.0 {
            best = (shared.len(), number);
        }
    }
    let (shared, number) = best;
    Ok((shared > 0 && shared * 2 >= wanted.len()).then_some(number))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_')
        .filter(|word| !word.is_empty())
        .take(WORDS)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;
    use crate::bounds::EXCERPT_BYTES;

    fn hint(file: &[u8], old: &str) -> String {
        let watch = Watch::new(work::Deadline::after(Duration::from_secs(60)));
        no_match(file, old, &watch).unwrap()
    }

    const FILE: &[u8] = b"fn one() {\n\tlet total = 1;\n\tdone(total);\n}\n\nfn two() {\n}\n";

    #[test]
    fn each_reason_has_its_words() {
        for (old, words) in [
            (
                "fn one() {\n    let total = 1;\n",
                "but for whitespace or the case of letters; the file has:\n     1\tfn one() {\n     2\t\tlet total = 1;\n",
            ),
            (
                "LET total=1",
                "but for whitespace or the case of letters; the file has:\n     2\t\tlet total = 1;\n",
            ),
            (
                "fn one() {\n\tlet sum = 1;\n\tdone(total);",
                "has 2 of its 3 lines; the file has there:\n     1\tfn one() {\n     2\t\tlet total = 1;\n     3\t\tdone(total);\n",
            ),
            (
                "    finished(total, done);",
                "The closest line is in:\n     3\t\tdone(total);\n",
            ),
            ("unheard of", "Nothing like it is there"),
            ("     1\tfn one() {\n     2\t\tlet x", "leave those out"),
            ("caf\u{fffd}", "not UTF-8"),
            (" \n ", "only whitespace"),
        ] {
            let hint = hint(FILE, old);
            assert!(hint.contains(words), "{old:?}: {hint}");
        }
    }

    proptest! {
        #[test]
        fn hints_are_bounded(file in proptest::collection::vec(any::<u8>(), 0..300), old in "(.|\n){1,40}", times in 1_usize..50) {
            prop_assert!(hint(&file.repeat(times), &old).len() < EXCERPT_BYTES + 200);
        }
    }
}
