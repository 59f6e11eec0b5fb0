//! Checks that break off: why, and work on stacks of its own, which is where most of them do.
//! Must not know what the work is.

use tokio_util::sync::CancellationToken;

/// Why a check broke off. What it found until then says nothing of the rest.
#[derive(Debug, thiserror::Error)]
pub enum Unfinished {
    /// There was no memory for the stack that a deep program needs.
    #[error("no memory for the stack of a deeply nested program")]
    NoStack(#[source] std::io::Error),
    /// Nobody waits for it any more.
    #[error("the check was cancelled")]
    Cancelled,
    /// A pass failed; with what it said.
    #[error("a pass stopped unexpectedly: {0}")]
    Panicked(String),
}

/// Ends a check that nobody waits for any more.
pub(crate) fn wanted(cancel: &CancellationToken) -> Result<(), Unfinished> {
    if cancel.is_cancelled() {
        return Err(Unfinished::Cancelled);
    }
    Ok(())
}

impl Unfinished {
    /// Of a panic's payload.
    pub(crate) fn panicked(payload: &(dyn std::any::Any + Send)) -> Self {
        let text = payload
            .downcast_ref::<&str>()
            .map(|text| (*text).to_owned())
            .or_else(|| payload.downcast_ref::<String>().cloned());
        Self::Panicked(text.unwrap_or_else(|| "no message".to_owned()))
    }
}

/// Runs `work` on a stack of `bytes`.
///
/// # Errors
/// [`Unfinished`], where there is no such stack or the work panics.
pub(crate) fn on_stack<T: Send>(
    bytes: usize,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Unfinished> {
    let big = std::thread::Builder::new().stack_size(bytes);
    std::thread::scope(|scope| {
        let handle = big.spawn_scoped(scope, work).map_err(Unfinished::NoStack)?;
        handle
            .join()
            .map_err(|payload| Unfinished::panicked(&*payload))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_fails_is_told_with_its_words() {
        assert!(matches!(on_stack(1 << 20, || 7), Ok(7)));
        let failed = on_stack(1 << 20, || assert_eq!(1, 2, "no {}", "luck"));
        let Err(Unfinished::Panicked(why)) = failed else {
            panic!("{failed:?}")
        };
        assert!(why.contains("no luck"), "{why}");
        // More than the address space has.
        let nothing = on_stack(1 << 60, || ());
        assert!(
            matches!(nothing, Err(Unfinished::NoStack(_))),
            "{nothing:?}"
        );
    }
}
