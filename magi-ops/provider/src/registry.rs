//! From configuration to a provider: the one place that knows which kinds there are.
//! Reads no settings file and no environment.

use std::sync::Arc;

use crate::config::{Api, BuildError, Patience, ProviderConfig};
use crate::credential::CredentialSource;
use crate::fixture::Fixture;
use crate::provider::Provider;
use crate::recorder::Recorder;

/// Builds a provider, whose exchanges `recorder` keeps. Connects nowhere. Blocks: a script and the system's certificates are
/// read.
///
/// # Errors
/// [`BuildError::NotLinked`] for an api that this build has no wire for: without the feature `wires` everything
/// but `fixture`. The others say what of the configuration can't be used.
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
    match config.api {
        Api::Fixture => {
            let fixture = match &config.script {
                None => Fixture::demonstration(),
                Some(path) => Fixture::from_script(path)?,
            };
            Ok(Arc::new(fixture.limited(config.models.clone())))
        }
        #[cfg(feature = "wires")]
        _ => crate::wires::build(config, credentials, recorder, patience),
        #[cfg(not(feature = "wires"))]
        _ => {
            drop((credentials, recorder, patience));
            Err(BuildError::NotLinked)
        }
    }
}
