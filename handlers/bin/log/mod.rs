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

/// The parts of both programs that log something, by the names of their crates; a test compares them with the manifests.
const PARTS: &[&str] = &[
    "account",
    "agent",
    "host",
    "magi",
    "mcp",
    "mty_agent",
    "provider",
    "store",
    "tools",
    OWN,
];
/// The log's own lines, which every filter lets pass.
const OWN: &str = "log";

/// Begins to log what `MC_LOG` asks for. A filter that can't be read counts as `info`, and a name that no part has logs
/// nothing; the first lines say both. Where no log can be written there is none. What `redactor` learns later counts for
/// later lines.
pub(crate) fn start(redactor: Redactor) {
    let Some(wanted) = std::env::var_os("MC_LOG").filter(|filter| !filter.is_empty()) else {
        return;
    };
    let wanted = wanted.to_string_lossy();
    let wanted = switch(wanted.trim()).unwrap_or(&wanted);
    let parsed: Result<Targets, _> = wanted.parse();
    let filter = match &parsed {
        Ok(filter) => filter.clone(),
        Err(_) => Targets::new().with_default(LevelFilter::INFO),
    };
    let asks = filter
        .iter()
        .map(|(_, level)| level)
        .chain(filter.default_level());
    if asks.max().is_none_or(|most| most == LevelFilter::OFF) {
        return;
    }
    let Some(file) = home().and_then(|home| LogFile::create(&home).ok()) else {
        return;
    };
    let unknown = unknown(&filter);
    // The SDK of MCP tells whole messages, of which results are never logged.
    let filter = filter.with_target("rmcp", LevelFilter::OFF);
    let filter = filter.with_target(OWN, LevelFilter::INFO);
    let lines = Lines::new(file, redactor).with_filter(filter);
    let subscriber = tracing_subscriber::registry().with(lines);
    if tracing::subscriber::set_global_default(subscriber).is_err() {
        return;
    }
    tracing::info!(
        target: OWN,
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        "the log begins"
    );
    if let Err(error) = parsed {
        tracing::warn!(target: OWN, %error, "MC_LOG is no filter such as `info` or `agent=debug`; what is logged is `info`");
    }
    for name in unknown {
        let parts = PARTS.join(", ");
        tracing::warn!(target: OWN, name, parts, "MC_LOG names no part of this program, so that word logs nothing");
    }
}

/// What people write who only want it on or off; `1` would be a level, and the rest names of parts.
fn switch(word: &str) -> Option<&'static str> {
    match word.to_ascii_lowercase().as_str() {
        "1" | "on" | "true" | "yes" => Some("info"),
        "0" | "false" | "no" => Some("off"),
        _ => None,
    }
}

/// The words of a filter with which no target begins, which is a part's name or that, `::` and a module of it.
fn unknown(filter: &Targets) -> Vec<String> {
    let is_of = |word: &str, part: &&str| {
        let module = word.strip_prefix(part);
        part.starts_with(word) || module.is_some_and(|module| module.starts_with("::"))
    };
    let words = filter.iter().map(|(word, _)| word);
    let words = words.filter(|word| !PARTS.iter().any(|part| is_of(word, part)));
    words.map(str::to_owned).collect()
}

/// `MC_HOME`, by default `~/.magi-code`.
fn home() -> Option<PathBuf> {
    let own = std::env::var_os("MC_HOME").filter(|home| !home.is_empty());
    match own {
        Some(home) => std::path::absolute(home).ok(),
        None => Some(std::env::home_dir()?.join(".magi-code")),
    }
}

#[cfg(test)]
mod tests {
    use super::switch;

    #[test]
    fn who_only_wants_it_on_gets_a_level() {
        for on in ["1", "true", "On", "yes"] {
            assert_eq!(switch(on), Some("info"), "{on}");
        }
        for off in ["0", "FALSE", "no"] {
            assert_eq!(switch(off), Some("off"), "{off}");
        }
        for filter in ["info", "off", "agent=debug", "trace", ""] {
            assert_eq!(switch(filter), None, "{filter}");
        }
    }
}
