//! `read`: lines of one text file, numbered, from any place in it; or one image.
//! Holds one line at a time, however long the file or the line is.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use media::{Format, Image, MAX_IMAGE_BYTES};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds::{LINE_CHARS, OUTPUT_BYTES, READ_LINES, ShownLine, Watch, counted};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::tool::Success;
use crate::workspace::Scope;

const TOOL: FileTool<Input> = FileTool {
    name: "read",
    description: "Reads a text file and returns its lines, each after its number and a tab. \
        Shows up to 2,000 lines and 256 KiB at a time; a longer file says where to continue. \
        A PNG, JPEG, GIF or WebP image of up to 5 MiB is shown as one to models that take images.",
    advice: "Read what you are about to change or to speak about.",
    touches: Touches::Reads(&[]),
    run,
};

crate::register! {
    name: TOOL.name,
    position: 10,
    make: |_| Some(Arc::new(TOOL)),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The file, relative to the workspace or absolute.
    path: String,
    /// The first line to show, counted from 1. Default 1.
    #[schemars(range(min = 1))]
    offset: Option<u64>,
    /// How many lines to show at most. Default 2000.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// What some editors put before a text in UTF-8.
pub(crate) const BOM: &[u8] = "\u{feff}".as_bytes();
/// Bytes at a file's beginning that are searched for NUL, as git tells binary files.
pub(crate) const SNIFF_BYTES: usize = 8 * 1024;

fn run(input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let first = input.offset.unwrap_or(1);
    let limit = input.limit.unwrap_or(READ_LINES);
    if first == 0 || limit == 0 {
        return Err(ToolError::Input("offset and limit start at 1".to_owned()));
    }
    let path = scope.resolve(&input.path)?;
    let (file, bytes) = scope.open_file(&path)?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let failed = |error: std::io::Error| ToolError::io(&error, &scope.shown(&path));
    let start = reader.fill_buf().map_err(failed)?;
    if Format::of(start).is_some() {
        return image(reader, scope, &path, watch);
    }
    if memchr::memchr(0, &start[..start.len().min(SNIFF_BYTES)]).is_some() {
        return Err(ToolError::Binary {
            path: scope.shown(&path),
            bytes,
        });
    }

    let mut out = String::new();
    let mut line = LineReader::default();
    let (mut number, mut shown) = (0_u64, 0_u64);
    let (mut lossy, mut clipped, mut more) = (false, false, false);
    while line.read(&mut reader, watch, &failed)? {
        number += 1;
        if number < first {
            continue;
        }
        if shown == limit {
            more = true;
            break;
        }
        let line = line.shown(number == 1);
        lossy |= line.lossy;
        clipped |= line.clipped;
        let numbered = format!("{number:>6}\t{}\n", line.text);
        if out.len() + numbered.len() > OUTPUT_BYTES {
            more = true;
            break;
        }
        out.push_str(&numbered);
        shown += 1;
    }
    if shown == 0 && first > 1 {
        return Err(ToolError::PastEnd {
            offset: first,
            lines: number,
        });
    }
    if shown == 0 {
        out.push_str("[the file is empty]\n");
    }
    if clipped {
        out += &format!("[lines longer than {LINE_CHARS} characters are cut]\n");
    }
    if lossy {
        out += "[not valid UTF-8: wrong bytes are shown as U+FFFD]\n";
    }
    let last = first + shown.saturating_sub(1);
    if more {
        out += &format!(
            "[truncated: lines {first} to {last} of a file of {bytes} bytes; continue with offset {}]\n",
            last + 1
        );
    }
    let summary = if more || first > 1 {
        format!("lines {first} to {last}")
    } else {
        counted(shown, "line", "lines")
    };
    Ok(Success::text(out, summary))
}

/// The whole file, which begins like an image.
fn image(
    reader: BufReader<impl Read>,
    scope: &Scope,
    path: &Path,
    watch: &Watch,
) -> Result<Success, ToolError> {
    let shown = scope.shown(path);
    let mut reader = reader.take(MAX_IMAGE_BYTES as u64 + 1);
    let mut bytes = Vec::new();
    loop {
        watch.check()?;
        let part = reader.fill_buf();
        let part = part.map_err(|error| ToolError::io(&error, &shown))?;
        if part.is_empty() {
            break;
        }
        bytes.extend_from_slice(part);
        let used = part.len();
        reader.consume(used);
    }
    let image = Image::new(bytes).ok_or_else(|| ToolError::TooLong {
        what: format!("the image {shown}"),
        limit: MAX_IMAGE_BYTES,
    })?;
    Ok(Success {
        content: format!("[{shown}: {image}]\n"),
        summary: image.to_string(),
        images: vec![image],
    })
}

/// One line's beginning; the buffer is used again for the next.
#[derive(Default)]
struct LineReader {
    bytes: Vec<u8>,
    /// The line is longer than what was kept.
    cut: bool,
}

/// Enough bytes for `LINE_CHARS` characters of any kind, and one to see that there are more.
const KEEP: usize = LINE_CHARS * 4 + 1;

impl LineReader {
    /// Reads on to the end of the line; false at the end of the file.
    fn read(
        &mut self,
        reader: &mut BufReader<impl Read>,
        watch: &Watch,
        failed: &impl Fn(std::io::Error) -> ToolError,
    ) -> Result<bool, ToolError> {
        self.bytes.clear();
        self.cut = false;
        let mut any = false;
        loop {
            watch.check()?;
            let buffer = reader.fill_buf().map_err(failed)?;
            if buffer.is_empty() {
                return Ok(any);
            }
            any = true;
            let end = memchr::memchr(b'\n', buffer);
            let part = &buffer[..end.unwrap_or(buffer.len())];
            let room = KEEP - self.bytes.len();
            self.bytes.extend_from_slice(&part[..part.len().min(room)]);
            self.cut |= part.len() > room;
            let used = end.map_or(buffer.len(), |end| end + 1);
            reader.consume(used);
            if end.is_some() {
                return Ok(true);
            }
        }
    }

    /// `first`: a byte order mark at its beginning is no part of the text.
    fn shown(&self, first: bool) -> ShownLine {
        let mut bytes = self.bytes.as_slice();
        if first {
            bytes = bytes.strip_prefix(BOM).unwrap_or(bytes);
        }
        if !self.cut {
            bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
        }
        ShownLine::new(bytes, self.cut, LINE_CHARS)
    }
}
