//! Answers of a model's server that is asked for its models, and the document that is kept of them: whatever they are, what
//! is shown is bounded, single and fit to be shown, and what is kept is read again as it was.

use std::sync::Mutex;
use std::time::SystemTime;

use catalog::{Catalog, MAX_ID_BYTES, MAX_LABEL_BYTES, Source, State, is_id, keep};
use provider::fuzzing::{Spoken, listed};
use provider::{Api, Discovered, ModelLimits, ProviderConfig};
use redact::Redactor;
use store::{CatalogError, CatalogStore};

use crate::input::expand;

/// One document in memory.
#[derive(Debug, Default)]
struct Memory(Mutex<Option<Vec<u8>>>);

impl CatalogStore for Memory {
    fn catalog(&self, _: &str) -> Result<Option<Vec<u8>>, CatalogError> {
        Ok(self.0.lock().ok().and_then(|kept| kept.clone()))
    }

    fn store_catalog(&self, _: &str, document: &[u8]) -> Result<(), CatalogError> {
        *self.0.lock().expect("a lock") = Some(document.to_vec());
        Ok(())
    }
}

/// Checks a whole input. Gives a word for each wire, and one for the input as a document.
///
/// # Panics
/// When anything does not hold.
pub fn check(data: &[u8]) -> Vec<&'static str> {
    let data = expand(data);
    let wires = [
        (Spoken::Anthropic, Api::Anthropic),
        (Spoken::OpenaiChat, Api::OpenaiChat),
        (Spoken::OpenaiResponses, Api::OpenaiResponses),
        (Spoken::Gemini, Api::Gemini),
    ];
    let mut said: Vec<_> = wires.map(|(spoken, api)| answer(spoken, api, &data)).into();
    let memory = Memory(Mutex::new(Some(data.into_owned())));
    said.push(word(&shown(&memory, Api::OpenaiChat)));
    said
}

fn source(api: Api) -> Source {
    Source {
        config: ProviderConfig {
            id: "mine".to_owned(),
            api,
            base_url: None,
            models: ModelLimits::default(),
        },
        key_variable: None,
    }
}

fn answer(spoken: Spoken, api: Api, data: &[u8]) -> &'static str {
    let read = listed(spoken, data);
    let Ok((models, _)) = read else {
        return "refused";
    };
    let memory = Memory::default();
    let said = Discovered::Models { models, etag: None };
    let kept = keep(
        &memory,
        &source(api),
        &Redactor::default(),
        SystemTime::UNIX_EPOCH,
        said,
    );
    let catalog = shown(&memory, api);
    assert_eq!(kept.is_ok(), catalog.state() == State::Fresh);
    word(&catalog)
}

fn word(catalog: &Catalog) -> &'static str {
    match catalog.state() {
        State::Fresh => "fresh",
        State::Stale => "stale",
        State::Unavailable => "unavailable",
    }
}

fn shown(memory: &Memory, api: Api) -> Catalog {
    let redactor = Redactor::default();
    let catalog = Catalog::read(memory, &source(api), &redactor, SystemTime::UNIX_EPOCH);
    assert_eq!(catalog.is_empty(), catalog.state() == State::Unavailable);
    let models = catalog.models(0..catalog.len());
    let mut ids: Vec<_> = models.iter().map(|model| model.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), models.len(), "each once");
    for model in &models {
        assert!(is_id(&model.id) && model.id.len() <= MAX_ID_BYTES);
        assert!((1..=MAX_LABEL_BYTES).contains(&model.label.len()));
        assert!(
            !model.label.chars().any(char::is_control),
            "{:?}",
            model.label
        );
        assert_eq!(redactor.redact(&model.label).as_str(), model.label);
        let levels = &model.thinking_levels;
        assert!(levels.len() <= 6 && levels.is_sorted_by_key(|level| *level as u8));
        assert_eq!(levels[0] as u8, 0, "the default first");
        assert!(!model.available || catalog.state() == State::Fresh);
        assert_eq!(catalog.model(&model.id).as_ref(), Some(model));
    }
    catalog
}
