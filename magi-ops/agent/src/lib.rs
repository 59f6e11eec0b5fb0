//! The agent engine: workspaces, sessions and runs of a process, behind one facade.
//! Knows no wire; callers translate its values into their dialect.

mod archive;
mod attach;
mod ceilings;
mod compaction;
mod conversation;
mod engine;
mod error;
mod heap;
mod history;
mod images;
#[cfg(test)]
mod memory;
mod prompt;
mod replay;
mod run;
mod startup;
mod task;
mod transcript;
mod writer;

/// How far a login has come, and why one stored nothing.
#[cfg(feature = "providers")]
pub use account::{CallbackError, LoginError, LoginStep};
pub use archive::{Archive, Listed, Listing, Pruned};
pub use attach::{Attached, Notice};
/// Which models a provider offers.
pub use catalog::{Catalog, Model, State as CatalogState};
/// What a main becomes when it was started for a snippet.
#[cfg(feature = "code-mode")]
pub use code as snippet;
pub use engine::{
    Capacity, Configuration, Detached, Engine, Refreshed, Setting, configuration, configure,
    effective, set,
};
pub use error::{ConfigurationErrorKind, EngineError, ErrorKind};
pub use history::{EntryKind, HistoryEntry, HistoryPage, TurnEnd};
pub use replay::{ReplayBody, ReplayItem, ReplayPage, Replays, Role};
pub use run::{
    ActiveRun, Activity, ActivityState, Authoritative, Category, CompactionState, ContextSource,
    DeliveryPolicy, MayDrop, MustArrive, ParentRun, Persistence, Run, RunErrorCode, RunEvent,
    RunEvents, RunIds, RunPolicy, RunSpec, TextPolicy, UsageSource,
};
#[cfg(feature = "providers")]
pub use startup::{
    AccountStatus, Accounts, AccountsError, AuthMethod, AuthSource, LoginEvent, LoginStarted,
    Readiness, account_statuses, log_in_to, log_out, store_key,
};
pub use startup::{
    Approval, Chosen, Environment, Examination, StartupError, StartupErrorKind, StartupStatus,
    Trusted, Workspace, approve, choose, examine, latest_session, launch_line, remember, servers,
    trust,
};
#[cfg(feature = "mcp")]
pub use startup::{Offered, failing_servers, log_in, try_server};
/// How a run ended.
pub use store::sessions::Outcome;
/// A session's id, which names no path.
pub use store::sessions::{InvalidSessionId, SessionId, SessionList};
/// What is selected, and where that is written.
pub use store::settings::{Change, Scope, ThinkingLevel};
/// MCP servers as the settings define them.
pub use store::settings::{Launch, McpServer, ServerState};
/// What people are told of a configuration.
pub use store::{Reason, command_word, on_a_line, shown, shown_path};
pub use store::{Redacted, Redactor};
/// What a main becomes when it was started as the guard of a command.
pub use tools::guard;
/// A session from its first word to its last, for people.
pub use transcript::{Answerer, Call, Cost, Counts, Entry, Task, Turn};
// Registers its tool, or keeps the name of one that this build lacks.
use code as _;
/// What a call is to those who watch, and the names that are no secret: those of linked tools.
pub use tools::{ActivityKind, registered as registered_tool};
/// Rules for command lines, as a person is offered them.
pub use tools::{covers, suggest};

/// A new opaque id of 36 bytes from the id grammar.
fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// Whether `id` follows the grammar of opaque ids: 1 to 64 bytes of `[A-Za-z0-9._-]`.
fn is_id(id: &str) -> bool {
    (1..=64).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
}
