//! Exchanges with model servers, kept as files for who reports a fault: one JSON object each, private, bounded, redacted.
//! When an exchange begins and ends is the wires'; how its texts are redacted stands in `masking`.

use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use redact::Redactor;
use serde_json::{Value, json};
use tokio_util::task::TaskTracker;

use crate::error::ProviderError;

mod masking;

/// Of the objects that are written.
const VERSION: u32 = 1;
/// Most exchanges that a process keeps.
const MAX_EXCHANGES: u32 = 1000;
/// Most bytes of their files.
const MAX_BYTES: u64 = 256 * 1024 * 1024;
/// Most bytes of one body; of a longer answer the beginning is kept, of a longer request nothing.
const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
/// Headers that hold no key, whatever the server: no other is kept.
const HEADERS: [&str; 12] = [
    "accept",
    "anthropic-beta",
    "anthropic-version",
    "content-type",
    "date",
    "openai-beta",
    "originator",
    "request-id",
    "retry-after",
    "server",
    "user-agent",
    "x-request-id",
];

/// A folder in which the exchanges of a process are kept.
pub struct Recorder {
    folder: PathBuf,
    redactor: Redactor,
    kept: Mutex<Kept>,
    /// Exchanges on their way to the disk.
    writing: TaskTracker,
}

#[derive(Default)]
struct Kept {
    begun: u32,
    bytes: u64,
    /// Nothing more is kept: the bounds were reached, or the disk can't be written. The log knows why.
    over: bool,
}

impl Recorder {
    /// Keeps exchanges in `folder`, which is created if need be and made private to the person. Blocks.
    ///
    /// # Errors
    /// If the folder can't be made or written, or is none.
    pub fn create(folder: &Path, redactor: Redactor) -> io::Result<Self> {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let own = fs::symlink_metadata(folder)?;
        if !own.is_dir() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
        if own.permissions().mode() & 0o777 != 0o700 {
            fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        }
        // Somebody else's folder, or one on a disk that can't be written.
        let probe = folder.join(format!(".probe-{}", std::process::id()));
        fs::File::create(&probe)?;
        fs::remove_file(&probe)?;
        Ok(Self {
            folder: folder.to_owned(),
            redactor,
            kept: Mutex::default(),
            writing: TaskTracker::new(),
        })
    }

    /// Waits until every exchange that is over is on the disk. Callers bound the wait.
    pub async fn settle(&self) {
        self.writing.close();
        self.writing.wait().await;
    }

    /// Begins to keep an exchange: a request of `model` as its `attempt`th try. `None` once the bounds are reached.
    pub(crate) fn begin(
        self: &Arc<Self>,
        provider: &str,
        model: &str,
        attempt: u32,
        body: Bytes,
    ) -> Option<Recording> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.over {
            return None;
        }
        if kept.begun == MAX_EXCHANGES || kept.bytes >= MAX_BYTES {
            kept.over = true;
            tracing::warn!("as many exchanges are recorded as are kept of a process");
            return None;
        }
        kept.begun += 1;
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        Some(Recording {
            recorder: Arc::clone(self),
            exchange: Some(Exchange {
                number: kept.begun,
                at_ms: at.map_or(0, |at| at.as_millis()),
                began: Instant::now(),
                provider: provider.to_owned(),
                model: model.to_owned(),
                attempt,
                path: String::new(),
                headers: Vec::new(),
                asked: body,
                status: None,
                answer_headers: Vec::new(),
                answer: Vec::new(),
                truncated: false,
            }),
        })
    }

    /// Writes an exchange. Blocks. What fails is told to the log, and ends the recording: a run goes on.
    fn keep(&self, exchange: &Exchange, outcome: &str) {
        let text = exchange.json(&self.redactor, outcome).to_string();
        let written = self.write(exchange, &text);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.bytes = kept.bytes.saturating_add(text.len() as u64);
        if let Err(error) = written
            && !std::mem::replace(&mut kept.over, true)
        {
            tracing::warn!(%error, "exchanges can't be recorded any more");
        }
    }

    fn write(&self, exchange: &Exchange, text: &str) -> io::Result<()> {
        let pid = std::process::id();
        let Exchange { at_ms, number, .. } = exchange;
        let path = self
            .folder
            .join(format!("{at_ms:013}-{pid}-{number:04}.json"));
        let part = path.with_extension("part");
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&part)?;
        let written = file
            .write_all(text.as_bytes())
            .and_then(|()| file.write_all(b"\n"));
        let written = written.and_then(|()| fs::rename(&part, &path));
        if written.is_err() {
            // Half of it helps nobody, and the disk may be full.
            let _ = fs::remove_file(&part);
        }
        written
    }
}

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Recorder")
            .field("folder", &self.folder)
            .finish_non_exhaustive()
    }
}

/// An exchange under way. One that is dropped was cancelled.
pub(crate) struct Recording {
    recorder: Arc<Recorder>,
    /// `None` once it is on its way to the disk.
    exchange: Option<Exchange>,
}

struct Exchange {
    /// Within the process, from 1.
    number: u32,
    at_ms: u128,
    began: Instant,
    provider: String,
    model: String,
    attempt: u32,
    path: String,
    headers: Vec<(String, String)>,
    asked: Bytes,
    status: Option<u16>,
    answer_headers: Vec<(String, String)>,
    answer: Vec<u8>,
    truncated: bool,
}

/// Those that are kept of some headers.
fn keepable<'a>(headers: impl Iterator<Item = (&'a str, &'a [u8])>) -> Vec<(String, String)> {
    headers
        .filter(|(name, _)| HEADERS.contains(name))
        .map(|(name, value)| (name.to_owned(), String::from_utf8_lossy(value).into_owned()))
        .collect()
}

impl Recording {
    /// Where the request goes, without the query, and its headers, whose names are in lower case.
    pub(crate) fn asked<'a>(
        &mut self,
        path: &str,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) {
        if let Some(exchange) = &mut self.exchange {
            exchange.path = path.to_owned();
            exchange.headers = keepable(headers);
        }
    }

    /// The head of the answer.
    pub(crate) fn answered<'a>(
        &mut self,
        status: u16,
        headers: impl Iterator<Item = (&'a str, &'a [u8])>,
    ) {
        if let Some(exchange) = &mut self.exchange {
            exchange.status = Some(status);
            exchange.answer_headers = keepable(headers);
        }
    }

    /// A piece of the answer's body.
    pub(crate) fn arrived(&mut self, bytes: &[u8]) {
        if let Some(exchange) = &mut self.exchange {
            let room = MAX_BODY_BYTES - exchange.answer.len();
            exchange
                .answer
                .extend_from_slice(&bytes[..bytes.len().min(room)]);
            exchange.truncated |= bytes.len() > room;
        }
    }

    /// The exchange is over; afterwards it is on the disk.
    pub(crate) async fn end(mut self, failure: Option<&ProviderError>) {
        let outcome = failure.map_or("complete".to_owned(), |failure| failure.kind().to_string());
        if let Some(writing) = self.write(outcome)
            && let Err(error) = writing.await
        {
            tracing::warn!(%error, "an exchange was not recorded");
        }
    }

    fn write(&mut self, outcome: String) -> Option<tokio::task::JoinHandle<()>> {
        let (exchange, recorder) = (self.exchange.take()?, Arc::clone(&self.recorder));
        let runtime = tokio::runtime::Handle::try_current().ok()?;
        let writing = self.recorder.writing.clone();
        Some(writing.spawn_blocking_on(move || recorder.keep(&exchange, &outcome), &runtime))
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.write("cancelled".to_owned());
    }
}

impl Exchange {
    fn json(&self, redactor: &Redactor, outcome: &str) -> Value {
        let mask = |text: &str| redactor.mask(text).into_string();
        let headers = |headers: &[(String, String)]| -> Value {
            let headers = headers.iter();
            headers
                .map(|(name, value)| (name.clone(), Value::from(mask(value))))
                .collect()
        };
        let asked = match self.asked.len() {
            0..=MAX_BODY_BYTES => masking::request(&self.asked, redactor),
            length => json!(format!("[{length} bytes are left out]")),
        };
        let mut answer = json!({ "status": self.status, "headers": headers(&self.answer_headers) });
        let is_whole = outcome == "complete" && !self.truncated;
        let (text, exact) = masking::answer(&self.answer, is_whole, redactor);
        match exact {
            // Bytes that are no text, without a secret among them.
            true if std::str::from_utf8(&self.answer).is_err() => {
                answer["body_base64"] = json!(STANDARD.encode(&self.answer));
            }
            _ => answer["body"] = json!(text),
        }
        if self.truncated {
            answer["truncated"] = json!(true);
        }
        json!({
            "version": VERSION,
            "at_ms": u64::try_from(self.at_ms).unwrap_or_default(),
            "took_ms": u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX),
            "provider": mask(&self.provider),
            "model": mask(&self.model),
            "attempt": self.attempt,
            "outcome": outcome,
            "request": {
                "method": "POST",
                "path": mask(&self.path),
                "headers": headers(&self.headers),
                "body": asked,
            },
            "response": answer,
        })
    }
}

#[cfg(test)]
mod tests;
