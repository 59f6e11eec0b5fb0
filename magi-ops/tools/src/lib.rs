//! The built-in tools on the real workspace: the toolbox that checks, bounds, runs and cancels them.
//! No settings, no approval, no session and no wire: who may call what is decided above.

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio_util::sync::CancellationToken;

mod access;
mod bash;
mod bounds;
mod edit;
mod error;
mod glob;
mod grep;
pub mod guard;
pub mod hooks;
mod input;
mod list;
pub mod process;
mod read;
mod replace;
mod skill;
mod walk;
mod workspace;
mod write;

pub use access::{Access, DefaultPolicy};
pub use skill::Skill;

use bounds::Watch;
use error::ToolError;
use guard::Guard;
use workspace::Scope;

/// Longest a call works, in wall time. What was found until then is still answered where
/// a part is of use, and said to be a part.
const WALL_LIMIT: Duration = Duration::from_secs(30);
/// How much longer than the limit a call may take to put its part together.
const WALL_GRACE: Duration = Duration::from_secs(1);
/// How long a cancelled call waits for its worker, so that "cancelled" normally means that
/// nothing works on. A worker stuck in the kernel (a dead network mount) is left behind.
const CANCEL_GRACE: Duration = Duration::from_millis(40);

/// A tool as it is offered to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    /// At most 16 KiB.
    pub description: String,
    /// JSON Schema of the input object.
    pub input_schema: Value,
    /// Whether the tool changes nothing.
    pub read_only: bool,
}

/// What a call came to. Not redacted: text from files passes the redaction seam in `redact`
/// before it is kept or sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// For the model: a result, or what went wrong and how to do better. At most 300 KiB.
    pub content: String,
    pub is_error: bool,
    /// Whether the time limit stopped the call.
    pub timed_out: bool,
    /// For a person: one line of at most 200 bytes, without file content and without the
    /// input's own words.
    pub summary: String,
}

/// The tools of one workspace.
#[derive(Debug, Clone)]
pub struct Toolbox {
    given: Arc<Given>,
    /// See [`Scope::writing`].
    replacing: Arc<Mutex<()>>,
    /// What commands run under.
    guard: Arc<Guard>,
    wall_limit: Duration,
}

/// What a toolbox was given. No path is resolved yet: each may appear, move or become a symbolic
/// link while the process runs.
#[derive(Debug, Clone)]
struct Given {
    workspace: PathBuf,
    hidden: Vec<PathBuf>,
    protected: Vec<PathBuf>,
    skills: Vec<Skill>,
}

/// One built-in tool. The table below is the only place that lists them.
struct Tool {
    name: &'static str,
    description: &'static str,
    read_only: bool,
    schema: fn() -> Value,
    run: Run,
}

/// How a tool works.
enum Run {
    /// On a thread that may block, within [`WALL_LIMIT`].
    Blocking(fn(&Value, &Scope, &Watch) -> Result<Done, ToolError>),
    /// As a command in the workspace, within a time limit of its own.
    Command(for<'a> fn(&'a Value, &'a Path, &'a Guard, &'a CancellationToken) -> Running<'a>),
}

/// A command that runs.
type Running<'a> = Pin<Box<dyn Future<Output = Result<ToolOutcome, ToolError>> + Send + 'a>>;

/// A successful call, before its summary is bounded.
struct Done {
    content: String,
    /// What stands after the tool's name in the summary.
    summary: String,
}

const TOOLS: &[&Tool] = &[
    &read::TOOL,
    &write::TOOL,
    &edit::TOOL,
    &list::TOOL,
    &glob::TOOL,
    &grep::TOOL,
    &bash::TOOL,
];

impl Toolbox {
    /// The tools of `workspace`, blind to every path that is or lies under one of `hidden`
    /// after symbolic links and `..` are resolved. The kernel's own trees (`/proc`, `/sys`,
    /// `/dev`) are always hidden: they hold the process's environment and its descriptors.
    pub fn new(workspace: PathBuf, hidden: Vec<PathBuf>) -> Self {
        Self {
            given: Arc::new(Given {
                workspace,
                hidden,
                protected: Vec::new(),
                skills: Vec::new(),
            }),
            replacing: Arc::default(),
            guard: Arc::new(Guard::this_program()),
            wall_limit: WALL_LIMIT,
        }
    }

    /// Runs commands under another guard than this very program.
    #[must_use]
    pub fn with_guard(mut self, guard: Guard) -> Self {
        self.guard = Arc::new(guard);
        self
    }

    /// Adds the tool `skill` for these skills; without any it is not offered.
    #[must_use]
    pub fn with_skills(mut self, skills: Vec<Skill>) -> Self {
        Arc::make_mut(&mut self.given).skills = skills;
        self
    }

    /// Paths whose writing is asked for wherever they lie, with everything under them: the
    /// home's own files. Reading them is not affected.
    #[must_use]
    pub fn with_protected(mut self, protected: Vec<PathBuf>) -> Self {
        Arc::make_mut(&mut self.given).protected = protected;
        self
    }

    /// Every tool that this toolbox has, in the order they are offered: [`Self::specs`], and
    /// `skill` where there are skills.
    pub fn offered(&self) -> Vec<ToolSpec> {
        let mut specs = Self::specs();
        specs.extend(skill::spec(&self.given.skills));
        specs
    }

    /// The tools that every workspace has, in the order they are offered.
    pub fn specs() -> Vec<ToolSpec> {
        TOOLS
            .iter()
            .map(|tool| ToolSpec {
                name: tool.name,
                description: tool.description.to_owned(),
                input_schema: (tool.schema)(),
                read_only: tool.read_only,
            })
            .collect()
    }

    /// Runs one call. Always answers: an unknown tool, a wrong input, a
    /// refused path, a cancellation and the time limit are outcomes with `is_error`.
    ///
    /// Ends within 50 ms of a cancellation, or as soon as nothing of a command lives, at most a
    /// second later; when the returned future is dropped the work stops at its next check and a
    /// command is killed. A file that is written by then is still told of.
    pub async fn run(&self, name: &str, input: &Value, cancel: CancellationToken) -> ToolOutcome {
        self.call(name, input, None, &cancel).await
    }

    /// As [`Self::run`], for a call that was admitted by what [`Self::access`] said: a path to
    /// be written must still lead to the very place that was looked at then, however links were
    /// changed in between.
    pub async fn run_admitted(
        &self,
        name: &str,
        input: &Value,
        access: &Access,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        self.call(name, input, Some(access), &cancel).await
    }

    async fn call(
        &self,
        name: &str,
        input: &Value,
        access: Option<&Access>,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        if name == skill::NAME && !self.given.skills.is_empty() {
            return outcome(skill::NAME, skill::load(&self.given.skills, input));
        }
        let Some(tool) = TOOLS.iter().find(|tool| tool.name == name) else {
            let names: Vec<_> = self.offered().iter().map(|tool| tool.name).collect();
            return ToolOutcome {
                content: format!("no such tool; the tools are {}", names.join(", ")),
                is_error: true,
                timed_out: false,
                summary: "unknown tool".to_owned(),
            };
        };
        if cancel.is_cancelled() {
            return outcome(tool.name, Err(ToolError::Cancelled));
        }
        match tool.run {
            Run::Blocking(run) => {
                let done = self.work(tool, run, input, access, cancel).await;
                outcome(tool.name, done)
            }
            Run::Command(run) => run(input, &self.given.workspace, &self.guard, cancel)
                .await
                .unwrap_or_else(|error| outcome(tool.name, Err(error))),
        }
    }

    async fn work(
        &self,
        tool: &'static Tool,
        run: fn(&Value, &Scope, &Watch) -> Result<Done, ToolError>,
        input: &Value,
        access: Option<&Access>,
        cancel: &CancellationToken,
    ) -> Result<Done, ToolError> {
        let stop = cancel.child_token();
        let _stop_when_dropped = stop.clone().drop_guard();
        let watch = Watch::new(stop, Instant::now() + self.wall_limit);
        let given = Arc::clone(&self.given);
        let admitted = access.map(Access::target);
        let replacing = Arc::clone(&self.replacing);
        let input = input.clone();
        let mut worker = tokio::task::spawn_blocking(move || {
            let scope = Scope::new(&given.workspace, &given.hidden)?.writing(admitted, replacing);
            run(&input, &scope, &watch)
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => {
                match tokio::time::timeout(CANCEL_GRACE, &mut worker).await {
                    // Too late for what it would have kept from happening: say what is true.
                    Ok(Ok(Ok(done))) if !tool.read_only => Ok(done),
                    _ => Err(ToolError::Cancelled),
                }
            }
            done = tokio::time::timeout(self.wall_limit + WALL_GRACE, &mut worker) => match done {
                Ok(Ok(result)) => result,
                Ok(Err(_)) => Err(ToolError::Failed("the tool stopped unexpectedly".to_owned())),
                Err(_) => Err(ToolError::TimedOut),
            },
        }
    }
}

fn outcome(name: &str, result: Result<Done, ToolError>) -> ToolOutcome {
    match result {
        Ok(done) => ToolOutcome {
            content: done.content,
            is_error: false,
            timed_out: false,
            summary: bounds::summary(&format!("{name} {}", done.summary)),
        },
        Err(error) => ToolOutcome {
            timed_out: matches!(error, ToolError::TimedOut),
            summary: bounds::summary(&format!("{name} failed: {}", error.label())),
            content: error.to_string(),
            is_error: true,
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    async fn run_with(limit: Duration, tool: &str, input: Value) -> ToolOutcome {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a.txt"), "text\n").unwrap();
        let mut toolbox = Toolbox::new(home.path().to_owned(), Vec::new());
        toolbox.wall_limit = limit;
        toolbox.run(tool, &input, CancellationToken::new()).await
    }

    #[tokio::test]
    async fn at_the_time_limit_a_part_is_answered_where_it_is_of_use() {
        for (tool, pattern) in [("glob", "*"), ("grep", "text")] {
            let input = serde_json::json!({ "pattern": pattern });
            let outcome = run_with(Duration::ZERO, tool, input).await;
            assert!(!outcome.is_error);
            assert!(
                outcome
                    .content
                    .contains("[incomplete: stopped at the time limit"),
                "{}",
                outcome.content
            );
        }
        let input = serde_json::json!({ "path": "a.txt" });
        let outcome = run_with(Duration::ZERO, "read", input).await;
        assert_eq!(outcome.summary, "read failed: timed out");
        assert!(outcome.timed_out);
    }
}
