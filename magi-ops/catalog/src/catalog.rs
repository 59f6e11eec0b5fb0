//! The models of one provider as they are offered now: what is listed in the settings, what its server said, and what is
//! known by names, in one order. Reads the disk; asks no server.

use std::collections::HashSet;
use std::ops::Range;
use std::time::SystemTime;

use provider::{
    Api, DiscoveredModel, FIXTURE_ID, FIXTURE_MODEL, ModelSettings, ProviderConfig, ThinkingLevel,
    known_limits, thinking_levels,
};
use redact::Redactor;
use store::CatalogStore;
use store::settings::BUILT_IN;

use crate::document::Document;
use crate::source::Source;
use crate::text::{is_id, is_shown, label};

/// How much of a catalog holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It holds, for the provider as it is configured now.
    Fresh,
    /// It held once; its models are shown, and none can be selected.
    Stale,
    /// There is none.
    Unavailable,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub id: String,
    /// At most 128 bytes, on one line, fit to be shown.
    pub label: String,
    /// Whether it can be selected now.
    pub available: bool,
    /// Tokens, thinking included; `None` is unknown.
    pub context_window: Option<u64>,
    /// Tokens of one response; `None` is unknown.
    pub max_output_tokens: Option<u64>,
    /// The default first, the lowest of the others behind it.
    pub thinking_levels: Vec<ThinkingLevel>,
}

/// The models that a provider offers at one moment.
#[derive(Debug, Clone)]
pub struct Catalog {
    state: State,
    config: ProviderConfig,
    redactor: Redactor,
    /// Each id once.
    models: Vec<DiscoveredModel>,
}

impl Catalog {
    /// What is known of the models of `source` without asking anybody. What cannot be read is no error but
    /// [`State::Unavailable`]; the log has the reason. Blocks.
    #[must_use]
    pub fn read(
        store: &dyn CatalogStore,
        source: &Source,
        redactor: &Redactor,
        now: SystemTime,
    ) -> Self {
        let config = source.config.clone();
        let listed = config.models.models.iter();
        let listed: Vec<_> = listed
            .filter(|model| is_id(&model.id))
            .map(of_settings)
            .collect();
        let of = |state, models| Self {
            state,
            config: config.clone(),
            redactor: redactor.clone(),
            models: each_once(models),
        };
        if config.api == Api::Fixture {
            // The offline provider has one name only.
            return match config.id == FIXTURE_ID {
                true => {
                    let own = of_settings(&FIXTURE_MODEL.into());
                    of(State::Fresh, [vec![own], listed].concat())
                }
                false => of(State::Unavailable, Vec::new()),
            };
        }
        let kept = Document::read(store, source, now).unwrap_or_else(|error| {
            error.log(&config.id);
            None
        });
        let (said, is_fresh) = match kept {
            Some((document, is_fresh)) => (document.models, is_fresh),
            None => (Vec::new(), false),
        };
        match (listed.is_empty(), is_fresh) {
            (true, true) => of(State::Fresh, said),
            (true, false) if said.is_empty() => of(State::Unavailable, said),
            (true, false) => of(State::Stale, said),
            // What a person lists needs nobody's word.
            (false, false) => of(State::Fresh, listed),
            (false, true) => {
                let known = |model: DiscoveredModel| {
                    let said = said.iter().find(|said| said.id == model.id);
                    // The person's list says which there are, also against the server's word.
                    said.map_or(model, |said| DiscoveredModel {
                        disabled: false,
                        ..said.clone()
                    })
                };
                let listed: Vec<_> = listed.into_iter().map(known).collect();
                // A list is the whole of a provider of one's own.
                match BUILT_IN.contains(&config.id.as_str()) {
                    true => of(State::Fresh, [listed, said].concat()),
                    false => of(State::Fresh, listed),
                }
            }
        }
    }

    /// That of a provider of which nothing can be known.
    #[must_use]
    pub fn unavailable(config: ProviderConfig) -> Self {
        Self {
            state: State::Unavailable,
            config,
            redactor: Redactor::default(),
            models: Vec::new(),
        }
    }

    #[must_use]
    pub fn state(&self) -> State {
        self.state
    }

    /// How many models there are, those included that are not shown.
    #[must_use]
    pub fn len(&self) -> usize {
        self.models.len()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.models.is_empty()
    }

    /// Those that stand there, as far as there are any; ids that look like secrets are left out.
    #[must_use]
    pub fn models(&self, range: Range<usize>) -> Vec<Model> {
        let (start, end) = (range.start.min(self.len()), range.end.min(self.len()));
        let kept = self.models[start..end.max(start)].iter();
        let shown = kept.filter(|model| is_shown(&model.id, &self.redactor));
        shown.map(|model| self.model_of(model)).collect()
    }

    /// The model of that id, if it is offered and may be shown.
    #[must_use]
    pub fn model(&self, id: &str) -> Option<Model> {
        let kept = self.models.iter().find(|model| model.id == id)?;
        is_shown(id, &self.redactor).then(|| self.model_of(kept))
    }

    /// What the server said of the model `id`, as far as that still holds: for [`provider::ModelLimits::discovered`].
    #[must_use]
    pub fn discovered(&self, id: &str) -> Option<ModelSettings> {
        let kept = self.models.iter().find(|model| model.id == id)?;
        (self.state == State::Fresh).then(|| kept.settings())
    }

    fn model_of(&self, kept: &DiscoveredModel) -> Model {
        let mut said = kept.settings();
        if self.state != State::Fresh {
            // What held once says what to expect of a model, not what to ask it for.
            said.thinking_levels = None;
        }
        let mut config = self.config.clone();
        config.models.discovered = vec![said];
        let (context_window, max_output_tokens) = known_limits(&config, &kept.id);
        Model {
            id: kept.id.clone(),
            label: label(kept.label.as_deref(), &kept.id, &self.redactor),
            available: self.state == State::Fresh && !kept.disabled,
            context_window,
            max_output_tokens,
            thinking_levels: thinking_levels(&config, &kept.id),
        }
    }
}

/// A model that the settings list. What they say of it counts wherever it comes from.
fn of_settings(model: &ModelSettings) -> DiscoveredModel {
    DiscoveredModel {
        id: model.id.clone(),
        ..DiscoveredModel::default()
    }
}

fn each_once(models: Vec<DiscoveredModel>) -> Vec<DiscoveredModel> {
    let mut seen = HashSet::new();
    let mut models = models;
    models.retain(|model| seen.insert(model.id.clone()));
    models
}

#[cfg(test)]
mod tests;
