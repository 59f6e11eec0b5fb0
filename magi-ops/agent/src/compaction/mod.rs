//! Making a conversation shorter for its model: how long it is, what of it a summary shall stand for, and how the model
//! is asked for that. When it is done, and what is stored of it, a run decides.

mod cut;
mod length;
mod request;

pub(crate) use cut::{Cut, plan};
pub(crate) use length::{Basis, Length, tokens};
pub(crate) use request::{Request, SYSTEM};

/// Whether a text has nothing that anybody sees.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars()
        .all(|c| c.is_whitespace() || redact::is_unseen(c))
}
