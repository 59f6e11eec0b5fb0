//! The file of one process's log: private, at most 16 MiB in two files; those of earlier processes leave after 14 days.
//! What a line says is not its matter.

use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Most bytes of one of the two files.
const FILE_BYTES: u64 = 8 << 20;
const RETENTION: Duration = Duration::from_hours(14 * 24);
/// Most files that are looked at when old ones are removed.
const MAX_LISTED: usize = 10_000;

pub(super) struct LogFile {
    path: PathBuf,
    file: File,
    bytes: u64,
    /// It could not be written; what follows is lost.
    broken: bool,
}

impl LogFile {
    /// Creates `<home>/logs/<date>-<pid>.jsonl`, and removes what is older than 14 days.
    ///
    /// # Errors
    /// If the folder or the file can't be made, or the folder is a link.
    pub(super) fn create(home: &Path) -> io::Result<Self> {
        let folder = prepare(home)?;
        remove_old(&folder);
        let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = now.get(..10).unwrap_or("0000-00-00");
        let path = folder.join(format!("{date}-{}.jsonl", std::process::id()));
        let file = open(&path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            path,
            file,
            broken: false,
        })
    }

    /// Appends a line, its end included. A failure ends the log, silently: there is nowhere to tell it.
    pub(super) fn append(&mut self, line: &[u8]) {
        if self.broken {
            return;
        }
        if self.bytes + line.len() as u64 > FILE_BYTES && self.turn().is_err()
            || self.file.write_all(line).is_err()
        {
            self.broken = true;
            return;
        }
        self.bytes += line.len() as u64;
    }

    /// Keeps the full file as the older of the two, and begins another.
    fn turn(&mut self) -> io::Result<()> {
        fs::rename(&self.path, self.path.with_extension("old.jsonl"))?;
        self.file = open(&self.path)?;
        self.bytes = 0;
        Ok(())
    }
}

/// The folder of the logs, made where it is missing, for its owner alone.
///
/// # Errors
/// If it can't be made or written, or is a link.
pub(super) fn prepare(home: &Path) -> io::Result<PathBuf> {
    let folder = home.join("logs");
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder)?;
    let own = fs::symlink_metadata(&folder)?;
    if !own.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    if own.permissions().mode() & 0o777 != 0o700 {
        fs::set_permissions(&folder, Permissions::from_mode(0o700))?;
    }
    rustix::fs::access(&folder, rustix::fs::Access::WRITE_OK)?;
    Ok(folder)
}

/// Appends; never through a link.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
}

fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let now = SystemTime::now();
    for entry in entries.take(MAX_LISTED).flatten() {
        let path = entry.path();
        let old = |metadata: fs::Metadata| {
            let age = metadata.modified().map(|then| now.duration_since(then));
            metadata.is_file() && age.is_ok_and(|age| age.is_ok_and(|age| age > RETENTION))
        };
        let logged = path
            .extension()
            .is_some_and(|extension| extension == "jsonl");
        if logged && entry.metadata().is_ok_and(old) {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_log_has_at_most_two_files_of_whole_lines_and_keeps_the_newest() {
        let home = tempfile::tempdir().unwrap();
        let mut log = LogFile::create(home.path()).unwrap();
        let lines = 24;
        for number in 0..lines {
            let line = format!("{number:02}{}\n", "x".repeat((1 << 20) - 3));
            log.append(line.as_bytes());
        }
        assert!(!log.broken);
        let mut files: Vec<_> = fs::read_dir(home.path().join("logs"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        // The older of the two is the first.
        files.sort_by_key(|path| !path.to_string_lossy().ends_with(".old.jsonl"));
        assert_eq!(files.len(), 2, "{files:?}");
        let mut found = Vec::new();
        for path in files {
            let metadata = fs::metadata(&path).unwrap();
            assert!(metadata.len() <= FILE_BYTES);
            assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
            let text = fs::read_to_string(path).unwrap();
            found.extend(text.lines().map(|line| line[..2].parse::<usize>().unwrap()));
        }
        assert_eq!(found, Vec::from_iter(lines - found.len()..lines));
        assert!(found.len() > 8);
    }
}
