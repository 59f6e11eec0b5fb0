//! Several fixes of one file at once (toolchain digest, section 6): which alternatives are taken, in which
//! order, and which of them no longer fit once others are in. Reads no diagnostics and asks nobody.
//!
//! All diffs are made against the text that was checked. Each is therefore matched against that text, and is in
//! the way of another only where both change the same lines: what is context to one may be changed by another.

use std::io;
use std::path::Path;

use analysis::fix::{LineEdit, Patch, unified_diff};

/// Alternatives below this confidence are not taken unless a lower one is asked for.
pub const DEFAULT_THRESHOLD: f64 = 0.85;

/// What is taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    /// Only this code, `MTnnnn`.
    pub code: Option<String>,
    /// This alternative where it is good enough, else the most confident one.
    pub alternative: Option<usize>,
    /// Least confidence, 0 to 1.
    pub threshold: f64,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            code: None,
            alternative: None,
            threshold: DEFAULT_THRESHOLD,
        }
    }
}

/// One alternative of a fix.
#[derive(Debug, Clone, PartialEq, serde::Deserialize)]
pub struct Offer {
    pub label: String,
    pub diff: String,
    /// 0 to 1.
    pub confidence: f64,
}

/// A diagnostic with its fix.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub code: String,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub col: usize,
    pub offers: Vec<Offer>,
}

/// An alternative that was taken.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    pub code: String,
    pub label: String,
    pub line: usize,
    pub diff: String,
}

impl Policy {
    /// The picks among the diagnostics of one file: highest line first, on one line highest column first.
    #[must_use]
    pub fn pick(&self, mut candidates: Vec<Candidate>) -> Vec<Pick> {
        candidates.sort_by_key(|c| std::cmp::Reverse((c.line, c.col)));
        candidates
            .into_iter()
            .filter(|c| self.code.as_ref().is_none_or(|code| *code == c.code))
            .filter_map(|c| {
                let offer = self.choose(&c.offers)?;
                Some(Pick {
                    label: offer.label.clone(),
                    diff: offer.diff.clone(),
                    code: c.code,
                    line: c.line,
                })
            })
            .collect()
    }

    fn choose<'o>(&self, offers: &'o [Offer]) -> Option<&'o Offer> {
        let good = |o: &&Offer| o.confidence >= self.threshold;
        let wanted = self.alternative.and_then(|n| offers.get(n)).filter(good);
        // The first of equals.
        let best = || {
            offers.iter().filter(good).reduce(|best, o| {
                if o.confidence > best.confidence {
                    o
                } else {
                    best
                }
            })
        };
        wanted.or_else(best)
    }
}

/// The picks of one file as they are accepted, one after another.
#[derive(Debug)]
pub struct Plan<'t> {
    text: &'t str,
    edits: Vec<LineEdit>,
}

impl<'t> Plan<'t> {
    /// For the text of a file as it is now.
    #[must_use]
    pub fn new(text: &'t str) -> Self {
        Self {
            text,
            edits: Vec::new(),
        }
    }

    /// Takes a pick in; says whether it fits. One whose old lines are gone does not.
    pub fn take(&mut self, pick: &Pick) -> bool {
        let Ok(edits) = Patch::parse(&pick.diff).and_then(|p| p.edits(self.text)) else {
            return false;
        };
        let clashes = |e: &LineEdit| self.edits.iter().any(|taken| taken.overlaps(e));
        if edits.iter().any(clashes) {
            return false;
        }
        self.edits.extend(edits);
        true
    }

    /// The text with everything that was taken.
    #[must_use]
    pub fn result(&self) -> String {
        LineEdit::perform(&self.edits, self.text)
    }

    /// What was taken as one diff; `None` if nothing changes.
    #[must_use]
    pub fn diff(&self, path: &str) -> Option<String> {
        unified_diff(path, self.text, &self.result())
    }
}

/// Replaces a file's text atomically.
///
/// # Errors
/// Any failure on the way; the file is as it was then.
pub fn write_source(path: &Path, text: &str) -> io::Result<()> {
    crate::write::replace(path, text)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TEXT: &str = "a\nb\nc\nd\ne\n";

    fn candidate(code: &str, line: usize, col: usize, offers: &[(f64, &str)]) -> Candidate {
        Candidate {
            code: code.into(),
            line,
            col,
            offers: offers
                .iter()
                .map(|(confidence, diff)| Offer {
                    label: format!("{confidence}"),
                    diff: (*diff).to_owned(),
                    confidence: *confidence,
                })
                .collect(),
        }
    }

    fn labels(policy: &Policy, candidates: Vec<Candidate>) -> Vec<String> {
        let picks = policy.pick(candidates);
        picks
            .iter()
            .map(|p| format!("{}:{}", p.line, p.label))
            .collect()
    }

    #[test]
    fn policy_of_codes_thresholds_and_alternatives() {
        let all = || {
            vec![
                candidate("MT0001", 1, 1, &[(0.6, "")]),
                candidate("MT2015", 2, 1, &[(0.9, ""), (0.86, "")]),
                candidate("MT2015", 2, 9, &[(0.86, ""), (0.95, "")]),
                candidate("MT3014", 5, 1, &[(1.0, "")]),
            ]
        };
        let default = Policy::default();
        assert_eq!(labels(&default, all()), ["5:1", "2:0.95", "2:0.9"]);
        let second = Policy {
            alternative: Some(1),
            ..Policy::default()
        };
        assert_eq!(labels(&second, all()), ["5:1", "2:0.95", "2:0.86"]);
        let low = Policy {
            code: Some("MT0001".into()),
            threshold: 0.5,
            ..Policy::default()
        };
        assert_eq!(labels(&low, all()), ["1:0.6"]);
    }

    fn pick(diff: &str) -> Pick {
        Pick {
            code: "MT0001".into(),
            label: String::new(),
            line: 1,
            diff: diff.into(),
        }
    }

    #[test]
    fn neighbours_fit_together_and_rivals_do_not() {
        let mut plan = Plan::new(TEXT);
        assert!(plan.take(&pick("@@ -2,3 +2,3 @@\n b\n-c\n+C\n d\n")));
        assert!(plan.take(&pick("@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")));
        assert!(!plan.take(&pick("@@ -3,1 +3,1 @@\n-c\n+X\n")));
        assert!(!plan.take(&pick("@@ -1,1 +1,1 @@\n-z\n+Z\n")));
        assert!(plan.take(&pick("@@ -1,1 +1,2 @@\n+top\n a\n")));
        assert!(!plan.take(&pick("@@ -1,1 +1,2 @@\n+top\n a\n")));
        assert_eq!(plan.result(), "top\na\nB\nC\nd\ne\n");
        let diff = plan.diff("p").unwrap();
        assert_eq!(analysis::fix::apply(&diff, TEXT).unwrap(), plan.result());
    }
}
