//! `catalog.providers` of application-service (spec: application-service, "Provider and model catalogs").

use std::sync::Arc;

use application_service::Word;
use application_service::messages::{ProviderEntry, ProviderPage, ProvidersPayload};
use application_service::words::Refresh;
use host::{Cx, Reply};
use magi::application_service::Service;

use crate::{bounded, next};

const MAX_LABEL_BYTES: usize = 128;

host::operation! {
    /// One page of the providers that there are, by their ids. Not a snapshot.
    dialect: application_service::ApplicationService,
    method: "catalog.providers",
    position: 160,
    class: Background,
    needs: Initialization,
    params: ProvidersPayload,
    validate: page,
    answer: ProviderPage,
    errors: [
        InvalidPayload, NotInitialized, LimitExceeded, ConfigurationUnavailable, ConfigurationBusy, InternalError,
    ],
    example: r#"{"offset":0,"limit":32}"# => r#"{"entries":[{"provider_id":"anthropic","label":"anthropic"},{"provider_id":"fixture","label":"fixture"},{"provider_id":"openai-codex","label":"openai-codex"}],"next_offset":null,"refresh":"cache_only"}"#,
    handler: providers,
}

fn page(_: &Cx<Service>, payload: ProvidersPayload) -> Result<(usize, usize), Word> {
    bounded(payload.offset, payload.limit)
}

async fn providers(
    cx: Cx<Service>,
    (offset, limit): (usize, usize),
) -> Result<Reply<ProviderPage>, Word> {
    let engine = Arc::clone(cx.engine().shared_engine());
    let working = async move {
        let own = Arc::clone(&engine);
        engine.run_blocking(move || own.providers()).await?
    };
    let all = cx.engine().configuration().run(working).await?;
    let entries = all.iter().skip(offset).take(limit).map(|id| ProviderEntry {
        provider_id: id.clone(),
        // An id is ASCII.
        label: id[..id.len().min(MAX_LABEL_BYTES)].to_owned(),
    });
    Ok(ProviderPage {
        entries: entries.collect(),
        next_offset: next(offset + limit, all.len()),
        refresh: Refresh::CacheOnly,
    }
    .into())
}
