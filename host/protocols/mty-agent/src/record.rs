//! Recording of mty-agent exchanges: one line a pair (spec: mty-agent, "Recorded sessions").
//! Knows neither ops nor transports, and prints nothing: failures go to a callback.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use host::serve::sequential::{Observer, trimmed};

/// A pair's line in bytes, its LF excluded. Longer ones are neither written nor read.
pub const LINE_BYTES: usize = 64 * 1024 * 1024;

/// A request and its response. Which connection they belong to is not recorded.
#[derive(Serialize, Deserialize)]
pub(crate) struct Pair<'p> {
    pub(crate) request: Cow<'p, str>,
    pub(crate) response: Cow<'p, str>,
}

type Report = Box<dyn Fn(&str) + Send + Sync>;

/// Appends pairs to a file, best-effort: no failure reaches the session that is recorded.
pub struct Recorder {
    file: Mutex<Target>,
    report: Report,
}

struct Target {
    file: File,
    /// The last line lacks its LF: a pair behind it must not be glued to it.
    torn: bool,
}

impl Recorder {
    /// Opens the file in append mode, readable by its owner only when it is new: requests and answers
    /// hold people's sources. `report` gets one message for each pair that could not be kept.
    pub fn open(path: &Path, report: impl Fn(&str) + Send + Sync + 'static) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            // A pipe nobody empties must fail a write, not stop the session.
            .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
            .open(path)?;
        let torn = is_torn(path, &file);
        Ok(Self {
            file: Mutex::new(Target { file, torn }),
            report: Box::new(report),
        })
    }

    /// Appends one pair. `response` is `None` when it passed [`LINE_BYTES`].
    fn record(&self, request: &[u8], response: Option<&[u8]>) {
        let line = response.and_then(|response| {
            let request = String::from_utf8_lossy(trimmed(request));
            let mut line = serde_json::to_vec(&Pair {
                request,
                response: String::from_utf8_lossy(response),
            })
            .ok()?;
            line.push(b'\n');
            (line.len() <= LINE_BYTES).then_some(line)
        });
        let Some(mut line) = line else {
            return (self.report)("recording failed: the exchange is too large to be kept");
        };
        // One pair at a time, however many connections are recorded.
        let mut target = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if target.torn {
            line.insert(0, b'\n');
        }
        let appended = target.append(&line);
        drop(target);
        if let Err(error) = appended {
            (self.report)(&format!("recording failed: {error}"));
        }
    }
}

/// Whether the last line of a regular file lacks its LF. One that may be written but not read is taken
/// for whole.
fn is_torn(path: &Path, file: &File) -> bool {
    let length = match file.metadata() {
        Ok(found) if found.is_file() && found.len() > 0 => found.len(),
        _ => return false,
    };
    let mut last = [0];
    File::open(path)
        .and_then(|file| file.read_exact_at(&mut last, length - 1))
        .is_ok_and(|()| last != *b"\n")
}

impl Target {
    /// Writes a line in one piece where the system allows it. A piece that stays behind when the disk is
    /// full is taken back, or the next line begins afresh.
    fn append(&mut self, line: &[u8]) -> io::Result<()> {
        let mut written = 0;
        while written < line.len() {
            let error = match self.file.write(line.get(written..).unwrap_or_default()) {
                Ok(0) => io::ErrorKind::WriteZero.into(),
                Ok(n) => {
                    written += n;
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            if written > 0 && !self.take_back(written) {
                self.torn = true;
            }
            return Err(error);
        }
        self.torn = false;
        Ok(())
    }

    /// Cuts the last `written` bytes off again, if nobody else has written since.
    fn take_back(&mut self, written: usize) -> bool {
        let (Ok(end), Ok(stat)) = (self.file.stream_position(), self.file.metadata()) else {
            return false;
        };
        stat.is_file()
            && stat.len() == end
            && self
                .file
                .set_len(end.saturating_sub(written as u64))
                .is_ok()
    }
}

impl Observer for Recorder {
    const RESPONSE_BYTES: usize = LINE_BYTES;

    /// Before the `done` line leaves: who ends this process on seeing it has the pair on file already.
    fn observe(&self, request: &[u8], response: Option<&[u8]>) {
        self.record(request, response);
    }
}
