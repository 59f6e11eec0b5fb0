//! `list`: the entries of one directory, sorted by name, with kinds and sizes.
//! Does not descend; the demonstration of the offline provider reads this format.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, statat};
use rustix::io::Errno;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds::{LIST_ENTRIES, Listing, Smallest, Watch, counted, printable};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::tool::Success;
use crate::workspace::Scope;

const TOOL: FileTool<Input> = FileTool {
    name: "list",
    description: "Lists one directory: its number of entries, then one entry a line, sorted by name, \
        with the size in bytes (or the kind) before the name; directories end with a slash. \
        Shows up to 1,000 entries.",
    advice: "",
    touches: Touches::Reads(&[]),
    run,
};

crate::register! {
    name: TOOL.name,
    position: 40,
    make: |_| Some(Arc::new(TOOL)),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The directory, relative to the workspace or absolute. Default: the workspace.
    path: Option<String>,
}

fn run(input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let path = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let directory = scope.open_directory(&path)?;
    let failed = |error: Errno| ToolError::io(&error.into(), &scope.shown(&path));
    let mut kept = Smallest::new(LIST_ENTRIES);
    for entry in Dir::read_from(&directory).map_err(failed)? {
        watch.check()?;
        let entry = entry.map_err(failed)?;
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        if name == "." || name == ".." || scope.is_hidden(&path.join(name)) {
            continue;
        }
        let kind = match entry.file_type() {
            // Some file systems do not say; an entry that vanished meanwhile is no entry.
            FileType::Unknown => match statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                Err(_) => continue,
            },
            kind => kind,
        };
        kept.push((name.to_owned(), kind.as_raw_mode()));
    }

    let total = kept.seen();
    let entries = counted(total, "entry", "entries");
    let mut listing = Listing::new(format!("{}: {entries}\n", scope.shown(&path)));
    for (name, kind) in kept.into_sorted() {
        watch.check()?;
        let size;
        let (column, slash) = match FileType::from_raw_mode(kind) {
            FileType::Directory => ("-", "/"),
            FileType::RegularFile => {
                size = statat(&directory, &name, AtFlags::SYMLINK_NOFOLLOW)
                    .map_or_else(|_| "?".to_owned(), |stat| stat.st_size.to_string());
                (&*size, "")
            }
            FileType::Symlink => ("link", ""),
            FileType::Fifo => ("fifo", ""),
            FileType::Socket => ("socket", ""),
            _ => ("device", ""),
        };
        let shown = printable(&name.to_string_lossy());
        if !listing.add(&format!("{column:>12}  {shown}{slash}"), &name) {
            break;
        }
    }
    let content = listing.finish(total, "entries by name; use glob to narrow");
    Ok(Success::text(content, entries))
}
