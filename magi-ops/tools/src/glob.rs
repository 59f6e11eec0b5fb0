//! `glob`: the paths under a directory that match a pattern.
//! Looks at names only and opens no file.

use std::path::{Path, PathBuf};

use std::sync::Arc;

use files::Entry;
use schemars::JsonSchema;
use serde::Deserialize;
use work::Expired;

use crate::bounds::{GLOB_PATHS, Listing, Smallest, Watch, counted};
use crate::error::ToolError;
use crate::file_tool::{FileTool, Touches};
use crate::tool::Success;
use crate::walk::{self, FileVisitor, PathGlob};
use crate::workspace::Scope;

const TOOL: FileTool<Input> = FileTool {
    name: "glob",
    description: "Finds files by a glob such as *.rs, src/**/*.ts or docs/{a,b}.md and returns their \
        paths, sorted. A pattern without a slash matches names at any depth; one with a slash matches \
        the path from the searched directory. Leaves out .git and what .gitignore excludes, and does not \
        follow symbolic links. \
        Shows up to 1,000 paths.",
    advice: "",
    touches: Touches::Reads(&["pattern"]),
    run,
};

crate::register! {
    name: TOOL.name,
    position: 50,
    make: |_| Some(Arc::new(TOOL)),
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Input {
    /// The glob.
    pattern: String,
    /// The directory to search, relative to the workspace or absolute. Default: the workspace.
    path: Option<String>,
}

/// What one thread finds.
struct Finder<'a> {
    pattern: &'a PathGlob,
    root: &'a Path,
    kept: Smallest<PathBuf>,
}

impl FileVisitor for Finder<'_> {
    fn visit(&mut self, entry: &Entry<'_>) -> Result<(), Expired> {
        if self.pattern.takes(self.root, entry) {
            self.kept.push(entry.path());
        }
        Ok(())
    }
}

fn run(input: Input, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let pattern = PathGlob::new("pattern", &input.pattern)?;
    let root = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let make = || Finder {
        pattern: &pattern,
        root: &root,
        kept: Smallest::new(GLOB_PATHS),
    };
    let (finders, gaps) = walk::files(&root, scope, true, watch, make)?;
    let mut kept: Smallest<PathBuf> = Smallest::new(GLOB_PATHS);
    finders
        .into_iter()
        .for_each(|finder| kept.absorb(finder.kept));
    let total = kept.seen();
    let mut listing = Listing::new(String::new());
    for path in kept.into_sorted() {
        if !listing.add(&scope.shown(&path), path.as_os_str()) {
            break;
        }
    }
    let mut out = listing.finish(total, "paths; narrow the pattern or the path");
    if total == 0 {
        out += "[no file matches]";
    }
    let mut out = out.trim_end().to_owned();
    out += &gaps.notes();
    out.push('\n');
    let summary = counted(total, "path", "paths");
    Ok(Success::text(out, summary))
}
