//! Files that a prompt names with `@`: completed while it is typed, and told to the model as words. It reads them with its
//! tool, and so by its rules.
//! Opens no file.

use std::path::Path;

/// Most names of one folder that are looked at, and that are offered.
const MOST_READ: usize = 10_000;
const MOST_OFFERED: usize = 100;

/// The part of a line before the cursor that names a file: where it begins, behind the `@`.
pub(super) fn named_at(line: &str) -> Option<usize> {
    let at = line.rfind('@')?;
    let before = line[..at].chars().next_back();
    let begins = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '"' | '`'));
    (begins && !line[at..].contains(char::is_whitespace)).then_some(at + 1)
}

/// Names that go on from `begun`, folders with a slash behind them; hidden ones only where a dot was typed.
pub(super) fn completions(begun: &str, cwd: &Path) -> Vec<String> {
    let (folder, name) = match begun.rfind('/') {
        Some(slash) => begun.split_at(slash + 1),
        None => ("", begun),
    };
    let Ok(entries) = std::fs::read_dir(cwd.join(folder)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for entry in entries.take(MOST_READ).flatten() {
        let Ok(known) = entry.file_name().into_string() else {
            continue;
        };
        let is_odd = known.chars().any(|c| c.is_control() || c.is_whitespace());
        if is_odd || !known.starts_with(name) || (known.starts_with('.') && !name.starts_with('.'))
        {
            continue;
        }
        let is_folder = entry.path().is_dir();
        found.push(format!(
            "{folder}{known}{}",
            if is_folder { "/" } else { "" }
        ));
    }
    found.sort();
    found.truncate(MOST_OFFERED);
    found
}

/// The prompt, with the files that it names and that are there told below it.
pub(super) fn with_mentions(prompt: String, cwd: Option<&Path>) -> String {
    let cwd = cwd.unwrap_or(Path::new("."));
    let mut named: Vec<&str> = Vec::new();
    for word in prompt.split(char::is_whitespace) {
        let word = word.trim_start_matches(['(', '"', '`']);
        let Some(path) = word.strip_prefix('@') else {
            continue;
        };
        let path = path.trim_end_matches(['.', ',', ';', ':', ')', '"', '`', '?', '!']);
        if !path.is_empty() && !named.contains(&path) && cwd.join(path).exists() {
            named.push(path);
        }
    }
    match named.is_empty() {
        true => prompt,
        false => format!(
            "{prompt}\n\n(Files that are meant by @: {})",
            named.join(", ")
        ),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_completed_where_one_is_typed() {
        for (line, at) in [
            ("@", Some(1)),
            ("see @src/ma", Some(5)),
            ("(@x", Some(2)),
            ("me@example.org", None),
            ("@a b", None),
            ("none", None),
        ] {
            assert_eq!(named_at(line), at, "{line}");
        }
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("src/deep")).unwrap();
        for file in [
            "src/main.rs",
            "src/map.rs",
            "README.md",
            ".hidden",
            "two words",
        ] {
            std::fs::write(dir.path().join(file), "").unwrap();
        }
        let found = |begun: &str| completions(begun, dir.path());
        assert_eq!(found(""), ["README.md", "src/"]);
        assert_eq!(found("."), [".hidden"]);
        assert_eq!(found("src/ma"), ["src/main.rs", "src/map.rs"]);
        assert_eq!(found("src/d"), ["src/deep/"]);
        assert!(found("nowhere/x").is_empty());
    }

    #[test]
    fn files_that_are_there_are_told() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.rs"), "").unwrap();
        let told = |prompt: &str| with_mentions(prompt.to_owned(), Some(dir.path()));
        assert_eq!(
            told("Look at (@a.rs), @a.rs and @b.rs!"),
            "Look at (@a.rs), @a.rs and @b.rs!\n\n(Files that are meant by @: a.rs)"
        );
        assert_eq!(told("mail me@a.rs"), "mail me@a.rs");
    }
}
