//! Catalogs: which models a provider offers, from what its server said once, what the settings list and what is known by
//! names (spec: application-service, "Provider and model catalogs"). Asks nobody by itself and knows no wire.

mod catalog;
mod document;
mod keep;
mod source;
mod text;

pub use catalog::{Catalog, Model, State};
pub use document::Unusable;
pub use keep::{etag, keep};
pub use source::Source;
pub use text::{MAX_ID_BYTES, MAX_LABEL_BYTES, is_id, is_shown, label};
