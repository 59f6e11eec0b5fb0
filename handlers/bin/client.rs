//! What the person's clients of local-agent share (`try`, `exec`, `chat`): a child of their own, how it is started and
//! left, what it tells beside the protocol, and the person at the terminal.
//! Nothing here shows anything: that is the commands' matter.

#[cfg(any(feature = "try", feature = "chat"))]
pub(crate) mod asker;
#[cfg(any(feature = "try", feature = "chat"))]
pub(crate) mod held;
pub(crate) mod input;
pub(crate) mod reasons;
#[cfg(any(feature = "exec", feature = "chat"))]
pub(crate) mod start;
pub(crate) mod step;
