//! `magi-code logout`: removes what is stored of a provider on this machine.

use handlers::configuration::{log_out, shown};
use host::transport::Stdio;

use super::login::answer;
use crate::program::Run;

/// Remove the login or the key of a provider that is stored on this machine
#[derive(clap::Args)]
#[command(after_help = "\
What the environment holds stays, and so does what the provider knows.

Examples:
  magi-code logout openai-codex

Exit status: 0 nothing is stored any more, 1 it could not be removed, for reasons that stand on stderr, 2 the command line is \
wrong.")]
pub(crate) struct Logout {
    /// Whom to log out of
    provider: String,
}

impl Run for Logout {
    const NAME: &'static str = "logout";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let provider = shown(&self.provider);
        let done = log_out(&self.provider).map(|removed| match removed {
            true => format!("logged out of {provider}\n"),
            false => format!("nothing was stored of {provider}\n"),
        });
        answer(stdio, done)
    }
}
