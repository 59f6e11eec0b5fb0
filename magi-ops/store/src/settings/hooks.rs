//! Hooks as settings name them: at which moments which commands run, and how many may be named.
//! Nothing here runs a command.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Commands by event, in the order they run.
pub type Hooks = BTreeMap<HookEvent, Vec<String>>;

/// Most commands of one event.
pub const MAX_HOOKS: usize = 32;
/// Longest command, in bytes.
pub const MAX_HOOK_BYTES: usize = 8 * 1024;

/// When a command runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HookEvent {
    SessionStart,
    TurnStart,
    /// Before a tool; such a command may refuse the call.
    PreTool,
    PostTool,
    TurnEnd,
}

impl HookEvent {
    /// The event's name in settings.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::SessionStart => "session_start",
            Self::TurnStart => "turn_start",
            Self::PreTool => "pre_tool",
            Self::PostTool => "post_tool",
            Self::TurnEnd => "turn_end",
        }
    }
}

/// Tells the schema of a map by event which keys there are: the derived one leaves that out.
#[cfg(test)]
pub(super) fn name_the_events(schema: &mut schemars::Schema) {
    use schemars::JsonSchema;

    let names = HookEvent::json_schema(&mut schemars::SchemaGenerator::default());
    schema.insert("propertyNames".to_owned(), names.to_value());
}
