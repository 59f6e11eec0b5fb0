//! The document of one provider on the disk: when its server was asked, how long that holds, for which configuration, and
//! the models. What cannot be trusted of it is nothing.

use std::collections::HashSet;
use std::error::Error as _;
use std::time::{Duration, SystemTime};

use provider::{DiscoveredModel, MAX_DISCOVERED};
use redact::Redactor;
use serde::{Deserialize, Serialize};
use store::CatalogStore;

use crate::source::Source;
use crate::text::{is_id, is_shown, label};

/// The one version of the form.
const VERSION: u64 = 1;
/// How long what a server said holds.
const FRESH: Duration = Duration::from_secs(24 * 60 * 60);
/// How far the clock that wrote may be ahead of ours.
const SKEW: Duration = Duration::from_secs(5 * 60);

/// The document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Document {
    version: u64,
    /// RFC 3339.
    fetched_at: String,
    /// RFC 3339; later it is stale.
    expires_at: String,
    /// Of the configuration that was asked.
    fingerprint: String,
    /// What the server named this list, for the next question.
    #[serde(default)]
    pub(crate) etag: Option<String>,
    /// In the server's order, each id once.
    pub(crate) models: Vec<DiscoveredModel>,
}

/// Why a document does not count, or was not kept.
#[derive(Debug, thiserror::Error)]
pub enum Unusable {
    #[error(transparent)]
    Store(#[from] store::CatalogError),
    #[error("the list of models can't be read")]
    Form(#[from] serde_json::Error),
    #[error("the list of models is of another version")]
    Version,
    #[error("the list of models has no time")]
    Time(#[from] humantime::TimestampError),
    #[error("the provider is configured in another way than when it was asked")]
    Configuration,
    #[error("the list has no model that can be shown here")]
    Empty,
    #[error("the list of models has not changed, and it is not kept")]
    Gone,
}

impl Unusable {
    /// Tells the log, where it becomes a state.
    pub(crate) fn log(&self, provider: &str) {
        let cause = self.source().map(ToString::to_string);
        tracing::info!(error = %self, cause, provider, "no list of models counts");
    }
}

impl Document {
    /// A document of what a server said at `now`. Its words are looked at here, so that nothing of a secret gets on the disk.
    pub(crate) fn new(
        source: &Source,
        redactor: &Redactor,
        now: SystemTime,
        etag: Option<String>,
        models: Vec<DiscoveredModel>,
    ) -> Self {
        let mut seen = HashSet::new();
        let is_new = |model: &DiscoveredModel| {
            is_shown(&model.id, redactor) && seen.insert(model.id.clone())
        };
        let models = models.into_iter().filter(is_new).take(MAX_DISCOVERED);
        let shown = |model: DiscoveredModel| DiscoveredModel {
            label: Some(label(model.label.as_deref(), &model.id, redactor))
                .filter(|label| *label != model.id),
            ..model
        };
        Self {
            version: VERSION,
            fetched_at: time(now),
            expires_at: time(now + FRESH),
            fingerprint: source.fingerprint(),
            etag,
            models: models.map(shown).collect(),
        }
    }

    /// The same, said again at `now`.
    pub(crate) fn renewed(self, now: SystemTime) -> Self {
        Self {
            fetched_at: time(now),
            expires_at: time(now + FRESH),
            ..self
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Puts it in the place of what was kept. Blocks.
    pub(crate) fn store(&self, store: &dyn CatalogStore, provider: &str) -> Result<(), Unusable> {
        Ok(store.store_catalog(provider, &serde_json::to_vec(self)?)?)
    }

    /// What is kept for `source`, and whether it is fresh; `None` where nothing is. Blocks.
    pub(crate) fn read(
        store: &dyn CatalogStore,
        source: &Source,
        now: SystemTime,
    ) -> Result<Option<(Self, bool)>, Unusable> {
        let Some(bytes) = store.catalog(&source.config.id)? else {
            return Ok(None);
        };
        let mut document: Self = serde_json::from_slice(&bytes)?;
        if document.version != VERSION {
            return Err(Unusable::Version);
        }
        let fetched = humantime::parse_rfc3339_weak(&document.fetched_at)?;
        let expires = humantime::parse_rfc3339_weak(&document.expires_at)?;
        if document.fingerprint != source.fingerprint() {
            return Err(Unusable::Configuration);
        }
        let mut seen = HashSet::new();
        document
            .models
            .retain(|model| is_id(&model.id) && seen.insert(model.id.clone()));
        if document.models.is_empty() {
            return Err(Unusable::Empty);
        }
        // A list from the future says nothing of now.
        let is_fresh = fetched <= now + SKEW && now < expires;
        Ok(Some((document, is_fresh)))
    }
}

fn time(at: SystemTime) -> String {
    humantime::format_rfc3339_seconds(at).to_string()
}
