//! The sessions that this process holds, as many as it may.
//! What is attached, and when, is decided in `sessions`.

use std::collections::HashMap;

use store::sessions::SessionId;

use crate::attach::{Attachment, Conversation};
use crate::error::ErrorKind;

#[derive(Debug)]
pub(crate) struct SessionTable {
    capacity: usize,
    attachments: HashMap<SessionId, Attachment>,
}

impl SessionTable {
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            attachments: HashMap::new(),
        }
    }

    /// Whether one more session may be attached, once `instead_of` is not any more.
    ///
    /// # Errors
    /// [`ErrorKind::TooManySessions`].
    pub(crate) fn has_place(&self, instead_of: Option<&SessionId>) -> Result<(), ErrorKind> {
        let freed = instead_of.is_some_and(|id| self.attachments.contains_key(id));
        if self.attachments.len() < self.capacity + usize::from(freed) {
            Ok(())
        } else {
            Err(ErrorKind::TooManySessions)
        }
    }

    pub(crate) fn get(&self, id: &SessionId) -> Option<&Attachment> {
        self.attachments.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &SessionId) -> Option<&mut Attachment> {
        self.attachments.get_mut(id)
    }

    /// The content of an attached session.
    ///
    /// # Errors
    /// [`ErrorKind::SessionMissing`] when it is not attached, or was not read yet.
    pub(crate) fn conversation(&mut self, id: &SessionId) -> Result<&mut Conversation, ErrorKind> {
        let attachment = self.get_mut(id);
        let conversation = attachment.and_then(|attachment| attachment.conversation.as_mut());
        conversation.ok_or(ErrorKind::SessionMissing)
    }

    pub(crate) fn insert(&mut self, id: SessionId, attachment: Attachment) {
        self.attachments.insert(id, attachment);
    }

    pub(crate) fn remove(&mut self, id: &SessionId) -> Option<Attachment> {
        self.attachments.remove(id)
    }

    pub(crate) fn take_all(&mut self) -> HashMap<SessionId, Attachment> {
        std::mem::take(&mut self.attachments)
    }
}
