//! `glob`: the paths under a directory that match a pattern.
//! Looks at names only and opens no file.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use std::sync::Arc;

use files::{Entry, Visitor};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use work::Expired;

use crate::bounds::{GLOB_PATHS, OUTPUT_BYTES, Smallest, Watch, counted, is_plain, strange_names};
use crate::error::ToolError;
use crate::tool::{Call, Running, Success, Tool, ToolSpec};
use crate::walk::{self, PathGlob};
use crate::workspace::Scope;
use crate::{Access, Context, input};

const NAME: &str = "glob";
const DESCRIPTION: &str = "Finds files by a glob such as *.rs, src/**/*.ts or docs/{a,b}.md and returns their \
        paths, sorted. A pattern without a slash matches names at any depth; one with a slash matches \
        the path from the searched directory. Leaves out .git and what .gitignore excludes, and does not \
        follow symbolic links. \
        Shows up to 1,000 paths.";

crate::register! {
    name: NAME,
    position: 50,
    make: |_| Some(Arc::new(GlobTool)),
}

struct GlobTool;

impl Tool for GlobTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec::reading(NAME, DESCRIPTION, input::schema::<Input>())
    }

    fn access(&self, input: &Value, cx: &Context) -> Access {
        Access::reading(NAME, input, &["pattern"], cx)
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
    /// The glob.
    pattern: String,
    /// The directory to search, relative to the workspace or absolute. Default: the workspace.
    path: Option<String>,
}

/// What one thread finds.
struct Finder<'a> {
    pattern: &'a PathGlob,
    root: &'a Path,
    watch: Watch,
    stopped: Option<Expired>,
    kept: Smallest<PathBuf>,
}

impl Visitor for Finder<'_> {
    fn goes_on(&mut self) -> bool {
        self.stopped = self.watch.check().err();
        self.stopped.is_none()
    }

    fn visit(&mut self, entry: &Entry<'_>) -> ControlFlow<()> {
        if self.pattern.takes(self.root, entry) {
            self.kept.push(entry.path());
        }
        ControlFlow::Continue(())
    }
}

fn run(input: &Value, scope: &Scope, watch: &Watch) -> Result<Success, ToolError> {
    let input: Input = input::decode(input)?;
    let pattern = PathGlob::new("pattern", &input.pattern)?;
    let root = scope.resolve(input.path.as_deref().unwrap_or("."))?;
    let make = || Finder {
        pattern: &pattern,
        root: &root,
        watch: watch.another(),
        stopped: None,
        kept: Smallest::new(GLOB_PATHS),
    };
    let (finders, gaps) = walk::files(&root, scope, true, make, |finder| finder.stopped)?;
    let mut kept: Smallest<PathBuf> = Smallest::new(GLOB_PATHS);
    finders
        .into_iter()
        .for_each(|finder| kept.absorb(finder.kept));
    let total = kept.seen();
    let mut out = String::new();
    let (mut shown, mut strange) = (0_u64, 0);
    for path in kept.into_sorted() {
        let line = scope.shown(&path);
        if out.len() + line.len() + 1 > OUTPUT_BYTES {
            break;
        }
        out += &line;
        out.push('\n');
        shown += 1;
        strange += u64::from(!is_plain(path.as_os_str()));
    }
    if strange > 0 {
        out += &strange_names(strange);
        out.push('\n');
    }
    if total == 0 {
        out += "[no file matches]";
    }
    if shown < total {
        out += &format!(
            "[truncated: the first {shown} of {total} paths; narrow the pattern or the path]"
        );
    }
    let mut out = out.trim_end().to_owned();
    out += &gaps.notes();
    out.push('\n');
    Ok(Success {
        content: out,
        summary: format!("({})", counted(total, "path", "paths")),
    })
}
