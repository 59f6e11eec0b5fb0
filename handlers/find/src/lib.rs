//! `find` of mty-agent: literal search over a package. The search itself lives in `toolchain`.

use host::Cx;
use mty_agent::messages::{FindParams, Found, Hit};
use mty_agent::{ANSWER_BYTES, OpFailure, Reply, shorten};
use toolchain::{FindError, FindRequest, Session};

fn hit(toolchain::Hit { file, line, text }: toolchain::Hit) -> Hit {
    Hit { file, line, text }
}

host::operation! {
    /// Finds a literal substring in `*.mty` files and in Markdown under `docs/`, honouring `.gitignore`.
    dialect: mty_agent::MtyAgent,
    method: "find",
    position: 50,
    class: Background,
    needs: Nothing,
    params: FindParams,
    answer: Found,
    errors: [Failed, Protocol],
    example: "{\"op\":\"find\",\"query\":\"no such text anywhere\"}" => "{\"hits\":[]}",
    handler: find,
}

async fn find(cx: Cx<Session>, params: FindParams) -> Result<Reply<Found>, OpFailure> {
    let request = FindRequest {
        query: params.query,
        top: params.top,
        max_bytes: ANSWER_BYTES,
        root: cx.engine().resolve(&params.root),
    };
    // A large tree must not hold up the other connections of this process.
    let searched = cx
        .blocking(move |cancel| toolchain::find(&request, cancel))
        .await?;
    match searched {
        Ok(found) => Ok(Found {
            hits: found.hits.into_iter().map(hit).collect(),
            truncated: found.truncated,
        }
        .into()),
        Err(error) => Err(failure(&error, &params.root)),
    }
}

/// Names the path as the caller wrote it.
fn failure(error: &FindError, root: &str) -> OpFailure {
    let root = shorten(root);
    match error {
        FindError::EmptyQuery => OpFailure::protocol(error.to_string()),
        FindError::RootNotFound | FindError::NotADirectory => {
            OpFailure::failed(format!("{error}: {root}"))
        }
        FindError::RootUnreadable(why) => OpFailure::failed(format!("cannot read {root}: {why}")),
        FindError::Cancelled => OpFailure::failed(error.to_string()),
    }
}
