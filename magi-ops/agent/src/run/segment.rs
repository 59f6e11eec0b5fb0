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

pub(super) struct Segment {
    pub(super) id: Arc<str>,
    response: u32,
    raw: String,
    /// `None` of a text that nobody is shown.
    stream: Option<StreamRedactor>,
    deltas: Deltas,
}

impl Segment {
    pub(super) fn new(response: u32, redactor: &Redactor, policy: &TextPolicy) -> Self {
        let id: Arc<str> = crate::new_id().into();
        let is_shown = policy.authoritative != Authoritative::Nowhere;
        Self {
            deltas: Deltas::new(Arc::clone(&id)),
            id,
            response,
            raw: String::new(),
            stream: is_shown.then(|| redactor.stream()),
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

    /// Ends the message: the rest of its deltas, its record, its authoritative text. Returns
    /// the raw text and what is shown of it.
    pub(super) async fn finish(
        mut self,
        partial: bool,
        redactor: &Redactor,
        policy: &TextPolicy,
        sink: &Sink,
        persist: &mut Persist,
    ) -> (String, Redacted, Result<(), Lost>) {
        let Some(mut stream) = self.stream.take() else {
            persist.message(&self.id, self.response, &self.raw, partial);
            return (self.raw, Redacted::default(), Ok(()));
        };
        // What breaks off may break off within a secret.
        let (rest, whole) = match partial {
            true => (stream.cut(), redactor.redact_cut(&self.raw)),
            false => (stream.finish(), redactor.redact(&self.raw)),
        };
        self.deltas.push(sink, &rest).await;
        self.deltas.finish(sink).await;
        persist.message(&self.id, self.response, &self.raw, partial);
        let sent = match policy.authoritative {
            Authoritative::ByMessage => {
                let max = policy.max_event_bytes;
                self.reconcile(partial, &whole, max, sink).await
            }
            Authoritative::AtTheEnd | Authoritative::Nowhere => Ok(()),
        };
        (self.raw, whole, sent)
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
