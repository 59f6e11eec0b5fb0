//! Why a start or a call failed, for the program that started this one and shows it to a person (`magi-code try`): the
//! protocols tell fixed words. Lines of JSON in a file that it made; which events are told here, and nothing else.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use redact::Redactor;
use serde_json::Map;
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::lines::Fields;

/// The messages of the events that are told; tests of the person's commands see them all.
const TOLD: [&str; 4] = [
    "startup is refused",
    "a call failed",
    "a response was counted",
    "the run has no responses left",
];
/// Most bytes of the file: a person reads it.
const MAX_BYTES: usize = 1 << 20;

/// Writes a line for each event that is told, before whoever causes it goes on.
pub(super) struct Reasons {
    /// With the bytes that are left.
    file: Mutex<(File, usize)>,
    redactor: Redactor,
}

impl Reasons {
    /// Into a file that is there.
    ///
    /// # Errors
    /// If it can't be opened.
    pub(super) fn new(path: &Path, redactor: Redactor) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
            .open(path)?;
        Ok(Self {
            file: Mutex::new((file, MAX_BYTES)),
            redactor,
        })
    }
}

impl<S: Subscriber> Layer<S> for Reasons {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let mut fields = Fields {
            redactor: &self.redactor,
            map: Map::new(),
        };
        event.record(&mut fields);
        let message = fields.map.get("message").and_then(|text| text.as_str());
        if !message.is_some_and(|message| TOLD.contains(&message)) {
            return;
        }
        let line = format!("{}\n", serde_json::Value::Object(fields.map));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let (file, left) = &mut *file;
        if let Some(rest) = left.checked_sub(line.len())
            && file.write_all(line.as_bytes()).is_ok()
        {
            *left = rest;
        }
    }
}
