//! `initialize`, `status` and `shutdown` of local-agent (spec: local-agent, "Implemented operations").

use std::borrow::Cow;

use agent::ErrorKind;
use host::vocabulary::Word as _;
use host::{Cx, Reply, negotiate};
use local_agent::messages::{
    InitializeParams, Initialized, Limits, NoParams, ServerStatus, Stopping,
};
use local_agent::words::{Readiness, ShutdownState, State};
use local_agent::{NAME_BYTES, REQUIRED_CAPABILITIES, Word};
use magi::local_agent::{Agent, Phase, Status, startup_word, word};

host::operation! {
    /// Negotiates required capabilities and starts the server. Answers after readiness or failure;
    /// one initialization is admitted in the life of a child.
    dialect: local_agent::LocalAgent,
    method: "initialize",
    position: 10,
    class: Background,
    needs: Nothing,
    before: once,
    params: InitializeParams,
    validate: names,
    answer: Initialized,
    errors: [
        InvalidParams, UnsupportedCapability, AlreadyInitialized, ConfigurationInvalid,
        ProfileInvalid, ProviderUnavailable, McpUnavailable, StartupCancelled, StartupFailed,
    ],
    example: r#"{"required_capabilities":["status","shutdown"]}"# => r#"{"capabilities":["initialize","status","shutdown","…"],"limits":{"frame_bytes":65536,"…":"…"},"status":{"state":"idle","readiness":"ready","provider":"fixture","model":"fixture-model","context_id":"<context_id>","session_id":null,"run_id":null}}"#,
    handler: initialize,
}

/// A second initialization is refused as such, whatever it requires.
fn once(cx: &Cx<Agent>) -> Result<(), Word> {
    match cx.engine().status().phase {
        Phase::Uninitialized => Ok(()),
        Phase::Starting | Phase::Ready | Phase::Failed(_) => Err(Word::AlreadyInitialized),
    }
}

fn names(_: &Cx<Agent>, params: InitializeParams) -> Result<Vec<Cow<'static, str>>, Word> {
    let names = params.required_capabilities;
    let valid = names.len() <= REQUIRED_CAPABILITIES
        && names
            .iter()
            .all(|name| negotiate::is_name(name, NAME_BYTES));
    valid.then_some(names).ok_or(Word::InvalidParams)
}

async fn initialize(
    cx: Cx<Agent>,
    required: Vec<Cow<'static, str>>,
) -> Result<Reply<Initialized>, Word> {
    let capabilities = cx.operations();
    if negotiate::missing(&required, capabilities).is_some() {
        return Err(Word::UnsupportedCapability);
    }
    match cx.engine().initialize(cx.cancellation()).await {
        Ok(status) => {
            cx.gate().open();
            Ok(Initialized {
                capabilities: capabilities.iter().copied().map(Cow::from).collect(),
                limits: Limits::VERSION_1,
                status: project(status),
            }
            .into())
        }
        Err(error) => {
            if let ErrorKind::Startup(failed) = error.kind() {
                // Everything that needs initialization is refused with the same code from now on.
                cx.gate().close(startup_word(failed).code());
            }
            Err(word(error))
        }
    }
}

host::operation! {
    /// Tells readiness, selection and identity. Never asks a provider.
    dialect: local_agent::LocalAgent,
    method: "status",
    position: 20,
    class: Inline,
    needs: Nothing,
    params: NoParams,
    answer: ServerStatus,
    errors: [InvalidParams, NotInitialized],
    example: "{}" => r#"{"state":"idle","readiness":"ready","provider":"fixture","model":"fixture-model","context_id":"<context_id>","session_id":null,"run_id":null}"#,
    handler: status,
}

fn status(cx: Cx<Agent>, _: NoParams) -> Result<Reply<ServerStatus>, Word> {
    match cx.engine().status() {
        Status {
            phase: Phase::Uninitialized,
            ..
        } => Err(Word::NotInitialized),
        status => Ok(project(status).into()),
    }
}

host::operation! {
    /// Admits no later input, cancels what runs, drains output and ends the child. Allowed at any time.
    dialect: local_agent::LocalAgent,
    method: "shutdown",
    position: 30,
    class: Inline,
    needs: Nothing,
    params: NoParams,
    answer: Stopping,
    errors: [InvalidParams],
    example: "{}" => r#"{"state":"stopping"}"#,
    handler: shutdown,
}

fn shutdown(_: Cx<()>, _: NoParams) -> Result<Reply<Stopping>, Word> {
    Ok(Reply::new(Stopping {
        state: ShutdownState::Stopping,
    })
    .closing())
}

fn project(status: Status) -> ServerStatus {
    let (state, readiness) = match status.phase {
        Phase::Uninitialized | Phase::Starting => (State::Starting, Readiness::Initializing),
        Phase::Ready if status.run_id.is_some() => (State::Running, Readiness::Ready),
        Phase::Ready => (State::Idle, Readiness::Ready),
        Phase::Failed(error) => {
            // Every startup error has its readiness; another word would be none of a client's.
            let readiness = Readiness::from_word(startup_word(error).code());
            (State::Failed, readiness.unwrap_or(Readiness::StartupFailed))
        }
    };
    ServerStatus {
        state,
        readiness,
        provider: status.provider,
        model: status.model,
        context_id: status.context_id,
        session_id: status.session_id,
        run_id: status.run_id,
    }
}
