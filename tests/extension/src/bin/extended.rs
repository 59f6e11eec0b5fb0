//! A third party's server: the operations of this crate beside the families of this repository.
//! Only the launch stands here; how each dialect is served is the composition root's.

use std::process::ExitCode;
use std::sync::Arc;

// A crate that is only named in Cargo.toml registers nothing: the linker would drop it.
use extension as _;
use handlers as _;

use extension::tiny::Tiny;
use handlers::magi::{Redactor, Refused, Wishes};
use host::serve::duplex::{self, Ended};
use host::transport::{Input, Output, Stdio};
use host::{Connection, Dialect, Engines, Registry, Server, Workers};
use mighty::Launch;

fn main() -> ExitCode {
    // Before anything else: the standard descriptors belong to the protocol.
    let Ok(stdio) = Stdio::claim() else {
        return ExitCode::from(2);
    };
    let status = serve(stdio).unwrap_or_else(|error| {
        complain(&format!("extended: {error:#}"));
        1
    });
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

fn serve(stdio: Stdio) -> anyhow::Result<i32> {
    match std::env::args().nth(1).as_deref() {
        Some("local-agent") => {
            handlers::magi::serve_local_agent(stdio, Redactor::of_process(), Wishes::default())
                .map(launched)
        }
        Some("application-service") => {
            handlers::magi::serve_application_service(stdio, Redactor::of_process()).map(launched)
        }
        Some("mty-agent") => {
            let launch = Launch {
                recorder: None,
                warn: complain,
            };
            mighty::serve_stdio(stdio, false, &launch)
        }
        Some("tiny") => tiny(stdio),
        _ => {
            complain(
                "extended: name a dialect: local-agent, application-service, mty-agent or tiny",
            );
            Ok(2)
        }
    }
}

#[allow(clippy::print_stderr)]
fn complain(message: &str) {
    eprintln!("{message}");
}

/// The exit status; an invalid launch says why.
fn launched(ended: Result<i32, Refused>) -> i32 {
    ended.unwrap_or_else(|Refused(reason)| {
        complain(&format!("extended: {reason}"));
        2
    })
}

/// A dialect of this crate's own, over the host's loop.
fn tiny(stdio: Stdio) -> anyhow::Result<i32> {
    const SERVER: Server = Server {
        name: "extended",
        version: "0",
        transports: &["stdio"],
    };
    let workers = Workers::new(Tiny::RULES);
    let connection = Connection::new::<Tiny>(
        Arc::new(Registry::collect()?),
        SERVER,
        Engines::default(),
        workers,
    )?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let (input, output) = (Input::new(stdio.input)?, Output::new(stdio.output)?);
        duplex::serve(Tiny, connection, input, output, async {}).await
    })?;
    Ok(i32::from(ended != Ended::Drained))
}
