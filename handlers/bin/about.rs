//! What a binary says of itself: its version, the protocols it serves and the parts that were linked.
//! Both mains use it; nothing of one command stands here.

use clap::{CommandFactory, FromArgMatches};

/// The version, a line of dialects and one of features, of which `parts` are those that could be linked. Made once a
/// process.
pub(crate) fn version(parts: &[(&'static str, bool)]) -> &'static str {
    // Where two registrations claim one name, whoever serves says so, and does not start.
    let dialects =
        host::Registry::collect().map_or_else(|_| Vec::new(), |linked| linked.dialects());
    let dialects: Vec<String> = dialects
        .into_iter()
        .map(|rules| format!("{} {}", rules.name, rules.version))
        .collect();
    let linked = parts.iter().filter(|(_, linked)| *linked);
    let parts: Vec<&str> = linked.map(|(name, _)| *name).collect();
    format!(
        "{}\ndialects: {}\nfeatures: {}",
        env!("CARGO_PKG_VERSION"),
        dialects.join(", "),
        parts.join(", ")
    )
    .leak()
}

/// Parses the process's arguments; `--version` and `version` tell all of `version`.
///
/// # Errors
/// What is to be printed instead, help among it.
pub(crate) fn parse<C: CommandFactory + FromArgMatches>(
    version: &'static str,
) -> Result<C, clap::Error> {
    let mut command = C::command().long_version(version);
    let matches = command.try_get_matches_from_mut(std::env::args_os())?;
    C::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}
