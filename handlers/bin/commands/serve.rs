//! `magi-code serve --stdio` and `magi-code --app service`: the two dialects.
//! What they serve, and what it needs, is no matter of this file.

use handlers::magi::Refused;
use host::transport::Stdio;

use crate::refuse;

/// Serve the local-agent protocol to the process that owns this one
#[cfg(feature = "local-agent")]
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  echo '{\"protocol\":\"magi-code.local-agent\",\"version\":1,\"id\":\"1\",\"method\":\"status\",\"params\":{}}' | \
magi-code serve --stdio | cat

Exit status: 0 the client ended it, 1 it was torn down, 2 the launch is not valid or the command line is wrong.")]
pub(crate) struct Serve {
    /// On standard input and output, which must be pipes
    #[arg(long, required = true)]
    stdio: bool,
    /// A file that is there, to add why a start or a call failed to, and more that the protocol has no words for; the
    /// person's commands read it
    #[arg(long, hide = true)]
    reasons: Option<std::path::PathBuf>,
    /// Sessions go on with the selection of the start, whatever they were saved with
    #[arg(long, hide = true)]
    insist: bool,
    /// Most responses of a turn
    #[arg(long, hide = true)]
    max_responses: Option<u32>,
}

#[cfg(feature = "local-agent")]
impl crate::program::Run for Serve {
    const NAME: &'static str = "serve";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let redactor = logged(self.reasons.as_deref());
        let wishes = handlers::magi::Wishes {
            insists: self.insist,
            max_responses: self.max_responses,
        };
        handlers::magi::serve_local_agent(stdio, redactor, wishes).map(served)
    }
}

/// Serves application-service. The exit status.
///
/// # Errors
/// When it can't be served, or not any longer.
#[cfg(feature = "application-service")]
pub(crate) fn application_service(stdio: Stdio) -> anyhow::Result<i32> {
    handlers::magi::serve_application_service(stdio, logged(None)).map(served)
}

/// What the process keeps secret, known to its log too, which begins here if it is asked for, in `reasons` for `try`.
#[cfg_attr(not(feature = "log"), allow(unused_variables))]
fn logged(reasons: Option<&std::path::Path>) -> redact::Redactor {
    let redactor = redact::Redactor::of_process();
    #[cfg(feature = "log")]
    crate::log::start(redactor.clone(), reasons);
    redactor
}

/// An invalid launch exits with 2 and says why.
fn served(ended: Result<i32, Refused>) -> i32 {
    ended.unwrap_or_else(|refused| refuse(2, refused.0))
}
