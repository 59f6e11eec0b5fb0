//! A set of tools: ordered, without two of one name, and the one runner of their calls.
//! What a tool does is its own matter; who may call what is decided above.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use serde_json::Value;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use work::Deadline;

use crate::access::{Access, DefaultPolicy};
use crate::approval::Question;
use crate::bounds::{subject, summary};
use crate::context::Context;
use crate::error::ToolError;
use crate::input::lenient;
use crate::tool::{Call, Caller, Registration, Tool, ToolOutcome, ToolSpec};

/// How long the look at a call may take; a dead network mount must not hold a run up.
const LOOK_LIMIT: Duration = Duration::from_secs(5);

/// The tools of one workspace, in the order they are offered. Cheap to clone.
#[derive(Clone)]
pub struct ToolSet {
    context: Arc<Context>,
    members: Vec<Member>,
}

#[derive(Clone)]
struct Member {
    spec: Arc<ToolSpec>,
    tool: Arc<dyn Tool>,
    /// Of the set that the tool was added to.
    context: Arc<Context>,
}

/// Two tools of one name. Which of them a model means would be a guess.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("two tools are called {0:?}")]
pub struct NameClash(pub String);

impl ToolSet {
    /// Every registered tool that has something to work on in `context`.
    ///
    /// # Errors
    ///
    /// [`NameClash`] when two crates registered one name.
    pub fn registered(context: Context) -> Result<Self, NameClash> {
        let mut set = Self::empty(context);
        let registrations = Registration::all();
        for (at, registration) in registrations.iter().enumerate() {
            if registrations[..at]
                .iter()
                .any(|other| other.name == registration.name)
            {
                return Err(NameClash(registration.name.to_owned()));
            }
            if let Some(tool) = (registration.make)(&set.context) {
                set.add(tool)?;
            }
        }
        Ok(set)
    }

    /// No tools yet.
    pub fn empty(context: Context) -> Self {
        Self {
            context: Arc::new(context),
            members: Vec::new(),
        }
    }

    /// Adds a tool behind the others.
    ///
    /// # Errors
    ///
    /// [`NameClash`] when the set has one of this name; it stays as it was.
    pub fn add(&mut self, tool: Arc<dyn Tool>) -> Result<(), NameClash> {
        let spec = Arc::new(tool.spec());
        if self.member(&spec.name).is_some() {
            return Err(NameClash(spec.name.clone()));
        }
        self.members.push(Member {
            spec,
            tool,
            context: Arc::clone(&self.context),
        });
        Ok(())
    }

    /// Takes the tools of another set behind its own. They go on working with their own context.
    ///
    /// # Errors
    ///
    /// [`NameClash`] when a name stands in both; this set stays as it was.
    pub fn join(&mut self, other: Self) -> Result<(), NameClash> {
        let taken = |member: &&Member| self.member(&member.spec.name).is_some();
        if let Some(clash) = other.members.iter().find(taken) {
            return Err(NameClash(clash.spec.name.clone()));
        }
        self.members.extend(other.members);
        Ok(())
    }

    /// What is offered, in order.
    pub fn specs(&self) -> impl Iterator<Item = &Arc<ToolSpec>> {
        self.members.iter().map(|member| &member.spec)
    }

    /// The tool of this name; `None` for what a model made up.
    pub fn spec(&self, name: &str) -> Option<&ToolSpec> {
        Some(&*self.member(name)?.spec)
    }

    /// A tool of the set, with what it says of those that its calls may call.
    pub fn described(&self, spec: &Arc<ToolSpec>, callable: &[&ToolSpec]) -> Arc<ToolSpec> {
        let mut described = Arc::clone(spec);
        if let Some(member) = self.member(&spec.name).filter(|_| spec.makes_calls) {
            Arc::make_mut(&mut described).section += &member.tool.section_on(callable);
        }
        described
    }

    fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.spec.name == name)
    }

    /// What a call is about, for a person: one line of at most 4 KiB to stand behind the tool's name, or nothing. Not
    /// redacted; only what was may lose its middle.
    pub fn subject(&self, name: &str, input: &Value) -> String {
        match self.member(name) {
            Some(member) => {
                let (input, _) = lenient(&member.spec.input_schema, input);
                subject(&member.tool.subject(&input, &member.context))
            }
            None => String::new(),
        }
    }

    /// Looks at a call without running it. A call that is going to be refused, one of an unknown tool among
    /// them, is allowed: there is nothing to ask for. Takes five seconds at most; what could not be looked at
    /// until then is to be asked for.
    ///
    /// Pass the answer to [`Self::run_admitted`], so that it holds for what is run.
    pub async fn access(&self, name: &str, input: &Value) -> Access {
        let Some(member) = self.member(name).cloned() else {
            return Access::new(DefaultPolicy::Allow, Question::new(name, ""));
        };
        let (looked, _) = lenient(&member.spec.input_schema, input);
        let (pool, looks) = (member.context.pool.clone(), member.spec.looks);
        let look = move || member.tool.access(&looked, &member.context);
        let failed = if looks {
            match Deadline::after(LOOK_LIMIT).bound(pool.run(look)).await {
                Ok(Ok(access)) => return access,
                Ok(Err(panicked)) => panicked.to_string(),
                Err(late) => late.to_string(),
            }
        } else {
            match catch_unwind(AssertUnwindSafe(look)) {
                Ok(access) => return access,
                Err(panic) => panic_text(&*panic).to_owned(),
            }
        };
        tracing::warn!(tool = name, error = failed, "a call can't be looked at");
        let lead = format!("{name} (it could not be looked at)");
        Access::new(DefaultPolicy::Ask, Question::of_input(lead, input))
    }

    /// Runs one call. Always answers: an unknown tool, a wrong input, a refused path, a panic, a
    /// cancellation and the time limit are outcomes with `is_error`.
    ///
    /// Ends within 50 ms of a cancellation, or as soon as nothing of a command lives, at most a
    /// second later; when the returned future is dropped the work stops at its next check and a
    /// command is killed. A file that is written by then is still told of.
    pub async fn run(&self, name: &str, input: &Value, cancel: CancellationToken) -> ToolOutcome {
        self.call(name, input, None, None, &cancel).await
    }

    /// As [`Self::run`], for a call that was admitted by what [`Self::access`] said: a path to
    /// be written must still lead to the very place that was looked at then, however links were
    /// changed in between. `caller` is the run that makes it.
    pub async fn run_admitted(
        &self,
        name: &str,
        input: &Value,
        access: &Access,
        caller: Option<Arc<dyn Caller>>,
        cancel: CancellationToken,
    ) -> ToolOutcome {
        self.call(name, input, Some(access), caller, &cancel).await
    }

    async fn call(
        &self,
        name: &str,
        input: &Value,
        access: Option<&Access>,
        caller: Option<Arc<dyn Caller>>,
        cancel: &CancellationToken,
    ) -> ToolOutcome {
        let Some(member) = self.member(name) else {
            let names: Vec<_> = self.specs().map(|spec| spec.name.as_str()).collect();
            let content = format!("no such tool; the tools are {}", names.join(", "));
            return ToolOutcome::failed(content, "unknown tool");
        };
        let mut outcome = if cancel.is_cancelled() {
            ToolError::Cancelled.into()
        } else {
            let (input, ignored) = lenient(&member.spec.input_schema, input);
            let mut outcome: ToolOutcome = bounded(member, input, access, caller, cancel).await;
            if let Some(note) = ignored {
                if !outcome.content.ends_with('\n') {
                    outcome.content.push('\n');
                }
                outcome.content += &note;
            }
            outcome
        };
        outcome.summary = summary(&outcome.summary);
        outcome
    }
}

/// Runs a call within the limits of its tool. The only place that bounds, contains and gives up on calls.
async fn bounded(
    member: &Member,
    input: Value,
    access: Option<&Access>,
    caller: Option<Arc<dyn Caller>>,
    cancel: &CancellationToken,
) -> ToolOutcome {
    let limits = member.spec.limits;
    let stop = cancel.child_token();
    let _stop_when_dropped = stop.clone().drop_guard();
    let call = Call {
        input,
        deadline: Deadline::from(stop).within(limits.wall),
        caller: caller.filter(|_| member.spec.makes_calls),
        admitted: access.map(Access::target),
    };
    let running = async { member.tool.run(call, Arc::clone(&member.context)).await };
    let mut running = std::pin::pin!(AssertUnwindSafe(running).catch_unwind());
    tokio::select! {
        biased;
        () = cancel.cancelled() => match timeout(limits.cancel, running).await {
            // Too late for what it would have kept from happening: say what is true.
            Ok(Ok(outcome)) if !outcome.is_error && !member.spec.read_only => outcome,
            _ => ToolError::Cancelled.into(),
        },
        ended = timeout(limits.wall + limits.overtime, &mut running) => match ended {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => {
                tracing::error!(tool = %member.spec.name, reason = panic_text(&*panic), "a tool panicked");
                ToolOutcome::failed("the tool stopped unexpectedly", "stopped unexpectedly")
            }
            Err(_) => ToolError::TimedOut.into(),
        },
    }
}

/// What a panic said. Its place is told by the process's own hook.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("not a text")
}

impl std::fmt::Debug for ToolSet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list()
            .entries(self.specs().map(|spec| &spec.name))
            .finish()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;
    use crate::tool::{Limits, Running};

    fn set(limits: Limits) -> (tempfile::TempDir, ToolSet) {
        let home = tempfile::tempdir().unwrap();
        std::fs::write(home.path().join("a.txt"), "text\n").unwrap();
        let context = Context::new(home.path().to_owned(), Vec::new());
        let mut set = ToolSet::registered(context).unwrap();
        for member in &mut set.members {
            Arc::make_mut(&mut member.spec).limits = limits;
        }
        (home, set)
    }

    #[tokio::test]
    async fn at_the_time_limit_a_part_is_answered_where_it_is_of_use() {
        let (_home, set) = set(Limits {
            wall: Duration::ZERO,
            ..Limits::default()
        });
        let run = async |tool, input| set.run(tool, &input, CancellationToken::new()).await;
        for (tool, pattern) in [("glob", "*"), ("grep", "text")] {
            let outcome = run(tool, json!({ "pattern": pattern })).await;
            assert!(!outcome.is_error);
            assert!(
                outcome
                    .content
                    .contains("[incomplete: stopped at the time limit"),
                "{}",
                outcome.content
            );
        }
        let outcome = run("read", json!({ "path": "a.txt" })).await;
        assert_eq!(outcome.summary, "timed out");
        assert!(outcome.timed_out);
    }

    /// A tool that does what its input says; one called `strange` is looked at on another thread.
    struct Strange(&'static str);

    impl Tool for Strange {
        fn spec(&self) -> ToolSpec {
            ToolSpec {
                limits: Limits {
                    wall: Duration::from_secs(1),
                    ..Limits::default()
                },
                looks: self.0 == "strange",
                ..ToolSpec::changing(self.0, "", json!({}))
            }
        }

        fn access(&self, input: &Value, _: &Context) -> Access {
            assert_ne!(input["do"], "panic", "a panic of a look");
            Access::new(DefaultPolicy::Allow, Question::new(self.0, ""))
        }

        fn run(&self, call: Call, _: Arc<Context>) -> Running {
            assert_ne!(call.input["do"], "panic", "a panic before it runs");
            Box::pin(async move {
                match call.input["do"].as_str() {
                    Some("hang") => std::future::pending().await,
                    Some("late") => {
                        call.deadline.cancellation().cancelled().await;
                        crate::Success::text("done".to_owned(), "done".to_owned()).into()
                    }
                    _ => panic!("a panic while it runs"),
                }
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn whatever_a_tool_does_a_call_ends() {
        let mut set = ToolSet::empty(Context::new("/".into(), Vec::new()));
        set.add(Arc::new(Strange("strange"))).unwrap();
        let run = async |what: &str, cancel| {
            let outcome = set.run("strange", &json!({ "do": what }), cancel).await;
            (outcome.summary, outcome.timed_out)
        };
        let ended = |words: &str, timed_out| (words.to_owned(), timed_out);
        for what in ["panic", "other"] {
            assert_eq!(
                run(what, CancellationToken::new()).await,
                ended("stopped unexpectedly", false)
            );
        }
        assert_eq!(
            run("hang", CancellationToken::new()).await,
            ended("timed out", true)
        );
        let soon = |cancel: CancellationToken| {
            tokio::spawn(async move {
                tokio::time::sleep(Duration::from_millis(100)).await;
                cancel.cancel();
            });
        };
        for (what, expected) in [("hang", "cancelled"), ("late", "done")] {
            let cancel = CancellationToken::new();
            soon(cancel.clone());
            assert_eq!(run(what, cancel).await, ended(expected, false));
        }
        set.add(Arc::new(Strange("blind"))).unwrap();
        for name in ["strange", "blind"] {
            let access = set.access(name, &json!({ "do": "panic" })).await;
            assert_eq!(access.default, DefaultPolicy::Ask);
            let question = access
                .question
                .render(&redact::Redactor::default(), 960)
                .into_string();
            let expected = format!(r#"{name} (it could not be looked at): {{"do":"panic"}}"#);
            assert_eq!(question, expected);
        }
    }

    #[test]
    fn no_name_stands_twice() {
        let (_home, mut set) = set(Limits::default());
        let names =
            |set: &ToolSet| -> Vec<String> { set.specs().map(|spec| spec.name.clone()).collect() };
        let before = names(&set);
        let clash = set.add(Arc::new(Strange("read")));
        assert_eq!(clash, Err(NameClash("read".to_owned())));
        let mut other = ToolSet::empty(Context::new("/".into(), Vec::new()));
        other.add(Arc::new(Strange("new"))).unwrap();
        let mut clashing = other.clone();
        clashing.add(Arc::new(Strange("grep"))).unwrap();
        assert_eq!(set.join(clashing), Err(NameClash("grep".to_owned())));
        assert_eq!(names(&set), before);
        set.join(other).unwrap();
        assert_eq!(names(&set), [before, vec!["new".to_owned()]].concat());
    }
}
