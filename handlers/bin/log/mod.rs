//! The log of a process that serves a protocol: off unless `MC_LOG` names a filter, and then lines of JSON in `MC_HOME/logs`.
//! Starting it never fails a launch, and nothing of it goes to the standard streams. What is logged is said elsewhere.

mod file;
mod lines;

use std::path::PathBuf;

use redact::Redactor;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use file::LogFile;
use lines::Lines;

/// Begins to log what `MC_LOG` asks for. A filter that can't be read counts as `info`, which the first line says; where
/// no log can be written there is none. What `redactor` learns later counts for later lines.
pub(crate) fn start(redactor: Redactor) {
    let Some(wanted) = std::env::var_os("MC_LOG").filter(|filter| !filter.is_empty()) else {
        return;
    };
    let wanted = wanted.to_string_lossy();
    let parsed: Result<Targets, _> = wanted.parse();
    let Some(file) = home().and_then(|home| LogFile::create(&home).ok()) else {
        return;
    };
    let filter = match &parsed {
        Ok(filter) => filter.clone(),
        Err(_) => Targets::new().with_default(LevelFilter::INFO),
    };
    let lines = Lines::new(file, redactor).with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(lines);
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        return;
    }
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        "the log begins"
    );
    if let Err(error) = parsed {
        tracing::warn!(%error, "MC_LOG is no filter such as `info` or `agent=debug`; what is logged is `info`");
    }
}

/// `MC_HOME`, by default `~/.magi-code`.
fn home() -> Option<PathBuf> {
    let own = std::env::var_os("MC_HOME").filter(|home| !home.is_empty());
    match own {
        Some(home) => std::path::absolute(home).ok(),
        None => Some(std::env::home_dir()?.join(".magi-code")),
    }
}
