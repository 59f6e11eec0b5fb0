//! `man`: the manual page of a program or of one of its commands.
//! `clap_mangen` writes it, from the same description that help is made of.

use clap_mangen::roff::{Roff, roman};
use host::transport::Stdio;

use super::{Run, misuse, print};

/// Print the manual page of the program or of a command
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code man > magi-code.1
  magi-code man schema | man -l -
  mty man agent > mty-agent.1

Exit status: 0 it is printed, 1 it could not be, 2 there is no such command or the command line is wrong.")]
pub(crate) struct Man {
    /// The command, and a command of it; the program itself by default
    command: Vec<String>,
}

impl Run for Man {
    const NAME: &'static str = "man";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let mut whole = crate::whole();
        whole.build();
        let mut of = &whole;
        for name in &self.command {
            of = match of.find_subcommand(name) {
                Some(found) => found,
                None => return Ok(misuse::<Self>(format!("no command `{name}`"))),
            };
        }
        print(stdio, &page(of)?)
    }
}

/// The page in roff. What help tells last, examples and exit statuses, has sections of its own here.
fn page(of: &clap::Command) -> anyhow::Result<String> {
    let last = of
        .get_after_help()
        .map(|text| text.to_string())
        .unwrap_or_default();
    let version = concat!("magi-code ", env!("CARGO_PKG_VERSION"));
    let mut page = Vec::new();
    // A page of one build is the same page on every day.
    clap_mangen::Man::new(of.clone().after_help(None::<&str>))
        .date(" ")
        .source(version)
        .render(&mut page)?;
    let mut more = Roff::new();
    for part in last.split("\n\n").filter(|part| !part.is_empty()) {
        let (title, text) = match part.split_once(':') {
            Some((title @ ("Examples" | "Exit status" | "Exit codes"), text)) => (title, text),
            _ => {
                more.control("PP", []).text([roman(part)]);
                continue;
            }
        };
        let title = title.to_uppercase();
        more.control("SH", [title.as_str()]);
        // Lines that are lines of their own stay so.
        match text.strip_prefix('\n') {
            Some(lines) => {
                more.control("nf", []);
                lines.lines().for_each(|line| {
                    more.text([roman(line.trim())]);
                });
                more.control("fi", []);
            }
            None => {
                more.text([roman(text.trim())]);
            }
        }
    }
    Ok(String::from_utf8(page)? + &more.to_roff())
}
