//! The `check` operation and the lines it sends. What a line holds stands in `envelope`.

use std::sync::Arc;

use host::Cx;
use mty_agent::messages::{CheckParams, CheckSummary, Envelope, Stream};
use mty_agent::{OpFailure, Reply, shorten};
use output::log;
use toolchain::Session;

use crate::envelope::line;

/// Most bytes of diagnostics in one answer: a few bytes of a program can be told of in thousands.
const ANSWER_BYTES: usize = 1024 * 1024;

/// What the envelope of a line adds to it: its `kind` and the line feed.
const KIND_BYTES: usize = r#""kind":"envelope","#.len() + 1;

host::event! {
    /// One diagnostic of `check`. Precedes the `result` line.
    dialect: mty_agent::MtyAgent,
    position: 10,
    data: Envelope,
}

host::operation! {
    /// Checks a source file, or the package it is in: one `envelope` line for each diagnostic, in the order of
    /// files and positions, up to 1 MiB of them; a `log` line on `stderr` says how many more there are. Exits 1 if one of
    /// them is an error; remembers them for a `fix` without `path`.
    dialect: mty_agent::MtyAgent,
    method: "check",
    position: 10,
    class: Background,
    needs: Nothing,
    params: CheckParams,
    answer: CheckSummary,
    errors: [Failed, Protocol],
    example: r#"{"op":"check","path":"hello.mty"}"# => r#"{"diagnostics_count":0,"fix_count":0}"#,
    handler: check,
}

async fn check(cx: Cx<Session>, params: CheckParams) -> Result<Reply<CheckSummary>, OpFailure> {
    let session = Arc::clone(cx.engine());
    let path = params.path.clone();
    // A large package must not hold up the other connections of this process.
    let checked = cx
        .blocking(move |cancel| session.check(&path, cancel))
        .await?
        .map_err(|error| OpFailure::failed(error.about(&shorten(&params.path))))?;
    let events = cx.events();
    let mut sent = 0;
    let mut bytes = 0;
    for envelope in &checked.envelopes {
        let source = params.include_source.then(|| checked.snippet(envelope));
        let line = line(envelope, source.flatten());
        let text = serde_json::to_string(&line);
        let text = text.map_err(|error| OpFailure::failed(error.to_string()))?;
        bytes += KIND_BYTES + text.len();
        if bytes > ANSWER_BYTES {
            break;
        }
        events
            .send(&line)
            .await
            .map_err(|error| OpFailure::failed(error.to_string()))?;
        sent += 1;
    }
    if checked.cut {
        log(&events, Stream::Stderr, toolchain::CUT).await?;
    }
    let left_out = checked.envelopes.len() - sent;
    if left_out > 0 {
        let text = format!(
            "{left_out} of {} diagnostics are left out: an answer holds 1 MiB of them",
            checked.envelopes.len()
        );
        log(&events, Stream::Stderr, &text).await?;
    }
    let summary = CheckSummary {
        diagnostics_count: checked.envelopes.len(),
        fix_count: checked.envelopes.iter().filter(|e| e.fix.is_some()).count(),
    };
    Ok(Reply::new(summary).exit_code(i32::from(checked.has_errors())))
}
