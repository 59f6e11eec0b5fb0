//! Panics that are caught and become a failure of one request: what they said and where is logged.
//! Nothing here decides what a client is told.

use std::any::Any;
use std::panic::PanicHookInfo;

/// Logs what a caught panic said. Its place in the source is logged by the hook of [`log_panics`].
pub(crate) fn caught(within: &'static str, payload: &(dyn Any + Send)) {
    tracing::error!(within, panic = text(payload), "a panic was caught");
}

/// From now on panics of this process are told to the log, with their place, and no longer to the standard
/// error: a client that doesn't read it must not hold up the process, and local-agent forbids it.
pub fn log_panics() {
    std::panic::set_hook(Box::new(record));
}

fn record(info: &PanicHookInfo<'_>) {
    let place = info.location();
    tracing::error!(
        file = place.map(std::panic::Location::file),
        line = place.map(std::panic::Location::line),
        column = place.map(std::panic::Location::column),
        panic = text(info.payload()),
        "panic"
    );
}

/// From now on panics of this process are told to the log too, with their place, before the standard error has
/// them as always.
pub fn log_panics_too() {
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        record(info);
        before(info);
    }));
}

fn text(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("(no text)")
}
