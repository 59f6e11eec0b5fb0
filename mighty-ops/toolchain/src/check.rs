//! `check`: reads, assembles and checks what was named, and remembers it for a later `fix`.
//! Must not render; an envelope is a value that others print.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::assemble::{lexically_absolute, load_around, load_directory, load_file};
use crate::checked::Checked;
use crate::session::Session;
use crate::source::SourceError;
use crate::tree::sources_below;

/// Files of a directory outside any package that are checked at most.
const MAX_LOOSE_FILES: usize = 20_000;

/// Checks the package of a named file, or the file alone.
///
/// # Errors
/// See [`SourceError`].
pub fn check_file(path: &str, real: &Path) -> Result<Checked, SourceError> {
    Checked::of(path, load_file(path, real)?, &CancellationToken::new())
}

/// Checks a named directory: its package where it is that of one or of its sources, else every `*.mty` file
/// below it as if it were named.
/// `begun` is told how many are done and how many there are, before each.
///
/// # Errors
/// See [`SourceError`], one for each file that could not be read.
pub fn check_directory(
    path: &str,
    real: &Path,
    mut begun: impl FnMut(usize, usize),
) -> Vec<Result<Checked, (String, SourceError)>> {
    let about = |error| (path.to_owned(), error);
    // A command's own end ends this with it.
    let cancel = &CancellationToken::new();
    match load_directory(path, real) {
        Err(error) => return vec![Err(about(error))],
        Ok(Some(loaded)) => return vec![Checked::of(path, loaded, cancel).map_err(about)],
        Ok(None) => {}
    }
    let tree = sources_below(real, MAX_LOOSE_FILES);
    if tree.files.is_empty() && tree.unread.is_empty() {
        // Nothing to be checked beside the sources: it stands for its package, if it is in one.
        return match load_around(path, real, |_| true) {
            Err(error) => vec![Err(about(error))],
            Ok(Some(loaded)) => vec![Checked::of(path, loaded, cancel).map_err(about)],
            // Nothing was checked, and that is no success.
            Ok(None) => vec![Err(about(SourceError::NoSources))],
        };
    }
    let shown = |file: &Path| {
        let below = file.strip_prefix(real).unwrap_or(file);
        Path::new(path).join(below).to_string_lossy().into_owned()
    };
    let unread = tree.unread.into_iter();
    let mut found: Vec<_> = unread
        .map(|(dir, why)| Err((shown(&dir), SourceError::Unreadable(why))))
        .collect();
    let total = tree.files.len();
    // A package below is checked with the first of its files.
    let mut seen: BTreeSet<PathBuf> = BTreeSet::new();
    for (done, file) in tree.files.into_iter().enumerate() {
        begun(done, total);
        if seen.contains(&lexically_absolute(&file)) {
            continue;
        }
        let shown = shown(&file);
        let one = check_file(&shown, &file).map_err(|e| (shown, e));
        if let Ok(one) = &one
            && one.loaded.files.len() > 1
        {
            seen.extend(one.loaded.files.iter().map(|f| f.real.clone()));
        }
        found.push(one);
    }
    found
}

impl Checked {
    /// Leaves what was not told before, by file, place, code and words, and notes it down: packages are checked
    /// again with each file beside their sources. Ask [`Self::has_errors`] before.
    pub fn keep_new(&mut self, reported: &mut Reported) {
        let files = &self.loaded.files;
        let mut real: BTreeMap<String, PathBuf> = BTreeMap::new();
        for file in files {
            real.insert(file.shown.clone(), file.real.clone());
        }
        self.envelopes.retain(|e| {
            let file = real.get(&e.span.file).cloned().unwrap_or_default();
            let (from, to) = (e.span.byte_start, e.span.byte_end);
            reported
                .0
                .insert((file, from, to, e.code.to_string(), e.title.clone()))
        });
    }
}

/// Diagnostics that were reported.
#[derive(Debug, Default)]
pub struct Reported(BTreeSet<(PathBuf, usize, usize, String, String)>);

impl Session {
    /// Checks a file, until `cancel` is cancelled, and remembers the outcome.
    ///
    /// # Errors
    /// See [`SourceError`]; what was remembered before is kept then.
    pub fn check(
        &self,
        path: &str,
        cancel: &CancellationToken,
    ) -> Result<Arc<Checked>, SourceError> {
        let checked = Arc::new(Checked::of(
            path,
            load_file(path, &self.resolve(path))?,
            cancel,
        )?);
        self.remember(&checked);
        Ok(checked)
    }

    /// The remembered outcome if path, files and texts are still the same, else a new check.
    ///
    /// # Errors
    /// See [`SourceError`].
    #[cfg(feature = "fix")]
    pub(crate) fn check_again(
        &self,
        path: &str,
        cancel: &CancellationToken,
    ) -> Result<Arc<Checked>, SourceError> {
        let Some(last) = self.remembered().filter(|last| last.path == path) else {
            return self.check(path, cancel);
        };
        let loaded = load_file(path, &self.resolve(path))?;
        if loaded == last.loaded {
            return Ok(last);
        }
        let checked = Arc::new(Checked::of(path, loaded, cancel)?);
        self.remember(&checked);
        Ok(checked)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn remembers_until_a_text_changes() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.mty");
        std::fs::write(&file, "fn f() { let n = = 4 }\n").unwrap();
        let until = &CancellationToken::new();
        let session = Session::in_dir(dir.path().to_path_buf());
        assert!(session.remembered().is_none());
        let first = session.check("a.mty", until).unwrap();
        assert!(first.has_errors());
        assert!(Arc::ptr_eq(
            &first,
            &session.check_again("a.mty", until).unwrap()
        ));
        // Another spelling is another path.
        let other = session.check_again("./a.mty", until).unwrap();
        assert_eq!(other.envelopes[0].span.file, "./a.mty");
        std::fs::write(&file, "fn f() { let n = 4 }\n").unwrap();
        assert!(!session.check_again("./a.mty", until).unwrap().has_errors());
        assert!(session.check("none.mty", until).is_err());
        assert_eq!(session.remembered().unwrap().path, "./a.mty");
    }

    #[test]
    fn a_cancelled_check_is_no_outcome() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.mty"), "fn f() { let n = 4 }\n").unwrap();
        let session = Session::in_dir(dir.path().to_path_buf());
        let cancel = CancellationToken::new();
        cancel.cancel();
        let cancelled = session.check("a.mty", &cancel);
        assert!(
            matches!(
                cancelled,
                Err(SourceError::Unfinished(analysis::Unfinished::Cancelled))
            ),
            "{cancelled:?}"
        );
        assert!(session.remembered().is_none());
    }
}
