//! What a call may ask of the run that makes it: other calls, made for it.
//! How such calls are decided, asked for, shown and stored is the run's matter.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use serde_json::Value;

use crate::tool::{ToolOutcome, ToolSpec};

/// The run that makes a call, as the call sees it. Given to tools whose spec says [`ToolSpec::makes_calls`].
pub trait Caller: Send + Sync {
    /// The tools that may be called from here, in the order in which they are offered: those that are not denied and
    /// make no calls themselves.
    fn tools(&self) -> Vec<Arc<ToolSpec>>;

    /// Makes a call for the one that asks: by the policy, hooks and approvals of every call, shown and stored as an
    /// activity beneath it. Always answers; a denial, a cancellation and an unknown name are outcomes with `is_error`.
    /// Calls that change something run one after another. Dropping the future ends the call.
    fn call(&self, name: String, input: Value) -> Calling;
}

/// A call that is made for another one.
pub type Calling = Pin<Box<dyn Future<Output = ToolOutcome> + Send>>;
