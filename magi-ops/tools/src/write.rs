//! `write`: creates a file, or replaces one whole.
//! The bytes are the input's own; how they reach the disk is the matter of `replace`.

use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds::{WRITE_BYTES, Watch};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::lines::{only_crlf, size, with_crlf};
use crate::read::BOM;
use crate::replace::Slot;
use crate::tool::Success;
use crate::workspace::Scope;

const TOOL: FileTool<Input> = FileTool {
    name: "write",
    description: "Creates a file with the given content, or replaces a file's whole content. Creates missing \
        directories. A file that began with a byte order mark or ended its lines with CRLF goes on so. Takes up to 8 MiB. To change a part of a file, use edit.",
    advice: "",
    touches: Touches::Writes,
    run,
};

crate::register! {
    name: TOOL.name,
    position: 20,
    make: |_| Some(Arc::new(TOOL)),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// Everything that is to stand in the file.
    content: String,
}

fn run(input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let content = input.content.as_bytes();
    if content.len() > WRITE_BYTES {
        return Err(ToolError::TooLong {
            what: "content".to_owned(),
            limit: WRITE_BYTES,
        });
    }
    let path = scope.resolve_for_writing(&input.path)?;
    watch.check_now()?;
    let slot = Slot::create(scope, path)?;
    let style = Style::of(&slot)?;
    let (mark, lines) = style.apply(content);
    let existed = slot.replace(&[mark, &lines], None, watch)?;
    let size = size(&[mark, &lines]);
    let mut told = format!(
        "{} {}: {size}\n",
        if existed { "replaced" } else { "created" },
        scope.shown(slot.path())
    );
    if !mark.is_empty() {
        told += "[the file still begins with its byte order mark]\n";
    }
    if matches!(lines, Cow::Owned(_)) {
        told += "[its lines still end with CRLF]\n";
    }
    if style.utf_16 {
        told += "[the file was UTF-16; it is UTF-8 now]\n";
    }
    Ok(Success::text(told, size))
}

/// How the file was written that is replaced: a model sees neither, so neither may get lost.
#[derive(Debug, Default)]
struct Style {
    mark: bool,
    /// Every line ends with CRLF.
    crlf: bool,
    utf_16: bool,
}

/// Bytes of a file that tell how its lines end.
const STYLE_BYTES: u64 = 1024 * 1024;

impl Style {
    fn of(slot: &Slot<'_>) -> Result<Self, ToolError> {
        let Some((file, _)) = slot.open()? else {
            return Ok(Self::default());
        };
        let mut start = Vec::new();
        if let Err(error) = file.take(STYLE_BYTES).read_to_end(&mut start) {
            // It may be replaced by who may not read it.
            tracing::debug!(%error, "a file that is replaced can't be read");
        }
        Ok(Self {
            mark: start.starts_with(BOM),
            crlf: start.contains(&b'\n') && only_crlf(&start),
            utf_16: start.starts_with(b"\xff\xfe") || start.starts_with(b"\xfe\xff"),
        })
    }

    /// What is written: the mark, and the text with the file's line ends. A text that has such ends itself, or
    /// a mark, is meant as it is.
    fn apply<'a>(&self, content: &'a [u8]) -> (&'static [u8], Cow<'a, [u8]>) {
        let mark = if self.mark && !content.starts_with(BOM) {
            BOM
        } else {
            &[]
        };
        let plain = content.contains(&b'\n') && !content.contains(&b'\r');
        let lines = if self.crlf && plain {
            with_crlf(content).into()
        } else {
            content.into()
        };
        (mark, lines)
    }
}
