//! The agent engine: what a process admits at startup and, behind one facade, what it does with it.
//! Knows no wire; callers translate its values into their dialect.

mod backend;
mod startup;

pub use backend::{Backend, Phase, Status};
pub use startup::{Environment, InitializeError, StartupError};
