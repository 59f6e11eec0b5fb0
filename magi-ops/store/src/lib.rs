//! Everything magi-code keeps: settings, accounts, catalogs, sessions, writer leases, as traits with the store of this machine.
//! Synchronous and without a wire: callers run it on threads that may block.

mod accounts;
mod catalogs;
mod context;
mod credentials;
mod file;
mod home;
mod local;
mod lock;
mod object;
mod reason;
pub mod resources;
pub mod sessions;
pub mod settings;

pub use accounts::{
    Account, AccountError, AccountStore, OAuthTokens, RefreshLock, StoredCredential,
};
pub use catalogs::{CatalogError, CatalogStore, MAX_CATALOG_BYTES};
pub use credentials::{Credentials, files_directly_in};
pub use home::{Home, LocalPlaces};
pub use local::{HomeError, KERNEL_TREES, LocalHome};
pub use object::Object;
pub use reason::{
    MAX_REASONS, Reason, Reasons, command_word, did_you_mean, listed, near_miss, on_a_line, quoted,
    shown, shown_path,
};
pub use redact::{Redacted, Redactor, StreamRedactor};
