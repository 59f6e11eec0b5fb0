//! Record and replay of mty-agent exchanges: one line a pair (spec: mty-agent, "Recorded sessions").
//! Knows neither ops nor transports, and prints nothing: failures go to a callback.

use std::borrow::Cow;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::fs::OFlags;
use serde::{Deserialize, Serialize};

use host::Connection;
use host::serve::sequential::{Observer, Trailing, Unobserved, exchange, trimmed};

use crate::codec::MtyAgent;
use crate::rules::EXIT_PROTOCOL;
use crate::wire::{self, second_object};

/// A pair's line in bytes, its LF excluded. Longer ones are neither written nor read.
pub const LINE_BYTES: usize = 64 * 1024 * 1024;
/// Characters of a response line that a drift's summary shows.
const SHOWN_CHARS: usize = 160;

#[derive(Serialize, Deserialize)]
struct Pair<'p> {
    request: Cow<'p, str>,
    response: Cow<'p, str>,
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

/// What a replay found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReplayReport {
    /// Pairs that were replayed.
    pub pairs: usize,
    pub drifted: Vec<Drift>,
}

/// A response that is not the recorded one.
#[derive(Debug, PartialEq, Eq)]
pub struct Drift {
    /// The pair's line in the file, from 1.
    pub line: usize,
    /// Where the two responses part, in one line of bounded length.
    pub summary: String,
}

/// The recorded file cannot be replayed to its end.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    #[error("cannot read the recorded session: {0}")]
    Io(#[from] io::Error),
    #[error("line {line} of the recorded session is not a request/response pair: {reason}")]
    Line { line: usize, reason: String },
}

/// Runs every recorded request in order on one fresh connection, so that what one request left behind is
/// there for the next, and compares the responses byte by byte.
pub async fn replay(
    path: &Path,
    connection: &Arc<Connection>,
) -> Result<ReplayReport, ReplayError> {
    let mut lines = BufReader::new(File::open(path)?);
    let mut report = ReplayReport::default();
    let mut text = Vec::new();
    loop {
        text.clear();
        let line = report.pairs + 1;
        // One more for the LF and one to tell a line at the bound from a longer one.
        (&mut lines)
            .take(LINE_BYTES as u64 + 2)
            .read_until(b'\n', &mut text)?;
        if text.is_empty() {
            return Ok(report);
        }
        let pair = pair(&text).map_err(|reason| ReplayError::Line { line, reason })?;
        if let Some(summary) = drift(connection, &pair).await? {
            report.drifted.push(Drift { line, summary });
        }
        report.pairs = line;
    }
}

fn pair(text: &[u8]) -> Result<Pair<'_>, String> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    if text.len() > LINE_BYTES {
        return Err(format!("longer than {LINE_BYTES} bytes"));
    }
    // An array would pass for an object otherwise.
    if trimmed(text).first() != Some(&b'{') {
        return Err("expected a JSON object".to_owned());
    }
    serde_json::from_slice(text).map_err(|error| wire::clip(&error.to_string()).into_owned())
}

async fn drift(connection: &Arc<Connection>, pair: &Pair<'_>) -> io::Result<Option<String>> {
    if was_refused(pair) {
        return Ok(None);
    }
    let mut live = Vec::new();
    exchange::<MtyAgent, _, Unobserved>(
        connection,
        pair.request.as_bytes(),
        Trailing::Report,
        &mut live,
        None,
    )
    .await?;
    Ok((live != pair.response.as_bytes()).then(|| first_difference(&pair.response, &live)))
}

/// Whether the recorded response is the refusal that a request like this one gets without being run, where
/// a record does not say enough to ask for it again. Two requests are so: a line with a second object,
/// which a body may hold and a line may not; and bytes that are not UTF-8, which a JSON record keeps as
/// U+FFFD. A refusal leaves no trace in the session, so to recognize it is to replay it.
fn was_refused(pair: &Pair<'_>) -> bool {
    let refusal = |message: &str| {
        let mut out = Vec::new();
        wire::push_error(&mut out, message);
        wire::push_done(&mut out, EXIT_PROTOCOL);
        out == pair.response.as_bytes()
    };
    // Trimmed, for a file may have been edited since it was recorded.
    let text = trimmed(pair.request.as_bytes());
    let second = wire::decode(text)
        .ok()
        .and_then(|request| second_object(text, &request));
    second.is_some_and(|message| refusal(&message))
        || (pair.response.contains("invalid UTF-8 at byte")
            // Everything before the first replaced byte is as it was sent.
            && pair.request.match_indices('\u{fffd}').any(|(at, _)| {
                wire::decode(&[&pair.request.as_bytes()[..at], b"\xff"].concat()).is_err_and(|message| refusal(&message))
            }))
}

fn first_difference(recorded: &str, live: &[u8]) -> String {
    let live = String::from_utf8_lossy(live);
    let mut recorded = recorded.split_inclusive('\n');
    let mut live = live.split_inclusive('\n');
    let mut number = 0;
    loop {
        number += 1;
        let (was, is) = (recorded.next(), live.next());
        if was != is || was.is_none() {
            let common = match (was, is) {
                (Some(was), Some(is)) => was
                    .chars()
                    .zip(is.chars())
                    .take_while(|(was, is)| was == is)
                    .count(),
                _ => 0,
            };
            return format!(
                "response line {number}: recorded {}, got {}",
                shown(was, common),
                shown(is, common)
            );
        }
    }
}

/// A stretch of a line around its character `at`, escaped: a recording may hold anything, a terminal's
/// commands too.
fn shown(line: Option<&str>, at: usize) -> String {
    let Some(line) = line else {
        return "nothing".to_owned();
    };
    let start = at.saturating_sub(SHOWN_CHARS / 4);
    let mut rest = line.chars().skip(start);
    let stretch = format!("{:?}", rest.by_ref().take(SHOWN_CHARS).collect::<String>());
    let before = if start > 0 { "…" } else { "" };
    let after = if rest.next().is_some() { "…" } else { "" };
    format!("{before}{stretch}{after}")
}
