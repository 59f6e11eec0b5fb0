//! `config.get` of application-service (spec: application-service, "Read effective settings").

use std::sync::Arc;

use application_service::Word;
use application_service::messages::{Effective, NoPayload};
use host::{Cx, Reply};
use magi::application_service::Service;

use crate::effective;

host::operation! {
    /// Tells what is selected, as settings and environment stand now: not what the settings hold, and whether the model can
    /// answer is not looked at.
    dialect: application_service::ApplicationService,
    method: "config.get",
    position: 190,
    class: Background,
    needs: Initialization,
    params: NoPayload,
    answer: Effective,
    errors: [InvalidPayload, NotInitialized, ConfigurationUnavailable, ConfigurationBusy, InternalError],
    example: "{}" => r#"{"selection":{"provider_id":"fixture","model_id":"fixture-model"},"thinking_level":"default","configured_thinking_level":"default","available_thinking_levels":["default","low","medium","high","x_high","max"],"fast":false,"precedence":["environment","project","global"],"writable_scopes":["global","project"],"global_only":["fast"]}"#,
    handler: get,
}

async fn get(cx: Cx<Service>, _: NoPayload) -> Result<Reply<Effective>, Word> {
    let service = Arc::clone(cx.engine());
    let working = async move {
        let (workspace, engine) = (service.known_workspace().await, service.shared_engine());
        let own = Arc::clone(engine);
        let reading = move || own.configuration(workspace.as_deref());
        engine.run_blocking(reading).await?
    };
    let configuration = cx.engine().configuration().run(working).await?;
    Ok(effective(configuration).into())
}
