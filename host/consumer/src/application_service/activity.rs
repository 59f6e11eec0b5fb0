//! The six kinds of `turn.activity`, each with its own fields and words.
//! Best-effort and turn-local: an activity identity is not unique, and nothing here settles anything.

use super::words::{
    Category, CompactionStatus, ContextSource, LifecycleStatus, Transport, UsageSource,
};
use crate::Violation;
use crate::fields::Fields;

/// One activity. Counts are tokens unless named otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    pub activity_id: String,
    pub parent_activity_id: Option<String>,
    pub kind: Kind,
}

/// What it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Lifecycle {
        category: Category,
        status: LifecycleStatus,
    },
    /// `timed_out` is null where nobody can say; that is not "no".
    Tool {
        tool_id: String,
        tool_name: Option<String>,
        server_id: Option<String>,
        transport: Transport,
        status: LifecycleStatus,
        timed_out: Option<bool>,
    },
    ReasoningSummary {
        text: String,
        redacted: bool,
        truncated: bool,
    },
    Context {
        current_tokens: u64,
        max_tokens: u64,
        reasoning_tokens: Option<u64>,
        request_sequence: u64,
        source: ContextSource,
    },
    Usage {
        effective_input: u64,
        output: u64,
        cache_read: u64,
        cache_known: bool,
        request_sequence: u64,
        final_usage: bool,
        source: UsageSource,
    },
    Compaction {
        status: CompactionStatus,
        current_tokens: Option<u64>,
        max_tokens: Option<u64>,
        replay_required: bool,
    },
}

impl Activity {
    /// Reads one activity. `id_bytes` bounds its identities, `summary_bytes` a reasoning summary.
    ///
    /// # Errors
    /// The first rule it breaks.
    pub fn read(
        fields: Fields<'_>,
        id_bytes: usize,
        summary_bytes: usize,
    ) -> Result<Self, Violation> {
        let id = |f: &Fields<'_>, name| f.matching(name, |id| (1..=id_bytes).contains(&id.len()));
        let kind = match fields.text("kind")? {
            "lifecycle" => {
                fields.constant("details_omitted", true)?;
                Kind::Lifecycle {
                    category: fields.word("category")?,
                    status: fields.word("status")?,
                }
            }
            "tool" => {
                fields.constant("details_omitted", true)?;
                Kind::Tool {
                    tool_id: id(&fields, "tool_id")?,
                    tool_name: fields.nullable("tool_name", id)?,
                    server_id: fields.nullable("server_id", id)?,
                    transport: fields.word("transport")?,
                    status: fields.word("status")?,
                    timed_out: fields.nullable("timed_out", Fields::flag)?,
                }
            }
            "reasoning_summary" => Kind::ReasoningSummary {
                text: fields.bounded("text", summary_bytes)?,
                redacted: fields.flag("redacted")?,
                truncated: fields.flag("truncated")?,
            },
            "context" => Kind::Context {
                current_tokens: fields.count("current_tokens")?,
                max_tokens: fields.count("max_tokens")?,
                reasoning_tokens: fields.nullable("reasoning_tokens", Fields::count)?,
                request_sequence: fields.count("request_sequence")?,
                source: fields.word("source")?,
            },
            "usage" => Kind::Usage {
                effective_input: fields.count("effective_input")?,
                output: fields.count("output")?,
                cache_read: fields.count("cache_read")?,
                cache_known: fields.flag("cache_known")?,
                request_sequence: fields.count("request_sequence")?,
                final_usage: fields.flag("final_usage")?,
                source: fields.word("source")?,
            },
            "compaction" => compaction(fields)?,
            _ => return Err(Violation::UnknownWord("kind")),
        };
        Ok(Self {
            activity_id: id(&fields, "activity_id")?,
            // Omitted means that no parent was supplied; null is not a parent.
            parent_activity_id: fields.optional("parent_activity_id", id)?,
            kind,
        })
    }

    /// The client is asked to read the durable session again.
    #[must_use]
    pub fn asks_for_replay(&self) -> bool {
        matches!(
            self.kind,
            Kind::Compaction {
                replay_required: true,
                ..
            }
        )
    }
}

fn compaction(fields: Fields<'_>) -> Result<Kind, Violation> {
    use CompactionStatus::{Cancelled, Completed, Failed, Running, Triggered};
    let status: CompactionStatus = fields.word("status")?;
    let current_tokens = fields.nullable("current_tokens", Fields::count)?;
    let max_tokens = fields.nullable("max_tokens", Fields::count)?;
    let counted = matches!(status, Triggered | Completed);
    if current_tokens.is_some() != counted || max_tokens.is_some() != counted {
        return Err(Violation::Contradiction("current_tokens"));
    }
    let replay_required = fields.flag("replay_required")?;
    let ended = match status {
        Completed | Failed | Cancelled => true,
        Triggered | Running => false,
    };
    if replay_required != ended {
        return Err(Violation::Contradiction("replay_required"));
    }
    Ok(Kind::Compaction {
        status,
        current_tokens,
        max_tokens,
        replay_required,
    })
}
