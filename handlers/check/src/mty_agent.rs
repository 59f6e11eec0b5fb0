//! The `check` operation and the lines it sends. What a line holds stands in `envelope`.

use std::sync::Arc;

use host::dialect::mty_agent::{OpFailure, shorten};
use host::{Cx, Reply};
use output::{Stream, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolchain::Session;

use crate::envelope::Envelope;

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// A source file. Inside a package all of its `src` is checked.
    path: String,
    /// Embed the line of each diagnostic and one on either side.
    #[serde(default)]
    include_source: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Summary {
    /// All diagnostics, warnings too.
    diagnostics_count: usize,
    /// Those with a fix.
    fix_count: usize,
}

host::event! {
    /// One diagnostic of `check`. Precedes the `result` line.
    dialect: MTY_AGENT,
    name: "envelope",
    position: 10,
    delivery: MustArrive,
    data: Envelope,
}

host::operation! {
    /// Checks a source file, or the package it is in: one `envelope` line for each diagnostic, in the order of
    /// files and positions; a `log` line on `stderr` says so if there were too many to send. Exits 1 if one of
    /// them is an error; remembers them for a `fix` without `path`.
    dialect: MTY_AGENT,
    method: "check",
    position: 10,
    class: Background,
    needs: Nothing,
    params: Params,
    answer: Summary,
    errors: [Failed, Protocol],
    example: r#"{"op":"check","path":"hello.mty"}"# => r#"{"diagnostics_count":0,"fix_count":0}"#,
    handler: check,
}

async fn check(cx: Cx<Session>, params: Params) -> Result<Reply<Summary>, OpFailure> {
    let session = Arc::clone(cx.engine());
    let path = params.path.clone();
    // A large package must not hold up the other connections of this process.
    let checked = tokio::task::spawn_blocking(move || session.check(&path)).await;
    let checked = checked
        .map_err(|_| OpFailure::failed("internal error: the check failed unexpectedly"))?
        .map_err(|error| OpFailure::failed(error.about(&shorten(&params.path))))?;
    let events = cx.events();
    for envelope in &checked.envelopes {
        events
            .send(&Envelope::new(envelope, params.include_source))
            .await
            .map_err(|error| OpFailure::failed(error.to_string()))?;
    }
    if checked.cut {
        log(&events, Stream::Stderr, toolchain::CUT).await?;
    }
    let summary = Summary {
        diagnostics_count: checked.envelopes.len(),
        fix_count: checked.envelopes.iter().filter(|e| e.fix.is_some()).count(),
    };
    Ok(Reply::new(summary).exit_code(i32::from(checked.has_errors())))
}
