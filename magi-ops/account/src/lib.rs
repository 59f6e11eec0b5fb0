//! Credentials that a login stored: handed out with each request, and refreshed before they end or when a server refuses
//! them. Where they are stored is the store's, how a person logs in no matter of this crate yet.

mod claims;
mod issuer;
mod source;

pub use issuer::{Issuer, RefreshError};
pub use source::StoredAccount;
