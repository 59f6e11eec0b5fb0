//! One assistant message while it streams, and its reconciliation at the end.
//! Raw text goes to the store and the provider; what is shown passes the redactor.

use std::sync::Arc;
use std::time::Duration;

use store::sessions::Flush;
use store::{Redacted, Redactor, StreamRedactor};

use super::event::MustArrive;
use super::persist::Persist;
use super::queue::{Deltas, Lost, Sink};
use super::{Authoritative, TextPolicy};

/// How long the caller's next read is waited for before what was accepted goes to the disk: longer than
/// one that reads on ever takes.
const CALLER_TIME: Duration = Duration::from_millis(50);

/// What a run has said in the messages that ended.
#[derive(Default)]
pub(super) struct Said {
    /// What is shown of all of them, where the terminal event holds it.
    pub(super) shown: Redacted,
    /// The same as the model wrote it; else its end, behind which a secret may go on.
    raw: String,
    /// Redacts what is said, from the first message on: a secret may be told in two.
    stream: Option<StreamRedactor>,
}

impl Said {
    /// What redacts the next message; nothing where nobody is shown it.
    pub(super) fn stream(
        &mut self,
        redactor: &Redactor,
        policy: &TextPolicy,
    ) -> Option<StreamRedactor> {
        let is_shown = policy.authoritative != Authoritative::Nowhere;
        is_shown.then(|| self.stream.take().unwrap_or_else(|| redactor.stream()))
    }
}

/// A message while it streams.
pub(super) struct Segment {
    pub(super) id: Arc<str>,
    response: u32,
    raw: String,
    /// `None` of a text that nobody is shown.
    stream: Option<StreamRedactor>,
    deltas: Deltas,
}

impl Segment {
    /// `stream` redacts what the run says, from its first message on.
    pub(super) fn new(response: u32, stream: Option<StreamRedactor>) -> Self {
        let id: Arc<str> = crate::new_id().into();
        Self {
            deltas: Deltas::new(Arc::clone(&id)),
            id,
            response,
            raw: String::new(),
            stream,
        }
    }

    /// Accepts more text.
    pub(super) async fn push(&mut self, text: &str, sink: &Sink, persist: &mut Persist) {
        self.raw.push_str(text);
        persist.text(&self.id, self.response, text);
        // However long the caller takes, what was accepted is kept meanwhile. One that reads on
        // costs no write for each piece.
        if !sink.has_room_within(CALLER_TIME).await {
            persist.settle(Flush::Written).await;
        }
        let shown = self.stream.as_mut().and_then(|stream| stream.push(text));
        if let Some(shown) = shown {
            self.deltas.push(sink, &shown).await;
        }
    }

    /// Ends the message behind `said`: the rest of its deltas, its record, its authoritative text.
    pub(super) async fn finish(
        mut self,
        partial: bool,
        said: &mut Said,
        redactor: &Redactor,
        policy: &TextPolicy,
        sink: &Sink,
        persist: &mut Persist,
    ) -> (String, Result<(), Lost>) {
        let Some(mut stream) = self.stream.take() else {
            persist.message(&self.id, self.response, &self.raw, partial);
            return (self.raw, Ok(()));
        };
        // What breaks off may break off within a secret.
        let rest = match partial {
            true => stream.cut(),
            false => stream.pause(),
        };
        said.stream = Some(stream);
        self.deltas.push(sink, &rest).await;
        self.deltas.finish(sink).await;
        persist.message(&self.id, self.response, &self.raw, partial);
        let redacted = |before: &str, text: &str| match partial {
            true => redactor.redact_cut(before, text),
            false => redactor.redact_message(before, text),
        };
        let mut sent = Ok(());
        match policy.authoritative {
            Authoritative::ByMessage => {
                let whole = redacted(&said.raw, &self.raw);
                said.raw.push_str(&self.raw);
                said.raw = redact::reach(&said.raw).to_owned();
                let max = policy.max_event_bytes;
                sent = self.reconcile(partial, &whole, max, sink).await;
            }
            Authoritative::AtTheEnd => {
                said.raw.push_str(&self.raw);
                said.shown = redacted("", &said.raw);
            }
            Authoritative::Nowhere => {}
        }
        (self.raw, sent)
    }

    async fn reconcile(
        &self,
        partial: bool,
        whole: &Redacted,
        max: usize,
        sink: &Sink,
    ) -> Result<(), Lost> {
        // A byte becomes six at most: no bound of its own for the text as JSON.
        let parts = crate::history::split(whole, max, 6 * max);
        let last = parts.len() - 1;
        for (part, (text, _)) in parts.into_iter().enumerate() {
            sink.send(MustArrive::Reconcile {
                message_id: Arc::clone(&self.id),
                part: part as u32,
                text,
                last_part: part == last,
                partial,
            })
            .await?;
        }
        Ok(())
    }
}
