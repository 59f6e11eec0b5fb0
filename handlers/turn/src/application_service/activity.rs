//! What `turn.activity` says: an allowlisted projection of the engine's activities (spec: application-service,
//! "Structured activity"). No name that a model or a server chose, no argument and no result passes here.

use std::borrow::Cow;
use std::fmt::Write as _;

use agent::{ActivityState, Category, CompactionState, ContextSource, UsageSource as Source};
use application_service::messages::{
    Activity, Compaction, Context, Kind, Lifecycle, ReasoningSummary, Tool, Usage,
};
use application_service::words::{
    self as vocabulary, CompactionStatus, LifecycleStatus, Transport, UsageSource,
};
use sha2::{Digest, Sha256};

/// Raw identities of the two streams that have no other: each update reuses its stream's.
const CONTEXT_STREAM: &str = "stream:context";
const USAGE_STREAM: &str = "stream:usage";

/// What a client is shown of an activity.
pub(super) fn shown(activity: agent::Activity) -> Activity {
    use agent::Activity as Raw;
    let mut parent_activity_id = None;
    let (id, kind) = match activity {
        Raw::Tool {
            id,
            parent,
            tool,
            server,
            state,
            timed_out,
            ..
        } => {
            // Only a start has one.
            let parent = parent.filter(|_| state == ActivityState::Started);
            parent_activity_id = parent.map(|parent| hashed("activity", &parent));
            (id, tool_kind(&tool, server.as_deref(), state, timed_out))
        }
        Raw::Began {
            id,
            parent,
            what,
            waits,
        } => {
            parent_activity_id = parent.map(|parent| hashed("activity", &parent));
            let status = match waits {
                true => LifecycleStatus::Queued,
                false => LifecycleStatus::Running,
            };
            (id, lifecycle(category(what), status))
        }
        Raw::OfTask { task, activity } => return of_task(&task, *activity),
        Raw::Ended { id, state } => (id, lifecycle(vocabulary::Category::Activity, status(state))),
        Raw::ReasoningSummary {
            id,
            text,
            redacted,
            truncated,
        } => {
            let kind = Kind::ReasoningSummary(ReasoningSummary {
                text: text.into_string(),
                redacted,
                truncated,
            });
            (id, kind)
        }
        Raw::Context {
            current_tokens,
            max_tokens,
            reasoning_tokens,
            request,
            source,
        } => {
            let kind = Kind::Context(Context {
                current_tokens,
                max_tokens,
                reasoning_tokens,
                request_sequence: request.into(),
                source: match source {
                    ContextSource::LastProviderUsage => {
                        vocabulary::ContextSource::LastProviderUsage
                    }
                    ContextSource::ProviderPartial => vocabulary::ContextSource::ProviderPartial,
                    ContextSource::FallbackEstimate => vocabulary::ContextSource::FallbackEstimate,
                    ContextSource::FallbackProjection => {
                        vocabulary::ContextSource::FallbackProjection
                    }
                },
            });
            (CONTEXT_STREAM.to_owned(), kind)
        }
        Raw::Compaction {
            id, state, tokens, ..
        } => (id, compaction_kind(state, tokens)),
        Raw::Usage {
            effective_input,
            output,
            cache_read,
            request,
            source,
        } => {
            let kind = Kind::Usage(Usage {
                effective_input,
                output,
                cache_read: cache_read.unwrap_or(0),
                cache_known: cache_read.is_some(),
                request_sequence: request.into(),
                // The engine tells what a response cost once, when it is over.
                final_usage: true,
                source: match source {
                    Source::Request => UsageSource::ProviderRequest,
                    Source::Subagents => UsageSource::SubagentAggregate,
                },
            });
            (USAGE_STREAM.to_owned(), kind)
        }
    };
    Activity {
        activity_id: hashed("activity", &id),
        parent_activity_id,
        kind,
    }
}

/// What a subagent does: on its start beneath its task, unless it stands beneath something else there.
fn of_task(task: &str, activity: agent::Activity) -> Activity {
    use agent::Activity as Raw;
    let starts = match &activity {
        Raw::Tool { state, .. } => *state == ActivityState::Started,
        Raw::Began { .. } => true,
        _ => false,
    };
    let mut shown = shown(activity);
    if starts && shown.parent_activity_id.is_none() {
        shown.parent_activity_id = Some(hashed("activity", task));
    }
    if let Kind::Tool(tool) = &mut shown.kind {
        // Told of the main agent's results alone.
        tool.timed_out = None;
    }
    shown
}

fn lifecycle(category: vocabulary::Category, status: LifecycleStatus) -> Kind {
    Kind::Lifecycle(Lifecycle {
        category,
        status,
        details_omitted: true,
    })
}

fn tool_kind(
    tool: &str,
    server: Option<&str>,
    state: ActivityState,
    timed_out: Option<bool>,
) -> Kind {
    // Only the names of linked tools may be told: no model and no server chose them.
    let tool_name = agent::registered_tool(tool).filter(|_| server.is_none());
    Kind::Tool(Tool {
        tool_id: hashed("tool", tool),
        tool_name: tool_name.map(Cow::from),
        server_id: server.map(|server| hashed("server", server)),
        transport: match (server, tool_name) {
            (Some(_), _) => Transport::Mcp,
            (None, Some(_)) => Transport::Local,
            // Where a tool would run that is none of ours, nobody knows.
            (None, None) => Transport::Unknown,
        },
        status: match state {
            // A call that was cut short has a result all the same, and results are one or the other.
            ActivityState::Cancelled => LifecycleStatus::Failed,
            state => status(state),
        },
        timed_out,
        details_omitted: true,
    })
}

fn compaction_kind(state: CompactionState, tokens: Option<(u64, u64)>) -> Kind {
    let (status, replay_required) = match state {
        CompactionState::Triggered => (CompactionStatus::Triggered, false),
        CompactionState::Running => (CompactionStatus::Running, false),
        CompactionState::Completed => (CompactionStatus::Completed, true),
        CompactionState::Failed => (CompactionStatus::Failed, true),
        CompactionState::Cancelled => (CompactionStatus::Cancelled, true),
    };
    Kind::Compaction(Compaction {
        status,
        current_tokens: tokens.map(|(current, _)| current),
        max_tokens: tokens.map(|(_, max)| max),
        replay_required,
    })
}

fn status(state: ActivityState) -> LifecycleStatus {
    match state {
        ActivityState::Started => LifecycleStatus::Running,
        ActivityState::Completed => LifecycleStatus::Completed,
        ActivityState::Failed => LifecycleStatus::Failed,
        ActivityState::Cancelled => LifecycleStatus::Cancelled,
    }
}

fn category(what: Category) -> vocabulary::Category {
    match what {
        Category::Hook => vocabulary::Category::Hook,
        Category::ContextInjection => vocabulary::Category::ContextInjection,
        Category::Diagnostic => vocabulary::Category::Diagnostic,
        Category::SubagentBatch => vocabulary::Category::SubagentBatch,
        Category::SubagentTask => vocabulary::Category::SubagentTask,
    }
}

/// `namespace-` and the digest of a raw identity: equal for equal ones, within the 128 bytes of an id.
fn hashed(namespace: &str, raw: &str) -> String {
    let mut id = format!("{namespace}-");
    for byte in Sha256::digest(raw) {
        // Writing into a String cannot fail.
        let _ = write!(id, "{byte:02x}");
    }
    id
}

#[cfg(test)]
mod tests;
