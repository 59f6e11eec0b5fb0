//! What is wrong with a part of a settings file, or ignored of it, and what to do about it.
//! Who finds one and where it is told is said beside.

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) reason: String,
    pub(super) help: Option<String>,
    /// Whether it is ignored only: nothing fails for it.
    pub(super) ignored: bool,
}

/// A fault and the byte of the file that it stands at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) offset: usize,
    pub(super) fault: Fault,
}

impl Fault {
    pub(super) fn new(reason: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            help: Some(help.into()),
            ignored: false,
        }
    }

    /// The same, for which nothing fails.
    pub(super) fn ignored(mut self) -> Self {
        self.ignored = true;
        self
    }

    pub(super) fn at(self, offset: usize) -> Finding {
        Finding {
            offset,
            fault: self,
        }
    }
}
