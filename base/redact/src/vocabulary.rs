//! The lists of words in `data/words.txt`, read once. What follows from a word is decided elsewhere.

use std::collections::HashMap;
use std::sync::LazyLock;

type Lists = HashMap<&'static str, Vec<&'static str>>;

static LISTS: LazyLock<Lists> = LazyLock::new(|| {
    let mut lists = Lists::new();
    let mut name = "";
    for line in include_str!("../data/words.txt").lines() {
        if let Some(head) = line.strip_prefix('[') {
            name = head.split(']').next().unwrap_or_default();
        } else if !line.starts_with('#') {
            let words = line
                .split(',')
                .map(str::trim)
                .filter(|word| !word.is_empty());
            lists.entry(name).or_default().extend(words);
        }
    }
    lists
});

/// The words of a section.
pub(super) fn list(name: &str) -> &'static [&'static str] {
    LISTS.get(name).map_or(&[], Vec::as_slice)
}

/// Whether `text` is a word of a section, in any case.
pub(super) fn lists(name: &str, text: &str) -> bool {
    list(name)
        .iter()
        .any(|word| text.eq_ignore_ascii_case(word))
}
