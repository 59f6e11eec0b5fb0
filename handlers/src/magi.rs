//! Serves the two magi dialects on the standard streams. One engine per process.

use std::sync::Arc;

use agent::Environment;
pub use agent::Redactor;
use host::serve::duplex::{Ended, serve};
#[cfg(feature = "local-agent")]
use host::transport::Endpoint;
use host::transport::{Input, Output, Stdio};
use host::{Codec, Connection, Engines, Registry, Server, Workers};
use tokio::runtime::Runtime;

const SERVER: Server = Server {
    name: "magi-code",
    version: env!("CARGO_PKG_VERSION"),
    transports: &["stdio"],
};

/// What this process does instead of anything else if another one of this program started it: a guard of a tool's
/// command, or a snippet. It returns the exit status.
/// Asked of the bare arguments: no command line of a person leads there, and none describes it.
#[must_use]
pub fn helper() -> Option<fn(Stdio) -> i32> {
    let role = std::env::args_os().nth(1)?;
    if role == agent::guard::SUBCOMMAND {
        return Some(|stdio| agent::guard::run(stdio.input, stdio.output));
    }
    #[cfg(feature = "code-mode")]
    if role == agent::snippet::SUBCOMMAND {
        return Some(|stdio| agent::snippet::run(stdio.input));
    }
    None
}

/// Why a launch was refused before anything happened.
#[derive(Debug)]
pub struct Refused(pub &'static str);

/// What a person's command wants of the child that serves it, beyond what the protocol can say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wishes {
    /// Sessions go on with the selection of the start, whatever they were saved with.
    pub insists: bool,
    /// Most responses of a turn.
    pub max_responses: Option<u32>,
}

/// Serves local-agent. Both endpoints must be pipes; nothing is touched when they are not.
#[cfg(feature = "local-agent")]
pub fn serve_local_agent(
    stdio: Stdio,
    redactor: Redactor,
    wishes: Wishes,
) -> anyhow::Result<Result<i32, Refused>> {
    let endpoints = (stdio.input_endpoint(), stdio.output_endpoint());
    if endpoints != (Endpoint::Pipe, Endpoint::Pipe) || stdio.unusable().is_some() {
        return Ok(Err(Refused(
            "serve --stdio needs pipes as standard input and output",
        )));
    }
    let runtime = host::resources::runtime()?;
    let environment = Environment {
        insists: wishes.insists,
        redactor: Some(redactor),
        ..Environment::of_process()?
    };
    let agent = ::magi::local_agent::Agent::bounded(environment, wishes.max_responses);
    let close = {
        let agent = Arc::clone(&agent);
        async move { agent.close().await }
    };
    let dialect = local_agent::LocalAgent::new();
    let ended = run(runtime, stdio, &agent, close, agent.close(), dialect)?;
    Ok(Ok(i32::from(ended != Ended::Drained)))
}

/// Serves application-service. Nothing is touched when the standard descriptors won't do.
#[cfg(feature = "application-service")]
pub fn serve_application_service(
    stdio: Stdio,
    redactor: Redactor,
) -> anyhow::Result<Result<i32, Refused>> {
    if let Some(why) = stdio.unusable() {
        return Ok(Err(Refused(why)));
    }
    let runtime = host::resources::runtime()?;
    let service = ::magi::application_service::Service::start(Environment {
        redactor: Some(redactor.clone()),
        ..Environment::of_process()?
    });
    let service = service
        .map_err(|error| anyhow::anyhow!("{}", redactor.redact(&error.reason()).into_string()))?;
    let close = {
        let service = Arc::clone(&service);
        async move { service.close().await }
    };
    let codec = application_service::ApplicationService::default();
    match run(runtime, stdio, &service, close, service.cleanup(), codec)? {
        Ended::Drained => Ok(Ok(0)),
        Ended::Failed => {
            anyhow::bail!("standard output failed, or was not read in time; the service stops")
        }
        Ended::Unencodable => {
            anyhow::bail!("an outbound message passed a protocol limit; the service stops")
        }
    }
}

/// `close` ends the engine while output still drains, `cleanup` when it no longer does.
fn run<D, E>(
    runtime: Runtime,
    stdio: Stdio,
    engine: &Arc<E>,
    close: impl Future<Output = ()> + Send + 'static,
    cleanup: impl Future<Output = ()>,
    dialect: D,
) -> anyhow::Result<Ended>
where
    D: Codec,
    E: Send + Sync + 'static,
{
    // A client that does not read the standard error must not hold anything up, and local-agent has no use for it.
    host::panics::log_panics();
    let engines = Engines::default().with(Arc::clone(engine));
    let workers = Workers::new(D::RULES);
    let connection =
        Connection::new::<D>(Arc::new(Registry::collect()?), SERVER, engines, workers)?;
    let ended = runtime.block_on(async {
        let input = Input::new(stdio.input)?;
        let output = Output::new(stdio.output)?;
        // When the connection closes, for whatever reason, what runs is cancelled while output drains.
        let closing = connection.cancel.clone();
        tokio::spawn(async move {
            closing.cancelled().await;
            close.await;
        });
        serve(dialect, connection, input, output, cleanup).await
    });
    // Slow teardown is left to process exit.
    runtime.shutdown_background();
    Ok(ended?)
}
