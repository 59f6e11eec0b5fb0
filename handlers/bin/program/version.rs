//! `version`: the version, the dialects and the linked features.
//! The same words as those of `--version`.

use host::transport::Stdio;

use super::{Run, print};

/// Print the version, the dialects and the linked features
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  magi-code version
  mty version

Exit status: 0 it is printed, 1 it could not be, 2 the command line is wrong.")]
pub(crate) struct Version;

impl Run for Version {
    const NAME: &'static str = "version";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let text = super::version(crate::PARTS);
        print(stdio, &format!("{} {text}\n", crate::NAME))
    }
}
