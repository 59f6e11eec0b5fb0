//! `initialize`, `status` and `capabilities` of application-service (spec: application-service,
//! "Initialization and negotiation", "Operations").

use std::borrow::Cow;

use application_service::messages::{
    ActivityFlags, Capabilities, InitializePayload, Initialized, NoPayload, ServiceStatus,
};
use application_service::words::ServiceState;
use application_service::{NAME_BYTES, NEGOTIATION_ITEMS, VERSION, Word};
use host::{Cx, Reply, negotiate};
use magi::application_service::{Service, word};

host::operation! {
    /// Negotiates version and required operations; repeatable, and a failure changes nothing.
    dialect: application_service::ApplicationService,
    method: "initialize",
    position: 10,
    class: Inline,
    needs: Nothing,
    params: InitializePayload,
    answer: Initialized,
    errors: [InvalidPayload, LimitExceeded, UnsupportedVersion, UnsupportedCapability],
    example: r#"{"supported_protocol_versions":[1],"requested_capabilities":[]}"# => r#"{"protocol_version":1,"server_name":"magi-code","server_version":"…","limits":{"max_record_bytes":65536,"…":"…"},"capabilities":{"protocol_versions":[1],"operations":["initialize","status","capabilities","…"],"events":["…"],"transports":["stdio"],"limits":{"max_record_bytes":65536,"…":"…"},"activity":{"…":"…"}}}"#,
    handler: initialize,
}

fn initialize(cx: Cx<()>, payload: InitializePayload) -> Result<Reply<Initialized>, Word> {
    let versions = payload.supported_protocol_versions;
    let requested = payload.requested_capabilities;
    if versions.is_empty()
        || versions.len() > NEGOTIATION_ITEMS
        || requested.len() > NEGOTIATION_ITEMS
    {
        return Err(Word::LimitExceeded);
    }
    if requested.iter().any(|name| name.len() > NAME_BYTES) {
        return Err(Word::LimitExceeded);
    }
    if !versions.contains(&VERSION) {
        return Err(Word::UnsupportedVersion);
    }
    if negotiate::missing(&requested, cx.operations()).is_some() {
        return Err(Word::UnsupportedCapability);
    }
    cx.gate().open();
    let server = cx.server();
    Ok(Initialized {
        protocol_version: VERSION,
        server_name: server.name.into(),
        server_version: server.version.into(),
        limits: cx.rules().limits_object(),
        capabilities: discover(&cx),
    }
    .into())
}

host::operation! {
    /// Tells that the service runs and whether the selected provider could authenticate now. Settings
    /// and environment are read anew; nothing is refreshed and nobody is asked.
    dialect: application_service::ApplicationService,
    method: "status",
    position: 20,
    class: Background,
    needs: Initialization,
    params: NoPayload,
    answer: ServiceStatus,
    errors: [InvalidPayload, NotInitialized, InternalError],
    example: "{}" => r#"{"service":"ready","provider_auth_ready":true}"#,
    handler: status,
}

async fn status(cx: Cx<Service>, _: NoPayload) -> Result<Reply<ServiceStatus>, Word> {
    // A few small reads; a thread for them would cost more than they do.
    match cx.engine().engine().provider_ready() {
        Ok(ready) => Ok(ServiceStatus {
            service: ServiceState::Ready,
            provider_auth_ready: ready,
        }
        .into()),
        Err(error) => Err(word(error)),
    }
}

host::operation! {
    /// Tells everything that is served: operations, events, transports, limits, activity flags.
    dialect: application_service::ApplicationService,
    method: "capabilities",
    position: 30,
    class: Inline,
    needs: Initialization,
    params: NoPayload,
    answer: Capabilities,
    errors: [InvalidPayload, NotInitialized],
    example: "{}" => r#"{"protocol_versions":[1],"operations":["initialize","status","capabilities","…"],"events":["…"],"transports":["stdio"],"limits":{"max_record_bytes":65536,"…":"…"},"activity":{"…":"…"}}"#,
    handler: capabilities,
}

fn capabilities(cx: Cx<()>, _: NoPayload) -> Result<Reply<Capabilities>, Word> {
    Ok(discover(&cx).into())
}

fn names(names: &[&'static str]) -> Vec<Cow<'static, str>> {
    names.iter().copied().map(Cow::from).collect()
}

fn discover(cx: &Cx<()>) -> Capabilities {
    let events = cx.event_names();
    let activity = events.contains(&"turn.activity");
    Capabilities {
        protocol_versions: vec![VERSION.into()],
        operations: names(cx.operations()),
        events: names(events),
        transports: names(cx.server().transports),
        limits: cx.rules().limits_object(),
        activity: Some(ActivityFlags {
            events: activity,
            approvals: false,
            steering: false,
            mcp_server_lifecycle: false,
            mcp_tool_activity: activity,
            subagents: activity,
            raw_tool_output: false,
            activity_replay: false,
            max_summary_bytes: 2048,
        }),
    }
}
