//! `write`: creates a file, or replaces one whole.
//! The bytes are the input's own; how they reach the disk is the matter of `replace`.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{WRITE_BYTES, Watch, counted};
use crate::error::ToolError;
use crate::replace::Slot;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::workspace::Scope;
use crate::{Access, Context, input};

const NAME: &str = "write";
const DESCRIPTION: &str = "Creates a file with the given content, or replaces a file's whole content. Creates missing \
        directories. Takes up to 8 MiB. To change a part of a file, use edit.";

crate::register! {
    name: NAME,
    position: 20,
    make: |_| Some(Arc::new(WriteTool)),
}

struct WriteTool;

impl Tool for WriteTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::changing(NAME, DESCRIPTION, input::schema::<Input>())
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::writing(NAME, input, cx)
    }

    fn subject(&self, input: &Value, cx: &Context) -> String {
        input::path_subject(NAME, input, cx)
    }

    fn run(&self, call: Call, cx: Arc<Context>) -> Running {
        call.blocking(cx, run)
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// Everything that is to stand in the file.
    content: String,
}

fn run(input: &Value, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let input: Input = input::decode(input)?;
    let content = input.content.as_bytes();
    if content.len() > WRITE_BYTES {
        return Err(ToolError::TooLong {
            what: "content".to_owned(),
            limit: WRITE_BYTES,
        });
    }
    let path = scope.resolve_for_writing(&input.path)?;
    watch.check()?;
    let slot = Slot::create(scope, path)?;
    let existed = slot.replace(&[content], None, watch)?;
    let size = size(content);
    Ok(Success {
        content: format!(
            "{} {}: {size}\n",
            if existed { "replaced" } else { "created" },
            scope.shown(slot.path())
        ),
        summary: format!("{}: {size}", scope.named(slot.path())),
    })
}

/// `12 lines, 340 bytes`; a last line without an end counts.
pub(crate) fn size(content: &[u8]) -> String {
    let ends = memchr::memchr_iter(b'\n', content).count() as u64;
    let open = !content.is_empty() && !content.ends_with(b"\n");
    format!(
        "{}, {}",
        counted(ends + u64::from(open), "line", "lines"),
        counted(content.len() as u64, "byte", "bytes")
    )
}
