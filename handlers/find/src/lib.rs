//! `find` of mty-agent: literal search over a package. The search itself lives in `toolchain`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use host::dialect::mty_agent::OpFailure;
use host::{Cx, Reply};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolchain::{FindError, FindRequest, Hit, Session};

const DEFAULT_TOP: usize = 10;

#[derive(Debug, Deserialize, JsonSchema)]
pub struct Params {
    /// The substring to search for; case counts.
    query: String,
    /// Largest number of hits.
    #[serde(default = "default_top")]
    top: usize,
    /// Where to search; the working directory by default.
    root: Option<String>,
}

fn default_top() -> usize {
    DEFAULT_TOP
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// In order of path, then line.
    #[schemars(with = "Vec<HitSchema>")]
    hits: Vec<Hit>,
}

/// A line that holds the query.
#[derive(JsonSchema)]
#[schemars(rename = "Hit")]
#[allow(dead_code)]
struct HitSchema {
    /// Relative to `root`, with `/`.
    file: String,
    /// From 1.
    line: u64,
    text: String,
}

host::operation! {
    /// Finds a literal substring in `*.mty` files and in Markdown under `docs/`, honouring `.gitignore`.
    dialect: MTY_AGENT,
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

/// Tells the search to stop when the handler is dropped or its connection closes.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

async fn find(cx: Cx<Session>, params: Params) -> Result<Reply<Found>, OpFailure> {
    let root = cx.engine().resolve(params.root.as_deref().unwrap_or("."));
    let request = FindRequest {
        query: params.query,
        top: params.top,
        root,
    };
    let stop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let stopped = Arc::clone(&stop.0);
    // A large tree must not hold up the other connections of this process.
    let searched = tokio::task::spawn_blocking(move || toolchain::find(&request, &stopped)).await;
    match searched {
        Ok(Ok(hits)) => Ok(Found { hits }.into()),
        Ok(Err(error @ FindError::EmptyQuery)) => Err(OpFailure::protocol(error.to_string())),
        Ok(Err(error)) => Err(OpFailure::failed(message(&error, params.root.as_deref()))),
        Err(_) => Err(OpFailure::failed(
            "internal error: the search failed unexpectedly",
        )),
    }
}

/// Names the path as the caller wrote it.
fn message(error: &FindError, root: Option<&str>) -> String {
    match (error, root) {
        (FindError::RootNotFound(_), Some(root)) => format!("path not found: {root}"),
        _ => error.to_string(),
    }
}
