//! What a server answered, kept for later: a new list in the place of the old one, or the old one for longer.
//! Asking is the provider's matter.

use std::time::SystemTime;

use provider::Discovered;
use redact::Redactor;
use store::CatalogStore;

use crate::document::{Document, Unusable};
use crate::source::Source;

/// What the server of `source` called the list that is kept, for the next question. Blocks.
#[must_use]
pub fn etag(store: &dyn CatalogStore, source: &Source, now: SystemTime) -> Option<String> {
    match Document::read(store, source, now) {
        Ok(kept) => kept?.0.etag,
        Err(error) => {
            error.log(&source.config.id);
            None
        }
    }
}

/// Keeps what the server of `source` said at `now`. Blocks.
///
/// # Errors
/// For a list without a model that can be shown, and when nothing can be written; what was kept stays then.
pub fn keep(
    store: &dyn CatalogStore,
    source: &Source,
    redactor: &Redactor,
    now: SystemTime,
    said: Discovered,
) -> Result<(), Unusable> {
    let document = match said {
        Discovered::Models { models, etag } => Document::new(source, redactor, now, etag, models),
        Discovered::Unchanged => {
            let (kept, _) = Document::read(store, source, now)?.ok_or(Unusable::Gone)?;
            kept.renewed(now)
        }
    };
    match document.is_empty() {
        true => Err(Unusable::Empty),
        false => document.store(store, &source.config.id),
    }
}
