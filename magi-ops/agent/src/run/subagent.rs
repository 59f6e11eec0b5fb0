//! Subagents: a task as a run of its own, beneath the call that gave it. The run loop is that of every run; here it gets
//! its conversation, what it works with and its bounds, and its events go on through the run that it works for.

use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use store::resources::Profile;
use store::sessions::{Outcome, SessionError, SessionId, SessionWriter};
use tokio::sync::{Semaphore, SemaphorePermit};
use tools::{ActivityKind, Delegation, ToolError, ToolOutcome};
use tracing::{Instrument, info_span};
use work::{Deadline, Expired, Pool};

use super::active::ActiveRun;
use super::allowance::Allowance;
use super::call::Site;
use super::notice::{Notices, Task};
use super::passing::{Costs, pass};
use super::queue::RunEvents;
use super::tasks::activity_of;
use super::{
    Authoritative, DeliveryPolicy, Ended, Owner, ParentRun, Parts, RunErrorCode, RunPolicy,
    RunSpec, TextPolicy, worker,
};
use crate::attach::Transcript;
use crate::error::{EngineError, ErrorKind};
use crate::startup::Selected;
use crate::writer::SharedWriter;

mod ending;

use ending::{Ending, last_text};

/// Subagents of one run that work at the same time; the others wait.
const AT_ONCE: usize = 4;
/// Runs above the deepest subagent's. That one gives no tasks.
const MAX_DEPTH: u32 = 2;
/// How long one may work.
const MAX_TIME: Duration = Duration::from_secs(30 * 60);
/// Longest task, in bytes.
pub(crate) const MAX_PROMPT_BYTES: usize = 64 * 1024;
/// What a subagent without a profile is called.
const NO_PROFILE: &str = "default";
/// Who asks, as hooks are told.
const INVOCATION: &str = "subagent";

/// What the subagents of one run share.
pub(super) struct Subagents {
    owner: Arc<dyn Owner>,
    blocking: Pool,
    /// Of the run's own conversation, beside which theirs stand.
    writer: SharedWriter,
    activities: Arc<Allowance>,
    places: Semaphore,
    /// What their requests cost.
    pub(super) costs: Costs,
}

impl Subagents {
    pub(super) fn new(
        owner: Arc<dyn Owner>,
        blocking: Pool,
        writer: SharedWriter,
        activities: Arc<Allowance>,
    ) -> Arc<Self> {
        Arc::new(Self {
            owner,
            blocking,
            writer,
            activities,
            places: Semaphore::new(AT_ONCE),
            costs: Costs::default(),
        })
    }

    /// Places a conversation of its own beside the run's.
    async fn conversation(&self) -> Result<Box<dyn SessionWriter>, EngineError> {
        let writer = self.writer.clone();
        let placed = self
            .blocking
            .run(move || writer.with(|writer| writer.lease()).task());
        let placed: Result<Result<_, SessionError>, _> = placed.await;
        Ok(placed??)
    }
}

/// Gives a task to a subagent, where `of_run` answers the run: see [`tools::Caller::delegate`].
pub(super) async fn delegate(
    site: &Site,
    subagents: &Subagents,
    of_run: &Arc<Selected>,
    notices: &Notices,
    call: &str,
    task: Delegation,
    until: Deadline,
) -> ToolOutcome {
    let delegated = async {
        let role = role(site, task.profile.as_deref())?;
        let selected = selected(site, subagents, of_run, role).await?;
        let _place = place(subagents, notices, call, &until).await?;
        let prepared = prepare(site, subagents, notices, call, role, selected, task.prompt).await?;
        let ended = prepared
            .work(site, subagents, call, &until.clone().within(MAX_TIME))
            .await;
        notices
            .task_ends(
                call,
                ended.outcome,
                ended.error_code.map(RunErrorCode::word),
            )
            .await;
        Ok(ended.told())
    };
    delegated
        .await
        .unwrap_or_else(|refused: ToolOutcome| refused)
}

/// The profile of a subagent, if one is named.
fn role<'a>(site: &'a Site, name: Option<&str>) -> Result<Option<&'a Profile>, ToolOutcome> {
    let guidance = &site.workspace.guidance;
    let Some(name) = name else {
        return Ok(None);
    };
    guidance.profile(name).map(Some).ok_or_else(|| {
        let names: Vec<_> = guidance
            .profiles
            .iter()
            .map(|profile| profile.name.as_str())
            .collect();
        let there = match names.as_slice() {
            [] => "there are none; leave `profile` out".to_owned(),
            names => format!("the profiles are {}", names.join(", ")),
        };
        ToolOutcome::failed(format!("no such profile; {there}"), "unknown profile")
    })
}

/// What answers it: the profile's model, or what answers the run that it works for.
async fn selected(
    site: &Site,
    subagents: &Subagents,
    of_run: &Arc<Selected>,
    role: Option<&Profile>,
) -> Result<Arc<Selected>, ToolOutcome> {
    let Some((role, model)) = role.and_then(|role| Some((role, role.model.clone()?))) else {
        return Ok(Arc::clone(of_run));
    };
    if model == of_run.choice.model {
        return Ok(Arc::clone(of_run));
    }
    let (workspace, profile) = (Arc::clone(&site.workspace), role.clone());
    let (of_run, wanted) = (Arc::clone(of_run), model.clone());
    let select = move || workspace.select_profile(&of_run, &profile, &wanted);
    let selected = subagents.blocking.run(select).await;
    let selected = selected
        .map_err(EngineError::from)
        .and_then(|selected| Ok(selected?));
    selected.map(Arc::new).map_err(|error| {
        error.log("model_unavailable");
        let words = format!(
            "the model `{model}` of the profile `{}` is not available",
            role.name
        );
        ToolOutcome::failed(words, "model not available")
    })
}

/// Waits for a place among those that work.
async fn place<'a>(
    subagents: &'a Subagents,
    notices: &Notices,
    call: &str,
    until: &Deadline,
) -> Result<SemaphorePermit<'a>, ToolOutcome> {
    if let Ok(place) = subagents.places.try_acquire() {
        return Ok(place);
    }
    notices.task_waits(call).await;
    match until.bound(subagents.places.acquire()).await {
        Ok(Ok(place)) => Ok(place),
        Ok(Err(_)) => Err(ToolError::Cancelled.into()),
        Err(expired) => {
            notices.task_ends(call, Outcome::Cancelled, None).await;
            Err(ToolError::from(expired).into())
        }
    }
}

/// A subagent that is about to begin.
struct Prepared {
    active: Arc<ActiveRun>,
    child: Arc<Child>,
    events: RunEvents,
    worker: super::Worker,
    /// What stands before what it tells a person.
    label: String,
}

async fn prepare(
    site: &Site,
    subagents: &Subagents,
    notices: &Notices,
    call: &str,
    role: Option<&Profile>,
    selected: Arc<Selected>,
    prompt: String,
) -> Result<Prepared, ToolOutcome> {
    let writer = subagents.conversation().await.map_err(|error| {
        error.log("task_unavailable");
        ToolOutcome::failed(
            "the subagent's conversation cannot be stored",
            "cannot be stored",
        )
    })?;
    let id = writer.lease().id().clone();
    let depth = site.active.depth() + 1;
    let gives_tasks = |kind| kind == ActivityKind::Subagent;
    let own = |name: &str| {
        let allowed = role.and_then(|role| role.tools.as_ref());
        allowed.is_none_or(|tools| tools.iter().any(|tool| tool == name))
    };
    let tools: Vec<_> = (site.equipment.usable())
        .filter(|spec| own(&spec.name) && (depth < MAX_DEPTH || !gives_tasks(spec.activity)))
        .map(|spec| spec.name.clone())
        .collect();
    let profile = role.map(|role| role.name.clone());
    let task = Task {
        profile: profile.clone(),
        id: id.to_string(),
    };
    let begun = notices.task_begins(call, task, tools.clone()).await;
    let ceilings = begun.map_err(|why| ToolOutcome::failed(why.to_owned(), "not begun"))?;
    let keeps = |name: &str| {
        tools.iter().any(|tool| tool == name) && ceilings.permit(profile.as_deref(), name)
    };
    let workspace = &site.workspace;
    let equipment = (site.equipment).of_subagent(&workspace.cwd, &workspace.guidance, role, keeps);
    let name = profile.as_deref().unwrap_or(NO_PROFILE);
    let label = format!("subagent {name}: ");
    let spec = RunSpec {
        prompt,
        parent: Some(ParentRun {
            run_id: site.active.run_id.clone(),
            session: site.active.shown_session().clone(),
            depth,
            name: name.to_owned(),
        }),
        invocation: INVOCATION,
        policy: policy(&site.active.spec.policy, label.len()),
    };
    let admitted = subagents.owner.admit_beneath(id, spec);
    let active = match admitted {
        Ok(active) => active,
        Err(_) => {
            notices.task_ends(call, Outcome::Cancelled, None).await;
            return Err(ToolError::Cancelled.into());
        }
    };
    let child = Arc::new(Child {
        owner: Arc::clone(&subagents.owner),
        left: OnceLock::new(),
    });
    let max_activities = active.spec.policy.max_activities;
    let (events, worker) = worker(Parts {
        owner: Arc::clone(&child) as Arc<dyn Owner>,
        workspace: Arc::clone(&site.workspace),
        equipment: Arc::new(equipment),
        selected: Some(selected),
        blocking: subagents.blocking.clone(),
        active: Arc::clone(&active),
        writer: SharedWriter::new(writer),
        transcript: Transcript::within(ceilings),
        activities: Allowance::new(max_activities, Some(Arc::clone(&subagents.activities))),
    });
    Ok(Prepared {
        active,
        child,
        events,
        worker,
        label,
    })
}

/// The rules of a subagent's run: bounds of its own, and none above those of the run that it works for. A summary of
/// `label` bytes less leaves room for what stands before it.
fn policy(of: &RunPolicy, label: usize) -> RunPolicy {
    const MIB: usize = 1024 * 1024;
    RunPolicy {
        max_prompt_bytes: MAX_PROMPT_BYTES,
        // Whoever passes the events on waits for the caller of the run above, and loses what may be lost there.
        delivery: DeliveryPolicy {
            wait: None,
            deltas_may_drop: true,
            activities_may_drop: false,
            ..of.delivery
        },
        text: TextPolicy {
            max_bytes: MIB,
            max_json_bytes: None,
            authoritative: Authoritative::Nowhere,
            ..of.text
        },
        max_activities: of.max_activities.min(2048),
        max_responses: of.max_responses.min(256),
        max_summary_bytes: of.max_summary_bytes.saturating_sub(label),
        max_unshown_bytes: of.max_unshown_bytes.min(4 * MIB),
        max_result_bytes: of.max_result_bytes.min(8 * MIB),
        ..*of
    }
}

impl Prepared {
    /// Lets it work until it ends, or is over its time.
    async fn work(
        self,
        site: &Site,
        subagents: &Subagents,
        call: &str,
        until: &Deadline,
    ) -> Ending {
        let Self {
            active,
            child,
            events,
            worker,
            label,
        } = self;
        // Whoever drops this ends what its tools do as well.
        let _ends = active.cancel.clone().drop_guard();
        let task = activity_of(call);
        let redactor = site.workspace.redactor();
        let passed = pass(
            events,
            &site.sink,
            &subagents.costs,
            &task,
            &label,
            redactor,
        );
        let span = info_span!(
            "run",
            run = active.run_id,
            session = active.session.as_str()
        );
        let running = Box::pin(worker.run().instrument(span));
        let mut working = pin!(async { tokio::join!(running, passed).1 });
        let (reason, expired) = tokio::select! {
            biased;
            reason = &mut working => (reason, None),
            expired = until.over() => {
                active.cancel();
                (working.await, Some(expired))
            }
        };
        let (outcome, error_code, text) = match child.left.get() {
            Some(ended) => (
                ended.outcome,
                ended.error_code,
                last_text(&ended.transcript.messages),
            ),
            // It broke off.
            None => (
                Outcome::Failed,
                Some(RunErrorCode::ExecutionFailed),
                String::new(),
            ),
        };
        Ending {
            outcome,
            error_code,
            reason,
            text,
            late: expired == Some(Expired::Late) && outcome != Outcome::Completed,
        }
    }
}

/// Who is told of a subagent's run: its own conversation is nobody's attachment.
#[derive(Debug)]
struct Child {
    owner: Arc<dyn Owner>,
    /// How it left its conversation.
    left: OnceLock<Ended>,
}

impl Owner for Child {
    /// What begins a session is its own run's.
    fn is_first_run(&self, _: &str) -> bool {
        false
    }

    fn input_stored(&self, _: &ActiveRun) -> String {
        crate::new_id()
    }

    fn run_ended(&self, active: &ActiveRun, ended: Option<Ended>) -> Option<String> {
        if let Some(ended) = ended {
            let _ = self.left.set(ended);
        }
        self.owner.run_ended(active, None)
    }

    fn events_drained(&self, active: &ActiveRun, gave_up: bool) {
        self.owner.events_drained(active, gave_up);
    }

    fn admit_beneath(&self, id: SessionId, spec: RunSpec) -> Result<Arc<ActiveRun>, ErrorKind> {
        self.owner.admit_beneath(id, spec)
    }
}
