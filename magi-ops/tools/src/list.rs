//! `list`: the entries of one directory, sorted by name, with kinds and sizes.
//! Does not descend; the demonstration of the offline provider reads this format.

use std::ffi::OsString;

use rustix::fs::{AtFlags, FileType, statat};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use crate::bounds::{
    LIST_ENTRIES, OUTPUT_BYTES, Smallest, Watch, counted, is_plain, printable, strange_names,
};
use crate::error::ToolError;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::walk::{EntriesError, entries};
use crate::workspace::Scope;
use crate::{Access, Context, input};

const NAME: &str = "list";
const DESCRIPTION: &str = "Lists one directory: its number of entries, then one entry a line, sorted by name, \
        with the size in bytes (or the kind) before the name; directories end with a slash. \
        Shows up to 1,000 entries.";

crate::register! {
    name: NAME,
    position: 40,
    make: |_| Some(Arc::new(ListTool)),
}

struct ListTool;

impl Tool for ListTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::reading(NAME, DESCRIPTION, input::schema::<Input>())
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::reading(NAME, input, &[], cx)
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
    /// The directory, relative to the workspace or absolute. Default: the workspace.
    path: Option<String>,
}

fn run(input: &Value, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let input: Input = input::decode(input)?;
    let path = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let directory = scope.open_directory(&path)?;
    let mut kept: Smallest<Entry> = Smallest::new(LIST_ENTRIES);
    entries(&directory, watch, |name, kind| {
        if !scope.is_hidden(&path.join(name)) {
            kept.push(Entry {
                name: name.to_owned(),
                kind: Kind(kind),
            });
        }
    })
    .map_err(|error| match error {
        EntriesError::Stop(stop) => stop.into(),
        EntriesError::Io(error) => ToolError::io(&error, &scope.shown(&path)),
    })?;

    let total = kept.seen();
    let mut out = format!(
        "{}: {}\n",
        scope.shown(&path),
        counted(total, "entry", "entries")
    );
    let (mut shown, mut strange) = (0_u64, 0);
    for entry in kept.into_sorted() {
        watch.check()?;
        let size;
        let column = match entry.kind.0 {
            FileType::Directory => "-",
            FileType::RegularFile => {
                size = statat(&directory, &entry.name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or_else(|_| "?".to_owned(), |stat| stat.st_size.to_string());
                &size
            }
            FileType::Symlink => "link",
            FileType::Fifo => "fifo",
            FileType::Socket => "socket",
            _ => "device",
        };
        let slash = if entry.kind.0 == FileType::Directory {
            "/"
        } else {
            ""
        };
        let line = format!(
            "{column:>12}  {}{slash}\n",
            printable(&entry.name.to_string_lossy())
        );
        if out.len() + line.len() > OUTPUT_BYTES {
            break;
        }
        out += &line;
        shown += 1;
        strange += u64::from(!is_plain(&entry.name));
    }
    if strange > 0 {
        out += &strange_names(strange);
        out.push('\n');
    }
    if shown < total {
        out += &format!(
            "[truncated: the first {shown} of {total} entries by name; use glob to narrow]\n"
        );
    }
    let summary = format!(
        "{} ({})",
        scope.named(&path),
        counted(total, "entry", "entries")
    );
    Ok(Success {
        content: out,
        summary,
    })
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    name: OsString,
    kind: Kind,
}

/// Has no order of its own: names are unique in a directory.
#[derive(PartialEq, Eq)]
struct Kind(FileType);

impl PartialOrd for Kind {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Kind {
    fn cmp(&self, _: &Self) -> std::cmp::Ordering {
        std::cmp::Ordering::Equal
    }
}
