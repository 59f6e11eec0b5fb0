//! What a tool is: its offer to a model, what a call would touch, what it is about, and the call itself.
//! How calls are bounded, contained and told is the set's; no tool is named here.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use media::Image;
use serde_json::Value;
use work::{Deadline, Interrupted};

use crate::access::Access;
use crate::bounds::Watch;
use crate::context::Context;
use crate::error::ToolError;
use crate::workspace::Scope;

/// A tool that a model may call. Built-in ones are registered ([`crate::register`]), others join a set
/// ([`crate::ToolSet::add`]). Nothing else in the engine knows a tool by its name.
pub trait Tool: Send + Sync + 'static {
    /// What is offered to a model, and how its calls run. The same for the life of the tool.
    fn spec(&self) -> ToolSpec;

    /// What the call would touch, before it runs. May look at files, if the spec says so ([`ToolSpec::looks`]); runs on
    /// a thread that may block then, for five seconds at most. A call that is going to be refused is allowed: there is
    /// nothing to ask for.
    fn access(&self, input: &Value, cx: &Context) -> Access;

    /// What the call is about, for a person who watches, such as `README.md`: what stands behind the tool's name on one
    /// line. Empty where the name says it all. Derived from the input, never a member of it as it is, and without a look
    /// at any file. Redacted and cut to 200 bytes above.
    fn subject(&self, _input: &Value, _cx: &Context) -> String {
        String::new()
    }

    /// A section of the system prompt on the tools that its calls may call: for one that makes calls. At most 64 KiB;
    /// without a look at any file, since it is asked for whenever tools join.
    fn section_on(&self, _callable: &[&ToolSpec]) -> String {
        String::new()
    }

    /// Runs one call. It ends by itself soon after `call.deadline`; past the spec's limits it is dropped.
    fn run(&self, call: Call, cx: Arc<Context>) -> Running;
}

/// A call that runs.
pub type Running = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;

/// A tool as it is offered to a model, and the data by which its calls run.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// 1 to 64 bytes of `[A-Za-z0-9_-]`; unique in a set.
    pub name: String,
    /// At most 16 KiB.
    pub description: String,
    /// JSON Schema of the input object, at most 16 KiB.
    pub input_schema: Value,
    /// Whether the tool changes nothing.
    pub read_only: bool,
    /// Whether [`Tool::access`] looks at anything but the input, and so may block. Where it does not, it runs where it
    /// is asked for: another thread would take longer than the answer.
    pub looks: bool,
    pub concurrency: Concurrency,
    pub activity: ActivityKind,
    /// Whether its calls make calls of their own. They get a [`Caller`], and none of those can make one of these.
    pub makes_calls: bool,
    pub limits: Limits,
    /// A line for the system prompt on when to use the tool; may be empty.
    pub advice: &'static str,
    /// A section of the system prompt, below the instructions; may be empty.
    pub section: String,
    /// The server whose tool it is; `None` of what runs here. Nobody here chose its names.
    pub server: Option<Arc<str>>,
}

impl ToolSpec {
    /// A tool that changes nothing: its calls run beside others, for at most 30 seconds.
    #[must_use]
    pub fn reading(name: &str, description: &str, input_schema: Value) -> Self {
        Self {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema,
            read_only: true,
            looks: true,
            concurrency: Concurrency::SideBySide,
            activity: ActivityKind::Tool,
            makes_calls: false,
            limits: Limits::default(),
            advice: "",
            section: String::new(),
            server: None,
        }
    }

    /// A tool that changes something: each call runs alone, for at most 30 seconds.
    #[must_use]
    pub fn changing(name: &str, description: &str, input_schema: Value) -> Self {
        Self {
            read_only: false,
            concurrency: Concurrency::Alone,
            ..Self::reading(name, description, input_schema)
        }
    }
}

/// Which calls of one response run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// With others of this kind.
    SideBySide,
    /// When everything before it has ended, and before anything after it begins.
    Alone,
}

/// What a call is to those who watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityKind {
    Tool,
    Subagent,
}

/// How long a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Wall time. What was found until then may still be answered, and is said to be a part.
    pub wall: Duration,
    /// How much longer than that a call may take to put its part together.
    pub overtime: Duration,
    /// How long a cancelled call is waited for, so that "cancelled" normally means that nothing works on.
    pub cancel: Duration,
}

impl Default for Limits {
    /// For work on files. A worker stuck in the kernel (a dead network mount) is left behind.
    fn default() -> Self {
        Self {
            wall: Duration::from_secs(30),
            overtime: Duration::from_secs(1),
            cancel: Duration::from_millis(40),
        }
    }
}

/// One admitted call.
pub struct Call {
    /// An object. Members that the tool's schema does not have were taken out.
    pub input: Value,
    /// When the wall time is over, or the call is cancelled, dropped, or past its limits.
    pub deadline: Deadline,
    /// The run, for a tool that makes calls of its own.
    pub caller: Option<Arc<dyn Caller>>,
    /// The one path that may be written, where the call was looked at before; see [`Access`].
    pub(crate) admitted: Option<PathBuf>,
}

impl Call {
    /// Runs `work` on a thread that may block, with what the call may see and the watch that it looks at
    /// between two steps. A panic of `work` goes on in the future.
    pub fn blocking(
        self,
        cx: Arc<Context>,
        work: impl FnOnce(&Value, &Scope, &Watch) -> Result<Success, ToolError> + Send + 'static,
    ) -> Running {
        Box::pin(async move {
            let pool = cx.pool.clone();
            let worker = pool.run(move || {
                let watch = Watch::new(self.deadline);
                let scope = Scope::new(&cx, self.admitted)?;
                work(&self.input, &scope, &watch)
            });
            match worker.await {
                Ok(result) => result.into(),
                Err(Interrupted::Broken(error)) if error.is_panic() => {
                    std::panic::resume_unwind(error.into_panic())
                }
                // The runtime shuts down.
                Err(_) => ToolError::Cancelled.into(),
            }
        })
    }
}

/// The run that makes a call, as the call sees it. Given to tools whose spec says [`ToolSpec::makes_calls`].
pub trait Caller: Send + Sync {
    /// The tools that may be called from here, in the order in which they are offered: those that are not denied and
    /// make no calls themselves.
    fn tools(&self) -> Vec<Arc<ToolSpec>>;

    /// Makes a call for the one that asks: by the policy, hooks and approvals of every call, shown and stored as an
    /// activity beneath it. Always answers; a denial, a cancellation and an unknown name are outcomes with `is_error`.
    /// Calls that change something run one after another. Dropping the future ends the call.
    fn call(&self, name: String, input: Value) -> Calling;

    /// Gives a task to a subagent: a run of its own, whose last text is the outcome. Waits for a place among those that
    /// work at once, and ends the subagent when `until` is over. Always answers, as [`Self::call`] does. Dropping the
    /// future ends the subagent.
    fn delegate(&self, task: Delegation, until: Deadline) -> Calling {
        let _ = (task, until);
        Box::pin(async { ToolOutcome::failed("no tasks can be given here", "no subagents") })
    }
}

/// A task for a subagent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Delegation {
    /// The profile that says its role, its tools and its model; `None` for those of the agent that asks.
    pub profile: Option<String>,
    /// What it is to do.
    pub prompt: String,
}

/// A call that is made for another one.
pub type Calling = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;

/// What a call came to. Not redacted: text from files passes the redaction seam in `redact`
/// before it is kept or sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutcome {
    /// For the model: a result, or what went wrong and how to do better. At most 300 KiB.
    pub content: String,
    /// For models that take them, behind the content, which says in words what they are of. They live as long
    /// as the process: a session's file keeps words.
    pub images: Vec<Image>,
    pub is_error: bool,
    /// Whether the time limit stopped the call.
    pub timed_out: bool,
    /// What came of it, for a person: one line of at most 200 bytes, such as `3 lines` or `not found`, without file content
    /// and without the input's own words. The tool's name and what the call is about stand before it.
    pub summary: String,
    /// Why it failed, in the words of another program or of what a model wrote: for the log, and for the person who
    /// looks on, as far as its first line and 300 bytes go. `None` where the summary says it all.
    pub why: Option<String>,
}

impl ToolOutcome {
    /// A call that failed.
    #[must_use]
    pub fn failed(content: impl Into<String>, summary: &str) -> Self {
        Self {
            content: content.into(),
            images: Vec::new(),
            is_error: true,
            timed_out: false,
            summary: summary.to_owned(),
            why: None,
        }
    }

    /// The same with the words that tell why it failed.
    #[must_use]
    pub fn because(mut self, why: impl Into<String>) -> Self {
        self.why = Some(why.into());
        self
    }
}

/// What a successful call brings, before its summary is bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Success {
    /// For the model, at most 300 KiB.
    pub content: String,
    /// As [`ToolOutcome::images`].
    pub images: Vec<Image>,
    /// As [`ToolOutcome::summary`].
    pub summary: String,
}

impl Success {
    /// A result that is text alone.
    #[must_use]
    pub fn text(content: String, summary: String) -> Self {
        Self {
            content,
            images: Vec::new(),
            summary,
        }
    }
}

impl From<Success> for ToolOutcome {
    fn from(success: Success) -> Self {
        Self {
            content: success.content,
            images: success.images,
            is_error: false,
            timed_out: false,
            summary: success.summary,
            why: None,
        }
    }
}

impl From<ToolError> for ToolOutcome {
    fn from(error: ToolError) -> Self {
        Self {
            timed_out: matches!(error, ToolError::TimedOut),
            ..Self::failed(error.to_string(), error.label())
        }
    }
}

impl From<Result<Success, ToolError>> for ToolOutcome {
    fn from(result: Result<Success, ToolError>) -> Self {
        result.map_or_else(Self::from, Self::from)
    }
}

/// A built-in tool, told to every set of the process; see [`crate::register`].
pub struct Registration {
    /// The tool's name, also where the process has nothing for it to work on.
    pub name: &'static str,
    /// Where it stands among those that are offered; equal ones stand in the order of their names.
    pub position: u16,
    /// Makes the tool for one workspace; `None` where it has nothing to work on there.
    pub make: fn(&Context) -> Option<Arc<dyn Tool>>,
}

inventory::collect!(Registration);

impl Registration {
    /// Every registration of the process, in the order in which tools are offered.
    pub(crate) fn all() -> Vec<&'static Self> {
        let mut all: Vec<_> = inventory::iter::<Self>().collect();
        all.sort_by_key(|registration| (registration.position, registration.name));
        all
    }
}

/// The name as it was registered, if a tool of this name is built in, here or elsewhere in the product.
pub fn registered(name: &str) -> Option<&'static str> {
    inventory::iter::<Registration>()
        .map(|registration| registration.name)
        .find(|registered| *registered == name)
}

/// Every registered name, in the order in which tools are offered.
pub fn registered_names() -> Vec<&'static str> {
    Registration::all().iter().map(|tool| tool.name).collect()
}
