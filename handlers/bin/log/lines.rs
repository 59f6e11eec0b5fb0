//! From spans and events to lines of JSON. Each text passes the redaction seam, and each line once more as a whole.
//! Where lines go is the file's matter.

use std::error::Error;
use std::fmt::{Debug, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Instant, SystemTime};

use redact::Redactor;
use serde_json::{Map, Value, json};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

use super::file::LogFile;

/// Longest text of one field, in bytes.
const MAX_TEXT_BYTES: usize = 4 * 1024;
/// Most spans that a line names.
const MAX_SPANS: usize = 16;

/// Writes a line for each event, and for each span where it begins and ends.
pub(super) struct Lines {
    file: Mutex<LogFile>,
    redactor: Redactor,
    /// Spans that began.
    spans: AtomicU64,
}

/// What a span keeps.
struct SpanData {
    /// The how manieth it is of this log, from 1: the registry's own ids come again, and are longer than the numbers that every
    /// reader of JSON can hold.
    number: u64,
    fields: Map<String, Value>,
    since: Instant,
}

impl Lines {
    pub(super) fn new(file: LogFile, redactor: Redactor) -> Self {
        Self {
            file: Mutex::new(file),
            redactor,
            spans: AtomicU64::default(),
        }
    }

    fn fields(&self) -> Fields<'_> {
        Fields {
            redactor: &self.redactor,
            map: Map::new(),
        }
    }

    fn write<S>(
        &self,
        metadata: &Metadata<'_>,
        span: Option<&Id>,
        what: Map<String, Value>,
        context: &Context<'_, S>,
    ) where
        S: Subscriber + for<'a> LookupSpan<'a>,
    {
        let time = humantime::format_rfc3339_micros(SystemTime::now()).to_string();
        let mut line = Map::new();
        line.insert("time".into(), time.into());
        line.insert("level".into(), metadata.level().as_str().into());
        line.insert("target".into(), metadata.target().into());
        line.extend(what);
        let scope = span.and_then(|id| context.span_scope(id));
        let spans: Vec<Value> = scope
            .into_iter()
            .flat_map(|scope| scope.from_root())
            .take(MAX_SPANS)
            .map(|span| {
                let extensions = span.extensions();
                let mut own = Map::new();
                own.insert("span".into(), span.name().into());
                if let Some(data) = extensions.get::<SpanData>() {
                    own.insert("span_id".into(), data.number.into());
                    own.extend(data.fields.clone());
                }
                own.into()
            })
            .collect();
        if !spans.is_empty() {
            line.insert("spans".into(), spans.into());
        }
        let line = self.seam(&Value::Object(line));
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.append(format!("{line}\n").as_bytes());
    }

    /// The line once more as a whole: a secret may have come in two fields. It stays one object.
    fn seam(&self, line: &Value) -> String {
        let text = line.to_string();
        let shown = self.redactor.redact(&text).into_string();
        if shown == text || serde_json::from_str::<Map<String, Value>>(&shown).is_ok() {
            return shown;
        }
        json!({ "time": line["time"], "level": line["level"], "target": line["target"], "message": redact::MASK })
            .to_string()
    }
}

impl<S> Layer<S> for Lines
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = self.fields();
        attributes.record(&mut fields);
        if let Some(span) = context.span(id) {
            span.extensions_mut().insert(SpanData {
                number: self.spans.fetch_add(1, Ordering::Relaxed) + 1,
                fields: fields.map,
                since: Instant::now(),
            });
        }
        let what = Map::from_iter([("begins".into(), attributes.metadata().name().into())]);
        self.write(attributes.metadata(), Some(id), what, &context);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        let mut fields = self.fields();
        values.record(&mut fields);
        if let Some(span) = context.span(id)
            && let Some(data) = span.extensions_mut().get_mut::<SpanData>()
        {
            data.fields.extend(fields.map);
        }
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = self.fields();
        event.record(&mut fields);
        let span = context.event_span(event).map(|span| span.id());
        self.write(event.metadata(), span.as_ref(), fields.map, &context);
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let Some(span) = context.span(&id) else {
            return;
        };
        let lasted = span
            .extensions()
            .get::<SpanData>()
            .map(|data| data.since.elapsed());
        let milliseconds = lasted.map(|lasted| lasted.as_micros() as f64 / 1000.0);
        let what = Map::from_iter([
            ("ends".into(), span.name().into()),
            ("ms".into(), milliseconds.into()),
        ]);
        self.write(span.metadata(), Some(&id), what, &context);
    }
}

/// Fields as JSON, texts redacted and bounded.
pub(super) struct Fields<'a> {
    pub(super) redactor: &'a Redactor,
    pub(super) map: Map<String, Value>,
}

impl Fields<'_> {
    fn text(&mut self, field: &Field, text: &str) {
        // Redacted whole, so that no cut hides a secret from the redactor.
        let mut shown = self.redactor.redact(text).into_string();
        if shown.len() > MAX_TEXT_BYTES {
            shown.truncate(shown.floor_char_boundary(MAX_TEXT_BYTES));
            shown.push('…');
        }
        self.map.insert(field.name().to_owned(), shown.into());
    }

    fn value(&mut self, field: &Field, value: impl Into<Value>) {
        self.map.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Fields<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.text(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.value(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.value(field, value);
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.value(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.value(field, value);
    }

    /// With its sources.
    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(error) = source.filter(|_| text.len() < MAX_TEXT_BYTES) {
            let _ = write!(text, ": {error}");
            source = error.source();
        }
        self.text(field, &text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.text(field, &format!("{value:?}"));
    }
}
