//! The log of a process that serves a protocol: off unless `MC_LOG` names a filter, and then lines of JSON in `MC_HOME/logs`.
//! Starting it never fails a launch, and nothing of it goes to the standard streams. What is logged is said elsewhere.

mod file;
mod lines;
mod reasons;

use std::path::{Path, PathBuf};

use redact::Redactor;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;

use file::LogFile;
use lines::Lines;
use reasons::Reasons;

/// The parts of both programs that log something, by the names of their crates; a test compares them with the manifests.
const PARTS: &[&str] = &[
    "account",
    "agent",
    "auth",
    "catalog",
    "export",
    "host",
    "magi",
    "mcp",
    "mty_agent",
    "provider",
    "store",
    "tools",
    "web",
    OWN,
];
/// The log's own lines, which every filter lets pass.
const OWN: &str = "log";

/// Begins to log what `MC_LOG` asks for, and to tell why a start or a call failed in the file `reasons`, if there is one. A
/// filter that can't be read counts as `info`, and a name that no part has logs nothing; the first lines say both. Where no
/// log can be written there is none. What `redactor` learns later counts for later lines.
pub(crate) fn start(redactor: Redactor, reasons: Option<&Path>) {
    let wanted = Wanted::of_process();
    let file = wanted
        .as_ref()
        .filter(|wanted| wanted.is_on())
        .and_then(|_| LogFile::create(&home()?).ok());
    let is_logged = file.is_some();
    let lines = file.zip(wanted.as_ref()).map(|(file, wanted)| {
        // The SDK of MCP tells whole messages, of which results are never logged.
        let filter = wanted.filter.clone().with_target("rmcp", LevelFilter::OFF);
        let filter = filter.with_target(OWN, LevelFilter::INFO);
        Lines::new(file, redactor.clone()).with_filter(filter)
    });
    let reasons = reasons.and_then(|path| Reasons::new(path, redactor).ok());
    let reasons = reasons.map(|reasons| {
        let told = Targets::new().with_target("agent", LevelFilter::INFO);
        reasons.with_filter(told)
    });
    if lines.is_none() && reasons.is_none() {
        return;
    }
    let subscriber = tracing_subscriber::registry().with(lines).with(reasons);
    if tracing::subscriber::set_global_default(subscriber).is_err() || !is_logged {
        return;
    }
    tracing::info!(
        target: OWN,
        version = env!("CARGO_PKG_VERSION"),
        pid = std::process::id(),
        "the log begins"
    );
    let Some(Wanted { filter, unread }) = wanted else {
        return;
    };
    if let Some(error) = unread {
        tracing::warn!(target: OWN, error, "{UNREAD}");
    }
    for name in unknown(&filter) {
        let parts = PARTS.join(", ");
        tracing::warn!(target: OWN, name, parts, "MC_LOG names no part of this program, so that word logs nothing");
    }
}

const UNREAD: &str =
    "MC_LOG is no filter such as `info` or `agent=debug`; what is logged is `info`";

/// What is odd about `MC_LOG`, and why its log can't be written: for who reads no log.
#[allow(dead_code)] // one of the two programs has a command that tells it
pub(crate) fn odd() -> Vec<String> {
    let Some(wanted) = Wanted::of_process() else {
        return Vec::new();
    };
    let unread = wanted.unread.iter().map(|why| format!("{UNREAD} ({why})"));
    let unknown = unknown(&wanted.filter).into_iter();
    let mut odd: Vec<_> = unread
        .chain(unknown.map(|name| {
            format!(
                "no part of this program is called `{name}`, so that word of MC_LOG logs nothing"
            )
        }))
        .collect();
    if wanted.is_on()
        && let Some(Err(error)) = home().map(|home| file::prepare(&home))
    {
        odd.push(format!("no log can be written: {error}"));
    }
    odd
}

/// What `MC_LOG` asks for.
struct Wanted {
    filter: Targets,
    /// Why it can't be read.
    unread: Option<String>,
}

impl Wanted {
    /// `None` where it is not set.
    fn of_process() -> Option<Self> {
        let wanted = std::env::var_os("MC_LOG").filter(|filter| !filter.is_empty())?;
        Some(Self::of(&wanted.to_string_lossy()))
    }

    fn of(wanted: &str) -> Self {
        let wanted = switch(wanted.trim()).unwrap_or(wanted);
        match wanted.parse() {
            Ok(filter) => Self {
                filter,
                unread: None,
            },
            Err(error) => Self {
                filter: Targets::new().with_default(LevelFilter::INFO),
                unread: Some(with_sources(&error)),
            },
        }
    }

    fn is_on(&self) -> bool {
        let asks = self.filter.iter().map(|(_, level)| level);
        let asks = asks.chain(self.filter.default_level());
        asks.max().is_some_and(|most| most != LevelFilter::OFF)
    }
}

/// What an error says, and what was behind it.
fn with_sources(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", with_sources(source)),
        None => error.to_string(),
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
