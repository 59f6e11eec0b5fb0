//! `magi-code status`: who is logged in, where from, and what answers here.
//! Asks no provider; finds nothing itself.

use handlers::configuration::{
    AccountStatus, AuthMethod, AuthSource, Readiness, account_statuses, examine, shown,
};
use host::transport::Stdio;

use super::login::answer;
use crate::program::Run;

/// Say who is logged in, where from, and what answers here
#[derive(clap::Args)]
#[command(after_help = "\
No provider is asked: `ready` is what has a credential, or needs none.

Examples:
  magi-code status

Exit status: 0 it is said, 1 the settings or what is stored can't be read, 2 the command line is wrong.")]
pub(crate) struct Status {}

impl Run for Status {
    const NAME: &'static str = "status";

    fn run(self, stdio: Stdio) -> anyhow::Result<i32> {
        let examined = examine(None)?;
        let selected = match (examined.problems.is_empty(), examined.model) {
            (true, Some(model)) => shown(&model),
            (true, None) => "the offline demonstration".to_owned(),
            (false, _) => "nothing; `magi-code doctor` says why".to_owned(),
        };
        let text = account_statuses().map(|all| {
            let width = all.iter().map(|one| shown(&one.provider).chars().count());
            let width = width.max().unwrap_or_default();
            let mut text = format!("what answers here: {selected}\n\n");
            text.extend(all.iter().map(|one| {
                let (provider, readiness) = (shown(&one.provider), readiness(one.readiness));
                format!("{provider:width$}  {readiness:11}  {}\n", whence(one))
            }));
            text
        });
        answer(stdio, text)
    }
}

fn readiness(readiness: Readiness) -> &'static str {
    match readiness {
        Readiness::Ready => "ready",
        Readiness::Missing => "missing",
        Readiness::NeedsLogin => "needs login",
    }
}

/// What it authenticates with, and where that is or would be.
fn whence(status: &AccountStatus) -> &'static str {
    match (status.method, status.source) {
        (AuthMethod::OAuth, _) => "a login, stored on this machine",
        (AuthMethod::ApiKey, AuthSource::Store) => "a key, stored on this machine",
        (AuthMethod::ApiKey, _) => "a key, in a variable of the environment",
        (AuthMethod::Nothing, _) => "needs none",
    }
}
