//! Serves mty-agent over every transport. One session of the toolchain per connection.

use std::sync::Arc;

use host::serve::sequential::{serve_lines, serve_once};
use host::transport::{Input, Output, Stdio};
use host::{Connection, Engines, MissingEngine, Registry, Server, Workers};
use mty_agent::Factory;
pub use mty_agent::RULES;
pub use mty_agent::record::Recorder;
use mty_agent::replay::{self, Sessions};
use mty_agent::{EXIT_PROTOCOL, MtyAgent};
use toolchain::Session;

const SERVER: Server = Server {
    name: "mty",
    version: env!("CARGO_PKG_VERSION"),
    transports: &["stdio", "http", "unix"],
};

/// Makes a connection of `session`.
fn connect(
    registry: Arc<Registry>,
    session: Session,
    workers: Workers,
) -> Result<Arc<Connection>, MissingEngine> {
    let engines = Engines::default().with(Arc::new(session));
    Connection::new::<MtyAgent>(registry, SERVER, engines, workers)
}

/// The only connection of this process.
fn connection(session: Session) -> anyhow::Result<Arc<Connection>> {
    Ok(connect(
        Arc::new(Registry::collect()?),
        session,
        Workers::new(&RULES),
    )?)
}

/// Makes connections with a fresh `session` each, which share what bounds the process. A wrongly composed binary
/// is told before the first.
fn factory(session: fn() -> Session) -> anyhow::Result<Box<Factory>> {
    let (registry, workers) = (Arc::new(Registry::collect()?), Workers::new(&RULES));
    connect(Arc::clone(&registry), session(), workers.clone())?;
    Ok(Box::new(move || {
        connect(Arc::clone(&registry), session(), workers.clone())
            .unwrap_or_else(|missing| unreachable!("checked at the start: {missing}"))
    }))
}

/// What the command line decides for every transport.
pub struct Launch {
    pub recorder: Option<Arc<Recorder>>,
    /// Prints a line for a person.
    pub warn: fn(&str),
}

/// Serves the standard streams, one request or a line each. Gives the process's exit status.
pub fn serve_stdio(stdio: Stdio, single_shot: bool, launch: &Launch) -> anyhow::Result<i32> {
    let connection = connection(Session::new())?;
    let runtime = host::resources::runtime()?;
    let recorder = launch.recorder.as_deref();
    let served = runtime.block_on(async {
        let mut input = Input::new(stdio.input)?;
        let mut output = Output::new(stdio.output)?;
        let served = if single_shot {
            serve_once::<MtyAgent, _, _>(&connection, &mut input, &mut output, recorder).await
        } else {
            serve_lines::<MtyAgent, _, _>(&connection, &mut input, &mut output, recorder).await
        };
        Ok::<_, std::io::Error>(served)
    });
    // A worker that is deep in a file must not hold up the exit.
    runtime.shutdown_background();
    Ok(served?.unwrap_or_else(|broken| {
        (launch.warn)(&format!("mty: {broken}"));
        EXIT_PROTOCOL
    }))
}

/// Serves HTTP on `address` until a signal. A failed bind is an `error` line on the standard output.
#[cfg(feature = "http")]
pub fn serve_http(
    stdio: Stdio,
    address: &str,
    token: Option<String>,
    launch: &Launch,
) -> anyhow::Result<i32> {
    use host::signals::terminated;
    use mty_agent::http;
    use mty_agent::shorten;
    let factory = factory(Session::new)?;
    let runtime = host::resources::runtime()?;
    let served = runtime.block_on(async {
        // Before anybody can see that the server is there, and end it.
        let terminated = terminated()?;
        let listener = match tokio::net::TcpListener::bind(address).await {
            Ok(listener) => listener,
            Err(error) => {
                let message = format!("cannot listen on {}: {error}", shorten(address));
                return refuse(stdio, &message);
            }
        };
        let bound = listener.local_addr()?;
        (launch.warn)(&format!("listening on http://{bound}"));
        if token.is_none() && !bound.ip().is_loopback() {
            (launch.warn)("mty: warning: listening beyond loopback without --auth-token; anyone who reaches this port can use it");
        }
        let options = http::Options { token, recorder: launch.recorder.clone(), version: env!("CARGO_PKG_VERSION") };
        http::serve(listener, options, factory, terminated).await?;
        Ok(0)
    });
    runtime.shutdown_background();
    served
}

/// Serves a Unix socket until a signal; the socket file goes with the server.
#[cfg(feature = "unix")]
pub fn serve_unix(stdio: Stdio, path: &std::path::Path, launch: &Launch) -> anyhow::Result<i32> {
    use host::signals::terminated;
    use host::transport::unix::Socket;
    use mty_agent::shorten;
    let factory = factory(Session::new)?;
    let runtime = host::resources::runtime()?;
    let served = runtime.block_on(async {
        let terminated = terminated()?;
        let socket = match Socket::bind(path) {
            Ok(socket) => socket,
            Err(error) => {
                let path = path.display().to_string();
                let message = format!("cannot listen on {}: {error}", shorten(&path));
                return refuse(stdio, &message);
            }
        };
        (launch.warn)(&format!("listening on {}", path.display()));
        let recorder = launch.recorder.clone();
        mty_agent::unix::serve(&socket, &*factory, recorder, terminated).await;
        Ok(0)
    });
    runtime.shutdown_background();
    served
}

/// An `error` line for whoever started the server, and the exit status of a transport failure.
#[cfg(any(feature = "http", feature = "unix"))]
fn refuse(stdio: Stdio, message: &str) -> anyhow::Result<i32> {
    let mut line = Vec::new();
    mty_agent::push_error(&mut line, message);
    Output::print(stdio.output, &line)?;
    Ok(EXIT_PROTOCOL)
}

/// Replays a recording. Its requests change files only where `writes` says so: a recording may be somebody
/// else's, and an old one would undo what was written since. Gives the exit status: 0 all equal, 1 drift,
/// 2 unreadable.
pub fn replay(path: &std::path::Path, writes: bool, launch: &Launch) -> anyhow::Result<i32> {
    let fresh = factory(|| Session::new().without_writes())?;
    let only = connection(Session::new())?;
    let sessions = match writes {
        true => Sessions::One(&only),
        false => Sessions::Any(&fresh),
    };
    let runtime = host::resources::runtime()?;
    let replayed = runtime.block_on(replay::replay(path, sessions));
    runtime.shutdown_background();
    let replayed = match replayed {
        Ok(replayed) => replayed,
        Err(error) => {
            (launch.warn)(&format!(
                "mty: replay of {} failed: {error}",
                path.display()
            ));
            return Ok(EXIT_PROTOCOL);
        }
    };
    for drift in &replayed.drifted {
        (launch.warn)(&format!("drift at line {}: {}", drift.line, drift.summary));
    }
    let drifts = replayed.drifted.len();
    (launch.warn)(&match replayed.pairs {
        0 => "nothing was replayed: the recording is empty".to_owned(),
        pairs => format!("{drifts} of {pairs} responses drifted"),
    });
    Ok(i32::from(drifts > 0))
}

/// The text of a diagnostic code, or what to say instead and the exit status to say it with.
#[cfg(feature = "explain")]
pub fn explain(code: &str) -> Result<&'static str, (String, i32)> {
    toolchain::explain(code)
        .map(|found| found.text)
        .map_err(|error| match error {
            toolchain::ExplainError::Unknown { .. } => (error.to_string(), 1),
            toolchain::ExplainError::NotACode(_) => (error.to_string(), 2),
        })
}
