//! Credentials that a login stored: how a person logs in, and how they are handed out and refreshed before they end or when
//! a server refuses them. Where they are stored is the store's.

mod callback;
mod claims;
mod issuer;
mod login;
mod source;

pub use callback::CallbackError;
pub use issuer::{Issuer, IssuerError};
pub use login::{BeginError, Login, LoginError, LoginStep};
pub use source::StoredAccount;
