//! `mty explain`: the long text of a diagnostic code.
//! The texts are the toolchain's.

use host::transport::Stdio;

use crate::program::{Run, complain, print};

/// Print the long text of a diagnostic code
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  mty explain MT3014

Exit codes:
  0  it is printed
  1  there is no such code
  2  usage")]
pub(crate) struct Explain {
    /// `MT3014`, `mt3014` or `3014`
    code: String,
}

impl Run for Explain {
    const NAME: &'static str = "explain";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        match mighty::explain(&self.code) {
            Ok(text) => print(stdio, &format!("{text}\n")),
            Err((message, status)) => {
                complain(&format!("error: {message}"));
                Ok(status)
            }
        }
    }
}
