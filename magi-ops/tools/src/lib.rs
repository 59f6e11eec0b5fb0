//! Tools on a real workspace: what a tool is, the built-in ones, and the set that bounds and runs their calls.
//! No settings, no approval, no session and no wire: who may call what is decided above.

mod access;
mod approval;
mod bash;
mod bounds;
mod context;
mod edit;
mod error;
mod file_tool;
mod glob;
mod grep;
pub mod guard;
pub mod hooks;
pub mod input;
mod lines;
mod list;
mod look;
pub mod policy;
pub mod process;
mod read;
mod replace;
mod rules;
mod set;
mod shell;
mod skill;
mod tool;
mod walk;
mod workspace;
mod write;

pub use access::{Access, DefaultPolicy};
pub use approval::Question;
pub use bounds::Watch;
pub use context::{Context, Skill};
pub use error::ToolError;
pub use media::Image;
pub use rules::{covers, suggest};
pub use set::{NameClash, ToolSet};
pub use tool::{
    ActivityKind, Call, Caller, Calling, Concurrency, Delegation, Limits, Registration, Running,
    Success, Tool, ToolOutcome, ToolSpec, registered, registered_names,
};
pub use workspace::Scope;

#[doc(hidden)]
pub use inventory;

/// Registers a tool with every [`ToolSet`] of the process: the members of a [`Registration`].
///
/// A crate that does so must be linked by use (`use it as _;`), or the linker drops it.
#[macro_export]
macro_rules! register {
    ($($member:tt)*) => {
        $crate::inventory::submit! { $crate::Registration { $($member)* } }
    };
}
