//! `catalog.models` of application-service (spec: application-service, "Provider and model catalogs").

use std::sync::Arc;

use agent::{Catalog, Model};
use application_service::Word;
use application_service::messages::{ModelEntry, ModelPage, ModelsPayload};
use application_service::words::Refresh;
use host::{Cx, Reply};
use magi::application_service::{Service, thinking};

use crate::{bounded, next, provider, state};

/// Most bytes of the entries of one page, as JSON: beside them the payload has its brackets and its own members.
const MAX_PAGE_BYTES: usize = 31 * 1024;

host::operation! {
    /// One page of a provider's models, as its server told them once, as settings list them and as names say. Asks no
    /// server. Not a snapshot: restart after a refresh.
    dialect: application_service::ApplicationService,
    method: "catalog.models",
    position: 170,
    class: Background,
    needs: Initialization,
    params: ModelsPayload,
    validate: page,
    answer: ModelPage,
    errors: [
        InvalidPayload, NotInitialized, LimitExceeded, InvalidSelection, ConfigurationUnavailable, ConfigurationBusy,
        InternalError,
    ],
    example: r#"{"provider_id":"fixture","offset":0,"limit":32}"# => r#"{"entries":[{"provider_id":"fixture","model_id":"fixture-model","label":"fixture-model","available":true,"context_window":null,"max_output_tokens":null,"available_thinking_levels":["default","low","medium","high","x_high","max"]}],"next_offset":null,"state":"fresh_cache","refresh":"cache_only"}"#,
    handler: models,
}

fn page(_: &Cx<Service>, payload: ModelsPayload) -> Result<(String, usize, usize), Word> {
    let (offset, limit) = bounded(payload.offset, payload.limit)?;
    Ok((provider(payload.provider_id)?, offset, limit))
}

async fn models(
    cx: Cx<Service>,
    (id, offset, limit): (String, usize, usize),
) -> Result<Reply<ModelPage>, Word> {
    let engine = Arc::clone(cx.engine().shared_engine());
    let working = async move {
        let own = Arc::clone(&engine);
        let reading = move || {
            own.catalog(&id)
                .map(|catalog| page_of(&catalog, &id, offset, limit))
        };
        engine.run_blocking(reading).await?
    };
    Ok(cx.engine().configuration().run(working).await?.into())
}

/// As many models from `offset` on as a page holds.
fn page_of(catalog: &Catalog, provider: &str, offset: usize, limit: usize) -> ModelPage {
    let mut entries = Vec::new();
    let (mut end, mut bytes) = (offset, 0);
    while end < catalog.len() && end < offset + limit {
        // One that may not be shown has its place and no entry.
        if let Some(model) = catalog.models(end..end + 1).pop() {
            let entry = entry(provider, model);
            bytes += serde_json::to_string(&entry).map_or(MAX_PAGE_BYTES, |json| json.len() + 1);
            if bytes > MAX_PAGE_BYTES && !entries.is_empty() {
                break;
            }
            entries.push(entry);
        }
        end += 1;
    }
    ModelPage {
        entries,
        next_offset: next(end, catalog.len()),
        state: state(catalog.state()),
        refresh: Refresh::CacheOnly,
    }
}

fn entry(provider: &str, model: Model) -> ModelEntry {
    ModelEntry {
        provider_id: provider.to_owned(),
        model_id: model.id,
        label: model.label,
        available: model.available,
        context_window: model.context_window,
        max_output_tokens: model.max_output_tokens,
        available_thinking_levels: model.thinking_levels.into_iter().map(thinking).collect(),
    }
}
