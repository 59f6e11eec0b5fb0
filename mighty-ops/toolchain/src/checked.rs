//! What a check found of what was read: envelopes, and the lines around them.
//! What is read, and whether it is remembered, is decided above.

use analysis::Level;
use analysis::envelope::{Envelope, Snippet, envelopes};
use tokio_util::sync::CancellationToken;

use crate::assemble::Loaded;
use crate::source::SourceError;

/// What was checked, and what was found.
#[derive(Debug)]
pub struct Checked {
    /// The path as it was named.
    pub path: String,
    /// What was read.
    pub loaded: Loaded,
    /// By file, position and code.
    pub envelopes: Vec<Envelope>,
    /// Whether some reports were left out because there were too many; never an error in favour of a warning.
    pub cut: bool,
}

/// What is said where [`Checked::cut`] is set.
pub const CUT: &str = "too many reports: more than 10,000, the rest is left out";
const _: () = assert!(analysis::MAX_REPORTS == 10_000);

impl Checked {
    /// Whether there is an error; warnings leave exit codes alone.
    #[must_use]
    pub fn has_errors(&self) -> bool {
        self.envelopes.iter().any(|e| e.severity == Level::Error)
    }

    pub(crate) fn of(
        path: &str,
        loaded: Loaded,
        cancel: &CancellationToken,
    ) -> Result<Self, SourceError> {
        let (package, options) = loaded.package(cancel)?;
        let analysis = analysis::check_until(&package, &options, cancel)?;
        let envelopes = envelopes(&package, &analysis.diagnostics);
        Ok(Self {
            path: path.to_owned(),
            loaded,
            envelopes,
            cut: analysis.cut,
        })
    }

    /// The lines around an envelope of this check.
    #[must_use]
    pub fn snippet(&self, envelope: &Envelope) -> Option<Snippet> {
        let file = self
            .loaded
            .files
            .iter()
            .find(|f| f.shown == envelope.span.file)?;
        Some(Snippet::around(&file.text, &envelope.span))
    }
}
