//! What a call would touch, before it runs: allowed or to be asked for by default, and what a person is asked.
//! The data only: tools look at their calls in `look`, and what the settings and the person say goes above.

use std::path::PathBuf;

use store::settings::Permission;

use crate::approval::Question;
use crate::rules::Ruling;

/// What holds for a call where the settings say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultPolicy {
    Allow,
    Ask,
}

/// What a call would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    pub default: DefaultPolicy,
    /// For the person who is asked.
    pub question: Question,
    /// What the rules say about a command line, and what holds where they say nothing.
    pub(crate) ruling: Option<(Ruling, Permission)>,
    /// Where the file to be written really is, or the place with credentials that is read; none where neither
    /// may be touched.
    pub(crate) target: Option<PathBuf>,
}

impl Access {
    /// A call that writes no file of its own, with what a person is asked.
    #[must_use]
    pub fn new(default: DefaultPolicy, question: Question) -> Self {
        Self {
            default,
            question,
            ruling: None,
            target: None,
        }
    }

    /// The one path that the admitted call may write, or the one place with credentials that it may read. The
    /// empty one matches none.
    pub(crate) fn target(&self) -> PathBuf {
        self.target.clone().unwrap_or_default()
    }
}
