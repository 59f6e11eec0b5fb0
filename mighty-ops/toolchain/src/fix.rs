//! `fix`: takes an alternative of an envelope's fix and previews or persists it. How fixes are made is
//! `analysis`'s; which of several are taken together is decided in `plan`.

use std::io;
use std::path::Path;

use analysis::Code;
use analysis::envelope::Envelope;
use analysis::fix::{ApplyError, apply};
use tokio_util::sync::CancellationToken;

use crate::session::Session;
use crate::source::{SourceError, read_source};

/// What a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixRequest {
    /// The path of the last check where left out.
    pub path: Option<String>,
    /// In any spelling of a code.
    pub code: String,
    /// Which alternative, from 0.
    pub alternative: usize,
    /// Persist it.
    pub write: bool,
    /// Give the new text without persisting it; `write` wins.
    pub dry_run: bool,
}

/// A fix that was previewed or persisted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fixed {
    pub diff: String,
    /// Whether the file was written.
    pub applied: bool,
    /// The whole new text, if it was asked for.
    pub new_content: Option<String>,
}

/// Why nothing was fixed. The file is unchanged.
#[derive(Debug, thiserror::Error)]
pub enum FixError {
    #[error("no path: name one, or check a file first")]
    NoPath,
    #[error("{}", source.about(path))]
    Source { path: String, source: SourceError },
    #[error("no {code} in {path}")]
    NoDiagnostic { code: String, path: String },
    #[error("no fix for {code} in {path}")]
    NoFix { code: String, path: String },
    #[error("no alternative {wanted}: {code} has {have}, counted from 0")]
    NoAlternative {
        wanted: usize,
        have: usize,
        code: String,
    },
    /// The file changed since it was checked.
    #[error("{why}")]
    Stale { why: ApplyError, diff: String },
    #[error("cannot write {path}: {why}")]
    Unwritable {
        path: String,
        why: io::Error,
        diff: String,
    },
}

impl Session {
    /// Finds the first matching diagnostic with a fix, and previews or persists one of its alternatives.
    ///
    /// # Errors
    /// See [`FixError`].
    pub fn fix(&self, request: &FixRequest, cancel: &CancellationToken) -> Result<Fixed, FixError> {
        let path = match &request.path {
            Some(path) => path.clone(),
            None => self.remembered().ok_or(FixError::NoPath)?.path.clone(),
        };
        let about = |source| FixError::Source {
            path: path.clone(),
            source,
        };
        let checked = self.check_again(&path, cancel).map_err(about)?;
        let code = request.code.parse::<Code>();
        let shown = || match code {
            Ok(code) => code.to_string(),
            Err(_) => request.code.chars().take(32).collect(),
        };
        // The named file first: its package's other files only matter where it has nothing.
        let mut matching: Vec<&Envelope> = checked
            .envelopes
            .iter()
            .filter(|e| code.is_ok_and(|code| e.code == code))
            .collect();
        matching.sort_by_key(|e| e.span.file != path);
        if matching.is_empty() {
            return Err(FixError::NoDiagnostic {
                code: shown(),
                path,
            });
        }
        let found = matching
            .into_iter()
            .find_map(|e| Some((e, e.fix.as_ref()?)));
        let Some((envelope, fix)) = found else {
            return Err(FixError::NoFix {
                code: shown(),
                path,
            });
        };
        let Some(alternative) = fix.alternatives.get(request.alternative) else {
            return Err(FixError::NoAlternative {
                wanted: request.alternative,
                have: fix.alternatives.len(),
                code: shown(),
            });
        };
        let real = checked
            .loaded
            .files
            .iter()
            .find(|f| f.shown == envelope.span.file)
            .map_or_else(|| self.resolve(&envelope.span.file), |f| f.real.clone());
        let diff = alternative.diff.clone();
        let new =
            (request.write || request.dry_run).then(|| applied(&real, &envelope.span.file, &diff));
        let new_content = new.transpose()?;
        // Whoever asks to see only, sees only.
        let writes = request.write && !request.dry_run;
        if let (true, Some(text)) = (writes, &new_content) {
            self.write(&real, text)
                .map_err(|why| FixError::Unwritable {
                    path: envelope.span.file.clone(),
                    why,
                    diff: diff.clone(),
                })?;
        }
        Ok(Fixed {
            diff,
            applied: writes,
            new_content,
        })
    }
}

/// The new text of a file as it is now.
fn applied(real: &Path, shown: &str, diff: &str) -> Result<String, FixError> {
    let text = read_source(real).map_err(|source| FixError::Source {
        path: shown.to_owned(),
        source,
    })?;
    apply(diff, &text).map_err(|why| FixError::Stale {
        why,
        diff: diff.to_owned(),
    })
}
