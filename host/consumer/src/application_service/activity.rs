//! The six kinds of `turn.activity`, held to the limits in force and to themselves.
//! Best-effort and turn-local: an activity identity is not unique, and nothing here settles anything.

pub use application_service::messages::{
    Activity, Compaction, Context, Kind, Lifecycle, ReasoningSummary, Tool, Usage,
};

use super::limits::ids;
use super::words::CompactionStatus;
use crate::Violation;
use crate::fields::Fields;
use crate::violation::ensure;

/// Reads one activity. `id_bytes` bounds its identities, `summary_bytes` a reasoning summary.
///
/// # Errors
/// The first rule it breaks.
pub(super) fn read(
    fields: Fields<'_>,
    id_bytes: usize,
    summary_bytes: usize,
) -> Result<Activity, Violation> {
    let kind = Kind::read(fields.text("kind")?, fields.reader("activity"))
        .unwrap_or(Err(Violation::UnknownWord("kind")))?;
    match &kind {
        Kind::Tool(tool) => {
            ids(id_bytes, &[("tool_id", &tool.tool_id)])?;
            for (name, id) in [
                ("tool_name", tool.tool_name.as_deref()),
                ("server_id", tool.server_id.as_deref()),
            ] {
                id.map_or(Ok(()), |id| ids(id_bytes, &[(name, id)]))?;
            }
        }
        Kind::ReasoningSummary(summary) if summary.text.len() > summary_bytes => {
            return Err(Violation::OutOfBounds("text"));
        }
        Kind::Compaction(compaction) => consistent(compaction)?,
        _ => {}
    }
    let id = |f: &Fields<'_>, name| f.matching(name, |id| (1..=id_bytes).contains(&id.len()));
    Ok(Activity {
        activity_id: id(&fields, "activity_id")?,
        // Omitted means that no parent was supplied; null is not a parent.
        parent_activity_id: fields.optional("parent_activity_id", id)?,
        kind,
    })
}

/// The client is asked to read the durable session again.
#[must_use]
pub fn asks_for_replay(activity: &Activity) -> bool {
    matches!(&activity.kind, Kind::Compaction(compaction) if compaction.replay_required)
}

fn consistent(compaction: &Compaction) -> Result<(), Violation> {
    use CompactionStatus::{Cancelled, Completed, Failed, Running, Triggered};
    let counted = matches!(compaction.status, Triggered | Completed);
    if compaction.current_tokens.is_some() != counted || compaction.max_tokens.is_some() != counted
    {
        return Err(Violation::Contradiction("current_tokens"));
    }
    let ended = match compaction.status {
        Completed | Failed | Cancelled => true,
        Triggered | Running => false,
    };
    ensure(
        compaction.replay_required == ended,
        Violation::Contradiction("replay_required"),
    )
}
