//! `fmt` of mty-agent: the canonical form of one file. Layout lives in `syntax`, files in `toolchain`.

use std::sync::Arc;

use host::Cx;
use mty_agent::messages::{FmtAnswer, FmtParams, Stream};
use mty_agent::{OpFailure, Reply, shorten};
use output::log;
use toolchain::{Formatted, Session};

host::operation! {
    /// Brings a file into canonical form, in place and atomically. With `check` nothing is written, and the exit
    /// code is 1 if the file would change. A file with syntax errors stays as it is: `log` lines on `stderr`
    /// name them.
    dialect: mty_agent::MtyAgent,
    method: "fmt",
    position: 70,
    class: Background,
    needs: Nothing,
    params: FmtParams,
    answer: FmtAnswer,
    errors: [Failed, Protocol],
    example: r#"{"op":"fmt","path":"hello.mty","check":true}"# => r#"{"would_reformat":false}"#,
    handler: fmt,
}

async fn fmt(cx: Cx<Session>, params: FmtParams) -> Result<Reply<FmtAnswer>, OpFailure> {
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
    Ok(Reply::new(FmtAnswer { would_reformat })
        .exit_code(i32::from(params.check && would_reformat)))
}
