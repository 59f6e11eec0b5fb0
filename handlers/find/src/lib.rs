//! `find` of mty-agent: literal search over a package. The search itself lives in `toolchain`.

use host::Cx;
use mty_agent::{ANSWER_BYTES, OpFailure, Reply, shorten};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolchain::{FindError, FindRequest, Session};

const DEFAULT_TOP: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// The substring to search for; case counts.
    query: String,
    /// Largest number of hits.
    #[serde(default = "default_top")]
    top: usize,
    /// Where to search; the working directory by default.
    #[serde(default = "here")]
    root: String,
}

fn default_top() -> usize {
    DEFAULT_TOP
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// In order of path, then line.
    hits: Vec<Hit>,
    /// Only when true: hits that were asked for may be missing, because the answer reached the limit
    /// `answer_bytes`, or because a file has a line of over 4 MiB, behind which it is not searched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A line that holds the query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Hit {
    /// Relative to `root`, with `/`.
    file: String,
    /// From 1.
    line: u64,
    /// The line; of one over 4 KiB the stretch around the first match, with `…` where it was cut.
    text: String,
}

impl From<toolchain::Hit> for Hit {
    fn from(toolchain::Hit { file, line, text }: toolchain::Hit) -> Self {
        Self { file, line, text }
    }
}

host::operation! {
    /// Finds a literal substring in `*.mty` files and in Markdown under `docs/`, honouring `.gitignore`.
    dialect: mty_agent::MtyAgent,
    method: "find",
    position: 50,
    class: Background,
    needs: Nothing,
    params: Params,
    answer: Found,
    errors: [Failed, Protocol],
    example: "{\"op\":\"find\",\"query\":\"no such text anywhere\"}" => "{\"hits\":[]}",
    handler: find,
}

async fn find(cx: Cx<Session>, params: Params) -> Result<Reply<Found>, OpFailure> {
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
            hits: found.hits.into_iter().map(Hit::from).collect(),
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
