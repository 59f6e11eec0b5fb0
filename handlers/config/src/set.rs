//! `config.set` of application-service (spec: application-service, "Persist a scoped change").

use std::sync::Arc;

use agent::Change;
use application_service::Word;
use application_service::messages::{ConfigPayload, ConfigStored, is_selection_id};
use application_service::words::Scope;
use host::{Cx, Reply};
use magi::application_service::{Service, thinking_level};

use crate::effective;

host::operation! {
    /// Saves a selection, a thinking level or fast mode for this directory's project or for all, and tells what that comes
    /// to: another layer may stand above it. All of it, or nothing.
    dialect: application_service::ApplicationService,
    method: "config.set",
    position: 200,
    class: Background,
    needs: Initialization,
    params: ConfigPayload,
    validate: change,
    answer: ConfigStored,
    errors: [
        InvalidPayload, NotInitialized, ConfigurationUnavailable, ConfigurationBusy, SettingsWriteFailed, InvalidScope,
        InvalidSelection, UnsupportedReasoning, CatalogUnavailable, CatalogStale, InternalError,
    ],
    example: r#"{"scope":"global","fast":true}"# => r#"{"persisted":true,"scope":"global","effective":{"selection":{"provider_id":"fixture","model_id":"fixture-model"},"thinking_level":"default","configured_thinking_level":"default","available_thinking_levels":["default","low","medium","high","x_high","max"],"fast":true,"precedence":["environment","project","global"],"writable_scopes":["global","project"],"global_only":["fast"]}}"#,
    handler: set,
}

/// What the payload asks for, as far as it can be judged without settings.
fn change(_: &Cx<Service>, payload: ConfigPayload) -> Result<(Scope, Change), Word> {
    let ConfigPayload {
        scope,
        selection,
        thinking_level: level,
        fast,
    } = payload;
    if selection.is_none() && level.is_none() && fast.is_none() {
        return Err(Word::InvalidPayload);
    }
    let scope = match scope {
        Some(Scope::Project) if fast.is_some() => return Err(Word::InvalidScope),
        scope => scope.ok_or(Word::InvalidScope)?,
    };
    let selection = selection.map(|selection| (selection.provider_id, selection.model_id));
    if let Some((provider, model)) = &selection
        && !(is_selection_id(provider) && is_selection_id(model))
    {
        return Err(Word::InvalidSelection);
    }
    let change = Change {
        selection,
        thinking_level: level.map(thinking_level),
        fast,
    };
    Ok((scope, change))
}

async fn set(
    cx: Cx<Service>,
    (scope, change): (Scope, Change),
) -> Result<Reply<ConfigStored>, Word> {
    let service = Arc::clone(cx.engine());
    let working = async move {
        let (workspace, engine) = (service.known_workspace().await, service.shared_engine());
        let own = Arc::clone(engine);
        let place = match scope {
            Scope::Global => agent::Scope::Global,
            Scope::Project => agent::Scope::Project,
        };
        let changing = move || own.configure(workspace.as_deref(), place, &change);
        engine.run_blocking(changing).await?
    };
    let configuration = cx.engine().configuration().run(working).await?;
    Ok(ConfigStored {
        persisted: true,
        scope,
        effective: effective(configuration),
    }
    .into())
}
