//! Serves mty-agent over every transport. One session of the toolchain per connection.

use std::sync::Arc;

use host::dialect::mty_agent::{EXIT_PROTOCOL, RULES};
use host::serve::sequential::{serve_lines, serve_once};
use host::transport::{Input, Output, Stdio};
use host::{Connection, Engines, Registry, Server};
use toolchain::Session;

const SERVER: Server = Server { name: "mty", version: crate::VERSION, transports: &["stdio", "http", "unix"] };

/// Makes a connection with a fresh session.
#[must_use]
pub fn connection(registry: &Arc<Registry>) -> Arc<Connection> {
    let engines = Engines::default().with(Arc::new(Session::new()));
    Connection::new(Arc::clone(registry), SERVER, &RULES, engines)
}

/// Serves the standard streams, one request or a line each. Gives the process's exit status.
pub fn serve_stdio(stdio: Stdio, single_shot: bool) -> anyhow::Result<i32> {
    let connection = connection(&crate::registry()?);
    let runtime = crate::runtime()?;
    let served = runtime.block_on(async {
        let mut input = Input::new(stdio.input)?;
        let mut output = Output::new(stdio.output)?;
        if single_shot {
            serve_once(&connection, &mut input, &mut output).await
        } else {
            serve_lines(&connection, &mut input, &mut output).await
        }
    });
    // A worker that is deep in a file must not hold up the exit.
    runtime.shutdown_background();
    Ok(served.unwrap_or(EXIT_PROTOCOL))
}

/// The text of a diagnostic code, or what to say instead and the exit status to say it with.
#[cfg(feature = "explain")]
pub fn explain(code: &str) -> Result<&'static str, (String, i32)> {
    toolchain::explain(code).map(|found| found.text).map_err(|error| match error {
        toolchain::ExplainError::Unknown { .. } => (error.to_string(), 1),
        toolchain::ExplainError::NotACode(_) => (error.to_string(), 2),
    })
}
