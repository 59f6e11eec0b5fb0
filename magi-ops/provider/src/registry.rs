//! From configuration to a provider behind a network, if this build has its wire.
//! Reads no settings file and no environment.

use std::sync::Arc;

use crate::config::{BuildError, Patience, ProviderConfig};
use crate::credential::CredentialSource;
use crate::discovered::Discover;
use crate::provider::Provider;
use crate::recorder::Recorder;

/// Builds a provider behind a network, whose exchanges `recorder` keeps. Connects nowhere. Blocks: the system's
/// certificates are read.
///
/// # Errors
/// [`BuildError::NotLinked`] for an api that this build has no wire for: without the feature `wires` any, and always the
/// offline one, which is a [`crate::Fixture`]. The others say what of the configuration can't be used.
pub fn build(
    config: &ProviderConfig,
    credentials: Arc<dyn CredentialSource>,
    recorder: Option<Arc<Recorder>>,
) -> Result<Arc<dyn Provider>, BuildError> {
    build_with(config, credentials, recorder, Patience::default())
}

/// [`build`] with other waits.
///
/// # Errors
/// As [`build`].
pub fn build_with(
    config: &ProviderConfig,
    credentials: Arc<dyn CredentialSource>,
    recorder: Option<Arc<Recorder>>,
    patience: Patience,
) -> Result<Arc<dyn Provider>, BuildError> {
    #[cfg(feature = "wires")]
    return crate::wires::build(config, credentials, recorder, patience);
    #[cfg(not(feature = "wires"))]
    {
        let _ = (config, credentials, recorder, patience);
        Err(BuildError::NotLinked)
    }
}

/// What asks the provider's server for its models. Connects nowhere. Blocks as [`build`] does.
///
/// # Errors
/// As [`build`].
pub fn discovery(config: &ProviderConfig) -> Result<Box<dyn Discover>, BuildError> {
    #[cfg(feature = "wires")]
    return crate::wires::discovery(config);
    #[cfg(not(feature = "wires"))]
    {
        let _ = config;
        Err(BuildError::NotLinked)
    }
}
