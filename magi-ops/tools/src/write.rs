//! `write`: creates a file, or replaces one whole.
//! The bytes are the input's own; how they reach the disk is the matter of `replace`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{WRITE_BYTES, Watch, counted};
use crate::error::ToolError;
use crate::replace::Slot;
use crate::workspace::Scope;
use crate::{Done, Run, Tool, input};

pub(crate) const TOOL: Tool = Tool {
    name: "write",
    description: "Creates a file with the given content, or replaces a file's whole content. Creates missing \
        directories. Takes up to 8 MiB. To change a part of a file, use edit.",
    read_only: false,
    schema: input::schema::<Input>,
    run: Run::Blocking(run),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// Everything that is to stand in the file.
    content: String,
}

fn run(input: &Value, scope: &Scope, watch: &Watch) -> Result<Done, ToolError> {
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
    Ok(Done {
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
