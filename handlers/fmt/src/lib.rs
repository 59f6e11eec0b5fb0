//! `fmt` of mty-agent: the canonical form of one file. Layout lives in `syntax`, files in `toolchain`.

use std::sync::Arc;

use host::Cx;
use mty_agent::{OpFailure, Reply, shorten};
use output::{Stream, log};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolchain::{Formatted, Session};

#[derive(Debug, Deserialize, JsonSchema)]
struct Params {
    /// A `*.mty` file.
    path: String,
    /// Only say whether the file would change.
    #[serde(default)]
    check: bool,
}

#[derive(Debug, Serialize, JsonSchema)]
struct Answer {
    /// With `check` whether the file would change, else whether it was changed.
    would_reformat: bool,
}

host::operation! {
    /// Brings a file into canonical form, in place and atomically. With `check` nothing is written, and the exit
    /// code is 1 if the file would change. A file with syntax errors stays as it is: `log` lines on `stderr`
    /// name them.
    dialect: mty_agent::MtyAgent,
    method: "fmt",
    position: 70,
    class: Background,
    needs: Nothing,
    params: Params,
    answer: Answer,
    errors: [Failed, Protocol],
    example: r#"{"op":"fmt","path":"hello.mty","check":true}"# => r#"{"would_reformat":false}"#,
    handler: fmt,
}

async fn fmt(cx: Cx<Session>, params: Params) -> Result<Reply<Answer>, OpFailure> {
    let session = Arc::clone(cx.engine());
    let (path, check) = (params.path.clone(), params.check);
    let formatted = cx
        .blocking(move |_| session.fmt(&path, check))
        .await?
        .map_err(|error| OpFailure::failed(error.about(&shorten(&params.path))))?;
    if let Formatted::Refused(obstacles) = &formatted {
        let line = |o: &toolchain::Obstacle| {
            let text = format!(
                "{}:{}:{}: {}: {}",
                params.path, o.line, o.col, o.code, o.title
            );
            text.replace(['\n', '\r'], " ")
        };
        let text: Vec<String> = obstacles.iter().map(line).collect();
        log(&cx.events(), Stream::Stderr, &text.join("\n")).await?;
    }
    let would_reformat = matches!(formatted, Formatted::Changed(_));
    Ok(Reply::new(Answer { would_reformat }).exit_code(i32::from(params.check && would_reformat)))
}
