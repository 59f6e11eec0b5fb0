//! `catalog.refresh` of application-service (spec: application-service, "Provider and model catalogs").

use std::sync::Arc;

use agent::{CatalogState as Known, Refreshed};
use application_service::Word;
use application_service::messages::{CatalogRefreshed, ProviderPayload};
use host::{Cx, Reply};
use magi::application_service::{Service, word};

use crate::{provider, state};

host::operation! {
    /// Asks a provider's server for its models, which changes no setting. A server that does not tell them leaves those
    /// from before: where they are old the state says so, else it is a failure.
    dialect: application_service::ApplicationService,
    method: "catalog.refresh",
    position: 180,
    class: Background,
    needs: Initialization,
    params: ProviderPayload,
    validate: named,
    answer: CatalogRefreshed,
    errors: [
        InvalidPayload, NotInitialized, InvalidSelection, ConfigurationUnavailable, ConfigurationBusy,
        CatalogRefreshFailed, InternalError,
    ],
    example: r#"{"provider_id":"fixture"}"# => r#"{"provider_id":"fixture","state":"fresh_cache"}"#,
    handler: refresh,
}

fn named(_: &Cx<Service>, payload: ProviderPayload) -> Result<String, Word> {
    provider(payload.provider_id)
}

async fn refresh(cx: Cx<Service>, id: String) -> Result<Reply<CatalogRefreshed>, Word> {
    let engine = Arc::clone(cx.engine().shared_engine());
    let asked = id.clone();
    let working = async move { engine.refresh_catalog(asked).await };
    let refreshed = cx.engine().configuration().run(working).await?;
    Ok(CatalogRefreshed {
        provider_id: id,
        state: state(told(refreshed)?),
    }
    .into())
}

/// A state that does not tell of a failure must not hide it.
fn told(refreshed: Refreshed) -> Result<Known, Word> {
    match (refreshed.failure, refreshed.state) {
        (None, state) => Ok(state),
        (Some(failure), Known::Stale) => {
            failure.log("stale");
            Ok(Known::Stale)
        }
        (Some(failure), _) => Err(word(failure)),
    }
}
