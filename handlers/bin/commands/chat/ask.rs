//! A question about a call: what a person may say to it, and which rules would answer it from now on.
//! Asks nobody itself.

use std::time::Duration;

use consumer::local_agent::event::ApprovalRequested;
use consumer::local_agent::{AnswerParams, Request};
use handlers::configuration::{covers, suggest};
use tokio::time::Instant;

/// What a line of a command never holds where it is shown as it is: marks of blanks that are left out, of line ends, of
/// characters that nobody sees, and of secrets.
const MARKS: [&str; 6] = ["⏎", "␣", "⇥", "…", "\\u{", "[redacted"];

/// A key that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    Yes,
    No,
    Always,
}

impl Key {
    /// What was typed; `None` where it says nothing, such as an arrow.
    pub(super) fn of(typed: &str) -> Option<Self> {
        match typed.trim_matches(' ') {
            "y" | "Y" => Some(Self::Yes),
            "a" | "A" => Some(Self::Always),
            // Enter, Escape and the end of input say no more than nothing does: it does not run.
            "n" | "N" | "\r" | "\n" | "\u{1b}" | "\u{4}" => Some(Self::No),
            _ => None,
        }
    }
}

/// A question that stands, or is about to.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) approval_id: String,
    pub(super) until: Instant,
    /// The command line, if it is one and shown as it is.
    line: Option<String>,
    /// Rules that would let it run, if there are any.
    pub(super) rules: Option<Vec<String>>,
}

impl Question {
    pub(super) fn of(approval: &ApprovalRequested) -> Self {
        let line = command(&approval.summary).map(str::to_owned);
        Self {
            approval_id: approval.approval_id.clone(),
            until: Instant::now() + Duration::from_millis(approval.expires_in_ms),
            rules: line.as_deref().and_then(suggest),
            line,
        }
    }

    /// Whether rules that were remembered meanwhile answer it.
    pub(super) fn is_covered(&self, rules: &[String]) -> bool {
        let line = self.line.as_deref();
        !rules.is_empty() && line.is_some_and(|line| covers(rules, line))
    }

    pub(super) fn text(&self, summary: &str) -> String {
        let always = match &self.rules {
            Some(rules) => {
                let rules: Vec<_> = rules.iter().map(|rule| format!("`{rule}`")).collect();
                let rules = rules.join(" and ");
                format!("\n  [a] always here, as a rule in your settings: {rules}")
            }
            None => String::new(),
        };
        format!("Allow this?  {summary}\n  [y] yes   [n] no{always}")
    }

    pub(super) fn answer(&self, session_id: &str, run_id: &str, allow: bool) -> Request {
        Request::ApprovalAnswer(AnswerParams {
            session_id: session_id.to_owned(),
            run_id: run_id.to_owned(),
            approval_id: self.approval_id.clone(),
            allow,
        })
    }
}

/// The command line that a question is about, where it stands there as it is: only then can it be judged.
fn command(summary: &str) -> Option<&str> {
    let line = summary.strip_prefix("bash: ")?;
    let is_as_it_is = !MARKS.iter().any(|mark| line.contains(mark));
    is_as_it_is.then_some(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(summary: &str) -> Question {
        Question::of(&ApprovalRequested {
            session_id: "s".into(),
            run_id: "r".into(),
            approval_id: "a".to_owned(),
            summary: summary.to_owned(),
            expires_in_ms: 60_000,
        })
    }

    #[test]
    fn only_a_command_that_is_shown_as_it_is_can_be_remembered() {
        let asked = question("bash: cargo test -p store");
        assert_eq!(asked.rules, Some(vec!["cargo test".to_owned()]));
        assert!(
            asked
                .text("bash: cargo test -p store")
                .contains("settings: `cargo test`")
        );
        assert!(asked.is_covered(&["cargo test".to_owned()]));
        assert!(!asked.is_covered(&["cargo build".to_owned()]) && !asked.is_covered(&[]));
        for summary in [
            "bash: cargo test⏎rm -rf x",
            "bash: cargo test [redacted]",
            "bash: cargo test \\u{200b}",
            "bash, 2000 bytes: cargo test … x",
            "write outside the workspace: /etc/passwd",
            "bash: cargo test $(id)",
        ] {
            let asked = question(summary);
            assert_eq!(asked.rules, None, "{summary}");
            assert!(!asked.is_covered(&["cargo test".to_owned()]), "{summary}");
            assert!(!asked.text(summary).contains("[a]"));
        }
    }

    #[test]
    fn only_its_own_keys_answer() {
        for (typed, key) in [
            ("y", Some(Key::Yes)),
            ("a", Some(Key::Always)),
            ("n", Some(Key::No)),
            ("\n", Some(Key::No)),
            ("\u{1b}", Some(Key::No)),
            ("\u{1b}[A", None),
            ("yy", None),
            ("x", None),
        ] {
            assert_eq!(Key::of(typed), key, "{typed:?}");
        }
    }
}
