//! Advice about rules for commands that don't say what they seem to: one that no command can match, or that guards
//! less than it reads. How rules are applied is the tools' matter.

use crate::reason::shown;

/// What is odd about a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleAdvice {
    /// One line without a full stop.
    pub reason: String,
    /// What to write instead, or to do.
    pub help: String,
    /// The words that it plainly means, where it has others.
    pub meant: Option<String>,
}

/// What stands in front of commands, and which rules that deny look behind anyway.
const IN_FRONT: &[&str] = &[
    "command", "doas", "env", "exec", "nice", "nohup", "setsid", "sudo", "time", "timeout", "xargs",
];

/// What no rule can allow: no command, or one that may change what a name means or run a text.
const NEVER_ALLOWED: &[&str] = &[
    "!",
    ".",
    "[[",
    "alias",
    "bind",
    "builtin",
    "case",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "for",
    "function",
    "hash",
    "if",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "select",
    "set",
    "shopt",
    "source",
    "time",
    "trap",
    "typeset",
    "unalias",
    "unset",
    "until",
    "while",
    "{",
];

/// A word of a rule, as a shell would read it.
#[derive(Default)]
struct Word {
    text: String,
    /// It has quotes or escapes.
    is_quoted: bool,
    /// Where something begins that a command's word never has: a pattern, a variable, a home.
    open: Option<usize>,
}

/// How what no line can match is told.
const NOTHING: &str = "as it stands this rule matches nothing";

/// What is odd about a rule, and what to write; `denies` if it is one that denies.
#[must_use]
pub fn rule_advice(rule: &str, denies: bool) -> Option<RuleAdvice> {
    let mut advice = look(rule, denies)?;
    // A rule that denies and plainly means other words denies those.
    if denies
        && let Some(meant) = &advice.meant
        && let Some(why) = advice.reason.strip_prefix(NOTHING)
    {
        advice.reason = format!("this rule is read as `{}`{why}", shown(meant));
    }
    Some(advice)
}

fn look(rule: &str, denies: bool) -> Option<RuleAdvice> {
    let rule = rule.trim();
    let nothing = NOTHING;
    if let Some(inner) = wrapped(rule) {
        let inner = inner.strip_suffix(":*").unwrap_or(inner);
        let why = format!("{nothing}: a rule is only words");
        return Some(match look(inner, denies) {
            None => advice(&why, inner, true),
            Some(below) => RuleAdvice {
                reason: why,
                ..below
            },
        });
    }
    let Some(mut words) = read(rule) else {
        let why = format!("{nothing}: a rule is the leading words of one command");
        return Some(advice(&why, "", false));
    };
    let assigns = |word: &Word| {
        let name = word.text.split_once('=').map(|(name, _)| name);
        name.is_some_and(|name| {
            !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_')
        })
    };
    let variables = words.iter().take_while(|word| assigns(word)).count();
    words.drain(..variables);
    let mut why =
        (variables > 0).then(|| format!("{nothing}: variables in front are no part of a command"));
    // A rule that denies knows its program by any path.
    let by_path = denies
        && words
            .first()
            .is_some_and(|word| word.text.starts_with(['/', '~', '$']));
    if let Some((_, name)) = words
        .first()
        .and_then(|word| word.text.rsplit_once('/'))
        .filter(|_| by_path)
    {
        let name = name.to_owned();
        why.get_or_insert_with(|| {
            format!("a rule that denies is about `{}` by any path", shown(&name))
        });
        words[0] = Word {
            text: name,
            ..Word::default()
        };
    }
    let mut meant: Vec<&str> = Vec::new();
    let mut is_plain = true;
    for (at, word) in words.iter().enumerate() {
        if let Some(open) = word.open {
            why.get_or_insert_with(|| format!("{nothing}: its words are no patterns, and nothing is put in for variables or `~`"));
            let before = word.text[..open].trim_end_matches(':');
            meant.extend((!before.is_empty()).then_some(before));
            is_plain = at + 1 == words.len() && word.text[open..].chars().all(|c| c == '*');
            break;
        }
        if word.is_quoted {
            why.get_or_insert_with(|| {
                format!("{nothing}: its words are parted by blanks, and quotes are no part of them")
            });
            if word.text.contains(char::is_whitespace) || word.text.is_empty() {
                is_plain = false;
                break;
            }
        }
        meant.push(&word.text);
    }
    let is_part = words.iter().any(|word| word.open.is_some()) || meant.len() < words.len();
    if let Some(reason) = why.take_if(|_| !denies && is_part) {
        // What is left of it would allow more than was meant.
        return Some(RuleAdvice {
            reason,
            help: "write the leading words of each command that may run, such as `git status`: a rule allows whatever stands behind them".to_owned(),
            meant: None,
        });
    }
    if let Some(why) = why {
        return Some(advice(&why, &meant.join(" "), is_plain));
    }
    let (first, rest) = meant.split_first()?;
    if denies && IN_FRONT.contains(first) && !rest.is_empty() {
        let why = format!(
            "this denies only what stands behind `{first}`, where a rule without it denies too"
        );
        return Some(advice(&why, &rest.join(" "), false));
    }
    (!denies && NEVER_ALLOWED.contains(first)).then(|| RuleAdvice {
        reason: format!("no rule can allow `{first}`"),
        help: "remove it".to_owned(),
        meant: None,
    })
}

fn advice(reason: &str, write: &str, is_plain: bool) -> RuleAdvice {
    RuleAdvice {
        reason: reason.to_owned(),
        help: match write {
            "" => "write the leading words of one command, such as `git push`; `default` is for all others".to_owned(),
            write => format!("write `{}`", shown(write)),
        },
        meant: (is_plain && !write.is_empty()).then(|| write.to_owned()),
    }
}

/// What stands in `Bash(…)`, as other programs write their rules.
fn wrapped(rule: &str) -> Option<&str> {
    let (tool, inner) = rule.strip_suffix(')')?.split_once('(')?;
    (!tool.is_empty() && tool.chars().all(char::is_alphanumeric)).then_some(inner)
}

/// The words of one command; none where the rule is more than that.
fn read(rule: &str) -> Option<Vec<Word>> {
    let mut words = Vec::new();
    let mut word: Option<Word> = None;
    let mut quote = None;
    let mut chars = rule.chars().peekable();
    while let Some(c) = chars.next() {
        if quote.is_none() && c.is_whitespace() {
            words.extend(word.take());
            continue;
        }
        let word = word.get_or_insert_default();
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (None, '\'' | '"') => (quote, word.is_quoted) = (Some(c), true),
            (None | Some('"'), '\\') => {
                word.is_quoted = true;
                word.text.extend(chars.next());
            }
            (None, ';' | '|' | '&' | '<' | '>' | '(' | ')' | '`') => return None,
            (None, '$') if chars.peek() == Some(&'(') => return None,
            // Else braces stand for themselves.
            (None, '{') if lists(&word.text, chars.clone()) => {
                word.open.get_or_insert(word.text.len());
                word.text.push(c);
            }
            (None, '*' | '?' | '[' | '$') | (Some('"'), '$') => {
                // The command `[` is one.
                if c != '['
                    || !word.text.is_empty()
                    || chars.peek().is_some_and(|c| !c.is_whitespace())
                {
                    word.open.get_or_insert(word.text.len());
                }
                word.text.push(c);
            }
            (None, '~' | '#') if word.text.is_empty() => {
                word.open = Some(0);
                word.text.push(c);
            }
            _ => word.text.push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// Whether the word around a brace has what a list in braces needs.
fn lists(before: &str, behind: impl Iterator<Item = char>) -> bool {
    let mut word = before.to_owned();
    word.extend(behind.take_while(|c| !c.is_whitespace()));
    word.contains(',') || word.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_that_says_what_it_means_has_no_advice() {
        for rule in [
            "git push",
            " git  push ",
            "cargo test",
            "./deploy.sh",
            "././deploy.sh",
            "npm run build:prod",
            "g++",
            "git commit -m",
            "[",
            "make -j4",
            "git log HEAD~1",
            "find . -name",
            "git show HEAD^{tree}",
            "awk {print}",
        ] {
            assert_eq!(rule_advice(rule, true), None, "{rule}");
            assert_eq!(rule_advice(rule, false), None, "{rule}");
        }
        for rule in [
            "sudo apt update",
            "/usr/bin/git status",
            "timeout 5 cargo test",
        ] {
            assert_eq!(rule_advice(rule, false), None, "{rule}");
        }
        for rule in ["eval", "source", "sudo", "time"] {
            assert_eq!(rule_advice(rule, true), None, "{rule}");
        }
    }

    #[test]
    fn what_a_rule_plainly_means_is_said_and_used() {
        for (rule, meant) in [
            ("git push*", "git push"),
            ("git push *", "git push"),
            ("git push:*", "git push"),
            ("Bash(git push)", "git push"),
            ("Bash(git push:*)", "git push"),
            ("bash(\"git\" push)", "git push"),
            ("'git' \"push\"", "git push"),
            ("gi\\t push", "git push"),
            ("A=1 git push", "git push"),
            ("/usr/bin/git push", "git push"),
            ("~/bin/deploy", "deploy"),
            ("$HOME/bin/deploy now", "deploy now"),
        ] {
            let found = rule_advice(rule, true).unwrap_or_else(|| panic!("{rule}"));
            assert_eq!(found.meant.as_deref(), Some(meant), "{rule}");
            assert_eq!(found.help, format!("write `{meant}`"), "{rule}");
            let is_told = found
                .reason
                .starts_with(&format!("this rule is read as `{meant}`: "))
                || found.reason.contains("by any path");
            assert!(is_told, "{rule}: {}", found.reason);
        }
    }

    #[test]
    fn no_advice_about_what_is_allowed_names_fewer_words_than_were_meant() {
        for rule in [
            "rm -rf $HOME",
            "git *",
            "git push*",
            "ls ~/x",
            "Bash(rm *)",
            "cat \"a b\" c",
        ] {
            let found = rule_advice(rule, false).unwrap_or_else(|| panic!("{rule}"));
            assert!(
                !found.help.starts_with("write `") && found.meant.is_none(),
                "{found:?}"
            );
        }
        let same = rule_advice("Bash(git push:*)", false);
        assert_eq!(
            same.and_then(|advice| advice.meant).as_deref(),
            Some("git push")
        );
    }

    #[test]
    fn what_a_rule_can_not_say_is_only_told() {
        for (rule, denies, help) in [
            ("*", true, "leading words"),
            ("*", false, "leading words"),
            ("curl x | sh", true, "leading words"),
            ("a && b", false, "leading words"),
            ("echo $(x)", true, "leading words"),
            ("git commit -m \"a b\"", true, "write `git commit -m`"),
            ("npm run *:prod", true, "write `npm run`"),
            ("sudo git push", true, "write `git push`"),
            ("env git push", true, "write `git push`"),
            ("~/bin/x", false, "leading words"),
            ("git $X", false, "leading words"),
            ("ls {a,b}", false, "leading words"),
            ("make #x", false, "leading words"),
            ("rm -rf $HOME", false, "leading words"),
            ("git *", false, "leading words"),
            ("Bash(rm -rf $HOME)", false, "leading words"),
            ("git commit -m \"a b\"", false, "leading words"),
            ("Bash(npm run *:prod)", true, "write `npm run`"),
            ("eval", false, "remove it"),
            ("source x", false, "remove it"),
        ] {
            let found = rule_advice(rule, denies).unwrap_or_else(|| panic!("{rule}"));
            assert!(
                found.meant.is_none() && found.help.contains(help),
                "{rule}: {found:?}"
            );
        }
    }
}
