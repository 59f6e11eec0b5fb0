//! What names mean before any program is read, and near names for those that mean nothing.
//! Must not walk trees; `lower` does.

pub(crate) mod prelude;
pub(crate) mod suggest;
