//! `completions`: the script that makes a shell complete a program's commands and options.
//! `clap_complete` writes it, from the same description that help is made of.

use clap::ValueEnum;
use clap_complete::aot::{Generator, Shell as Known};
use host::transport::Stdio;

use super::{Run, print};

/// Print the script that makes a shell complete commands and options
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code completions bash > magi-code.bash
  magi-code completions zsh > _magi-code
  mty completions fish > mty.fish

A new shell finds them in ~/.local/share/bash-completion/completions, in a folder of zsh's `fpath`, or in
~/.config/fish/completions.

Exit status: 0 it is printed, 1 it could not be, 2 the command line is wrong.")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Run for Completions {
    const NAME: &'static str = "completions";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let shell = match self.shell {
            Shell::Bash => Known::Bash,
            Shell::Zsh => Known::Zsh,
            Shell::Fish => Known::Fish,
        };
        let mut whole = crate::whole();
        whole.set_bin_name(crate::NAME);
        whole.build();
        let mut script = Vec::new();
        shell.try_generate(&whole, &mut script)?;
        print(stdio, &String::from_utf8(script)?)
    }
}
