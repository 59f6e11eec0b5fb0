//! The table of a program's commands: one line each, one file each. What a command does stands in its file.
//! The whole command line is made of the table, and so are its help, its completions and its manual pages.

use clap::ArgMatches;
use host::transport::Stdio;

use super::{complain, print};

/// What a command's file supplies: its arguments, whose documentation is its help, and what it does.
pub(crate) trait Run: clap::Args {
    /// The word that a person types.
    const NAME: &'static str;

    /// Does it. The exit status.
    ///
    /// # Errors
    /// What is said on stderr; the exit status is 1 then, or 2 where the launch itself is not valid.
    fn run(self, stdio: Stdio) -> anyhow::Result<i32>;
}

/// A line of the table.
pub(crate) struct Entry {
    name: &'static str,
    describe: fn(clap::Command) -> clap::Command,
    run: fn(&ArgMatches, Stdio) -> anyhow::Result<i32>,
}

/// The line of one command.
pub(crate) const fn entry<C: Run>() -> Entry {
    Entry {
        name: C::NAME,
        describe: C::augment_args,
        run: |matches, stdio| C::from_arg_matches(matches)?.run(stdio),
    }
}

/// `program` with the commands of the table, in the order of the table.
pub(crate) fn with(program: clap::Command, table: &[Entry]) -> clap::Command {
    let described = |entry: &Entry| (entry.describe)(clap::Command::new(entry.name));
    program.subcommands(table.iter().map(described))
}

/// Runs the command that was named. The exit status; `None` where none was.
///
/// # Errors
/// Those of the command.
pub(crate) fn run(
    table: &[Entry],
    matches: &ArgMatches,
    stdio: Stdio,
) -> Option<anyhow::Result<i32>> {
    let (name, of_command) = matches.subcommand()?;
    let entry = table.iter().find(|entry| entry.name == name)?;
    Some((entry.run)(of_command, stdio))
}

/// Prints help and versions, and complains of what is wrong with the command line. The exit status.
///
/// # Errors
/// When what was asked for can't be written.
pub(crate) fn told(error: &clap::Error, stdio: Stdio) -> anyhow::Result<i32> {
    let text = error.render().to_string();
    if error.use_stderr() {
        complain(text.trim_end());
        return Ok(error.exit_code());
    }
    print(stdio, &text)
}

/// Says what is wrong with the use of a command, and how it is used. The exit status.
pub(crate) fn misuse<C: Run>(why: impl std::fmt::Display) -> i32 {
    let mut whole = crate::whole();
    whole.build();
    let of = match whole.find_subcommand_mut(C::NAME) {
        Some(found) => found,
        None => &mut whole,
    };
    let error = of.error(clap::error::ErrorKind::ValueValidation, why);
    complain(error.render().to_string().trim_end());
    error.exit_code()
}
