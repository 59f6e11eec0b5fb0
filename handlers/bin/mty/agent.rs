//! `mty agent`: serves the agent protocol on the transport that the command line chooses, or runs a recording.
//! How a request is answered is no matter of this file.

use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, ValueEnum};
use host::transport::Stdio;
use mighty::{Launch, Recorder};

use crate::program::{Run, complain, misuse};

/// Serve the agent protocol: one JSON request a line, response lines, `done` last
#[derive(Args)]
#[command(after_help = "\
Examples:
  echo '{\"op\":\"explain\",\"code\":\"MT3014\"}' | mty agent

Exit codes:
  0  every request succeeded, or a server was ended by a signal (--replay: every response is the recorded one)
  1  an op failed: diagnostics, a failed test, a missing file (--replay: a response drifted)
  2  a protocol, transport or usage error (--replay: unreadable recording); outranks 1")]
pub(crate) struct Agent {
    /// Read one request from standard input, answer it and exit with its code
    #[arg(long, conflicts_with = "replay")]
    single_shot: bool,
    #[arg(long, value_enum, default_value_t = Transport::Stdio)]
    transport: Transport,
    /// http: listen on 127.0.0.1 at this port, 8889 by default
    #[arg(long)]
    port: Option<u16>,
    /// unix: the socket's path
    #[arg(long)]
    socket: Option<PathBuf>,
    /// http: host:port; unix: the socket's path. Wins over --port and --socket
    #[arg(long)]
    listen: Option<String>,
    /// http: require `Authorization: Bearer TOKEN`; ignored on the other transports. The variable
    /// MTY_AUTH_TOKEN does the same, and does not show in the list of processes
    #[arg(long, value_name = "TOKEN", value_parser = token)]
    auth_token: Option<String>,
    /// Append every request and its response to this file
    #[arg(long, conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Run a recording and compare the responses, instead of serving
    #[arg(long)]
    replay: Option<PathBuf>,
    /// --replay: let the recorded requests change files again
    #[arg(long, requires = "replay")]
    allow_writes: bool,
}

/// A token that a header can carry whole: one that it can't would lock everybody out.
fn token(text: &str) -> Result<String, &'static str> {
    if text.trim().is_empty() {
        return Err("the token is empty");
    }
    if text.trim() != text || text.contains(char::is_control) {
        return Err("the token has white space around it or control characters");
    }
    Ok(text.to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Transport {
    Stdio,
    #[cfg(feature = "http")]
    Http,
    #[cfg(feature = "unix")]
    Unix,
}

impl Run for Agent {
    const NAME: &'static str = "agent";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        #[cfg(feature = "log")]
        crate::log::start(redact::Redactor::of_process(), None);
        // A transport that fails has a code of its own.
        Ok(agent(stdio, &self).unwrap_or_else(|error| {
            complain(&format!("mty: {error:#}"));
            2
        }))
    }
}

fn agent(stdio: Stdio, args: &Agent) -> anyhow::Result<i32> {
    host::panics::log_panics_too();
    if args.transport == Transport::Stdio
        && args.replay.is_none()
        && let Some(why) = stdio.unusable()
    {
        anyhow::bail!(why);
    }
    if let Some(misplaced) = misplaced(args) {
        return Ok(misuse::<Agent>(misplaced));
    }
    let recorder = args.record.as_deref().and_then(|path| {
        Recorder::open(path, |message| complain(&format!("mty: {message}")))
            // Recording is best effort: the session is served all the same.
            .inspect_err(|error| {
                complain(&format!(
                    "mty: recording failed: {}: {error}",
                    path.display()
                ))
            })
            .ok()
            .map(Arc::new)
    });
    let launch = Launch {
        recorder,
        warn: complain,
    };
    if let Some(recording) = &args.replay {
        return mighty::replay(recording, args.allow_writes, &launch);
    }
    match args.transport {
        Transport::Stdio => mighty::serve_stdio(stdio, args.single_shot, &launch),
        #[cfg(feature = "http")]
        Transport::Http => {
            let address = args
                .listen
                .clone()
                .unwrap_or_else(|| format!("127.0.0.1:{}", args.port.unwrap_or(8889)));
            let token = match args.auth_token.clone().map_or_else(environment_token, Ok) {
                Ok(token) => Some(token).filter(|token| !token.is_empty()),
                Err(why) => return Ok(misuse::<Agent>(&format!("MTY_AUTH_TOKEN: {why}"))),
            };
            mighty::serve_http(stdio, &address, token, &launch)
        }
        #[cfg(feature = "unix")]
        Transport::Unix => match args
            .listen
            .as_ref()
            .map(PathBuf::from)
            .or_else(|| args.socket.clone())
        {
            Some(path) => mighty::serve_unix(stdio, &path, &launch),
            None => Ok(misuse::<Agent>(
                "the unix transport needs --listen PATH or --socket PATH",
            )),
        },
    }
}

/// The token of the environment; an empty one counts as none, as for every variable of the tools.
#[cfg(feature = "http")]
fn environment_token() -> Result<String, &'static str> {
    match std::env::var_os("MTY_AUTH_TOKEN") {
        Some(value) if !value.is_empty() => token(value.to_str().ok_or("the token is not UTF-8")?),
        _ => Ok(String::new()),
    }
}

/// An option that means nothing on the chosen transport. (A token does, by the protocol's own word.)
fn misplaced(args: &Agent) -> Option<&'static str> {
    let on = |name| {
        args.transport
            .to_possible_value()
            .is_some_and(|value| value.get_name() == name)
    };
    if args.single_shot && !on("stdio") {
        Some("--single-shot is for the stdio transport only")
    } else if args.port.is_some() && !on("http") {
        Some("--port is for --transport http only")
    } else if args.socket.is_some() && !on("unix") {
        Some("--socket is for --transport unix only")
    } else if args.listen.is_some() && on("stdio") {
        Some("--listen is for --transport http and --transport unix only")
    } else {
        None
    }
}
