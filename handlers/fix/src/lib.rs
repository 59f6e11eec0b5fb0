//! `fix` of mty-agent: previews or persists one alternative of a diagnostic's fix. Fixes themselves live in
//! `analysis`, the session that remembers diagnostics in `toolchain`.

use std::sync::Arc;

use host::Cx;
use mty_agent::messages::{FixAnswer, FixParams, Patch};
use mty_agent::{OpFailure, Reply, shorten};
use toolchain::{FixError, FixRequest, Fixed, Session};

host::event! {
    /// The alternative that `fix` chose. Precedes the `result` line.
    dialect: mty_agent::MtyAgent,
    position: 30,
    data: Patch,
}

host::operation! {
    /// Checks a file again if it changed, takes the first diagnostic with the code that has a fix, and previews one
    /// alternative in a `patch` line, or persists it. Without such a diagnostic, fix or alternative: exit code 1.
    dialect: mty_agent::MtyAgent,
    method: "fix",
    position: 80,
    class: Background,
    needs: Nothing,
    params: FixParams,
    answer: FixAnswer,
    errors: [Failed, Protocol],
    example: r#"{"op":"fix","path":"long.mty","code":"MT0006"}"# => r#"{"applied":false,"diff_len":91}"#,
    handler: fix,
}

async fn fix(cx: Cx<Session>, params: FixParams) -> Result<Reply<FixAnswer>, OpFailure> {
    let session = Arc::clone(cx.engine());
    let request = FixRequest {
        path: params.path,
        code: params.code,
        alternative: params.alternative,
        write: params.write,
        dry_run: params.dry_run,
    };
    let fixed = cx
        .blocking(move |cancel| session.fix(&request, cancel))
        .await?;
    match fixed {
        Ok(fixed) => {
            let answer = FixAnswer {
                applied: fixed.applied,
                diff_len: fixed.diff.len(),
            };
            patch(&cx, fixed).await?;
            Ok(answer.into())
        }
        // A key is missing that only a session could make up for.
        Err(error @ FixError::NoPath) => Err(OpFailure::protocol(error.to_string())),
        Err(error) => {
            let mut answer = FixAnswer {
                applied: false,
                diff_len: 0,
            };
            if let FixError::Stale { diff, .. } | FixError::Unwritable { diff, .. } = &error {
                answer.diff_len = diff.len();
                let unapplied = Fixed {
                    diff: diff.clone(),
                    applied: false,
                    new_content: None,
                };
                patch(&cx, unapplied).await?;
            }
            Err(failure(&error).result(&answer))
        }
    }
}

async fn patch(cx: &Cx<Session>, fixed: Fixed) -> Result<(), OpFailure> {
    let patch = Patch {
        applied: fixed.applied,
        diff: fixed.diff,
        new_content: fixed.new_content,
    };
    let sent = cx.events().send(&patch).await;
    sent.map_err(|error| OpFailure::failed(error.to_string()))
}

/// Names paths as the caller wrote them, long ones shortened.
fn failure(error: &FixError) -> OpFailure {
    match error {
        FixError::Source { path, source } => OpFailure::failed(source.about(&shorten(path))),
        FixError::NoDiagnostic { code, path } => {
            OpFailure::failed(format!("no {code} in {}", shorten(path)))
        }
        FixError::NoFix { code, path } => {
            OpFailure::failed(format!("no fix for {code} in {}", shorten(path)))
        }
        FixError::Unwritable { path, why, .. } => {
            OpFailure::failed(format!("cannot write {}: {why}", shorten(path)))
        }
        FixError::NoPath | FixError::NoAlternative { .. } | FixError::Stale { .. } => {
            OpFailure::failed(error.to_string())
        }
    }
}
