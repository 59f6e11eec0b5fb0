//! Attaching a session: create or open it, verify that it belongs here, restore its selection.
//! One attachment at a time is the backend's rule; reading and writing files is the store's.

use std::sync::{Arc, Mutex, PoisonError};

use provider::Message;
use store::sessions::{Body, Opened, Record, SessionId, Writer, verify_cwd};

use crate::conversation;
use crate::error::SessionError;
use crate::history::Snapshot;
use crate::startup::{Admitted, Selection};

/// Something a client should know about an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The session names no working directory to verify.
    CwdUnverified,
    /// The session's saved provider or model is not available; the startup selection stays.
    SavedSelectionUnavailable,
}

/// An attachment as it was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    pub session_id: String,
    /// Whether the session has a file, so that another process could open it.
    pub durable: bool,
    /// Names the history as it stands now.
    pub revision: String,
    pub notices: Vec<Notice>,
}

/// The attached session.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(crate) id: SessionId,
    pub(crate) writer: SharedWriter,
    pub(crate) selection: Selection,
    /// The conversation as the provider replays it. A run takes it and gives it back.
    pub(crate) messages: Vec<Message>,
    pub(crate) revision: String,
    /// Someone else changed the file. Stays set: only a new attachment clears it.
    pub(crate) stale: bool,
    /// The projection of `revision`, once somebody asked for it.
    pub(crate) snapshot: Option<Arc<Snapshot>>,
    /// The furthest page that a cursor was given out for.
    pub(crate) issued: usize,
}

/// The one writer of the attached session; locked on threads that may block.
#[derive(Clone, Debug)]
pub(crate) struct SharedWriter(Arc<Mutex<Writer>>);

impl SharedWriter {
    pub(crate) fn new(writer: Writer) -> Self {
        Self(Arc::new(Mutex::new(writer)))
    }

    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Writer) -> T) -> T {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Attachment {
    fn new(writer: Writer, selection: Selection, messages: Vec<Message>) -> Self {
        Self {
            id: writer.id().clone(),
            writer: SharedWriter::new(writer),
            selection,
            messages,
            revision: crate::new_id(),
            stale: false,
            snapshot: None,
            issued: 0,
        }
    }

    /// A new revision: cursors and pages of the old one are void.
    pub(crate) fn renew(&mut self) -> String {
        self.revision = crate::new_id();
        self.snapshot = None;
        self.issued = 0;
        self.revision.clone()
    }
}

/// An attachment that is not installed yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) attachment: Attachment,
    pub(crate) attached: Attached,
}

impl Prepared {
    fn new(attachment: Attachment, notices: Vec<Notice>) -> Self {
        let attached = Attached {
            session_id: attachment.id.to_string(),
            durable: attachment.writer.with(|writer| writer.is_durable()),
            revision: attachment.revision.clone(),
            notices,
        };
        Self {
            attachment,
            attached,
        }
    }
}

/// Allocates a session that has no file yet. Blocks.
pub(crate) fn create(admitted: &Admitted) -> Result<Prepared, SessionError> {
    let writer = admitted.sessions.create()?;
    let attachment = Attachment::new(writer, admitted.selection.clone(), Vec::new());
    Ok(Prepared::new(attachment, Vec::new()))
}

/// Opens the session `id`. `held` is the current attachment's writer if it is of the same
/// session: its lease is shared then, and it stays as it is when opening fails. Blocks.
pub(crate) fn open(
    admitted: &Admitted,
    id: &SessionId,
    held: Option<&SharedWriter>,
) -> Result<Prepared, SessionError> {
    let Opened { writer, records } = match held {
        Some(held) => held.with(|writer| admitted.sessions.reopen(writer))?,
        None => admitted.sessions.open(id)?,
    };
    let mut notices = Vec::new();
    if !verify_cwd(&records, &admitted.cwd)? {
        notices.push(Notice::CwdUnverified);
    }
    let selection = restore(admitted, &records, &mut notices);
    let messages = conversation::replay(&records)?;
    let attachment = Attachment::new(writer, selection, messages);
    Ok(Prepared::new(attachment, notices))
}

/// The selection that the session was saved with, as far as it is available.
fn restore(admitted: &Admitted, records: &[Record], notices: &mut Vec<Notice>) -> Selection {
    let saved = records.iter().rev().find_map(|record| match &record.body {
        Body::Session {
            provider: Some(provider),
            model: Some(model),
            ..
        } => Some(Selection {
            provider: provider.clone(),
            model: model.clone(),
        }),
        _ => None,
    });
    match saved {
        None => admitted.selection.clone(),
        Some(saved) if admitted.offers(&saved) => saved,
        Some(_) => {
            notices.push(Notice::SavedSelectionUnavailable);
            admitted.selection.clone()
        }
    }
}
