//! Everything magi-code keeps on disk: home, settings, sessions, writer leases.
//! Synchronous and without a wire: callers run it on threads that may block.

pub mod auth;
mod context;
mod credentials;
mod file;
mod home;
mod object;
mod reason;
pub mod resources;
pub mod sessions;
pub mod settings;

pub use context::context_id;
pub use credentials::{CREDENTIAL_PLACES, CredentialPlaces, credential_places};
pub use home::{Home, HomeError, KERNEL_TREES};
pub use object::Object;
pub use reason::{MAX_REASONS, Reason, Reasons, near_miss, shown, shown_path};
pub use redact::{Redacted, Redactor, StreamRedactor};
