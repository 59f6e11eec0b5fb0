//! Which rules would let a command line run without a question, for a person who is asked whether to remember it.
//! Whether they do is judged like any rule; nothing is written here.

use store::settings::Permission;

use super::commands;
use super::{Rules, Ruling};
use crate::shell::{Line, Simple};

/// Programs whose second word says what they do, so that two words are a rule of use: `cargo test`, `git status`.
const OF_TWO_WORDS: &[&str] = &[
    "brew",
    "bun",
    "cargo",
    "deno",
    "docker",
    "dotnet",
    "gh",
    "git",
    "go",
    "gradle",
    "helm",
    "just",
    "kubectl",
    "make",
    "mvn",
    "npm",
    "pip",
    "pip3",
    "pnpm",
    "podman",
    "poetry",
    "rustup",
    "systemctl",
    "terraform",
    "uv",
    "yarn",
];
/// Words behind which stands what really runs: two words of these would allow anything.
const RUN_OTHERS: &[&str] = &["exec", "run", "x", "dlx"];
/// Most rules for one line: more than that nobody reads.
const MOST: usize = 4;

/// Whether these rules alone let the line run without a question. Redirections into files never do. Blocks for two
/// seconds at most.
#[must_use]
pub fn covers(rules: &[String], line: &str) -> bool {
    let rules = Rules::new(Permission::Ask, rules.iter().map(String::as_str), []);
    rules.judge(line, &|_| false) == Ruling::Allowed
}

/// The rules that let the line run without a question, one a simple command of it; `None` where none can. They say no
/// more than needed: two words of a program that has subcommands, all words of any other. Blocks for four seconds at
/// most.
#[must_use]
pub fn suggest(line: &str) -> Option<Vec<String>> {
    let text = line.to_owned();
    let read = Rules::new(Permission::Ask, [], [])
        .reading
        .of(move || Line::read(&text, commands::sets))
        .ok()?;
    let mut rules = Vec::new();
    for command in &read.commands {
        let rule = rule(command)?;
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    (rules.len() <= MOST && covers(&rules, line)).then_some(rules)
}

/// The rule for one command, whose words must all be known; a word with a blank in it can't stand in a rule.
fn rule(command: &Simple) -> Option<String> {
    let words: Option<Vec<&str>> = command.literals().collect();
    let words = words?;
    let says_what = |word: &str| {
        word.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')
            && !word.starts_with('-')
            && !RUN_OTHERS.contains(&word)
    };
    let words = match *words {
        [program, what, ..] if OF_TWO_WORDS.contains(&program) && says_what(what) => &words[..2],
        _ => &words[..],
    };
    let is_plain = |word: &&str| !word.is_empty() && !word.contains(char::is_whitespace);
    words.iter().all(is_plain).then(|| words.join(" "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_says_no_more_than_its_line_needs() {
        for (line, rules) in [
            ("cargo test -p store", Some(&["cargo test"][..])),
            ("git status", Some(&["git status"])),
            ("git -C /tmp status", Some(&["git -C /tmp status"])),
            ("ls -la src", Some(&["ls -la src"])),
            ("cargo run --bin x", Some(&["cargo run --bin x"])),
            ("docker run alpine sh", Some(&["docker run alpine sh"])),
            ("rm -rf build", Some(&["rm -rf build"])),
            (
                "cargo fmt && cargo test a; cargo test b",
                Some(&["cargo fmt", "cargo test"]),
            ),
            (
                "grep -c x README.md | sort 2>&1",
                Some(&["grep -c x README.md", "sort"]),
            ),
            // What no rule allows, or none that could be written.
            ("echo $(id)", None),
            ("git commit -m 'two words'", Some(&["git commit"])),
            ("grep 'two words' README.md", None),
            ("make > out", None),
            ("FOO=1 make", None),
            ("eval ls", None),
            ("if true; then ls; fi", None),
            ("echo 'unfinished", None),
            ("a; b; c; d; e", None),
            ("", None),
        ] {
            let suggested = suggest(line);
            let wanted = rules.map(|rules| rules.iter().map(|&rule| rule.to_owned()).collect());
            assert_eq!(suggested, wanted, "{line}");
            if let Some(rules) = suggested {
                assert!(covers(&rules, line), "{line}");
            }
        }
    }

    #[test]
    fn what_is_remembered_covers_what_it_says_and_nothing_else() {
        let rules = ["cargo test".to_owned()];
        assert!(covers(&rules, "cargo test --release"));
        assert!(!covers(&rules, "cargo test; rm -rf /"));
        assert!(!covers(&rules, "cargo test > /etc/passwd"));
        assert!(!covers(&rules, "cargo build"));
        assert!(!covers(&[], "ls"));
    }
}
